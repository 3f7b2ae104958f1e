"""Documents of strangers shown to annotators: legible, and never executed."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from benchwright.annotation.display import clean_html, document_html, plain_text, table_html

HOSTILE = """# Title <script>steal()</script>
<img src=x onerror="steal()" alt="logo"> <svg onload=steal()><a href=" javascript:steal()">x</a></svg>
<a href="javascript:steal()">bad</a> [worse](javascript:steal()) <iframe src="https://example.org"></iframe>
<style>body { display: none }</style><p onclick=steal()>kept<div style="position:fixed">
"""


class Seen(HTMLParser):
    """Every tag and attribute that a browser would act on."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.depth: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("br", "hr"):
            self.depth.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.depth.pop() == tag


def seen(html: str) -> Seen:
    parser = Seen()
    parser.feed(html)
    parser.close()
    assert parser.depth == []
    return parser


def test_a_hostile_document_leaves_nothing_to_execute() -> None:
    shown = seen(document_html(HOSTILE, "README.md"))
    assert not {"script", "img", "svg", "iframe", "style"} & set(shown.tags)
    assert {name for name, _ in shown.attributes} <= {"href", "style", "target", "rel"}
    assert not any("javascript" in (value or "") for _, value in shown.attributes)
    assert "[picture: logo]" in document_html(HOSTILE, "README.md")


@given(st.text(alphabet=st.sampled_from("<>/=\"' abpre!-&;#scriptonx\n")))
def test_whatever_the_text_every_tag_is_known_and_closed(text: str) -> None:
    shown = seen(clean_html(text))
    assert not any(name.startswith("on") for name, _ in shown.attributes)
    assert "script" not in shown.tags


def test_pipe_tables_become_tables_and_code_keeps_its_spaces() -> None:
    html = document_html("| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nif x:\n\treturn   1 < 2\n```\n", "README.md")
    assert html.count("<td") == 2
    assert "if x:\n\treturn   1 &lt; 2\n" in html


def test_what_is_not_markdown_is_shown_as_it_stands() -> None:
    assert "*a*\n  b &lt;c&gt;" in document_html("*a*\n  b <c>", "README.rst")


def test_what_no_server_can_store_is_marked() -> None:
    assert plain_text("a\x00b\ud800c\td\n") == "a\ufffdb\ufffdc\td\n"


def test_cells_of_a_table_are_text() -> None:
    assert "<td" in table_html(["x"], [["<b>"]])
    assert "&lt;b&gt;" in table_html(["x"], [["<b>"]])

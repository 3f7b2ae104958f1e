"""Documents: which files they are, and their headings and blocks with exact positions."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.curation.documents import Block, Document, is_readme, read_document, select_documents


def read(text: str, path: str = "README.md") -> Document:
    return read_document(path, text.encode())


def lines_of(document: Document, block: Block) -> str:
    return document.slice(block.start_line, block.end_line)


@pytest.mark.parametrize(
    "path",
    [
        "README",
        "readMe.md",
        "README.MD",
        "README_EN.md",
        "README-zh.md",
        "a/b/Readme.rst",
        "README.zh-CN.md",
        "docs/README.txt",
    ],
)
def test_readmes_of_any_spelling_are_documents(path: str) -> None:
    assert is_readme(path)


@pytest.mark.parametrize("path", ["test_readme.py", "readme.py", "README.png", "generate_readmes.py", "readmes/x.md"])
def test_code_and_pictures_named_like_a_readme_are_not(path: str) -> None:
    assert not is_readme(path)


def test_patterns_add_documents() -> None:
    paths = ["README.md", "docs/a.md", "docs/x/b.md", "docs/x/c.rst", "other/d.md"]
    assert select_documents(paths, ["docs/**/*.md"]) == ["README.md", "docs/a.md", "docs/x/b.md"]
    assert select_documents(paths, ["docs/*.md"]) == ["README.md", "docs/a.md"]


def test_fences_at_any_depth_lose_exactly_the_indentation_around_them() -> None:
    document = read(
        "# A\n\n- one\n\n  ```python\n  def f():\n      return 1\n\n  f()\n  ```\n"
        "- two\n   1. three\n\n      ~~~sh\n      python a.py\n      ~~~\n\n> ```bash\n> python b.py\n> ```\n"
    )
    first, second, third = document.blocks
    assert first.text == "def f():\n    return 1\n\nf()\n"
    assert (first.start_line, first.end_line, first.outer_start, first.outer_end) == (6, 9, 5, 10)
    assert (second.text, second.start_line) == ("python a.py\n", 15)
    assert (third.text, third.start_line) == ("python b.py\n", 19)


def test_a_longer_fence_shows_a_shorter_one() -> None:
    (block,) = read("`````md\n```bash\npython inner.py\n```\n`````\n").blocks
    assert (block.language, block.text) == ("md", "```bash\npython inner.py\n```\n")


def test_windows_line_ends_and_a_mark_at_the_start_move_nothing() -> None:
    plain = read("# A\n\n```bash\npython a.py\n```\n")
    windows = read_document("README.md", "\ufeff# A\r\n\r\n```bash\r\npython a.py\r\n```\r\n".encode())
    assert windows.blocks == plain.blocks
    assert windows.headings == plain.headings
    assert windows.slice(4, 4) == "python a.py\r\n"


@pytest.mark.parametrize("odd", ["\u2028", "\x0b", "\x0c", "\x85", "\r", "🐦", "鱼"])
def test_only_a_line_feed_counts_as_a_line(odd: str) -> None:
    document = read(f"# A{odd}B\n\ntext{odd}more\n\n```sh\npython a.py\n```\n")
    assert [block.start_line for block in document.blocks] == [6]
    assert document.slice(6, 6) == "python a.py\n"


def test_other_encodings_are_read() -> None:
    text = "# 训练\n\n模型的训练方法如下所示\n\n```bash\npython a.py\n```\n"
    for encoding in ("gb18030", "utf-16"):
        document = read_document("README.md", text.encode(encoding))
        assert document.headings[0].title == "训练"
        assert document.blocks[0].start_line == 6
    assert read_document("README.md", "# Übung\n".encode("latin-1")).headings[0].title == "Übung"
    assert read_document("README.md", b"\x00\x01\x02").notes


def test_html_comments_are_hidden_and_pre_and_details_are_read() -> None:
    document = read(
        "<!--\n```bash\npython hidden.py\n```\n-->\n\n<details>\n<summary>x</summary>\n\n"
        "```bash\npython shown.py\n```\n</details>\n\n"
        "<pre><code class='language-sh'>\npython a.py --x &lt;1&gt; &amp;&amp; python b.py\n</code></pre>\n"
    )
    assert [block.text for block in document.blocks] == ["python shown.py\n", "python a.py --x <1> && python b.py\n"]
    assert [block.language for block in document.blocks] == ["shell", "shell"]
    assert document.blocks[1].start_line == 16


def test_a_fence_right_behind_an_html_tag_is_code_all_the_same() -> None:
    (block,) = read("<details>\n<summary>x</summary>\n```bash\npython a.py\n```\n</details>\n").blocks
    assert (block.text, block.start_line) == ("python a.py\n", 4)


@pytest.mark.parametrize(
    ("info", "language"),
    [
        ("BASH", "shell"),
        ("console", "console"),
        ("{.sh .x}", "shell"),
        ("shell:run.sh", "shell"),
        ("commandline", "shell"),
        ("linux", "shell"),
        ("Python3", "python"),
        ("{python}", "python"),
        ("py title='x'", "python"),
        ("JSON", "json"),
        ("diff", "diff"),
    ],
)
def test_tags_are_read_as_people_write_them(info: str, language: str) -> None:
    (block,) = read(f"```{info}\nx\n```\n").blocks
    assert block.language == language


@pytest.mark.parametrize(
    ("info", "code", "language"),
    [
        ("", "python train.py --lr 1", "shell"),
        ("", "$ python train.py", "console"),
        ("", "import bird\nbird.fly()", "python"),
        ("", ">>> import bird\n>>> bird.fly()\n3", "pycon"),
        ("", "epoch 1 loss 0.3", ""),
        ("", "bird/\n  wing.py\n  tail.py", ""),
        ("python", "python train.py --lr 1 \\\n  --x 2", "shell"),
        ("python", "export A=1\npython train.py --lr 1", "shell"),
        ("bash", "import bird\nbird.fly()", "python"),
        ("bash", "$ python a.py\nok", "console"),
        ("text", "python train.py", "text"),
        ("yaml", "run: python train.py", "yaml"),
    ],
)
def test_missing_and_wrong_tags_are_made_good_by_the_content(info: str, code: str, language: str) -> None:
    (block,) = read(f"```{info}\n{code}\n```\n").blocks
    assert block.language == language


def test_commands_in_running_text_and_in_quotes_are_found() -> None:
    document = read(
        "Run `python a.py --x 1`, not `python`,\nor `b.py --y` and `c.py`.\n\n"
        "> from bird import Wing\\\n> w = Wing(1)\n"
    )
    assert [(b.kind, b.text, b.start_line) for b in document.blocks] == [
        ("inline", "python a.py --x 1\n", 1),
        ("inline", "b.py --y\n", 2),
        ("quote", "from bird import Wing\nw = Wing(1)\n", 4),
    ]


def test_restructured_text_has_sections_and_code() -> None:
    document = read(
        "Bird\n====\n\nRun\n---\n\nSo::\n\n    python a.py \\\n      --x 1\n\n.. code-block:: python\n   :linenos:\n\n"
        "   import bird\n\n>>> bird.fly()\n1\n\n.. unknown:: x\n\n   python no.py\n\nAnd ``python b.py --y``.\n",
        "README.rst",
    )
    assert [(h.level, h.title, h.line) for h in document.headings] == [(1, "Bird", 1), (2, "Run", 4)]
    found = [(block.language, block.start_line, block.end_line) for block in document.blocks]
    assert found == [("shell", 9, 10), ("python", 15, 15), ("pycon", 17, 18), ("shell", 24, 24)]


def test_a_notebook_has_its_cells_on_the_lines_of_the_file() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Bird\n", "\n", "```sh\n", "python a.py\n", "```"]},
        {"cell_type": "code", "source": ["import bird\n", "import bird\n", "bird.fly()"], "outputs": []},
        {"cell_type": "code", "source": "!python b.py", "outputs": []},
    ]
    raw = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}, indent=1)
    document = read(raw, "a.ipynb")
    assert [block.language for block in document.blocks] == ["shell", "python", "ipython"]
    for block, word in zip(document.blocks, ("python a.py", "import bird", "!python b.py"), strict=True):
        assert word in raw.split("\n")[block.start_line - 1]
    assert "bird.fly()" in raw.split("\n")[document.blocks[1].end_line - 1]
    assert read("{}", "a.ipynb").notes


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["# A", "```sh", "```", "python a.py", "", "> x", "- y", "<pre>", "</pre>", "    z", "`b.py -x`"]
        )
    )
)
def test_positions_always_lie_in_the_document(rows: list[str]) -> None:
    document = read("\n".join(rows) + "\n")
    for block in document.blocks:
        assert 1 <= block.outer_start <= block.start_line <= block.end_line <= block.outer_end <= len(document.lines)

"""reStructuredText by docutils: sections, literal blocks and code directives. No file is included, nothing is run."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any, ClassVar

from ..commands.words import is_inline_command
from .model import Block, Document, Heading
from .tags import guess_language, language_of_tag

__all__ = ["read_rst"]

_CODE_DIRECTIVES = ("code-block", "sourcecode", "prompt", "code-cell", "ipython", "parsed-literal-code")
_ROLES = "ref doc class func meth mod py:class py:func option file command term any"
_SETTINGS: dict[str, Any] = {
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": "",
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "input_encoding": "unicode",
    "syntax_highlight": "none",
    "doctitle_xform": False,
    "_disable_config": True,
}


def read_rst(path: str, lines: tuple[str, ...]) -> Document:
    """Read reStructuredText. What docutils cannot make sense of is left out, and a note says so."""
    from docutils import nodes

    text = "".join(lines).replace("\r\n", "\n").replace("\r", " ")
    try:
        tree = _parse(text)
    except (ValueError, TypeError, AttributeError, RecursionError, KeyError) as error:
        # docutils has bugs of its own on malformed tables and roles; one document must not stop the others
        return Document(path, lines, notes=(f"not read: docutils stopped with {type(error).__name__}",))
    rows = text.split("\n")
    finder = _Finder(rows)
    headings: list[Heading] = []
    blocks: list[Block] = []
    for node in tree.findall():
        if isinstance(node, nodes.title) and isinstance(node.parent, nodes.section | nodes.document):
            line = finder.line_of_title(node.astext())
            if line:
                headings.append(Heading(_depth(node), " ".join(node.astext().split()), line))
        elif isinstance(node, nodes.literal_block | nodes.doctest_block) and not _in_message(node):
            block = finder.block(node.astext(), _language(node), isinstance(node, nodes.doctest_block))
            if block:
                blocks.append(block)
        elif isinstance(node, nodes.literal) and is_inline_command(node.astext()):
            line = finder.line_with(node.astext())
            if line:
                blocks.append(Block("inline", "shell", "", f"{node.astext()}\n", line, line, line, line))
    return Document(path, lines, tuple(headings), tuple(blocks))


def _parse(text: str) -> Any:
    import docutils.core
    from docutils import nodes
    from docutils.parsers.rst import Directive, directives, roles
    from docutils.parsers.rst.directives.body import CodeBlock
    from docutils.parsers.rst.languages import en

    class Code(CodeBlock):
        """Any code directive: options that Sphinx knows and docutils does not are accepted and ignored."""

        option_spec: ClassVar = defaultdict(lambda: directives.unchanged)
        final_argument_whitespace = True  # the prompt's own sign may follow its language

    class Frame(Directive):
        """Any directive of Sphinx or its extensions (tabs, drop-downs, cards): its content is read as it stands."""

        has_content = True
        optional_arguments = 1
        final_argument_whitespace = True
        option_spec: ClassVar = defaultdict(lambda: directives.unchanged)

        def run(self) -> list[nodes.Node]:
            frame = nodes.container()
            self.state.nested_parse(self.content, self.content_offset, frame)
            return [frame]

    for name in _CODE_DIRECTIVES:
        directives.register_directive(name, Code)
    known = {*en.directives, *_CODE_DIRECTIVES}
    for name in {name.lower() for name in re.findall(r"^\s*\.\. ([\w:-]+)::", text, re.MULTILINE)} - known:
        directives.register_directive(name, Frame)
    for name in _ROLES.split():
        roles.register_generic_role(name, _literal())
    return docutils.core.publish_doctree(text, settings_overrides=_SETTINGS)


def _literal() -> Any:
    from docutils import nodes

    return nodes.literal


def _depth(title: Any) -> int:
    from docutils import nodes

    depth, parent = 0, title.parent
    while parent is not None:
        depth += isinstance(parent, nodes.section)
        parent = parent.parent
    return max(depth, 1)


def _in_message(node: Any) -> bool:
    from docutils import nodes

    parent = node.parent
    while parent is not None:
        if isinstance(parent, nodes.system_message):
            return True
        parent = parent.parent
    return False


def _language(node: Any) -> str:
    classes = [name for name in node.get("classes", ()) if name != "code"]
    return node.get("language") or (classes[0] if classes else "")


class _Finder:
    """Finds where text stands in the source: nodes come in the order of the source, but rarely with their lines."""

    def __init__(self, rows: list[str]) -> None:
        self.rows = [row.expandtabs(8) for row in rows]
        self.at = 0

    def line_of_title(self, title: str) -> int | None:
        wanted = " ".join(title.split())
        for index in range(self.at, len(self.rows) - 1):
            row = " ".join(re.sub(r"[`*]|:\w+:", "", self.rows[index]).split())
            if row == " ".join(re.sub(r"[`*]", "", wanted).split()) and re.match(
                r"\s*([^\w\s])\1*\s*$", self.rows[index + 1]
            ):
                self.at = index
                return index + 1
        return None

    def line_with(self, code: str) -> int | None:
        """The line on which an inline literal begins."""
        start = code.split("\n")[0][:30]
        return next((i + 1 for i in range(self.at, len(self.rows)) if start in self.rows[i]), None)

    def block(self, text: str, info: str, doctest: bool) -> Block | None:
        wanted = [row.strip() for row in text.split("\n")]
        if not any(wanted):
            return None
        for index in range(self.at, len(self.rows) - len(wanted) + 1):
            if self.rows[index].strip() == wanted[0] and all(
                self.rows[index + k].strip() == row for k, row in enumerate(wanted)
            ):
                self.at = index + len(wanted)
                language, tag = ("pycon", "") if doctest else language_of_tag(info)
                code = text.rstrip("\n") + "\n"
                start, end = index + 1, index + len(wanted)
                outer = self._marker(index)
                return Block("fence", guess_language(language, code), tag, code, start, end, outer, end)
        return None

    def _marker(self, index: int) -> int:
        """The line of the directive above the code, or the code's own first line."""
        above = index - 1
        while above >= 0 and (not self.rows[above].strip() or re.match(r"\s+:[\w-]+:", self.rows[above])):
            above -= 1
        if above >= 0 and re.match(r"\s*\.\. [\w-]+::", self.rows[above]):
            return above + 1
        return index + 1

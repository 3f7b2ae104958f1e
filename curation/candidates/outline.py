"""Where a place in a document stands: its headings, and the stretches around it that could serve as oracle."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from ...core.models import OracleScope, ScopeName
from ..documents import Block, Document, Heading

__all__ = ["Outline", "Span"]

Span = tuple[int, int]
"""First and last line, 1-based and inclusive."""

LONGEST_DOCUMENT = 400
"""Lines; a longer document as a whole is no oracle."""

LONGEST_EXPLANATION = 12
"""Lines of the paragraph after a block that are taken with it."""


class Outline:
    """The sections of one document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.headings = sorted(document.headings, key=lambda heading: heading.line)
        self._starts = [heading.line for heading in self.headings]
        self._blocks = sorted(
            (block for block in document.blocks if not block.in_text), key=lambda block: block.outer_start
        )
        self._scopes: dict[tuple[int, int], tuple[OracleScope, ...]] = {}

    @cached_property
    def last_line(self) -> int:
        return max(len(self.document.lines), 1)

    def _index(self, line: int) -> int:
        return bisect_right(self._starts, line) - 1

    def chain(self, line: int) -> list[Heading]:
        """The headings a line stands under, outermost first."""
        found: list[Heading] = []
        level = 7
        for heading in reversed(self.headings[: self._index(line) + 1]):
            if heading.level < level:
                found.append(heading)
                level = heading.level
        return found[::-1]

    def heading_path(self, line: int) -> tuple[str, ...]:
        return tuple(heading.title for heading in self.chain(line))

    def section(self, line: int) -> Span:
        """The innermost section: from its heading to the next heading of any level."""
        index = self._index(line)
        start = self._starts[index] if index >= 0 else 1
        end = self._starts[index + 1] - 1 if index + 1 < len(self._starts) else self.last_line
        return start, max(end, start)

    def whole(self, heading: Heading) -> Span:
        """A section with its subsections."""
        after = (other.line for other in self.headings if other.line > heading.line and other.level <= heading.level)
        return heading.line, next(after, self.last_line + 1) - 1

    def parent(self, line: int) -> Span:
        """The smallest section with its subsections that is larger than the innermost section."""
        section = self.section(line)
        for heading in reversed(self.chain(line)):
            span = self.whole(heading)
            if span[1] - span[0] > section[1] - section[0]:
                return span
        return section if self.headings and self._index(line) < 0 else (1, self.last_line)

    def sections(self) -> list[Span]:
        """All innermost sections, the text before the first heading among them."""
        spans = [self.section(line) for line in self._starts]
        if not self._starts or self._starts[0] > 1:
            spans.insert(0, self.section(0))
        return spans

    def block_span(self, start: int, end: int) -> Span:
        """A block with the text since the block or heading before it, and the paragraph after it that explains it.

        Blocks with nothing between them belong together. A paragraph that leads to the next block is not taken.
        """
        first, last = self._run(start, end)
        before = [block.outer_end + 1 for block in self._blocks if block.outer_end < first]
        lead = max([self.section(first)[0], *before])
        return self._trimmed((min(lead, first), self._explained(last)))

    def _run(self, start: int, end: int) -> Span:
        """The lines of the block and of those that follow one another around it with only blank lines between."""
        section = self.section(start)
        inside = [block for block in self._blocks if section[0] <= block.outer_start <= section[1]]
        for block in reversed(inside):
            if block.outer_end < start and self._is_blank(block.outer_end + 1, start - 1):
                start = block.outer_start
        for block in inside:
            if block.outer_start > end and self._is_blank(end + 1, block.outer_start - 1):
                end = block.outer_end
        return start, end

    def _is_blank(self, first: int, last: int) -> bool:
        return not self.document.slice(first, last).strip()

    def _explained(self, end: int) -> int:
        """The last line of the paragraph after line ``end``, or ``end`` where that says nothing about the block."""
        lines = self.document.lines
        limit = min(
            [self.section(end)[1], *(block.outer_start - 1 for block in self._blocks if block.outer_start > end)]
        )
        first = end + 1
        while first <= limit and not lines[first - 1].strip():
            first += 1
        last = first
        while last + 1 <= limit and lines[last].strip() and last - first < LONGEST_EXPLANATION:
            last += 1
        if first > limit or first > end + 4 or last == limit < self.section(end)[1]:
            return end
        text = self.document.slice(first, last).strip()
        leads_on = text.endswith((":", "：")) or text.startswith(("#", "|", "<", "!["))
        return end if leads_on else last

    def _trimmed(self, span: Span) -> Span:
        start, end = span
        lines = self.document.lines
        while start < end and not lines[start - 1].strip():
            start += 1
        while end > start and not lines[end - 1].strip():
            end -= 1
        return start, end

    def scopes(self, start: int, end: int) -> tuple[OracleScope, ...]:
        """The scopes around lines ``start`` to ``end``, smallest first, each another stretch."""
        if (start, end) not in self._scopes:
            self._scopes[start, end] = self._scopes_around(start, end)
        return self._scopes[start, end]

    def _scopes_around(self, start: int, end: int) -> tuple[OracleScope, ...]:
        spans: list[tuple[ScopeName, Span]] = [
            ("block", self.block_span(start, end)),
            ("section", self._joined(self.section(start), end)),
            ("parent", self._joined(self.parent(start), end)),
        ]
        spans += [("document", span) for span in self._widest(start)]
        found: dict[Span, OracleScope] = {}
        for name, raw in spans:
            span = self._trimmed(raw)
            if span not in found:
                text = self.document.slice(*span)
                found[span] = OracleScope(scope=name, start_line=span[0], end_line=span[1], text=text)
        return tuple(found.values())

    def _widest(self, line: int) -> list[Span]:
        """The whole document, or of a long one the outermost section that is not too long."""
        spans = [(1, self.last_line), *(self.whole(heading) for heading in self.chain(line))]
        return [span for span in spans if span[1] - span[0] < LONGEST_DOCUMENT][:1]

    def _joined(self, span: Span, end: int) -> Span:
        return span[0], max(span[1], end)

    def section_scope(self, span: Span) -> OracleScope:
        """A section as a scope of its own."""
        start, end = self._trimmed(span)
        return OracleScope(scope="section", start_line=start, end_line=end, text=self.document.slice(start, end))

    def blocks_in(self, span: Span) -> list[Block]:
        """The blocks of code that begin within ``span``, in order."""
        return [block for block in self._blocks if span[0] <= block.outer_start <= span[1]]

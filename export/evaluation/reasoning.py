"""Taking a model's reasoning off its answer, so that a draft is never scored."""

from __future__ import annotations

import re
from bisect import bisect_right

__all__ = ["NeverEndedError", "without_reasoning"]

_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad"
OPEN = re.compile(rf"<(?:{_NAMES})>|\[THINK\]|◁think▷", re.IGNORECASE)
CLOSE = re.compile(rf"</(?:{_NAMES})>|\[/THINK\]|◁/think▷", re.IGNORECASE)
FINAL_CHANNEL = re.compile(r"<\|channel\|>\s*final\s*(?:<\|constrain\|>[^<]*)?<\|message\|>")
CHANNEL = re.compile(r"<\|channel\|>\s*\w+")
END_TOKEN = re.compile(r"<\|(?:return|end|im_end|eot_id|endoftext)\|>")
FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})([^`\n]*)$")

MAX_PARTS = 50
"""Stretches of reasoning looked for in one answer."""


class NeverEndedError(Exception):
    """The answer is reasoning that never ended: there is nothing to score."""


def without_reasoning(answer: str) -> str:
    """The answer after its reasoning.

    An opening tag counts where it begins a line outside code; a closing tag ends what an opening tag began, and
    without one it counts where it begins or ends a line outside code. A tag inside code is code.

    Raises:
        NeverEndedError: nothing stands before or after the reasoning.
    """
    answer = _final_channel(answer)
    spans = _Spans(answer, 0)
    kept, at = "", 0
    for _ in range(MAX_PARTS):
        tags = (tag for tag in OPEN.finditer(answer, at) if _begins_line(answer, tag))
        opening = next((tag for tag in tags if spans.outside(tag.start())), None)
        if opening is None:
            break
        closing = _closing(answer, opening.end())
        kept += answer[at : opening.start()]
        if closing is None:
            if not kept.strip():
                raise NeverEndedError
            return kept
        at = closing
        spans = _Spans(answer, at)
    rest = kept + answer[at:]
    if at == 0:
        lone = [m for m in CLOSE.finditer(answer) if _bounds_line(answer, m) and spans.may_be_text(m)]
        rest = answer[lone[-1].end() :] if lone else rest
    return rest


def _final_channel(answer: str) -> str:
    """Of an answer in channels (analysis, commentary, final) the final one."""
    final = list(FINAL_CHANNEL.finditer(answer))
    if final:
        return END_TOKEN.split(answer[final[-1].end() :], maxsplit=1)[0]
    if CHANNEL.match(answer.lstrip()):
        raise NeverEndedError
    return answer


def _closing(answer: str, start: int) -> int | None:
    """Where the reasoning that begins at ``start`` ends: the first closing tag outside its drafts' code.

    A draft may leave its fence open; then the first closing tag alone on its line ends the reasoning.
    """
    spans = _Spans(answer, start)
    tags = list(CLOSE.finditer(answer, start))
    for tag in tags:
        if spans.outside(tag.start()):
            return tag.end()
    alone = [tag for tag in tags if _begins_line(answer, tag) and _ends_line(answer, tag)]
    return alone[0].end() if alone else None


def _begins_line(text: str, match: re.Match[str]) -> bool:
    return not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()


def _ends_line(text: str, match: re.Match[str]) -> bool:
    end = text.find("\n", match.end())
    return not text[match.end() : len(text) if end < 0 else end].strip()


def _bounds_line(text: str, match: re.Match[str]) -> bool:
    return _begins_line(text, match) or _ends_line(text, match)


class _Spans:
    """Stretches of text that are code, from ``start`` on."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.begins: list[int] = []
        self.ends: list[tuple[int, bool]] = []
        """End of each stretch, and whether it is doubtful: with an opening fence inside, or without an end."""
        self._scan(start)

    def _scan(self, start: int) -> None:
        begun: int | None = None
        marks, reopened, at = "", False, start
        for line in self.text[start:].split("\n"):
            fence = FENCE.match(line)
            if fence and begun is None:
                begun, marks, reopened = at, fence[1], False
            elif fence and begun is not None and fence[1][0] == marks[0] and len(fence[1]) >= len(marks):
                if fence[2].strip():
                    reopened = True
                else:
                    self._add(begun, at, doubtful=reopened)
                    begun = None
            at += len(line) + 1
        if begun is not None:
            self._add(begun, len(self.text), doubtful=True)

    def _add(self, begin: int, end: int, *, doubtful: bool) -> None:
        self.begins.append(begin)
        self.ends.append((end, doubtful))

    def _at(self, position: int) -> tuple[int, bool] | None:
        """The stretch that holds ``position``."""
        number = bisect_right(self.begins, position) - 1
        return self.ends[number] if number >= 0 and position < self.ends[number][0] else None

    def outside(self, position: int) -> bool:
        return self._at(position) is None

    def may_be_text(self, match: re.Match[str]) -> bool:
        """Outside code, or alone on its line where a closing fence was lost."""
        stretch = self._at(match.start())
        if stretch is None:
            return True
        return stretch[1] and _begins_line(self.text, match) and _ends_line(self.text, match)

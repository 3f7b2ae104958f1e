"""From stretches with a worth to pieces of text within a budget of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...core.models import ContextPiece
from .index import Index, Wanted
from .tokens import count_tokens

__all__ = ["cut", "tokens_of"]

OVERHEAD = 20
"""Tokens set aside for each piece's path, lines and symbol."""


def cut(index: Index, stretches: Sequence[Wanted], budget_tokens: int) -> tuple[ContextPiece, ...]:
    """The most valuable stretches that fit: each whole while room is left, else its essence.

    The pieces come in order of worth, never overlap, and together, with path and symbol, never exceed the budget.
    """
    left = budget_tokens
    taken: list[tuple[Wanted, int]] = []
    covered: dict[str, set[int]] = {}
    lines_of = {stretch.path: index.lines(stretch.path) for stretch in stretches}
    ordered = sorted(stretches, key=lambda s: (-s.worth, s.path, s.start_line, s.end_line))
    for stretch in ordered:
        if left <= OVERHEAD:
            break
        here = covered.setdefault(stretch.path, set())
        for part in uncovered(stretch, here, lines_of[stretch.path]):
            # A whole body must not eat what others need, unless it defines the arguments or what the snippet uses.
            share = left if part.worth >= 100 else left // 3
            fits = fitting(index, part, share)
            if fits is None and share < left:
                fits = fitting(index, replace(part, end_line=part.header_line), left)
            if fits is not None:
                end, cost = fits
                left -= cost
                here.update(range(part.start_line, end + 1))
                taken.append((part, end))
    return tuple(piece(lines_of[stretch.path], stretch, end) for stretch, end in joined(taken, lines_of))


def tokens_of(pieces: Iterable[ContextPiece]) -> int:
    """Tokens of all pieces with what stands above each: its path, lines and symbol."""
    return sum(
        count_tokens(f"{piece.path}:{piece.start_line}-{piece.end_line} {piece.symbol}\n{piece.text}")
        for piece in pieces
    )


def about(stretch: Wanted) -> str:
    """What a stretch belongs to: a parser's flags belong to the function that defines them."""
    return stretch.symbol.removeprefix("flags of ")


def joined(taken: list[tuple[Wanted, int]], lines_of: dict[str, list[str]]) -> list[tuple[Wanted, int]]:
    """Pieces that follow one another in a file as one, in the place of the first; that costs no more than they did."""
    groups: list[tuple[Wanted, int]] = []
    for stretch, end in taken:
        start = stretch.start_line
        for number, (other, other_end) in enumerate(groups):
            if other.path != stretch.path or about(other) != about(stretch):
                continue
            first, second = sorted(((start, end), (other.start_line, other_end)))
            gap = lines_of[stretch.path][first[1] : second[0] - 1]
            if len(gap) <= 2 and not "".join(gap).strip():
                groups[number] = (replace(other, start_line=first[0]), second[1])
                break
        else:
            groups.append((stretch, end))
    return groups if len(groups) == len(taken) else joined(groups, lines_of)


def uncovered(stretch: Wanted, covered: set[int], source: Sequence[str]) -> list[Wanted]:
    """The parts of a stretch that no piece holds yet, without remainders of one line or without code."""
    parts: list[Wanted] = []
    start, last = stretch.start_line, min(stretch.end_line, len(source))
    if start <= last and covered.isdisjoint(range(start, last + 1)):
        return [replace(stretch, header_line=max(start, min(stretch.header_line, last)), end_line=last)]
    for line in range(start, last + 2):
        if line not in covered and line <= last:
            continue
        long_enough = line - start >= 2 or (start == stretch.start_line and line > start)
        if long_enough and any(text.strip() and text.lstrip()[0] != "#" for text in source[start - 1 : line - 1]):
            header = max(start, min(stretch.header_line, line - 1))
            parts.append(replace(stretch, start_line=start, header_line=header, end_line=line - 1))
        start = line + 1
    return parts


def fitting(index: Index, stretch: Wanted, room: int) -> tuple[int, int] | None:
    """The last line of the longest beginning that fits, and what it costs; None where not even its essence does.

    Half a signature helps nobody: what is cut off is cut behind the header, or, without one, behind three lines.
    """
    end = stretch.start_line - 1
    cost = OVERHEAD + count_tokens(f"{stretch.path} {stretch.symbol}")
    while end < stretch.end_line:
        more = index.tokens(stretch.path, end)
        if cost + more > room:
            break
        cost += more
        end += 1
    has_header = stretch.start_line < stretch.header_line < stretch.end_line
    least = min(stretch.header_line if has_header else stretch.start_line + 2, stretch.end_line)
    return (end, cost) if end >= least else None


def piece(source: list[str], stretch: Wanted, end: int) -> ContextPiece:
    return ContextPiece(
        path=stretch.path,
        start_line=stretch.start_line,
        end_line=end,
        symbol=stretch.symbol,
        text="".join(source[stretch.start_line - 1 : end]),
    )

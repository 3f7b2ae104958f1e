"""BM25 over windows of sentences: the scores of rank_bm25's ``BM25Okapi`` to the last bit, from one index.

The index keeps, for each word, the sentences it stands in and how often; how often it stands in a window follows from
running sums when a question asks. Memory so grows with the text and not with the text times the window, and a question
costs a few array operations a word.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

from ...core.errors import BenchwrightError, require_extra
from .corpus import Corpus, TextFile, text_files
from .sentences import Sentence, split_sentences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..flags.report import SourceFiles

__all__ = ["ML_BENCH", "Index", "Segment", "Setting"]

# BM25Okapi's own defaults. EPSILON times the mean idf stands in for the idf of a word that is in most windows.
K1, B, EPSILON = 1.5, 0.75, 0.25


@dataclass(frozen=True)
class Setting:
    """What is indexed. The defaults are ML-Bench's retrieval setting.

    Raises:
        BenchwrightError: a count is below one.
    """

    window: int = 10
    """Sentences in a window; the windows at the end of the text have fewer."""
    stride: int = 1
    """Sentences from the start of one window to the start of the next."""
    sentences: int | None = 1000
    """How many sentences, from the first on, are indexed; None: the whole text."""
    corpus: Corpus = Corpus.EVERYTHING

    def __post_init__(self) -> None:
        for name, count in (("window", self.window), ("stride", self.stride), ("sentences", self.sentences)):
            if count is not None and count < 1:
                raise BenchwrightError(f"it is {count}, and must be at least 1", where=f"retrieval setting, {name}")


ML_BENCH = Setting()


@dataclass(frozen=True)
class Segment:
    """One window found by a question."""

    score: float
    sentences: tuple[str, ...]
    """The window's sentences as the files have them."""
    paths: tuple[str, ...]
    """The files the window reaches into, in reading order."""
    first: int
    last: int
    """Its first and last sentence, counted from 1 through the whole corpus, inclusive."""

    @property
    def text(self) -> str:
        """The words with one blank between each two: what ML-Bench's setting gives the model."""
        return " ".join(word for sentence in self.sentences for word in sentence.split())


class _Place(NamedTuple):
    """Where a file begins in the text that was split."""

    start: int
    path: str


class Index:
    """One repository's text under one setting; made once, asked often."""

    def __init__(self, sentences: Sequence[Sentence], places: Sequence[_Place], setting: Setting) -> None:
        self.setting = setting
        self.missing: tuple[str, ...] = ()
        """Files that belong to the text but whose content is not there (left out of a partial mirror)."""
        self._sentences = sentences
        self._places = places
        self._windows = _Windows(sentences, setting)

    @classmethod
    def build(cls, files: SourceFiles, setting: Setting = ML_BENCH) -> Self:
        """Index the files of a repository; no more of them are read than the sentences asked for need."""
        return cls.of_texts(text_files(files, setting.corpus), setting)

    @classmethod
    def of_texts(cls, texts: Iterable[TextFile | tuple[str, str | None]], setting: Setting = ML_BENCH) -> Self:
        """Index any ``(path, text)`` in the order given; None for a text that is missing.

        Raises:
            PrerequisiteError: the extra ``curation`` is not installed.
        """
        require_extra("curation", "numpy", "punkt")
        places: list[_Place] = []
        missing: list[str] = []
        sentences: list[Sentence] = []
        for sentence in split_sentences(_pieces(texts, places, missing)):
            sentences.append(sentence)
            if len(sentences) == setting.sentences:
                break
        index = cls(sentences, places, setting)
        index.missing = tuple(missing)
        return index

    def __len__(self) -> int:
        """The number of windows."""
        return self._windows.count

    @property
    def sentences(self) -> Sequence[str]:
        """The indexed sentences, in order."""
        return [sentence.text for sentence in self._sentences]

    def scores(self, query: str) -> NDArray[np.float64]:
        """The score of each window, in order: those ``BM25Okapi.get_scores`` gives for the same windows."""
        return self._windows.scores(query.split())

    def top(self, query: str, k: int = 1) -> list[Segment]:
        """The ``k`` best windows, best first; fewer if the text has fewer.

        Among windows of equal score the choice is that of ``BM25Okapi.get_top_n``, hence numpy's sort on this machine.
        """
        if k < 1:
            raise BenchwrightError(f"{k} windows were asked for; ask for at least 1", where="retrieval")
        scores = self.scores(query)
        best = scores.argsort()[::-1][:k]
        return [self._segment(window, float(scores[window])) for window in best.tolist()]

    def _segment(self, window: int, score: float) -> Segment:
        start = window * self.setting.stride
        chosen = self._sentences[start : start + self.setting.window]
        return Segment(
            score=score,
            sentences=tuple(sentence.text for sentence in chosen),
            paths=tuple(self._paths(chosen[0].start, chosen[-1].end)),
            first=start + 1,
            last=start + len(chosen),
        )

    def _paths(self, start: int, end: int) -> Iterator[str]:
        first = bisect_right(self._places, start, key=lambda place: place.start) - 1
        behind = bisect_left(self._places, end, key=lambda place: place.start)
        for place in self._places[max(first, 0) : behind]:
            yield place.path


def _pieces(
    texts: Iterable[TextFile | tuple[str, str | None]], places: list[_Place], missing: list[str]
) -> Iterator[str]:
    """The text to split, file by file, noting where each begins and which are missing."""
    position = 0
    for path, text in texts:
        if text is None:
            missing.append(path)
            continue
        shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")  # so that a segment can be stored
        piece = f"\n=== {shown} ===\n{text}\n"
        places.append(_Place(position, path))
        position += len(piece)
        yield piece


class _Windows:
    """The words of the sentences, and the statistics of the windows over them."""

    def __init__(self, sentences: Sequence[Sentence], setting: Setting) -> None:
        import numpy as np

        self.count = -(-len(sentences) // setting.stride)
        self._starts = np.arange(0, len(sentences), setting.stride)
        self._ends = np.minimum(self._starts + setting.window, len(sentences))
        self._vocabulary: dict[str, int] = {}
        words, lengths = self._read(sentences, setting)
        self._index_words(words, lengths)
        self._measure(lengths, setting)

    def _read(self, sentences: Sequence[Sentence], setting: Setting) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The number of each word, and how many words each sentence has."""
        from array import array

        import numpy as np

        numbers, lengths = array("q"), array("q")
        vocabulary = self._vocabulary
        for position, sentence in enumerate(sentences):
            # A stride longer than the window leaves sentences that no window holds.
            words = sentence.text.split() if position % setting.stride < setting.window else []
            lengths.append(len(words))
            numbers.extend(vocabulary.setdefault(word, len(vocabulary)) for word in words)
        return np.frombuffer(numbers, dtype=np.int64), np.frombuffer(lengths, dtype=np.int64)

    def _index_words(self, words: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
        """For each word the sentences it stands in, ascending, and how often."""
        import numpy as np

        span = max(len(lengths), 1)
        places, self._times = np.unique(words * span + np.repeat(np.arange(len(lengths)), lengths), return_counts=True)
        self._word, self._sentence = np.divmod(places, span)
        self._first = np.searchsorted(self._word, np.arange(len(self._vocabulary) + 1))

    def _measure(self, lengths: NDArray[np.int64], setting: Setting) -> None:
        """Inverse document frequencies and length norms, added up in rank_bm25's order so that they round alike."""
        import numpy as np

        if not self._vocabulary:
            return
        frequencies = self._window_frequencies(setting)
        by_frequency = {
            count: math.log(self.count - count + 0.5) - math.log(count + 0.5)
            for count in np.unique(frequencies).tolist()
        }
        idf = np.array([by_frequency[count] for count in frequencies.tolist()])
        mean = float(np.add.accumulate(idf)[-1]) / len(idf)
        self._idf = np.where(idf < 0, EPSILON * mean, idf)
        sums = np.concatenate(([0], np.cumsum(lengths)))
        window_lengths = sums[self._ends] - sums[self._starts]
        self._norms = K1 * (1 - B + B * window_lengths / (int(window_lengths.sum()) / self.count))

    def _window_frequencies(self, setting: Setting) -> NDArray[np.int64]:
        """In how many windows each word stands."""
        import numpy as np

        low = np.maximum(-((setting.window - 1 - self._sentence) // setting.stride), 0)
        high = self._sentence // setting.stride
        counted = np.concatenate(([-1], high[:-1]))  # the last window that the word's sentence before is in
        counted[self._first[:-1]] = -1
        new = high - np.maximum(low, counted + 1) + 1
        return np.add.reduceat(new, self._first[:-1])

    def scores(self, query: Sequence[str]) -> NDArray[np.float64]:
        import numpy as np

        scores = np.zeros(self.count)
        shares: dict[str, NDArray[np.float64]] = {}
        for word in query:
            if word not in self._vocabulary:
                continue
            if word not in shares:
                shares[word] = self._share(self._vocabulary[word])
            scores += shares[word]
        return scores

    def _share(self, word: int) -> NDArray[np.float64]:
        """What one occurrence of a word in the question adds to each window's score."""
        import numpy as np

        postings = slice(self._first[word], self._first[word + 1])
        times = np.zeros(int(self._ends[-1]) + 1, dtype=np.int64)
        times[self._sentence[postings] + 1] = self._times[postings]
        sums = np.cumsum(times)
        found = sums[self._ends] - sums[self._starts]
        share: NDArray[np.float64] = self._idf[word] * (found * (K1 + 1) / (found + self._norms))
        return share

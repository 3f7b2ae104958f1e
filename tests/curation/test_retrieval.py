"""Retrieval: which files are read, what a window says of itself, and the scores of rank_bm25 to the last bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from benchwright.core.errors import BenchwrightError
from benchwright.curation.retrieval import Corpus, Index, Indexes, Setting, ordered_paths


class Repository:
    """Files in memory, which remember what was read."""

    def __init__(self, files: dict[str, bytes | None], links: Sequence[str] = ()) -> None:
        self._files = files
        self._links = links
        self.was_read: list[str] = []

    def paths(self) -> Sequence[str]:
        return list(self._files)

    def read(self, path: str) -> bytes | None:
        self.was_read.append(path)
        return self._files[path]

    def is_symlink(self, path: str) -> bool:
        return path in self._links


def numbered(count: int, subject: str = "Sentence") -> str:
    return "\n".join(f"{subject} {number} stands alone." for number in range(1, count + 1))


# which files, in which order -------------------------------------------------------------------------------------


def test_readme_files_come_first_and_then_paths_by_their_bytes() -> None:
    files = Repository(dict.fromkeys(["b.py", "a/z.py", "Z.txt", "é.md", "docs/readme_more.txt", "README.md"], b""))
    expected = ["README.md", "docs/readme_more.txt", "Z.txt", "a/z.py", "b.py", "é.md"]
    assert ordered_paths(files) == expected


def test_the_order_does_not_depend_on_how_the_files_are_listed() -> None:
    names = ["x.py", "README", "a.md", "sub/README.rst"]
    listed, reversed_list = Repository(dict.fromkeys(names, b"")), Repository(dict.fromkeys(reversed(names), b""))
    assert ordered_paths(listed) == ordered_paths(reversed_list)


@pytest.mark.parametrize(
    ("corpus", "expected"),
    [
        (Corpus.EVERYTHING, ["README.md", "data.csv", "guide.rst", "main.py", "run.sh"]),
        (Corpus.DOCUMENTS, ["README.md", "guide.rst"]),
        (Corpus.READMES, ["README.md"]),
        (Corpus.CODE, ["main.py", "run.sh"]),
    ],
)
def test_another_corpus_reads_other_files(corpus: Corpus, expected: list[str]) -> None:
    files = Repository(dict.fromkeys(["run.sh", "main.py", "guide.rst", "data.csv", "README.md"], b""))
    assert ordered_paths(files, corpus) == expected


def test_a_link_is_not_read_a_second_time_under_its_own_name() -> None:
    files = Repository({"README.md": b"Only once.\n", "docs/README.md": b"../README.md"}, links=["docs/README.md"])
    assert ordered_paths(files) == ["README.md"]


def test_what_is_not_utf_8_is_passed_over_and_line_ends_are_made_equal() -> None:
    files = Repository({"a.bin": b"\xff\xfe\x00Nothing here.", "b.txt": b"One\r\nline. And\rmore."})
    assert Index.build(files).sentences == ["\n=== b.txt ===\nOne\nline.", "And\nmore."]


def test_a_name_that_is_not_utf_8_gives_a_segment_that_can_be_stored() -> None:
    (found,) = Index.build(Repository({"caf\udce9.txt": b"Strong coffee."})).top("coffee.")
    assert found.paths == ("caf\udce9.txt",)
    assert found.text.encode() == "=== caf\N{REPLACEMENT CHARACTER}.txt === Strong coffee.".encode()


def test_a_file_whose_content_is_missing_is_named() -> None:
    index = Index.build(Repository({"README.md": b"Here it is.", "weights.txt": None}))
    assert index.missing == ("weights.txt",)


def test_no_more_files_are_read_than_a_thousand_sentences_need() -> None:
    files = Repository({f"f{number:03}.txt": numbered(50).encode() for number in range(400)})
    index = Index.build(files)
    assert len(index.sentences) == 1000
    assert len(files.was_read) < 100
    assert len(Index.build(files, Setting(sentences=None)).sentences) == 20_000


# windows ---------------------------------------------------------------------------------------------------------


def test_a_window_says_where_it_comes_from() -> None:
    files = Repository(
        {
            "README.md": numbered(8, "Introduction").encode(),
            "guide.md": b"Now choose a learning rate. " + numbered(20, "Guide").encode(),
        }
    )
    (found,) = Index.build(files, Setting(window=3)).top("learning 7 8")
    assert found.paths == ("README.md", "guide.md")
    assert (found.first, found.last) == (7, 9)
    assert found.sentences[0] == "Introduction 7 stands alone."
    assert "=== guide.md === Now choose a learning rate." in found.text
    assert found.score > 0


def test_the_words_of_a_window_stand_one_blank_apart() -> None:
    index = Index.of_texts([("a.md", "Train\n\n   the  net.\tThen test it.")])
    assert "=== a.md === Train the net. Then test it." in [found.text for found in index.top("Train", k=2)]


def test_a_window_is_made_at_every_sentence_and_the_last_ones_are_shorter() -> None:
    index = Index.of_texts([("a.md", numbered(12))])
    assert len(index) == 12
    assert {(found.first, found.last) for found in index.top("alone.", k=12)} >= {(1, 10), (3, 12), (12, 12)}


def test_more_than_there_are_windows_gives_all() -> None:
    assert len(Index.of_texts([("a.md", numbered(4))]).top("alone.", k=50)) == 4


def test_a_repository_without_text_has_no_window() -> None:
    index = Index.build(Repository({"a.bin": b"\xff"}))
    assert len(index) == 0
    assert index.top("anything", k=3) == []


@pytest.mark.parametrize("wrong", [{"window": 0}, {"stride": -1}, {"sentences": 0}])
def test_a_setting_that_cannot_be_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(BenchwrightError, match=next(iter(wrong))):
        Setting(**wrong)  # type: ignore[arg-type]


def test_no_window_cannot_be_asked_for() -> None:
    with pytest.raises(BenchwrightError, match="at least 1"):
        Index.of_texts([("a.md", numbered(3))]).top("alone.", k=0)


# scores ----------------------------------------------------------------------------------------------------------

WORDS = st.sampled_from([*"abcdefgh", "a.b", "The", "the", "lr=0.1"])
SENTENCES = st.lists(st.lists(WORDS, min_size=1, max_size=7).map(" ".join), min_size=1, max_size=60)
SETTINGS = st.builds(
    Setting,
    window=st.integers(1, 14),
    stride=st.sampled_from([1, 1, 1, 2, 3, 20]),
    sentences=st.sampled_from([1000, None, 7, 1]),
)


@given(SENTENCES, SETTINGS, st.lists(WORDS | st.just("unheard-of"), max_size=9), st.integers(1, 70))
def test_scores_and_choices_are_those_of_rank_bm25(
    sentences: list[str], setting: Setting, query: list[str], k: int
) -> None:
    index = Index.of_texts([("made-up.txt", "".join(f"{line} end.\n" for line in sentences))], setting)
    kept = index.sentences
    windows = [" ".join(kept[first : first + setting.window]).split() for first in range(0, len(kept), setting.stride)]
    reference = BM25Okapi(windows)
    assert np.array_equal(index.scores(" ".join(query)), reference.get_scores(query))
    found = index.top(" ".join(query), k)
    assert [segment.text.split() for segment in found] == reference.get_top_n(query, windows, n=k)
    assert [segment.score for segment in found] == sorted(reference.get_scores(query), reverse=True)[:k]


def test_a_word_in_most_windows_still_counts_a_little() -> None:
    index = Index.of_texts([("a.md", numbered(30) + "\nRare and alone.")], Setting(window=1))
    assert 0 < index.top("alone.")[0].score < index.top("Rare")[0].score


# one index per repository and setting -------------------------------------------------------------------------------


def test_an_index_is_made_once_for_each_repository_and_setting() -> None:
    opened: list[str] = []

    @contextmanager
    def open_files(name: str) -> Iterator[Repository]:
        opened.append(name)
        yield Repository({"README.md": f"This is {name}. It trains well. It stops.".encode()})

    indexes = Indexes(open_files, held=2)
    assert indexes.get("one", Setting(window=1)).top("This")[0].text == "=== README.md === This is one."
    opened.clear()
    assert indexes.get("one") is indexes.get("one")
    assert indexes.get("one", Setting(window=2)) is not indexes.get("one")
    assert opened == ["one", "one"]
    indexes.get("two")
    assert indexes.get("one") is indexes.get("one")
    assert opened == ["one", "one", "two"]  # what was asked for last is still held
    indexes.get("one", Setting(window=2))
    assert opened == ["one", "one", "two", "one"]  # and what was unused longest is made again

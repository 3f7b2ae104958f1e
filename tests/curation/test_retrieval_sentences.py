"""Sentences: nltk's Punkt with the same parameters is the reference, on whole texts and on texts in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator

import punkt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

from benchwright.curation.retrieval import split_sentences


def reference() -> PunktSentenceTokenizer:
    parameters, model = PunktParameters(), punkt.load_model("english")
    parameters.abbrev_types, parameters.collocations = set(model.abbrev_types), set(model.collocations)
    parameters.sent_starters = set(model.sent_starters)
    parameters.ortho_context.update(model.ortho_context)
    return PunktSentenceTokenizer(parameters)


NLTK = reference()

# What the decision looks at: marks, closing quotes, abbreviations, initials, numbers, known pairs, words of each case.
TOKENS = st.sampled_from(
    [
        *[".", "?", "!", "...", ". . .", "?!", "!!!", "x..", ")", '"', "'", "”", "“", "«", "--", "-", ",", ";", "==="],
        *["Dr.", "U.S.", "e.g.", "co.", "mining-co.", "J.", "B.", "_.", "É.", "5.", "1,000.", "-.5", "No."],
        *["The", "the", "However", "it", "Bach", "Smith", "abreast", "word", "Word.", "a.b", "f(x).", "net.train()"],
        *["```", "[link](https://example.org/a.html).", "v1.2.", "etc.", "`lr`.", "*"],
    ]
)
GAPS = st.sampled_from(["", "", " ", " ", " ", "  ", "\n", "\n\n", "\t", " \n "])
TEXTS = st.lists(st.tuples(TOKENS, GAPS), max_size=40).map(lambda pairs: "".join(token + gap for token, gap in pairs))


@settings(max_examples=500)
@given(TEXTS)
def test_sentences_are_those_of_nltk(text: str) -> None:
    found = list(split_sentences([text]))
    assert [(sentence.start, sentence.end) for sentence in found] == list(NLTK.span_tokenize(text))
    assert [sentence.text for sentence in found] == NLTK.tokenize(text)


@settings(max_examples=300)
@given(TEXTS, st.data())
def test_a_text_in_pieces_gives_the_same_sentences(text: str, data: st.DataObject) -> None:
    ends = [match.end() for match in re.finditer(r"\s", text)]
    cuts = sorted(data.draw(st.sets(st.sampled_from(ends)))) if ends else []
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert list(split_sentences(pieces)) == list(split_sentences([text]))


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs"]), max_size=80))
def test_any_script_gives_the_sentences_of_nltk(text: str) -> None:
    assert [sentence.text for sentence in split_sentences([text])] == NLTK.tokenize(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See Dr. Lee at 3 p.m. on Monday. She knows.", ["See Dr. Lee at 3 p.m. on Monday.", "She knows."]),
        ('He said "go." Then he left.', ['He said "go."', "Then he left."]),
        (
            "Set lr to 0.1 first. Use main.py (it is there). Done",
            ["Set lr to 0.1 first.", "Use main.py (it is there).", "Done"],
        ),
        ("No end here", ["No end here"]),
        (" \n ", []),
        ("", []),
    ],
)
def test_known_sentences(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in split_sentences([text])] == expected


def test_pieces_are_taken_only_as_far_as_sentences_are_asked_for() -> None:
    taken: list[int] = []

    def pieces() -> Iterator[str]:
        for number in range(1000):
            taken.append(number)
            yield f"Piece {number} ends. It was short.\n"

    sentences = split_sentences(pieces())
    assert [next(sentences).text for _ in range(6)][-1] == "It was short."
    assert len(taken) < 10


def test_a_long_text_without_an_end_is_split_in_reasonable_time() -> None:
    pieces = ["x = [1, 2, 3]\n" * 200] * 2000 + ["It ends. Here.\n"]
    assert len(list(split_sentences(pieces))) == 2

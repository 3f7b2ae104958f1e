"""The published instructions over their repositories: the top window of one rank_bm25 index over nltk's sentences."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import islice
from pathlib import Path

import punkt
import pytest
from nltk import redos
from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
from rank_bm25 import BM25Okapi

from benchwright.core.models import Repository
from benchwright.curation.presets import preset_repositories
from benchwright.curation.retrieval import Index, text_files
from benchwright.curation.source import PinnedTree

BESIDE = Path(__file__).parents[3]
ROWS = BESIDE / "shared" / "data" / "ml-bench" / "rows.jsonl"
MIRRORS = BESIDE / ".mirror"

pytestmark = pytest.mark.skipif(not ROWS.is_file(), reason="the published rows are not on this machine")


def mirror_of(repository: Repository) -> Path | None:
    owner_and_name = "+".join(repository.url.split("/")[-2:]).lower()
    found = [folder for folder in MIRRORS.glob("*/repo") if folder.parent.name.lower() == owner_and_name]
    return found[0] if found else None


def instructions() -> dict[int, list[str]]:
    found = defaultdict(list)
    if ROWS.is_file():
        for line in ROWS.read_text("utf-8").splitlines():
            row = json.loads(line)
            found[row["github_id"]].append(row["instruction"])
    return found


@pytest.fixture(scope="module")
def nltk() -> PunktSentenceTokenizer:
    parameters, model = PunktParameters(), punkt.load_model("english")
    parameters.abbrev_types, parameters.collocations = set(model.abbrev_types), set(model.collocations)
    parameters.sent_starters = set(model.sent_starters)
    parameters.ortho_context.update(model.ortho_context)
    return PunktSentenceTokenizer(parameters)


@pytest.mark.parametrize(
    "repository",
    [entry for entry in preset_repositories("ml-bench") if entry.github_id in instructions()],
    ids=lambda entry: entry.name,
)
def test_each_instruction_finds_the_references_window(
    repository: Repository, nltk: PunktSentenceTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redos, "DEFAULT_TIMEOUT", None)  # a large repository takes longer than nltk's limit
    mirror = mirror_of(repository)
    if mirror is None:
        pytest.skip(f"no mirror of {repository.url} on this machine")
    with PinnedTree(mirror, repository.commit) as tree:
        index = Index.build(tree)
        text = "".join(f"\n=== {path} ===\n{text}\n" for path, text in text_files(tree) if text is not None)
    sentences = [text[start:end] for start, end in islice(nltk.span_tokenize(text), 1000)]
    assert list(index.sentences) == sentences
    windows = [" ".join(sentences[first : first + 10]).split() for first in range(len(sentences))]
    reference = BM25Okapi(windows)
    for instruction in instructions()[repository.github_id or 0]:
        expected = " ".join(reference.get_top_n(instruction.split(), windows, n=1)[0])
        assert index.top(instruction)[0].text == expected

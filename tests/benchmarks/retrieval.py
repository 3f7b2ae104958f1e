"""How much faster one index per repository is than one rank_bm25 index per row, and whether both find the same window.

    python tests/benchmarks/retrieval.py                                 # a repository made up on the spot
    python tests/benchmarks/retrieval.py --rows rows.jsonl --mirror 'file:///srv/git/{owner}+{name}/repo'

The baseline is built here, on one thread, as ML-Bench's preparation does it for each row: split the repository's text,
take a thousand sentences, make the windows, index them with rank_bm25, ask once. Two things favour it: its text is in
memory before the clock starts, while ours is read from git objects under it; and it splits with our splitter, which is
faster than nltk's (``--nltk`` measures it with nltk's as well). Exits with 1 if a window differs or the target of 50
times in less than 1 GB is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from rank_bm25 import BM25Okapi

from benchwright.core.models import Repository
from benchwright.curation.flags.report import SourceFiles
from benchwright.curation.presets import preset_repositories
from benchwright.curation.retrieval import Indexes, split_sentences, text_files
from benchwright.curation.source import open_tree

TARGET, MEMORY = 50, 1_000_000_000
Row = tuple[str, str]
"""A repository's name and an instruction."""
Opener = Callable[[str], AbstractContextManager[SourceFiles]]


class MadeUp:
    """A repository of made-up prose and code: 40 documents and 800 modules, from one seed."""

    def __init__(self) -> None:
        chance = random.Random(4)
        words = ["".join(chance.choices("abcdefghijklmnoprstuvw", k=chance.randint(2, 9))) for _ in range(3000)]
        weights = [1 / rank for rank in range(1, len(words) + 1)]

        def prose(sentences: int) -> str:
            lines = (" ".join(chance.choices(words, weights, k=chance.randint(5, 25))) for _ in range(sentences))
            return "\n".join(f"{line.capitalize()}." for line in lines)

        self._files = {f"docs/part{i}/README.md": prose(60).encode() for i in range(40)}
        self._files |= {f"src/m{i}.py": f'"""{prose(8)}"""\n\n{"x = 1  # a.b.c" * 1500}\n'.encode() for i in range(800)}
        self.instructions = [" ".join(chance.choices(words, weights, k=30)) for _ in range(60)]

    def paths(self) -> Sequence[str]:
        return list(self._files)

    def read(self, path: str) -> bytes | None:
        return self._files.get(path)


def published(rows: Path, clones: Path, mirrors: Sequence[str]) -> tuple[list[Row], Opener]:
    """The rows of a data set file, and how to open their repositories at the preset's pins."""
    repositories = {entry.github_id: entry for entry in preset_repositories("ml-bench")}
    lines = [json.loads(line) for line in rows.read_text("utf-8").splitlines() if line.strip()]
    by_name: dict[str, Repository] = {entry.name: entry for entry in repositories.values()}
    return (
        [(repositories[row["github_id"]].name, row["instruction"]) for row in lines],
        lambda name: open_tree(by_name[name], clones, mirrors),
    )


def ours(rows: Sequence[Row], opener: Opener) -> list[str]:
    indexes = Indexes(opener)
    return [indexes.get(name).top(instruction)[0].text for name, instruction in sorted(rows)]


def per_row(rows: Sequence[Row], texts: dict[str, str], split: Callable[[str], list[str]]) -> Iterator[str]:
    for name, instruction in sorted(rows):
        sentences = split(texts[name])[:1000]
        windows = [" ".join(sentences[first : first + 10]).split() for first in range(len(sentences))]
        yield " ".join(BM25Okapi(windows).get_top_n(instruction.split(), windows, n=1)[0])


def split_here(text: str) -> list[str]:
    return [sentence.text for sentence in split_sentences([text])]


def nltk_splitter() -> Callable[[str], list[str]]:
    """nltk's splitter with the same parameters and without its time limit, which a large repository exceeds."""
    import punkt
    from nltk import redos
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    redos.DEFAULT_TIMEOUT = None
    parameters, model = PunktParameters(), punkt.load_model("english")
    parameters.abbrev_types, parameters.collocations = set(model.abbrev_types), set(model.collocations)
    parameters.sent_starters = set(model.sent_starters)
    parameters.ortho_context.update(model.ortho_context)
    tokenizer = PunktSentenceTokenizer(parameters)
    return partial(tokenizer.tokenize)


def whole_text(files: SourceFiles) -> str:
    return "".join(f"\n=== {path} ===\n{text}\n" for path, text in text_files(files) if text is not None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, help="JSONL with github_id and instruction, of ML-Bench's repositories")
    parser.add_argument("--mirror", action="append", default=[], help="where to read the repositories from")
    parser.add_argument("--nltk", action="store_true", help="measure the baseline with nltk's splitter as well")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as clones:
        return compare(options, Path(clones))


def compare(options: argparse.Namespace, clones: Path) -> int:
    if options.rows:
        rows, opener = published(options.rows, clones, options.mirror)
    else:
        made_up = MadeUp()
        rows, opener = [("made-up", line) for line in made_up.instructions], lambda name: nullcontext(made_up)
    start = time.perf_counter()
    found = ours(rows, opener)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"one index per repository: {len(rows)} rows in {seconds:.2f} s, {peak / 1e6:.0f} MB", flush=True)
    texts = {}
    for name in sorted({name for name, _ in rows}):
        with opener(name) as files:
            texts[name] = whole_text(files)
    good = peak < MEMORY
    for label, splitter in [("", split_here), *([(", nltk's splitter", nltk_splitter())] if options.nltk else [])]:
        start = time.perf_counter()
        expected = list(per_row(rows, texts, splitter))
        baseline = time.perf_counter() - start
        same = sum(left == right for left, right in zip(found, expected, strict=True))
        print(f"one rank_bm25 index per row{label}: {baseline:.1f} s, {baseline / seconds:.0f} times as long")
        print(f"same top window: {same}/{len(rows)}", flush=True)
        good = good and same == len(rows) and baseline / seconds >= TARGET
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

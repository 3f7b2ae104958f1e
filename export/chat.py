"""Training examples as chat messages: one JSONL file for each setting, from train splits only.

A line is ``{"messages": [{"role": "user", ...}, {"role": "assistant", ...}], "github_id", "id", "split"}``, the shape
that TRL's trainers and ``datasets.load_dataset("json", ...)`` take. The settings differ in what the model is given of
the repository: ``code`` its files, READMEs first, up to a number of characters; ``retrieval`` the passage that BM25
finds; ``oracle`` the README segment the task was made from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from ..core.errors import BenchwrightError
from ..core.files import atomic_write, staged_directory
from ..core.models import Repository
from ..core.progress import Reporter
from ..core.workspace import cache_dir
from ..curation.retrieval import Indexes, text_files
from ..curation.source import PinnedTree, open_tree
from .dataset import Dataset
from .evaluation.settings import repository_names, settings_of
from .find_oracle import text_at
from .rows import Key, Row

__all__ = ["CHARACTERS", "SETTINGS", "ChatExport", "Contexts", "export_chat", "messages_of", "train_splits"]

SETTINGS = ("code", "retrieval", "oracle")
CHARACTERS = 100_000
"""Characters of code in the ``code`` setting; what ML-Bench advises for models with 32k tokens."""
TRAIN = re.compile(r"(?:^|[._])train(?:ing)?(?:[._]|$)")
WHOLE = "full"

CONTEXT_TITLES = {
    "code": "Files of the repository",
    "retrieval": "A passage of the repository's files",
    "oracle": "A part of the repository's README",
}
WANTED = {"Bash Script": "the shell command or script", "Python Code": "the Python code"}
FENCES = {"Bash Script": "bash", "Python Code": "python"}


@dataclass(frozen=True)
class ChatExport:
    """What was written."""

    folder: Path
    lines: dict[str, int]
    """Setting -> lines."""
    splits: tuple[str, ...]
    held_out: int
    """Examples of train splits left out because a test split has them too."""

    def value(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "lines": self.lines,
            "splits": list(self.splits),
            "held_out": self.held_out,
        }


def export_chat(
    dataset: Dataset,
    folder: Path,
    *,
    splits: Sequence[str] = (),
    settings: Sequence[str] = SETTINGS,
    characters: int = CHARACTERS,
    mirrors: Sequence[str] = (),
    reporter: Reporter,
) -> ChatExport:
    """Write ``SETTING.jsonl`` for each setting into the new folder, and ``export.json`` that says what it is.

    ``splits`` chooses among the train splits; none chooses all.

    Raises:
        BenchwrightError: there is no train split, one named is none, ``folder`` is not empty, or a repository that a
            setting reads cannot be had.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise BenchwrightError("there is something already", where=str(folder), remedy="name a new folder with -o")
    chosen = train_splits(dataset, splits)
    rows, held_out = _training_rows(dataset, chosen)
    contexts = Contexts(dataset, [row for _split, row in rows], characters, mirrors)
    lines = {}
    with staged_directory(folder.resolve()) as stage, reporter.track("writing", len(settings) * len(rows)) as advance:
        for setting in settings:
            with open(stage / f"{setting}.jsonl", "w", encoding="utf-8", newline="") as file:
                for split, row in rows:
                    messages = messages_of(row, setting, contexts.of(row, setting))
                    line = {"messages": messages, "github_id": row.github_id, "id": row.id, "split": split}
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
                    advance(f"{setting} {row.github_id}/{row.id}")
            lines[setting] = len(rows)
        about = {
            "schema_version": 1,
            "dataset": dataset.name if dataset.revision else Path(dataset.name).name,
            "dataset_digest": dataset.digest(),
            "splits": chosen,
            "held_out": held_out,
            "settings": list(settings),
            "characters": characters,
        }
        atomic_write(stage / "export.json", json.dumps(about, indent=2, ensure_ascii=False) + "\n")
    return ChatExport(folder, lines, tuple(chosen), held_out)


# which rows ------------------------------------------------------------------------------------------------


def train_splits(dataset: Dataset, named: Sequence[str] = ()) -> list[str]:
    """The splits to train on: those with ``train`` as a word of their name.

    Raises:
        BenchwrightError: there is none, or one of ``named`` is not there or no train split.
    """
    found = [name for name in dataset.splits if TRAIN.search(name)]
    if not found:
        raise BenchwrightError(
            f"it has no train split, and nothing is ever exported from a test split ({', '.join(dataset.splits)})",
            where=dataset.name,
            remedy="list training examples in splits/train.txt and build the release again",
        )
    for name in named:
        if name not in found:
            raise BenchwrightError(
                f"{name} is a test split" if name in dataset.splits else f"there is no split {name}",
                where=dataset.name,
                remedy=f"train splits: {', '.join(found)}",
            )
    return list(named) or found


def _training_rows(dataset: Dataset, chosen: Collection[str]) -> tuple[list[tuple[str, Row]], int]:
    """The rows of the chosen splits, each once, without those that a test split has too."""
    every = {name: [row.key for row in dataset.rows(name)] for name in dataset.splits}
    trained = set(chain.from_iterable(keys for name, keys in every.items() if TRAIN.search(name)))
    tested: set[Key] = set()
    for name, keys in every.items():
        # a `full` that holds all the training examples is the whole dataset, no test split of its own
        if not TRAIN.search(name) and not (name == WHOLE and trained <= set(keys)):
            tested.update(keys)
    rows: dict[Key, tuple[str, Row]] = {}
    left_out: set[Key] = set()
    for name in chosen:
        for row in dataset.rows(name):
            if row.key in tested:
                left_out.add(row.key)
            else:
                rows.setdefault(row.key, (name, row))
    if not rows:
        raise BenchwrightError(
            "every training example stands in a test split as well",
            where=dataset.name,
            remedy="give train and test splits examples of their own",
        )
    return list(rows.values()), len(left_out)


# what the model is given -----------------------------------------------------------------------------------


class Contexts:
    """The text of the repository that each setting gives to the model; repositories are opened when first needed."""

    def __init__(self, dataset: Dataset, rows: Sequence[Row], characters: int, mirrors: Sequence[str]) -> None:
        self._characters = characters
        self._mirrors = tuple(mirrors)
        self._pinned: Callable[[], dict[Key, Repository]] = cache(lambda: _pins(dataset, rows))
        self._code: dict[str, str] = {}
        self._segments: dict[tuple[str, str, int, int], str] = {}
        self._indexes: Indexes | None = None

    def of(self, row: Row, setting: str) -> str:
        """The context of ``row`` in ``setting``; empty for ``none``."""
        if setting == "none":
            return ""
        if setting == "oracle":
            return row.oracle or self._left_out(row)
        repository = self._pinned()[row.key]
        if setting == "code":
            key = _name(repository)
            if key not in self._code:
                with self._open(key) as files:
                    self._code[key] = _code(files, self._characters)
            return self._code[key]
        if self._indexes is None:
            self._indexes = Indexes(self._open, held=len({_name(item) for item in self._pinned().values()}))
        found = self._indexes.get(_name(repository)).top(row.instruction)
        return found[0].text if found else ""

    def _left_out(self, row: Row) -> str:
        """The README segment of a row that leaves it out for its licence, from the repository itself."""
        if not (row.source_path and row.start_line and row.end_line):
            return ""
        place = (_name(self._pinned()[row.key]), row.source_path, row.start_line, row.end_line)
        if place not in self._segments:
            with self._open(place[0]) as files:
                self._segments[place] = text_at(files, *place[1:]) or ""
        return self._segments[place]

    def _open(self, key: str) -> AbstractContextManager[PinnedTree]:
        repository = next(item for item in self._pinned().values() if _name(item) == key)

        @contextmanager
        def opened() -> Iterator[PinnedTree]:
            with open_tree(repository, cache_dir() / "repositories", self._mirrors) as files:
                yield files

        return opened()


def _pins(dataset: Dataset, rows: Sequence[Row]) -> dict[Key, Repository]:
    settings = settings_of(dataset, rows, repository_names(dataset, rows))
    return {key: setting.repository for key, setting in settings.items()}


def _name(repository: Repository) -> str:
    return f"{repository.url}@{repository.commit}"


def _code(files: PinnedTree, characters: int) -> str:
    parts: list[str] = []
    room = characters
    for path, text in text_files(files):
        if text is None or room <= 0:
            continue
        part = f"=== {path} ===\n{text}\n"[:room]
        parts.append(part)
        room -= len(part)
    return "".join(parts)


def messages_of(row: Row, setting: str, context: str) -> list[dict[str, str]]:
    """The conversation of one example: what is asked, and the example's own output as the answer."""
    return [
        {"role": "user", "content": question_of(row, setting, context)},
        {"role": "assistant", "content": fenced(row.output, FENCES[row.type])},
    ]


def question_of(row: Row, setting: str, context: str) -> str:
    """What a model is asked in this setting."""
    language = FENCES[row.type]
    parts = [f"Repository: {row.github}\nThe work is done in its folder `{row.path}`."]
    if context:
        parts.append(f"{CONTEXT_TITLES[setting]}:\n\n{fenced(context, '')}")
    if row.prefix_code.strip():
        parts.append(f"This comes before your code and is run already:\n\n{fenced(row.prefix_code, language)}")
    parts.append(f"Task: {row.instruction}")
    parts.append(f"Answer with {WANTED[row.type]} that does it, in one `{language}` block and nothing else.")
    return "\n\n".join(parts)


def fenced(text: str, language: str) -> str:
    """``text`` in a fence longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"

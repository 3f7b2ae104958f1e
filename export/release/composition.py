"""What a release consists of: examples per repository and type, and lengths in tokens of named tokenizers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...core.errors import require_extra
from .compile import Compiled

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TOKENIZERS", "Composition", "compose"]

TOKENIZERS = ("o200k_base", "qwen3")
"""Their vocabularies come with the package that counts (quicktok): nothing is downloaded."""
TEXTS = ("instruction", "segment", "output")
"""What is measured of each example; ``segment`` is its part of the README."""


@dataclass(frozen=True)
class Composition:
    """Counts and lengths of a release."""

    examples: pd.DataFrame
    """A row for each example and split it stands in: split, repository, type, task, and tokens of each of ``TEXTS``
    in each tokenizer as ``TEXT TOKENIZER``."""
    readmes: Mapping[str, Mapping[str, int]]
    """Repository -> tokenizer -> tokens of its documents together; without those that were not at hand."""

    def table(self) -> pd.DataFrame:
        """A row for each split, repository and type: tasks, examples, and mean and largest lengths."""
        groups = self.examples.groupby(["split", "repository", "type"], sort=True, observed=True)
        counts = groups.agg(tasks=("task", "nunique"), examples=("task", "size"))
        lengths = groups[_columns()].agg(["mean", "max"])
        lengths.columns = [" ".join(column) for column in lengths.columns]
        return counts.join(lengths.round(1))

    def by_repository(self) -> pd.DataFrame:
        """A row for each repository over all splits, each example once: tasks, examples of each type, mean lengths."""
        import pandas as pd

        once = self.examples.drop_duplicates(["repository", "id"])
        groups = once.groupby("repository", sort=False)
        types = pd.crosstab(once["repository"], once["type"]).reindex(
            columns=["Bash Script", "Python Code"], fill_value=0
        )
        found = groups.agg(tasks=("task", "nunique")).join(types).join(groups[_columns()].mean().round(1))
        for tokenizer in TOKENIZERS:
            lengths = [self.readmes.get(name, {}).get(tokenizer) for name in found.index]
            found[f"README {tokenizer}"] = pd.Series(lengths, index=found.index, dtype="float64")
        return found


def compose(compiled: Compiled, documents: Iterable[Mapping[str, Any]], texts: Mapping[str, str]) -> Composition:
    """Count and measure.

    ``documents`` are ``(repository, text)`` mappings of what the repositories' documents hold, also of those whose
    text is not passed on; ``texts`` gives the README segment of each task by its id.

    Raises:
        PrerequisiteError: the extra ``release`` is not installed.
    """
    require_extra("release", "pandas", "quicktok")
    import pandas as pd

    counters = _counters()
    names = {item.github_id: item.name for item in compiled.repositories}
    rows = []
    for split, members in compiled.splits.items():
        for row in members:
            measured = (row.instruction, texts.get(row.task_id or "", row.oracle), row.output)
            rows.append([split, names[row.github_id], row.type, row.task_id, row.id, *_lengths(measured, counters)])
    frame = pd.DataFrame(rows, columns=["split", "repository", "type", "task", "id", *_columns()])
    readmes: dict[str, dict[str, int]] = {}
    for item in documents:
        if item["text"] is not None:
            own = readmes.setdefault(item["repository"], dict.fromkeys(TOKENIZERS, 0))
            for tokenizer, count in zip(TOKENIZERS, counters, strict=True):
                own[tokenizer] += count(item["text"])
    return Composition(frame, readmes)


def _columns() -> list[str]:
    return [f"{text} {tokenizer}" for text in TEXTS for tokenizer in TOKENIZERS]


def _lengths(texts: Sequence[str], counters: Sequence[Callable[[str], int]]) -> list[int]:
    return [count(text) for text in texts for count in counters]


def _counters() -> list[Callable[[str], int]]:
    import quicktok

    return [quicktok.get_encoding(name).count for name in TOKENIZERS]

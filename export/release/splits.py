"""``splits/NAME.txt``: which examples a split holds, one ``REPOSITORY/NUMBER`` a line, in the order of its rows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...core.errors import BenchwrightError
from ...core.files import atomic_write
from ...core.workspace import Workspace

__all__ = ["check_split_name", "is_train", "read_split", "split_names", "write_split"]

NAME = re.compile(r"^\w+(\.\w+)*$")
TRAIN = re.compile(r"(?:^|[._])train(?:ing)?(?:[._]|$)")
"""The word train, or training, in a split's name; ``export chat`` goes by the same."""


def check_split_name(name: str) -> None:
    """Raise :class:`BenchwrightError` for a name under which a split could be written but not loaded again."""
    if not NAME.match(name) or name == "all":
        raise BenchwrightError(
            f"no split can be called {name!r}: it could not be loaded from the Hub",
            where=f"splits/{name}.txt",
            remedy="use letters, digits, '_' and '.', and not the word all",
        )


def is_train(name: str) -> bool:
    """Whether a split is for training (``id_train``, ``ood_train``): what it holds is not measured."""
    return TRAIN.search(name) is not None


def split_names(workspace: Workspace) -> list[str]:
    """The splits that have a membership list, ``full`` first."""
    names = sorted(path.stem for path in workspace.splits_dir.glob("*.txt"))
    return sorted(names, key=lambda name: name != "full")


def read_split(workspace: Workspace, name: str) -> list[str]:
    """The example names of a split in order; empty where there is no list."""
    check_split_name(name)
    path = workspace.splits_dir / f"{name}.txt"
    if not path.exists():
        return []
    names = [line.strip() for line in path.read_text("utf-8").splitlines() if line.strip()]
    twice = sorted({item for item in names if names.count(item) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise BenchwrightError(f"{', '.join(twice)} stand twice", where=str(path), remedy="remove one line of each")
    return names


def write_split(workspace: Workspace, name: str, examples: Sequence[str]) -> None:
    """Replace the list of a split."""
    check_split_name(name)
    atomic_write(workspace.splits_dir / f"{name}.txt", "".join(f"{item}\n" for item in examples))

"""What the card of a dataset declares: its configurations with their files, and what it says of their content.

Cards are edited by hand and on the Hub, so whatever is not of the shape that ``datasets`` reads ends in an error that
names the field. Comes in: a folder with a ``README.md``. Goes out: :class:`Configuration`, :class:`Info`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from ..core.errors import BenchwrightError
from ..core.models.record import explain

__all__ = ["Configuration", "Info", "card_metadata", "configurations", "infos"]

T = TypeVar("T")
REMEDY = "get the dataset anew; where it is your own release: benchwright release build"


class _Part(BaseModel):
    """Fields of others beside ours are no matter; a split may be called 1."""

    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=True)


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class DataFiles(_Part):
    """The files of one split, as patterns below the folder."""

    split: str
    path: Annotated[list[str], BeforeValidator(_as_list)]

    def found(self, root: Path, *suffixes: str) -> list[Path]:
        """The files below ``root`` that a pattern names, sorted; only those with one of ``suffixes``, if any."""
        try:
            matched = {path for pattern in self.path if ".." not in pattern for path in root.glob(pattern)}
        except (ValueError, NotImplementedError):  # an empty pattern, or one that begins at the root of the machine
            return []
        return sorted(path for path in matched if path.is_file() and (not suffixes or path.suffix in suffixes))


def _splits_only(value: Any) -> Any:
    """Files without a split (a pattern alone) are found by their names, as if the card named none."""
    return value if isinstance(value, list) and all(isinstance(item, dict) for item in value) else []


class Configuration(_Part):
    """One configuration; without files where the card names none by split."""

    config_name: str = "default"
    default: bool = False
    data_files: Annotated[list[DataFiles], BeforeValidator(_splits_only)] = []


class Feature(_Part):
    """A column."""

    name: str
    dtype: str


class SplitInfo(_Part):
    """A split's rows, as the card counts them."""

    name: str
    num_examples: int


class Info(_Part):
    """What the card says of a configuration's content."""

    config_name: str = "default"
    features: list[Feature] = []
    splits: list[SplitInfo] = []
    dataset_size: int = 0
    """Bytes once loaded."""


def card_metadata(root: Path) -> dict[str, Any]:
    """The YAML block of ``README.md``; empty where there is none.

    Raises:
        BenchwrightError: the block is no YAML mapping.
    """
    import yaml

    card = root / "README.md"
    text = card.read_text("utf-8", errors="replace") if card.is_file() else ""
    block = re.match(r"\A---\r?\n(.*?)\r?\n---(?:\r?\n|\Z)", text, re.DOTALL)
    if not block:
        return {}
    try:
        value = yaml.safe_load(block[1])
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # 2026-99-99 is a ValueError
        raise BenchwrightError(f"the card's metadata is no YAML: {error}", where=str(card), remedy=REMEDY) from error
    if not isinstance(value, dict):
        raise BenchwrightError("the card's metadata is no mapping", where=str(card), remedy=REMEDY)
    return value


def configurations(root: Path) -> list[Configuration]:
    """The card's configurations in its order; none where it has no metadata.

    Raises:
        BenchwrightError: ``configs`` is not what ``datasets`` reads (the field is named).
    """
    return _read(root, "configs", TypeAdapter(list[Configuration]))


def infos(root: Path) -> dict[str, Info]:
    """What the card says of each configuration, by name; of a single one it may stand without a list.

    Raises:
        BenchwrightError: ``dataset_info`` has another shape (the field is named).
    """
    return {info.config_name: info for info in _read(root, "dataset_info", TypeAdapter(list[Info]))}


def _read(root: Path, name: str, shape: TypeAdapter[list[T]]) -> list[T]:
    value = card_metadata(root).get(name)
    value = [value] if isinstance(value, dict) and name == "dataset_info" else value
    try:
        return shape.validate_python([] if value is None else value)
    except ValidationError as error:
        raise BenchwrightError(
            f"the card's {name}: {explain(error)}", where=str(root / "README.md"), remedy=REMEDY
        ) from error

"""``FILE.meta.json``: what stands beside a file of predictions, so that a score knows what was asked for."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....core.errors import BenchwrightError

__all__ = ["META_VERSION", "Declared", "declared_by", "meta_path"]

META_VERSION = 1


@dataclass(frozen=True)
class Declared:
    """What ``predict`` says of a file."""

    samples: int
    """Asked for of each example; fewer in the file means that they could not be had."""
    complete: bool
    unchanged: bool
    """Whether the file still is the one that was written."""


def meta_path(predictions: Path) -> Path:
    """Where it lies."""
    return predictions.with_name(f"{predictions.name}.meta.json")


def declared_by(predictions: Path) -> Declared | None:
    """What ``predict`` declared for this file; None for a file that was made elsewhere.

    Raises:
        BenchwrightError: the record beside it is none.
    """
    path = meta_path(predictions)
    if not path.is_file():
        return None
    try:
        fields: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if fields["schema_version"] != META_VERSION:
            raise ValueError(f"schema_version {fields['schema_version']}")
        samples, digest = int(fields["samples"]), str(fields["predictions_sha256"])
        complete = fields["complete"] is True
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchwrightError(
            f"not what predict writes beside its predictions: {type(error).__name__} {error}",
            where=str(path),
            remedy="run predict again, or remove the file and declare the number: --samples 5",
        ) from error
    with open(predictions, "rb") as file:
        now = hashlib.file_digest(file, "sha256").hexdigest()
    return Declared(samples, complete, now == digest)

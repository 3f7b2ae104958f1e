"""Reading predictions: ML-Bench's lines ``{"github_id", "id", "output": [sample, ...]}``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.errors import BenchwrightError
from ...core.files import read_json_lines
from ..rows import Key

__all__ = ["VARYING", "Predictions", "read_predictions"]

VARYING = "varying"
SHOWN = 5


@dataclass(frozen=True)
class Predictions:
    """The samples of each example of a release. A sample that is missing is None, and counts as a failure."""

    samples: dict[Key, tuple[str | None, ...]]
    """For every example of the release, as many as were declared for it."""
    declared: int | None
    """The declared number of samples of every example; None: each example's own."""
    ignored: int
    """Samples beyond the declared number."""
    digest: str
    """SHA-256 of the file."""


def read_predictions(path: Path, keys: Iterable[Key], samples: int | str | None = None) -> Predictions:
    """Read the file for the examples named ``keys``.

    ``samples`` is the declared number of samples: a number, None for the largest count in the file, or ``varying``
    for each example's own.

    Raises:
        BenchwrightError: a line is malformed, names an example that the release does not have, or one that stood
            before; or there is no prediction at all.
    """
    release = dict.fromkeys(keys)
    given: dict[Key, list[str | None]] = {}
    lines: dict[Key, int] = {}
    unknown: list[str] = []
    for number, fields in read_json_lines(path):
        key, outputs = _prediction(fields, f"{path}:{number}")
        if key in lines:
            raise BenchwrightError(
                f"the example {key[0]}/{key[1]} stood on line {lines[key]} already",
                where=f"{path}:{number}",
                remedy="keep one line for each example, with all its samples in output",
            )
        lines[key] = number
        if key in release:
            given[key] = outputs
        else:
            unknown.append(f"{key[0]}/{key[1]} (line {number})")
    if unknown:
        shown = ", ".join(unknown[:SHOWN]) + (f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else "")
        raise BenchwrightError(
            f"the release has no example {shown}",
            where=str(path),
            remedy="score predictions with the release they were made for, or remove these lines",
        )
    if not given:
        raise BenchwrightError("there is no prediction in it", where=str(path))
    return _completed(path, list(release), given, samples)


def _completed(
    path: Path, keys: list[Key], given: dict[Key, list[str | None]], samples: int | str | None
) -> Predictions:
    most = max(len(outputs) for outputs in given.values())
    declared = None if samples == VARYING else most if samples is None else int(samples)
    if declared is not None and declared < 1:
        raise BenchwrightError("no example has a sample", where=str(path), remedy="declare a number: --samples 5")
    complete: dict[Key, tuple[str | None, ...]] = {}
    ignored = 0
    for key in keys:
        own = given.get(key, [])
        wanted = max(1, len(own)) if declared is None else declared
        ignored += max(0, len(own) - wanted)
        complete[key] = (*own[:wanted], *[None] * (wanted - len(own)))
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Predictions(complete, declared, ignored, digest)


def _prediction(fields: dict[str, Any], where: str) -> tuple[Key, list[str | None]]:
    for name in ("github_id", "id"):
        value = fields.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise BenchwrightError(
                f"{name} is missing or no integer",
                where=where,
                remedy='a line reads {"github_id": 1, "id": 1, "output": ["sample", ...]}',
            )
    outputs = fields.get("output")
    if not isinstance(outputs, list) or not all(item is None or isinstance(item, str) for item in outputs):
        raise BenchwrightError(
            "output is no list of texts",
            where=where,
            remedy='write "output": ["first sample", ...], with null for a sample that was not answered',
        )
    return (fields["github_id"], fields["id"]), outputs

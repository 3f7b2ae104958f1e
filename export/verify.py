"""Judging a release folder before anyone loads it: checksums, card, schema, every file and every row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ..core.errors import BenchwrightError
from .parquet import schema_of
from .release import SUMS
from .rows import arguments_of
from .sources import card_metadata, open_dataset
from .splits import check_split_name, is_train

__all__ = ["Problem", "check_release"]

GROUP_BYTES = 100 * 1024**2
HUNDRED_ROWS_BYTES = 300_000_000
"""What the Hub's viewer can scan (its defaults)."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a release."""

    rule: str
    severity: Literal["error", "warning"]
    where: str
    message: str
    fixable: bool = False

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def check_release(folder: Path) -> list[Problem]:
    """Everything that is wrong with the release in ``folder``; empty where it can be published.

    Raises:
        BenchwrightError: there is no such folder.
    """
    if not folder.is_dir():
        raise BenchwrightError("there is no such folder", where=str(folder), remedy="benchwright release build")
    found: list[Problem] = []
    for check in (_checksums, _card, _rows):
        try:
            found.extend(check(folder))
        except BenchwrightError as error:
            found.append(Problem("release-unreadable", "error", error.where or str(folder), error.message))
    return found


def _error(rule: str, where: str, message: str) -> Problem:
    return Problem(f"release-{rule}", "error", where, message)


def _checksums(folder: Path) -> Iterator[Problem]:
    sums = folder / SUMS
    if not sums.is_file():
        yield _error("checksum", SUMS, "it is missing")
        return
    listed: dict[str, str] = {}
    for line in sums.read_text("utf-8").splitlines():
        digest, _, name = line.partition("  ")
        listed[name] = digest
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {SUMS}
    for name in sorted(listed.keys() | there):
        if name not in there:
            yield _error("checksum", name, f"{SUMS} lists it, and it is not there")
        elif name not in listed:
            yield _error("checksum", name, f"{SUMS} does not list it")
        elif hashlib.sha256((folder / name).read_bytes()).hexdigest() != listed[name]:
            yield _error("checksum", name, f"its content is not what {SUMS} says")


def _card(folder: Path) -> Iterator[Problem]:
    """Every glob matches, every Parquet file belongs to one split, and what the card says of them is so."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    metadata = card_metadata(folder)
    configs = [item for item in metadata.get("configs") or [] if isinstance(item, dict)]
    if not configs:
        yield _error("card", "README.md", "it names no configuration")
    infos = {item.get("config_name"): item for item in metadata.get("dataset_info") or [] if isinstance(item, dict)}
    matched: dict[Path, int] = {}
    for config in configs:
        name = config.get("config_name")
        counts: dict[str, int] = {}
        for entry in config.get("data_files") or []:
            split = str(entry.get("split"))
            try:
                check_split_name(split)
            except BenchwrightError as error:
                yield _error("card", f"{name}/{split}", error.message)
            files = sorted(folder.glob(str(entry.get("path"))))
            if not files:
                yield _error("card", f"{name}/{split}", f"no file matches {entry.get('path')}")
            for file in files:
                matched[file] = matched.get(file, 0) + 1
                where = file.relative_to(folder).as_posix()
                try:
                    parquet = pq.ParquetFile(file)
                except (pa.ArrowException, OSError) as error:
                    yield _error("file", where, f"not a readable Parquet file: {error}")
                    continue
                counts[split] = counts.get(split, 0) + parquet.metadata.num_rows
                yield from _schema(parquet.schema_arrow, infos.get(name), where)
                yield from _groups(parquet.metadata, where)
        yield from _counts(counts, infos.get(name), str(name))
    for file in sorted(folder.rglob("*.parquet")):
        if matched.get(file, 0) != 1:
            where = file.relative_to(folder).as_posix()
            yield _error("card", where, f"{matched.get(file, 0)} splits of the card hold it, not one")


def _schema(schema: Any, info: dict[str, Any] | None, where: str) -> Iterator[Problem]:
    if info is None:
        yield _error("card", where, "the card has no dataset_info for its configuration")
        return
    declared = {str(item["name"]): str(item["dtype"]) for item in info.get("features") or []}
    if not schema.equals(schema_of(declared)):
        yield _error("schema", where, "its columns or their types are not those that the card declares")


def _counts(counts: dict[str, int], info: dict[str, Any] | None, name: str) -> Iterator[Problem]:
    declared = {str(item["name"]): item["num_examples"] for item in (info or {}).get("splits") or []}
    if declared != counts:
        yield _error("card", name, f"the card says {declared} rows, the files hold {counts}: it could not be loaded")


def _groups(metadata: Any, where: str) -> Iterator[Problem]:
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        per_hundred = 100 * group.total_byte_size / max(1, group.num_rows)
        if group.total_byte_size > GROUP_BYTES or per_hundred > HUNDRED_ROWS_BYTES:
            message = f"row group {number} has {group.total_byte_size} bytes, more than the Hub's viewer reads"
            yield Problem("release-size", "warning", where, message)


def _rows(folder: Path) -> Iterator[Problem]:
    dataset = open_dataset(str(folder))
    unpinned = unlicensed = 0
    sides: dict[tuple[str, ...], set[bool]] = {}
    for split in dataset.splits:
        for row in dataset.rows(split):
            sides.setdefault(row.task, set()).add(is_train(split))
            unpinned += row.commit is None
            unlicensed += row.license is None
            try:
                arguments_of(row)
            except BenchwrightError as error:
                yield _error("row", f"{split} {error.where}", error.message)
    for count, column in ((unpinned, "commit"), (unlicensed, "license")):
        if count:
            yield Problem("release-provenance", "warning", "data", f"{count} rows have no {column}")
    for task in sorted(task for task, found in sides.items() if len(found) > 1):
        yield _error(
            "border", task[0] if len(task) == 1 else task[1], "the task stands in a train split and in another"
        )
    if "full" not in dataset.splits:
        yield Problem("release-split", "warning", "data", "there is no split called full")

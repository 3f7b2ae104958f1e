"""Judging a release folder before anyone loads it: checksums, card, schema, every file and every row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from ...core.config import read_toml
from ...core.errors import BenchwrightError
from ...core.files import read_json_lines
from ...core.models import Repository
from ...core.workspace import Workspace
from ...curation.source import PinnedTree
from ...validators.checks import RULES, Context, check_examples
from ...validators.checks.guard import Opener
from ...validators.checks.reading import rows_of_files
from ...validators.recipes import read_recipe
from ..checksums import SUMS, changes
from ..dataset import open_dataset
from ..declared import Info, configurations, infos
from ..rows import Row, arguments_of
from .border import crossings
from .parquet import schema_of
from .splits import check_split_name

__all__ = ["Problem", "check_release"]

GROUP_BYTES = 100 * 1024**2
HUNDRED_ROWS_BYTES = 300_000_000
"""What the Hub's viewer can scan (its defaults)."""
OVERLAP = "BW403"
"""The rule about tasks on both sides, which is told here as release-border."""
REQUIRED = (
    "README.md", "CHANGELOG.md", "CITATION.cff", "THIRD_PARTY_LICENSES", "canary.txt", "check.json",
    "composition.html",
    "croissant.json", "eval.yaml", "repositories.toml", "runner/runner.json", "tasks.jsonl",
)  # fmt: skip
"""Files that every release has."""


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


def check_release(folder: Path, open_here: Opener = lambda _repository: None) -> list[Problem]:
    """Everything that is wrong with the release in ``folder``; empty where it can be published.

    ``open_here`` gives the repositories that are on this machine, for the rules that read them. Errors of rules that
    were accepted when the release was built (``check.json``) are not told again.

    Raises:
        BenchwrightError: there is no such folder.
    """
    if not folder.is_dir():
        raise BenchwrightError("there is no such folder", where=str(folder), remedy="benchwright release build")
    found: list[Problem] = []
    for check in (_checksums, _files, _card, _rows, _environments, partial(_rules, open_here=open_here)):
        try:
            found.extend(check(folder))
        except BenchwrightError as error:
            problem = Problem("release-unreadable", "error", error.where or str(folder), error.message)
            found += [problem] if problem not in found else []  # several checks may read the same file
    return found


def _error(rule: str, where: str, message: str) -> Problem:
    return Problem(f"release-{rule}", "error", where, message)


def _checksums(folder: Path) -> Iterator[Problem]:
    if not (folder / SUMS).is_file():
        yield _error("checksum", SUMS, "it is missing")
        return
    for name, message in changes(folder):
        yield _error("checksum", name, message)


def _card(folder: Path) -> Iterator[Problem]:
    """Every glob matches, every Parquet file belongs to one split, and what the card says of them is so."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    configs, said = configurations(folder), infos(folder)
    if not configs:
        yield _error("card", "README.md", "it names no configuration")
    matched: dict[Path, int] = {}
    for config in configs:
        name = config.config_name
        counts: dict[str, int] = {}
        for entry in config.data_files:
            split = entry.split
            try:
                check_split_name(split)
            except BenchwrightError as error:
                yield _error("card", f"{name}/{split}", error.message)
            files = entry.found(folder)
            if not files:
                yield _error("card", f"{name}/{split}", f"no file matches {', '.join(entry.path)}")
            for file in files:
                matched[file] = matched.get(file, 0) + 1
                where = file.relative_to(folder).as_posix()
                try:
                    parquet = pq.ParquetFile(file)
                except (pa.ArrowException, OSError) as error:
                    yield _error("file", where, f"not a readable Parquet file: {error}")
                    continue
                counts[split] = counts.get(split, 0) + parquet.metadata.num_rows
                yield from _schema(parquet.schema_arrow, said.get(name), where)
                yield from _groups(parquet.metadata, where)
        yield from _counts(counts, said.get(name), name)
    for file in sorted(folder.rglob("*.parquet")):
        if matched.get(file, 0) != 1:
            where = file.relative_to(folder).as_posix()
            yield _error("card", where, f"{matched.get(file, 0)} splits of the card hold it, not one")


def _schema(schema: Any, info: Info | None, where: str) -> Iterator[Problem]:
    if info is None:
        yield _error("card", where, "the card has no dataset_info for its configuration")
        return
    declared = {item.name: item.dtype for item in info.features}
    if not schema.equals(schema_of(declared)):
        yield _error("schema", where, "its columns or their types are not those that the card declares")


def _counts(counts: dict[str, int], info: Info | None, name: str) -> Iterator[Problem]:
    declared = {item.name: item.num_examples for item in info.splits} if info else {}
    if declared != counts:
        yield _error("card", name, f"the card says {declared} rows, the files hold {counts}: it could not be loaded")


def _groups(metadata: Any, where: str) -> Iterator[Problem]:
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        per_hundred = 100 * group.total_byte_size / max(1, group.num_rows)
        if group.total_byte_size > GROUP_BYTES or per_hundred > HUNDRED_ROWS_BYTES:
            message = f"row group {number} has {group.total_byte_size} bytes, more than the Hub's viewer reads"
            yield Problem("release-size", "warning", where, message)


def _files(folder: Path) -> Iterator[Problem]:
    """What every release holds is there and not empty."""
    for name in REQUIRED:
        path = folder / name
        if not path.is_file():
            yield _error("file", name, "it is missing")
        elif not path.read_bytes().strip():
            yield _error("file", name, "it is empty")
    for path in sorted(folder.rglob("*")):
        if path.is_file() and (message := _unreadable(path)):
            yield _error("file", path.relative_to(folder).as_posix(), message)


def _unreadable(path: Path) -> str | None:
    """Why a file is not of the format that its name promises; None where it is, or promises none."""
    import yaml

    try:
        match path.suffix:
            case ".json":
                json.loads(path.read_text("utf-8"))
            case ".jsonl":
                for _line in read_json_lines(path):
                    pass
            case ".toml":
                read_toml(path)
            case ".yaml" | ".cff":
                yaml.safe_load(path.read_text("utf-8"))
    except BenchwrightError as error:
        return error.message
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        return f"not readable as {path.suffix[1:]}: {' '.join(str(error).split())}"
    return None


def _rows(folder: Path) -> Iterator[Problem]:
    dataset = open_dataset(str(folder), verify=False)
    splits = {name: list(dataset.rows(name)) for name in dataset.splits}
    every = {row.key: row for rows in splits.values() for row in rows}.values()
    for row in every:
        try:
            arguments_of(row)
        except BenchwrightError as error:
            yield _error("row", str(error.where), error.message)
    for column in ("commit", "license", "task_id"):
        if count := sum(getattr(row, column) is None for row in every):
            yield Problem("release-provenance", "warning", "data", f"{count} rows have no {column}")
    yield from _tasks(folder, every)
    yield from _border(splits)
    yield from _addresses(every)
    if "full" not in splits:
        yield Problem("release-split", "warning", "data", "there is no split called full")


def _rules(folder: Path, open_here: Opener) -> Iterator[Problem]:
    """What the rules of ``check`` call an error."""

    def opened(repository: Repository) -> PinnedTree:
        tree = open_here(repository)
        if tree is None:
            raise BenchwrightError("its pin is not on this machine", where=repository.name)
        return tree

    known = {item.github_id or 0: item for item in Workspace(folder).repositories()}
    splits = open_dataset(str(folder), verify=False).splits
    report = check_examples(rows_of_files(splits), Context(known, opened), RULES.values())
    accepted = _accepted(folder / "check.json")
    for item in report.findings:
        if item.rule.severity == "error" and item.rule.id not in (*accepted, OVERLAP):
            example = item.where if item.github_id is None else f"{item.github_id}/{item.id}"
            yield Problem(item.rule.id, "error", example, f"{item.rule.name}: {item.message}")


def _accepted(path: Path) -> dict[str, str]:
    """Rule -> why its errors were let pass when the release was built."""
    found = next(iter(read_json_lines(path)), (0, {}))[1].get("accepted") if path.is_file() else None
    return found if isinstance(found, dict) else {}


def _tasks(folder: Path, rows: Iterable[Row]) -> Iterator[Problem]:
    """Every row's task has its line in tasks.jsonl, from which evaluators take limits and network."""
    path = folder / "tasks.jsonl"
    if not path.is_file():
        return
    listed = {fields.get("task_id") for _line, fields in read_json_lines(path)}
    missing = sorted({row.task_id for row in rows if row.task_id is not None} - listed)
    if missing:
        yield _error("tasks", path.name, f"{len(missing)} tasks of rows have no line in it: {', '.join(missing[:5])}")


def _environments(folder: Path) -> Iterator[Problem]:
    """Every environment that a row names can be built by who has nothing but the release."""
    dataset = open_dataset(str(folder), verify=False)
    for name in sorted({row.environment for split in dataset.splits for row in dataset.rows(split) if row.environment}):
        try:
            read_recipe(folder / "environments", name)
        except BenchwrightError as error:
            yield _error("environment", error.where or name, error.message)


def _border(splits: Mapping[str, Sequence[Row]]) -> Iterator[Problem]:
    found = crossings(splits)
    for task in found.tasks:
        yield _error("border", task, "the task stands in a train split and in another")
    for pair in found.alike:
        where = f"{pair.one.github_id}/{pair.one.id}"
        yield _error("near-duplicate", where, f"nearly the same stands in a train split: {pair.line()}")


def _addresses(rows: Iterable[Row]) -> Iterator[Problem]:
    for address in sorted({row.github for row in rows if urlsplit(row.github).scheme in ("", "file")}):
        message = "this address of a repository means something on this machine only"
        yield Problem("release-address", "warning", address, message)

"""Opening a dataset or release: a folder, a Parquet or JSONL file, or a Hub id with an optional ``@tag``.

Every reader goes through :func:`open_dataset`, which compares a release folder with its own ``SHA256SUMS`` first.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import BenchwrightError, InfrastructureError
from ..core.files import read_json_lines
from .checksums import SUMS, changes
from .declared import configurations
from .rows import COLUMNS, PROVENANCE, Row, row_of

__all__ = ["Dataset", "open_dataset"]

SUFFIXES = (".parquet", ".jsonl")
SHARD = re.compile(r"^(?P<split>\w+(?:\.\w+)*)-\d{5}-of-\d{5}$")
PLAIN = re.compile(r"^(?P<split>\w+(?:\.\w+)*)$")
HUB_ID = re.compile(r"^[\w.-]+/[\w.-]+(@[\w./-]+)?$")
BATCH_ROWS = 1024


@dataclass(frozen=True)
class Dataset:
    """An opened dataset: its files by split, in the order its card gives them."""

    name: str
    """What the user named."""
    root: Path
    """The folder it lies in; for a single file, the file's."""
    splits: dict[str, tuple[Path, ...]]
    revision: str | None = None
    """The commit on the Hub, None for a path."""

    @property
    def folder(self) -> Path | None:
        """The release folder with its environments and registry; None for a single data file."""
        return self.root if self.root.is_dir() else None

    def rows(self, split: str) -> Iterator[Row]:
        """The rows of one split, checked, in order.

        Raises:
            BenchwrightError: no such split, a file cannot be read, a row is wrong, or an example stands twice.
        """
        if split not in self.splits:
            raise BenchwrightError(
                f"there is no split {split!r}", where=self.name, remedy=f"there is: {', '.join(self.splits)}"
            )
        seen = set()
        for path in self.splits[split]:
            for where, values in _read(path):
                row = row_of(values, where)
                if row.key in seen:
                    raise BenchwrightError(f"the example {row.github_id}/{row.id} stands twice", where=where)
                seen.add(row.key)
                yield row

    def main_split(self) -> str:
        """The split an evaluation is about: ``full`` where there is one, else the only one.

        Raises:
            BenchwrightError: there are several and none is called ``full``.
        """
        if "full" in self.splits:
            return "full"
        if len(self.splits) == 1:
            return next(iter(self.splits))
        raise BenchwrightError(
            "it has several splits and none is called full",
            where=self.name,
            remedy=f"name one with --split: {', '.join(self.splits)}",
        )

    def digest(self) -> str:
        """SHA-256 over the data files' names and bytes, in the order of the splits."""
        whole = hashlib.sha256()
        for split, paths in self.splits.items():
            for path in paths:
                with open(path, "rb") as file:
                    whole.update(f"{split} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
        return whole.hexdigest()


def open_dataset(name: str, *, verify: bool = True) -> Dataset:
    """Open what ``name`` names: a path where one exists, else a dataset on the Hub (``owner/name@tag``).

    A folder with ``SHA256SUMS`` is compared with it, file by file, unless ``verify`` is False.

    Raises:
        BenchwrightError: neither a path nor a Hub id, nothing in it, changed since it was built, or the Hub does not
            have it.
        InfrastructureError: the Hub cannot be reached.
    """
    path = Path(name)
    if path.is_dir():
        return _folder(name, path, verify=verify)
    if path.exists():
        if path.suffix not in SUFFIXES:
            raise BenchwrightError(
                f"a dataset file ends in {' or '.join(SUFFIXES)}", where=name, remedy="or name the folder it lies in"
            )
        shard = SHARD.match(path.stem)  # one file of another name is the whole dataset
        return Dataset(name, path, {shard["split"] if shard else "full": (path,)})
    if not HUB_ID.match(name) or _is_local(path):
        raise BenchwrightError(
            "there is no such file or folder" + ("" if HUB_ID.match(name) else ", and it is no Hub id"),
            where=name,
            remedy="name a path, or owner/name@tag",
        )
    return _from_hub(name, verify=verify)


def _is_local(path: Path) -> bool:
    """Whether a name that is not there was meant as a path: a data file, or something in a folder that is there."""
    return path.suffix in SUFFIXES or path.parts[0] in (".", "..", "releases") or path.parent.is_dir()


def _folder(name: str, root: Path, revision: str | None = None, *, verify: bool) -> Dataset:
    if verify and (root / SUMS).is_file():
        _compare(root)
    splits = _declared(root) or _by_file_name(root)
    if not splits:
        raise BenchwrightError(
            "there is no Parquet or JSONL file in it", where=name, remedy="name the folder or file of a dataset"
        )
    return Dataset(name, root, splits, revision)


def _compare(root: Path) -> None:
    """Refuse a release that is not what was built; what the Hub adds beside it (``.gitattributes``) is no matter."""
    for file, message in changes(root):
        if message.endswith("does not list it") and Path(file).suffix not in SUFFIXES:
            continue
        raise BenchwrightError(
            f"it was changed after it was built: {message}",
            where=str(root / file),
            remedy=f"get the release anew; or, where you changed it on purpose, remove {root / SUMS}",
        )


def _declared(root: Path) -> dict[str, tuple[Path, ...]]:
    """Splits of the card's default configuration (the one marked default, called so, or the first)."""
    configs = [item for item in configurations(root) if item.data_files]
    if not configs:
        return {}
    named = [item for item in configs if item.default]
    named += [item for item in configs if item.config_name == "default"]
    found: dict[str, tuple[Path, ...]] = {}
    for entry in [*named, configs[0]][0].data_files:
        paths = entry.found(root, *SUFFIXES)
        if not paths:
            raise BenchwrightError(
                f"the card names {', '.join(entry.path)} for the split {entry.split}, and no file matches",
                where=str(root / "README.md"),
                remedy="get the dataset anew, whole",
            )
        found[entry.split] = tuple(paths)
    return found


def _by_file_name(root: Path) -> dict[str, tuple[Path, ...]]:
    for folder in (root / "data", root / "default", root):
        found: dict[str, list[Path]] = {}
        for path in sorted(folder.glob("*")):
            shard = SHARD.match(path.stem) or PLAIN.match(path.stem) if path.suffix in SUFFIXES else None
            if shard:
                found.setdefault(shard["split"], []).append(path)
        if found:
            return {split: tuple(paths) for split, paths in found.items()}
    return {}


def _read(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if path.suffix == ".jsonl":
        for line, values in read_json_lines(path):
            yield f"{path}:{line}", values
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            known = [name for name in (*COLUMNS, *PROVENANCE) if name in file.schema_arrow.names]
            for batch in file.iter_batches(BATCH_ROWS, columns=known):
                for values in batch.to_pylist():
                    number += 1
                    yield f"{path} row {number}", values
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise BenchwrightError(
            f"not a readable Parquet file{f' after row {number}' if number else ''}: {error}",
            where=str(path),
            remedy="get the dataset anew; where it is your own release: benchwright release build",
        ) from error


def _from_hub(name: str, *, verify: bool) -> Dataset:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError
    from huggingface_hub.errors import RevisionNotFoundError as NoRevision

    repository, _, revision = name.partition("@")
    try:
        root = Path(snapshot_download(repository, repo_type="dataset", revision=revision or None))
    except (RepositoryNotFoundError, NoRevision) as error:
        raise BenchwrightError(
            "there is no such path here, and the Hub has no such dataset or tag, or it is private",
            where=name,
            remedy="check the spelling; for a private one: hf auth login",
        ) from error
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise InfrastructureError(
            f"there is no such path here, and the Hub cannot be read: {type(error).__name__}",
            where=name,
            remedy="check the network, or download the dataset elsewhere and name its folder",
        ) from error
    return _folder(name, root, root.name, verify=verify)

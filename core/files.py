"""Writing files so that a kill at any moment leaves the old or the new content, never a half of it."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import BenchwrightError, InfrastructureError

__all__ = [
    "append_lines",
    "atomic_write",
    "canonical_json",
    "digest_of",
    "read_json",
    "read_json_lines",
    "staged_directory",
]


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no optional white space: equal values give equal text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def digest_of(value: Any) -> str:
    """SHA-256 (64 hex digits) of the canonical JSON of ``value``; lone surrogates are digested as such."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def atomic_write(path: Path, content: str | bytes, *, mode: int = 0o644) -> None:
    """Write ``content`` (text as UTF-8, line ends untouched) beside ``path``, flush it, and rename it over.

    A symbolic link stays, and what it points to is written; a device or pipe is written to as it is.

    Raises:
        InfrastructureError: the file cannot be written (no space, no permission).
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    temporary: str | None = None
    try:
        path = path.resolve() if path.is_symlink() else path
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(data)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except OSError as error:
        raise InfrastructureError(
            f"cannot write the file: {error.strerror}", where=str(path), remedy="free space or permit writing"
        ) from error
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


@contextmanager
def staged_directory(target: Path) -> Iterator[Path]:
    """Give an empty folder beside ``target`` that replaces ``target`` only when the block ends without error.

    An existing ``target`` is moved aside for the moment of the exchange and then removed.
    """
    import shutil

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part"))
    except OSError as error:
        raise InfrastructureError(
            f"cannot make the folder: {error.strerror}", where=str(target), remedy="free space or permit writing"
        ) from error
    staging.chmod(0o755)
    try:
        yield staging
        old = staging.with_suffix(".old")
        if target.exists():
            os.replace(target, old)
        os.replace(staging, target)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def append_lines(path: Path, lines: Iterable[str]) -> None:
    """Append whole lines in one write and flush them to disk.

    A torn last line, left by a process killed in mid-write, is ended first, so that it spoils nothing after it.
    Callers that may run in two processes hold the workspace lock.
    """
    payload = "".join(f"{line}\n" for line in lines).encode()
    if not payload:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab+") as file:
            if file.tell() > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    payload = b"\n" + payload
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InfrastructureError(f"cannot append: {error.strerror}", where=str(path)) from error


def read_json(path: Path, *, remedy: str) -> dict[str, Any]:
    """The JSON object that a whole file holds.

    Raises:
        FileNotFoundError: it is not there.
        BenchwrightError: it cannot be read, or holds anything else; ``remedy`` says where a good one comes from.
    """
    try:
        value = json.loads(path.read_bytes().decode("utf-8"), parse_constant=_no_number)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise BenchwrightError(f"cannot read it: {error.strerror}", where=str(path), remedy=remedy) from error
    except (ValueError, RecursionError) as error:  # bad UTF-8, bad JSON, digits or nesting without end
        raise BenchwrightError(f"not JSON: {error}", where=str(path), remedy=remedy) from error
    if not isinstance(value, dict):
        raise BenchwrightError("not a JSON object", where=str(path), remedy=remedy)
    return value


def read_json_lines(path: Path, *, torn: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield ``(line number, object)`` for each non-empty line of a UTF-8 JSONL file.

    ``torn``: a last line without its end is left out where it is no JSON, as a process killed in mid-append leaves it.

    Raises:
        BenchwrightError: a line is not UTF-8 or not a JSON object (the line is named).
    """
    try:
        with open(path, "rb") as file:
            for number, raw in enumerate(file, 1):
                if not raw.strip():
                    continue
                try:
                    value = json.loads(raw.decode("utf-8"), parse_constant=_no_number)
                except (ValueError, RecursionError) as error:  # bad UTF-8, bad JSON, digits or nesting without end
                    if torn and not raw.endswith(b"\n"):
                        return
                    raise BenchwrightError(
                        f"not a line of JSON: {error}",
                        where=f"{path}:{number}",
                        remedy="correct or remove it",
                    ) from error
                if not isinstance(value, dict):
                    raise BenchwrightError(
                        "the line is not a JSON object", where=f"{path}:{number}", remedy="correct or remove it"
                    )
                yield number, value
    except OSError as error:
        raise BenchwrightError(
            f"cannot read it: {error.strerror}", where=str(path), remedy="name a file that is there and can be read"
        ) from error


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no JSON value")

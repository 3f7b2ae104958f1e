"""What reading a document or a program's flags gave, kept by content, so that one changed file costs that file.

Values are JSON made and checked by pydantic. A key holds the tool's own digest: a newer tool never meets older values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from ..core import toolkit_version
from ..core.files import digest_of
from ..core.store import Store
from .flags import FlagReport
from .source import PinnedTree

__all__ = ["Memory", "tool_digest"]

DOCUMENTS = "curation.documents"
FLAGS = "curation.flags"
CONTEXTS = "curation.contexts"
DEFINITIONS = "curation.definitions"


@lru_cache(maxsize=1)
def tool_digest() -> str:
    """Changes with the version and with the code of this stage."""
    sources: list[tuple[str, str]] = []
    waiting = [(files(__package__), "")]
    while waiting:
        folder, name = waiting.pop()
        for item in folder.iterdir():
            if item.is_dir() and item.name != "__pycache__":
                waiting.append((item, f"{name}/{item.name}"))
            elif item.name.endswith(".py"):
                sources.append((f"{name}/{item.name}", item.read_text("utf-8")))
    return digest_of([toolkit_version(), sorted(sources)])


@dataclass
class Memory:
    """Values found in the store, and new ones to be kept there. Without a store it remembers nothing."""

    store: Store | None = None
    new: dict[str, dict[str, bytes]] = field(
        default_factory=lambda: {DOCUMENTS: {}, FLAGS: {}, CONTEXTS: {}, DEFINITIONS: {}}
    )
    _known: dict[tuple[str, str], bytes] = field(default_factory=dict)

    def expect(self, namespace: str, keys: Iterable[str]) -> None:
        """Fetch all of ``keys`` at once."""
        if self.store is not None:
            found = self.store.cached(namespace, [f"{tool_digest()}:{key}" for key in keys])
            self._known.update({(namespace, key.partition(":")[2]): value for key, value in found.items()})

    def get(self, namespace: str, key: str) -> bytes | None:
        return self._known.get((namespace, key))

    def look_up(self, namespace: str, key: str) -> bytes | None:
        """One value that nobody expected, from the store itself."""
        if self.store is None:
            return None
        full = f"{tool_digest()}:{key}"
        return self.store.cached(namespace, [full]).get(full)

    def put(self, namespace: str, key: str, value: bytes) -> None:
        if self.store is not None:
            self.new[namespace][f"{tool_digest()}:{key}"] = value


@dataclass(frozen=True)
class Blobs:
    """One namespace of a memory, keyed by blob ids."""

    memory: Memory
    namespace: str

    def get(self, key: str) -> bytes | None:
        return self.memory.get(self.namespace, key)

    def __setitem__(self, key: str, value: bytes) -> None:
        self.memory.put(self.namespace, key, value)


@dataclass(frozen=True)
class RememberedFlags:
    """A report with the blobs of the files that decided it."""

    read: dict[str, str | None]
    report: FlagReport


@lru_cache(maxsize=1)
def _flags_adapter() -> TypeAdapter[RememberedFlags]:
    return TypeAdapter(RememberedFlags)


def flags_key(tree: PinnedTree, path: str, modules: str) -> str:
    """``modules`` digests the names of all modules: with them changes what an import may mean."""
    return hashlib.sha256(f"{path}\0{tree.blob_of(path)}\0{modules}".encode("utf-8", "surrogatepass")).hexdigest()


def recalled_flags(value: bytes | None, tree: PinnedTree) -> FlagReport | None:
    """The report, if every file that decided it is as it was."""
    if value is None:
        return None
    try:
        remembered = _flags_adapter().validate_json(value)
    except ValidationError:
        return None
    same = all(tree.blob_of(path) == blob for path, blob in remembered.read.items())
    return remembered.report if same else None


def flags_value(report: FlagReport, tree: PinnedTree) -> bytes | None:
    """What to keep of a report; None where it holds a value that JSON has no form for."""
    try:
        return _flags_adapter().dump_json(
            RememberedFlags({path: tree.blob_of(path) for path in sorted(report.read_paths)}, report)
        )
    except (PydanticSerializationError, UnicodeEncodeError):
        return None

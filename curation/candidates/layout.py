"""What a repository holds and where: finding the file that a document means."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..source import PinnedTree
from .metadata import console_scripts_of, package_names_of

__all__ = ["Layout", "Place"]


@dataclass(frozen=True)
class Place:
    """A file of the repository and the folder a command that names it runs in (both relative to the root)."""

    target: str
    folder: str
    how: str
    """``folder`` (as written, from a folder the document implies), ``suffix`` or ``name`` (found by search)."""


class Layout:
    """Looking things up in the listing of one commit."""

    def __init__(self, name: str, tree: PinnedTree) -> None:
        self.name = name
        self.tree = tree
        self.files = frozenset(tree.paths())

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path in self.tree.paths():
            found[posixpath.basename(path)].append(path)
        return found

    @cached_property
    def scripts(self) -> tuple[str, ...]:
        """All shell scripts, sorted."""
        return tuple(path for path in self.tree.paths() if path.endswith((".sh", ".bash")))

    @cached_property
    def folders(self) -> frozenset[str]:
        found: set[str] = {""}
        for path in self.files:
            folder = posixpath.dirname(path)
            while folder and folder not in found:
                found.add(folder)
                folder = posixpath.dirname(folder)
        return frozenset(found)

    @cached_property
    def packages(self) -> frozenset[str]:
        """Import names of the repository's own code: outermost packages, top-level modules, distribution names."""
        roots = {posixpath.dirname(path) for path in self._by_name.get("__init__.py", ())}
        names = {posixpath.basename(folder) for folder in roots if posixpath.dirname(folder) not in roots and folder}
        for path in self.files:
            folder, file = posixpath.split(path)
            if file.endswith(".py") and folder in ("", "src", "lib", "python"):
                names.add(file[:-3])
            elif file.endswith(".py") and folder.count("/") == 0:
                names.add(folder)
        names |= package_names_of(self.tree)
        names |= {re.sub(r"[-.]", "_", self.name), self.name}
        return frozenset(name for name in names if name.isidentifier()) - {"setup", "conftest", "src", "tests", "docs"}

    @cached_property
    def console_scripts(self) -> dict[str, str]:
        """Commands that the package installs, with the file behind each."""
        found: dict[str, str] = {}
        for name, module in console_scripts_of(self.tree).items():
            if module in self.files:
                found[name] = module
                continue
            place = self.find_module(module, "", "")
            found[name] = place.target if place else ""
        return found

    def settled(self, doc_folder: str, cwd: str) -> str | None:
        """The folder, relative to the root, that ``cd`` commands of a document end in; None where it is unknown."""
        if cwd.startswith(("?", "/")):
            return None
        first, _, rest = cwd.partition("/")
        if first.casefold() == self.name.casefold() and first not in self.folders:
            return rest  # the clone's own folder
        folder = posixpath.normpath(posixpath.join(doc_folder, cwd or "."))
        return "" if folder == "." else folder

    # folders a document may mean ---------------------------------------------------------------------------

    def _bases(self, doc_folder: str, cwd: str) -> Iterator[str]:
        """Folders from which a relative path may be meant, likeliest first."""
        parts = [
            part for part in cwd.lstrip("?").split("/") if part not in ("", ".") and not part.startswith(("$", "~"))
        ]
        if parts and parts[0].casefold() in (self.name.casefold(), self.name.casefold() + "-main"):
            parts = parts[1:]  # the clone's own folder
        for skip in range(len(parts) + 1):
            rest = "/".join(parts[skip:])
            for base in (doc_folder, ""):
                folder = posixpath.normpath(posixpath.join(base, rest or "."))
                if not folder.startswith(".."):
                    yield "" if folder == "." else folder
        while doc_folder:
            doc_folder = posixpath.dirname(doc_folder)
            yield doc_folder

    def find_file(self, script: str, doc_folder: str, cwd: str) -> Place | None:
        """The file a command's script word means, None where the repository has none like it."""
        name = script.removeprefix("./")
        outside = name.startswith(("/", "$", "~", "<", "{")) or "://" in name
        if not outside:
            for base in self._bases(doc_folder, cwd):
                path = posixpath.normpath(posixpath.join(base, name))
                if path in self.files:
                    return Place(path, base, "folder")
                if f"{path}.py" in self.files:
                    return Place(f"{path}.py", base, "folder")
        return self._find_by_search(name, doc_folder, outside)

    def _find_by_search(self, name: str, doc_folder: str, outside: bool) -> Place | None:
        parts = [part for part in name.split("/") if part not in ("", ".", "..")]
        given = len(parts)
        while parts and (parts[0].startswith(("$", "~", "<", "{")) or parts[0].casefold() == self.name.casefold()):
            parts = parts[1:]
        if not parts:
            return None
        same_name = self._by_name.get(parts[-1], [])
        whole = "/".join(parts)
        if len(parts) < given and whole in self.files:
            return Place(
                whole, "", "suffix"
            )  # after a variable or the repository's own name comes a path from its root
        # of a path from somebody's own machine, the longest end of at least two parts that is found here
        for skip in range(len(parts) - 1 if outside else 1):
            tail = "/".join(parts[skip:])
            fitting = [path for path in same_name if path == tail or path.endswith(f"/{tail}")]
            chosen = self._nearest(fitting, doc_folder)
            if chosen:
                return Place(chosen, chosen[: -len(tail)].rstrip("/"), "suffix")
        if len(same_name) == 1 and len(parts) > 1 and not outside:
            return Place(same_name[0], posixpath.dirname(same_name[0]), "name")
        return None

    def _nearest(self, paths: Sequence[str], doc_folder: str) -> str | None:
        """The only one, or the only one below the document's folder."""
        if len(paths) > 1 and doc_folder:
            paths = [path for path in paths if path.startswith(f"{doc_folder}/")]
        return paths[0] if len(paths) == 1 else None

    def find_module(self, module: str, doc_folder: str, cwd: str) -> Place | None:
        """The file that ``python -m module`` runs."""
        tail = module.replace(".", "/")
        names = (f"{tail}.py", f"{tail}/__main__.py", f"{tail}/__init__.py")
        bases = [*self._bases(doc_folder, cwd)]
        bases += [posixpath.normpath(posixpath.join(base, "src")) for base in bases]
        for base in bases:
            for name in names:
                path = posixpath.normpath(posixpath.join(base, name))
                if path in self.files:
                    return Place(path, base, "folder")
        for name in names[:2]:
            same_name = self._by_name.get(posixpath.basename(name), [])
            chosen = self._nearest([path for path in same_name if path.endswith(f"/{name}")], doc_folder)
            if chosen:
                return Place(chosen, chosen[: -len(name)].rstrip("/"), "suffix")
        return None

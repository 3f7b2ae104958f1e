"""Which file of a repository an import statement means."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable

__all__ = ["Layout"]


class Layout:
    """Where the modules of a repository lie, from its list of paths alone.

    A name is looked for where Python would find it: beside the script that was started (for files below its folder),
    beside the importing file, then at the roots that projects put on the path (the repository's root, ``src``,
    ``python``, ``lib``), then in any folder that holds a package or module of that name, the nearest first. As with
    Python, a mere folder of that name gives way to a module or package further on.
    """

    _COMMON_ROOTS = ("", "src", "python", "lib")

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = frozenset(path for path in paths if path.endswith((".py", ".pyi")) and not path.startswith("/"))
        self.folders: set[str] = {""}
        self._homes: dict[str, set[str]] = defaultdict(set)
        for path in self.paths:
            folder, name = posixpath.split(path)
            self._homes[name.removesuffix(".py")].add(folder)
            while folder and folder not in self.folders:
                self.folders.add(folder)
                parent, name = posixpath.split(folder)
                self._homes[name].add(parent)
                folder = parent

    def absolute(self, dotted: str, importer: str, entry: str) -> str | None:
        """The file that ``import dotted`` loads in ``importer`` when the program ``entry`` runs; None: not here."""
        first = dotted.split(".", 1)[0]
        started = posixpath.dirname(entry)
        near = [started] if is_below(importer, started) else []
        beside = dict.fromkeys([*near, posixpath.dirname(importer), *self._COMMON_ROOTS])
        homes = self._homes.get(first, set())
        others = sorted(homes - set(beside), key=lambda folder: (-_shared(folder, importer), folder.count("/"), folder))
        roots = [*(root for root in beside if root in homes), *others]
        found = [path for root in roots if (path := self.inside(root, dotted)) is not None]
        return next((path for path in found if not path.endswith("/")), found[0] if found else None)

    def relative(self, importer: str, level: int, dotted: str) -> str | None:
        """The file that ``from ..dotted import`` (``level`` dots) means in ``importer``."""
        folder = posixpath.dirname(importer)
        for _ in range(level - 1):
            folder = posixpath.dirname(folder)
        return self.inside(folder, dotted)

    def inside(self, root: str, dotted: str) -> str | None:
        """The file of the module ``dotted`` below the folder ``root``: a module, or a package's ``__init__``."""
        base = posixpath.join(root, *dotted.split(".")) if dotted else root
        for candidate in (posixpath.join(base, "__init__.py"), f"{base}.py"):
            if candidate in self.paths:
                return candidate
        # A folder without __init__ is a namespace package: it has no code of its own.
        return f"{base}/" if base in self.folders and dotted else None


def is_below(path: str, folder: str) -> bool:
    """Whether ``path`` lies in ``folder`` or deeper; the root (an empty string) holds everything."""
    return not folder or path.startswith(f"{folder}/")


def _shared(folder: str, importer: str) -> int:
    """How many leading folders two paths share."""
    count = 0
    for left, right in zip(folder.split("/"), importer.split("/"), strict=False):
        if left != right or not left:
            break
        count += 1
    return count

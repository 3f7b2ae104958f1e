"""Bases: the root file systems that environments begin from, of three kinds, each named as what it is.

Comes in: a recipe's ``base``, ``python`` and ``system_packages``. Goes out: a :class:`Base` in the cache. Open
``base.py`` first, then ``host.py`` (this machine's own Python), ``debian.py`` (a Debian root made here) and
``registry.py`` (an image by digest).
"""

from __future__ import annotations

from ...core.errors import BenchwrightError
from ..recipes import Recipe
from .base import Base, interpreters
from .host import host_base

__all__ = ["Base", "host_base", "interpreters", "open_base"]


def open_base(recipe: Recipe, where: str, *, make: bool = True) -> Base | None:
    """The base of a recipe; if it is not in the cache, it is made or pulled, or with ``make=False`` None is given.

    Raises:
        BenchwrightError: ``host`` was asked for system packages, or the base lacks that Python; see each kind.
    """
    if recipe.base == "host":
        if recipe.system_packages:
            raise BenchwrightError(
                "the base 'host' cannot install system packages",
                where=where,
                remedy="name another base, such as debian-root:bookworm, or leave system_packages empty",
            )
        return host_base(recipe.python, make=make)
    if recipe.base.startswith("debian-root:"):
        from .debian import debian_base

        suite = recipe.base.removeprefix("debian-root:")
        return debian_base(suite, recipe.system_packages, recipe.python, make=make)
    from .registry import registry_base

    return registry_base(recipe.base, recipe.system_packages, recipe.python, make=make)

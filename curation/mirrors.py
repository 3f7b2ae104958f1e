"""Mirror templates such as ``file:///srv/git/{owner}+{name}/repo``, matched without regard to case."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Formatter
from urllib.parse import unquote, urlsplit

from ..core.errors import BenchwrightError
from .address import Address

__all__ = ["local_mirrors", "network_places"]


def _filled(template: str, address: Address) -> str:
    try:
        for _, field, spec, conversion in Formatter().parse(template):
            if field is not None and (field not in ("host", "owner", "name") or spec or conversion):
                raise ValueError(f"{{{field}}}")
        return template.format(host=address.host, owner=address.owner, name=address.name)
    except ValueError as error:
        raise BenchwrightError(
            f"a mirror template may hold {{host}}, {{owner}} and {{name}} only: {error}",
            where=template,
            remedy="for example file:///srv/git/{owner}+{name}/repo",
        ) from error


def local_mirrors(address: Address, mirrors: Sequence[str]) -> Iterator[Path]:
    """Git directories on this machine that may hold the repository, in the order of ``mirrors``.

    A ``file`` address of the repository itself counts as the last of them.
    """
    locations = [_filled(template, address) for template in mirrors]
    if address.scheme == "file":
        locations.append(address.url)
    for location in locations:
        parts = urlsplit(location)
        if parts.scheme not in ("file", ""):
            continue
        folder = _without_case(Path(unquote(parts.path) if parts.scheme else location))
        git_dir = folder and _git_dir(folder)
        if git_dir:
            yield git_dir


def _remote_mirrors(address: Address, mirrors: Sequence[str]) -> list[str]:
    """Addresses of mirrors that are reached over a network, in order."""
    filled = [_filled(template, address) for template in mirrors]
    return [url for url in filled if urlsplit(url).scheme in ("http", "https", "ssh")]


def network_places(address: Address, mirrors: Sequence[str]) -> list[str]:
    """Where the repository may be fetched from: mirrors that are reached over a network, then its own address."""
    return [*_remote_mirrors(address, mirrors), *([address.url] if address.scheme != "file" else [])]


def _git_dir(folder: Path) -> Path | None:
    for candidate in (folder, folder / ".git"):
        if (candidate / "HEAD").is_file() and (candidate / "objects").is_dir():
            return candidate
    return None


def _without_case(path: Path) -> Path | None:
    """``path`` as it is spelt on disk, each part matched without case where it is not there as written."""
    if path.exists():
        return path
    found = Path(path.anchor or ".")
    for part in path.parts[1:] if path.anchor else path.parts:
        if (found / part).exists():
            found = found / part
            continue
        try:
            names = sorted(name for name in os.listdir(found) if name.casefold() == part.casefold())
        except OSError:
            return None
        if not names:
            return None
        found = found / names[0]
    return found

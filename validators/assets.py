"""Assets of an environment: files fetched once, believed only by their checksum, linked into each that names them."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import urllib.request
from collections.abc import Iterable
from http.client import HTTPException
from pathlib import Path

from ..core.errors import BenchwrightError, InfrastructureError
from ..core.workspace import cache_dir
from .recipes import Asset

__all__ = ["asset_file", "place_assets"]

WAIT_S = 120.0


def asset_file(asset: Asset) -> Path:
    """Where its content is kept in the cache, there or not."""
    return cache_dir() / "assets" / asset.sha256


def place_assets(assets: Iterable[Asset], folder: Path) -> None:
    """Make ``folder`` hold links to all of them, fetched where they are not in the cache.

    Raises:
        BenchwrightError: what an address gives has another checksum.
        InfrastructureError: an address does not answer.
    """
    for asset in assets:
        kept = asset_file(asset)
        if not kept.is_file():
            _fetch(asset, kept)
        at = folder / asset.path
        at.parent.mkdir(parents=True, exist_ok=True)
        os.link(kept, at)


def _fetch(asset: Asset, kept: Path) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=kept.parent, prefix=".fetch-") as file:
        try:
            with urllib.request.urlopen(asset.url, timeout=WAIT_S) as answer:  # noqa: S310 - schemes: see Asset.url
                shutil.copyfileobj(answer, file, 1 << 20)
        except (OSError, HTTPException) as error:
            raise InfrastructureError(f"the asset cannot be fetched: {error}", where=asset.url) from error
        file.flush()
        file.seek(0)
        found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != asset.sha256:
            raise BenchwrightError(
                f"the asset {asset.path} has the checksum {found}, not the recipe's",
                where=asset.url,
                remedy="find out which of the two is right; nothing was kept",
            )
        os.chmod(file.name, 0o644)
        os.link(file.name, kept)

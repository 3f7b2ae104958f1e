"""What is known of one publication, kept in ``releases/receipts/``: it lets a re-run continue, and is proof after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from ...core.errors import BenchwrightError
from ...core.files import atomic_write
from ...core.models import Part, Record
from ...core.workspace import Workspace

__all__ = ["Receipt", "SplitRead", "Withdrawal", "read_receipt", "receipt_path", "write_receipt"]


class SplitRead(Part):
    """One split as it was loaded back from the Hub and found equal to the local file."""

    config: str
    split: str
    rows: int


class Withdrawal(Part):
    """Why and when a version was withdrawn."""

    reason: str
    at: str


class Receipt(Record):
    """One version on one Hub. It holds no secret."""

    version: str
    tag: str
    endpoint: str
    repository: str
    digest: str
    """SHA-256 of the release's ``SHA256SUMS``."""
    state: Literal["begun", "uploaded", "read_back", "merged", "published"] = "begun"
    pull_request: int | None = None
    read_back: tuple[SplitRead, ...] = ()
    read_back_commit: str | None = None
    commit: str | None = None
    """The commit on main that the tag names."""
    files: int = 0
    bytes: int = 0
    visibility: str | None = None
    gated: str | None = None
    published_at: str | None = None
    toolkit_version: str
    yanked: Withdrawal | None = None


def receipt_path(workspace: Workspace, tag: str) -> Path:
    return workspace.root / "releases" / "receipts" / f"{tag}.json"


def read_receipt(workspace: Workspace, tag: str) -> Receipt | None:
    """The receipt of ``tag``, None where there is none.

    Raises:
        BenchwrightError: the file is damaged.
    """
    path = receipt_path(workspace, tag)
    if not path.exists():
        return None
    try:
        value: Any = json.loads(path.read_text("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BenchwrightError(
            f"not readable: {error}", where=str(path), remedy="bring it back from git, or remove it and publish again"
        ) from error
    return Receipt.load(value if isinstance(value, dict) else {}, str(path))


def write_receipt(workspace: Workspace, receipt: Receipt) -> None:
    text = json.dumps(receipt.model_dump(mode="json"), indent=2, ensure_ascii=False)
    atomic_write(receipt_path(workspace, receipt.tag), text + "\n")

"""What can be said of a publication before the Hub is asked, where something to ask it with is missing."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

from ...core.workspace import Workspace
from .folder import ReleaseFolder
from .patience import token_in_use

__all__ = ["Outline", "missing_here", "outline"]


@dataclass(frozen=True)
class Outline:
    """The part of a plan that needs no Hub."""

    repository: str | None
    tag: str
    digest: str
    files: int
    bytes: int
    splits: dict[str, list[str]]
    """Configuration -> its splits."""
    missing: tuple[str, ...]
    """What must be there before the rest can be found out, each with the way to get it."""

    def value(self) -> dict[str, Any]:
        """The outline as JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The outline for people."""
        splits = "; ".join(f"{config} ({', '.join(names)})" for config, names in self.splits.items())
        return [
            f"dataset:      {self.repository or 'not named yet'}",
            f"tag:          {self.tag}",
            f"files:        {self.files}; {self.bytes:,} bytes",
            f"splits:       {splits}",
            "then:         open a pull request, load every split back, merge, tag, compare checksums",
            *(f"missing:      {item}" for item in self.missing),
            "not checked:  rights of the account, and what the Hub holds already",
        ]


def missing_here(workspace: Workspace) -> tuple[str, ...]:
    """What the Hub cannot be asked without: a dataset's name, a token. Nothing is sent anywhere to find out."""
    repository = workspace.config.hub.repository
    found = []
    if not repository:
        found.append(f'a dataset to publish to: repository = "owner/name" under [hub] in {workspace.config_path.name}')
    if not os.environ.get("HF_OIDC_RESOURCE") and token_in_use() is None:
        found.append(
            "a token for the Hub: hf auth login, or HF_TOKEN; in continuous integration "
            f"HF_OIDC_RESOURCE=datasets/{repository or 'owner/name'}"
        )
    return tuple(found)


def outline(workspace: Workspace, release: ReleaseFolder, missing: tuple[str, ...]) -> Outline:
    """Tell of the release what is known here."""
    return Outline(
        repository=workspace.config.hub.repository,
        tag=release.tag,
        digest=release.digest,
        files=len(release.files),
        bytes=sum(file.size for file in release.files.values()),
        splits={config: list(splits) for config, splits in release.splits.items()},
        missing=missing,
    )

"""A repository at a commit, as registered in ``repositories.toml``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from .record import Part, Record

__all__ = ["COMMIT_PATTERN", "NAME_PATTERN", "Name", "Repository", "RepositoryRef"]

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
COMMIT_PATTERN = r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$"

Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
Commit = Annotated[str, StringConstraints(pattern=COMMIT_PATTERN)]


class Repository(Record):
    """One ``[[repository]]`` table: the pin, the licence and the number under which its examples are published."""

    name: Name
    url: str
    commit: Commit
    """The full commit; what the user named is kept in ``ref``."""
    ref: str | None = None
    github_id: int | None = None
    """ML-Bench's number of the repository; allocated once, never reused."""
    license: str | None = None
    """SPDX identifier or ``LicenseRef-...``; None where none was found."""
    license_sha256: str | None = None
    split: str | None = None
    documents: tuple[str, ...] = ()
    """Further documents beside the READMEs, as glob patterns: ``docs/**/*.md``."""
    environment: str | None = None
    """Name of the environment its tasks run in; None: the workspace's default."""

    def ref_of(self) -> RepositoryRef:
        """The part of it that travels with each candidate and example."""
        return RepositoryRef(
            name=self.name, github_id=self.github_id, url=self.url, commit=self.commit, license=self.license
        )


class RepositoryRef(Part):
    """Which repository, at which commit, something was taken from."""

    name: Name
    github_id: int | None = None
    url: str
    commit: Commit
    license: str | None = Field(default=None)

"""What a publication will do, found out by reading alone: ``release publish --dry-run`` stops here."""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict, dataclass
from typing import Any

from ...core.errors import BenchwrightError, InfrastructureError, PrerequisiteError, require_extra
from ...core.workspace import Workspace
from .client import Difference, Hub, Settings
from .folder import ReleaseFolder
from .patience import token_in_use
from .receipt import Receipt

__all__ = ["Plan", "make_plan"]

LARGEST_FILE = 200 * 10**9
"""The Hub takes no larger file (https://huggingface.co/docs/hub/storage-limits)."""
MANY_FILES = 100
"""The Hub advises fewer files in one commit (same page)."""
WRITING_ROLES = ("admin", "write", "contributor")


@dataclass(frozen=True)
class Plan:
    """Everything that is decided before the first change."""

    repository: str
    endpoint: str
    tag: str
    digest: str
    account: str | None
    """Whose token it is; None for a short-lived token that may not ask."""
    token: str
    """The token's kind, never the token."""
    before: Settings | None
    """None: the dataset will be made."""
    after: Settings
    difference: Difference
    """Against main as it stands."""
    upload_bytes: int
    pull_request: int | None
    """The unfinished one that will be continued."""
    published: bool
    """The tag is there with this content: nothing will be changed."""
    notes: tuple[str, ...]

    def value(self) -> dict[str, Any]:
        """The plan as JSON."""
        return {**asdict(self), "creates_repository": self.before is None}

    def lines(self) -> list[str]:
        """The plan for people."""
        settings = f"{self.after.visibility}, {f'gated ({self.after.gated})' if self.after.gated else 'not gated'}"
        if self.before is None:
            settings += " (to be made)"
        elif self.before != self.after:
            settings += f" (now {self.before.visibility}, gated: {self.before.gated or 'no'})"
        change = self.difference
        request = f"continue number {self.pull_request}" if self.pull_request else "open one"
        steps = ["nothing to do: this tag is published with this content"] if self.published else [
            f"pull request: {request}",
            f"files:        {len(change.added)} new, {len(change.changed)} changed, {len(change.removed)} removed; "
            f"{self.upload_bytes:,} bytes",
            "then:         load every split back, merge, tag, compare checksums",
        ]  # fmt: skip
        return [
            f"dataset:      {self.endpoint}/datasets/{self.repository}",
            f"as:           {self.account or 'a short-lived token'} ({self.token})",
            f"readers:      {settings}",
            f"tag:          {self.tag}",
            *steps,
            *(f"note:         {note}" for note in self.notes),
        ]


def make_plan(workspace: Workspace, release: ReleaseFolder, hub: Hub, receipt: Receipt | None) -> Plan:
    """Check everything that can stand against publishing, without changing anything.

    Raises:
        PrerequisiteError: no token, or one that may not write there; no room on the disk; an extra is missing.
        BenchwrightError: the tag is there with other content, or a file is too large.
    """
    require_extra("release", "datasets")
    account, kind = _account(hub)
    before = hub.settings()
    if before is None and account is None:
        raise PrerequisiteError(
            "the dataset does not exist, and a short-lived token cannot make one",
            where=hub.repository,
            remedy="make it once on the Hub, and name this job there as a trusted publisher",
        )
    after = _settings(workspace, before)
    _check_disk(workspace, release)
    _check_sizes(release)
    published = before is not None and _published(hub, release)
    difference = hub.difference("main", release) if before else Difference(tuple(release.files), (), ())
    names = (*difference.added, *difference.changed)
    return Plan(
        repository=hub.repository,
        endpoint=hub.endpoint,
        tag=release.tag,
        digest=release.digest,
        account=account,
        token=kind,
        before=before,
        after=after,
        difference=difference,
        upload_bytes=sum(release.files[path].size for path in names),
        pull_request=receipt.pull_request if receipt and receipt.state != "published" else None,
        published=published,
        notes=_notes(difference, before, after),
    )


def _account(hub: Hub) -> tuple[str | None, str]:
    """The token's owner and kind, where it may write to the dataset."""
    short_lived = bool(os.environ.get("HF_OIDC_RESOURCE"))
    if hub.read("fetching the token", token_in_use) is None:
        raise PrerequisiteError(
            "there is no token for the Hub",
            remedy="hf auth login, or set HF_TOKEN; in continuous integration HF_OIDC_RESOURCE=datasets/"
            + hub.repository,
        )
    if short_lived:
        resource = os.environ["HF_OIDC_RESOURCE"]
        if resource != f"datasets/{hub.repository}":
            raise PrerequisiteError(
                f"the short-lived token is for {resource}",
                where="HF_OIDC_RESOURCE",
                remedy=f"set it to datasets/{hub.repository}",
            )
        return None, "short-lived"
    answer = hub.who() or {}
    token = (answer.get("auth") or {}).get("accessToken") or {}
    role = str(token.get("role") or "unknown")
    owner = hub.repository.split("/")[0]
    organizations = {str(item.get("name")): item for item in answer.get("orgs") or [] if isinstance(item, dict)}
    if owner != answer.get("name") and owner not in organizations:
        raise PrerequisiteError(
            f"the token belongs to {answer.get('name')}, who is no member of {owner}",
            where=hub.repository,
            remedy="log in with another account, or correct [hub] repository in benchwright.toml",
        )
    standing = organizations.get(owner, {}).get("roleInOrg") or "write"
    if role == "read" or standing not in WRITING_ROLES or not _may_write(token, hub.repository):
        raise PrerequisiteError(
            f"the token may not write to it (the token's role is {role}, {answer.get('name')}'s is {standing})",
            where=hub.repository,
            remedy="make a token with write access to this dataset at https://huggingface.co/settings/tokens",
        )
    return str(answer.get("name")), role


def _may_write(token: dict[str, Any], repository: str) -> bool:
    """False only where a fine-grained token names its scopes and none lets it write here."""
    scopes = (token.get("fineGrained") or {}).get("scoped")
    if not isinstance(scopes, list):
        return True
    named = (repository, f"datasets/{repository}", repository.split("/")[0])
    return any(
        "repo.write" in (scope.get("permissions") or []) and (scope.get("entity") or {}).get("name") in named
        for scope in scopes
        if isinstance(scope, dict)
    )


def _settings(workspace: Workspace, before: Settings | None) -> Settings:
    """What ``benchwright.toml`` asks for; what it leaves open stays, and a new dataset begins private."""
    wanted = workspace.config.hub
    private = wanted.visibility == "private" if wanted.visibility else before.private if before else True
    gated = before.gated if wanted.gated is None and before else wanted.gated
    return Settings(private, None if gated in (None, "off") else gated)


def _check_disk(workspace: Workspace, release: ReleaseFolder) -> None:
    """Loading back needs the downloaded files and, beside them, the loaded tables."""
    needed = release.data_bytes + release.loaded_bytes + 50 * 10**6
    free = shutil.disk_usage(workspace.root).free
    if free < needed:
        raise InfrastructureError(
            f"loading the release back needs {needed:,} bytes, and {free:,} are free",
            where=str(workspace.private_dir),
            remedy="free space",
        )


def _check_sizes(release: ReleaseFolder) -> None:
    for name, file in release.files.items():
        if file.size > LARGEST_FILE:
            raise BenchwrightError(
                f"it has {file.size:,} bytes, the Hub takes no file above {LARGEST_FILE:,}", where=str(file.path)
            )
        if "\n" in name or "\\" in name:
            raise BenchwrightError("the Hub takes no file of this name", where=str(file.path))


def _published(hub: Hub, release: ReleaseFolder) -> bool:
    if release.tag not in hub.tags():
        return False
    other = hub.difference(release.tag, release)
    if other:
        raise BenchwrightError(
            f"the tag {release.tag} is there already with other content ({other}), and a tag never moves",
            where=f"{hub.repository}@{release.tag}",
            remedy="raise version in benchwright.toml, then benchwright release build and benchwright release publish",
        )
    return True


def _notes(difference: Difference, before: Settings | None, after: Settings) -> tuple[str, ...]:
    notes = []
    changes = len(difference.added) + len(difference.changed) + len(difference.removed)
    if changes > MANY_FILES:
        notes.append(f"{changes} files change in one commit; the Hub advises fewer than {MANY_FILES}")
    if before is None and after.private:
        notes.append('the new dataset is private; visibility = "public" under [hub] in benchwright.toml opens it')
    return tuple(notes)

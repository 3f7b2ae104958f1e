"""From what a user names (a branch, a tag, a short id) to the full commit that is written down."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import BenchwrightError
from .address import Address, looks_like_id, parse_pin
from .fetch import fetch_history, list_remote
from .gitrun import GitFailedError, run_git
from .mirrors import local_mirrors

__all__ = ["Pin", "resolve_pin"]

_FULL = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class Pin:
    """A full commit id and how the user's word was read: as ``commit``, ``branch`` or ``tag``."""

    commit: str
    kind: str
    note: str = ""
    """What a user should know about the reading."""


def resolve_pin(address: Address, pin: str, mirrors: Sequence[str] = ()) -> Pin:
    """The commit that ``pin`` names now; a mirror on this machine is asked first, then the network.

    A branch or tag goes before a short id of the same spelling, and the answer says so.

    Raises:
        BenchwrightError: it is not plain, names nothing, or names more than one commit.
    """
    parse_pin(pin)
    local = list(local_mirrors(address, mirrors))
    for git_dir in local:
        found = _in_repository(git_dir, pin)
        if found:
            return found
    if address.scheme == "file":
        raise _no_such_pin(pin, address)
    try:
        return _over_network(address, pin, mirrors)
    except BenchwrightError as error:
        if local:
            places = ", ".join(map(str, local))
            error.message = f"the mirror {places} has no commit, branch or tag {pin}; of the address: {error.message}"
        raise


def _no_such_pin(pin: str, address: Address) -> BenchwrightError:
    return BenchwrightError(
        f"the repository has no commit, branch or tag {pin}",
        where=address.url,
        remedy=f"git ls-remote {address.url} shows its branches and tags",
    )


def _commit_of(git_dir: Path, name: str) -> str | None:
    try:
        found = run_git(git_dir, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"])
    except GitFailedError as error:
        if "ambiguous" in error.stderr:
            raise BenchwrightError(
                f"{name} is the beginning of more than one commit's id", remedy="give more of its digits"
            ) from error
        return None
    return found.decode("ascii").strip() or None


def _in_repository(git_dir: Path, pin: str) -> Pin | None:
    if pin == "HEAD":
        head = _commit_of(git_dir, pin)
        return Pin(head, "branch") if head else None
    named = [
        (kind, commit)
        for kind, prefix in (("branch", "refs/heads/"), ("branch", "refs/remotes/origin/"), ("tag", "refs/tags/"))
        if (commit := _commit_of(git_dir, f"{prefix}{pin}"))
    ]
    if _FULL.fullmatch(pin):
        commit = _commit_of(git_dir, pin)
        note = f"{pin} is a tag object; the commit it stands for is recorded" if commit and commit != pin else ""
        return Pin(commit, "commit", note) if commit else None
    short = _commit_of(git_dir, pin) if looks_like_id(pin) and not named else None
    if named:
        kind, commit = named[0]
        note = f"{pin} was read as the {kind} of that name, not as a commit id" if looks_like_id(pin) else ""
        return Pin(commit, kind, note)
    return Pin(short, "commit") if short else None


def _over_network(address: Address, pin: str, mirrors: Sequence[str]) -> Pin:
    url, refs = list_remote(address, mirrors)
    for kind, prefix in (("branch", "refs/heads/"), ("tag", "refs/tags/")):
        if f"{prefix}{pin}" in refs:
            note = f"{pin} was read as the {kind} of that name, not as a commit id" if looks_like_id(pin) else ""
            return Pin(refs[f"{prefix}{pin}"], kind, note)
    if pin == "HEAD" and "HEAD" in refs:
        return Pin(refs["HEAD"], "branch")
    if _FULL.fullmatch(pin) and pin in refs.values():
        return Pin(pin, "commit")
    if not looks_like_id(pin):
        raise _no_such_pin(pin, address)
    with tempfile.TemporaryDirectory(prefix="benchwright-") as scratch:
        git_dir = Path(scratch) / "history"
        git_dir.mkdir()
        fetch_history(url, git_dir)
        commit = _commit_of(git_dir, pin)
    if commit:
        return Pin(commit, "commit")
    if _FULL.fullmatch(pin):
        return Pin(pin, "commit")  # on no branch any more; fetching it will tell whether the server still gives it
    raise _no_such_pin(pin, address)

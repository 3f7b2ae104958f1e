"""Fetching over the network: only the pinned commit, without its large files, in bounded time."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from ..core.errors import BenchwrightError, InfrastructureError
from ..core.files import staged_directory
from .address import Address
from .gitrun import FETCH_TIMEOUT_S, GitFailedError, run_git
from .mirrors import network_places

__all__ = ["LARGE_BLOB", "fetch_commit", "fetch_history", "list_remote"]

LARGE_BLOB = "4m"
"""Files from this size on are left out of a clone; they are data, not something to curate."""

LIST_TIMEOUT_S = 90.0


def fetch_commit(address: Address, commit: str, destination: Path, mirrors: Sequence[str] = ()) -> None:
    """Make ``destination`` a bare repository that holds ``commit`` (depth 1), from the first place that has it.

    It appears whole or not at all.

    Raises:
        BenchwrightError: no place has the commit, or none answers; every reason is given.
    """
    reasons: list[BenchwrightError] = []
    for url in network_places(address, mirrors):
        try:
            with staged_directory(destination) as staging:
                _fetch_into(staging, url, commit)
            return
        except GitFailedError as error:
            reasons.append(explain_failure(error, url, commit))
    if not reasons:
        raise BenchwrightError(
            f"the commit {commit} is not in the repository", where=address.url, remedy="name a commit it has"
        )
    if len(reasons) == 1:
        raise reasons[0]
    raise InfrastructureError("; ".join(f"{error.where}: {error.message}" for error in reasons))


def _fetch_into(git_dir: Path, url: str, commit: str) -> None:
    run_git(git_dir, ["init", "--quiet", "--bare", "--template=", str(git_dir)])
    fetch = [
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-auto-gc",
        f"--filter=blob:limit={LARGE_BLOB}",
    ]
    protocols = [urlsplit(url).scheme]
    partial = ["-c", "remote.source.promisor=true"]
    try:
        run_git(
            git_dir, [*partial, *fetch, "--depth=1", "--", url, commit], protocols=protocols, timeout_s=FETCH_TIMEOUT_S
        )
    except GitFailedError as error:
        if not re.search(r"not our ref|unadvertised object|no such remote ref", error.stderr):
            raise
        # a server that gives named refs only: take these and see whether the pin is among their history
        everything = "+refs/*:refs/source/*"
        run_git(git_dir, [*partial, *fetch, "--", url, everything], protocols=protocols, timeout_s=FETCH_TIMEOUT_S)
    _forget_promise(git_dir)
    found = run_git(git_dir, ["rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}"]).decode().strip()
    if found != commit:
        raise GitFailedError(f"{commit} is not a commit but names {found}", stderr="not a commit")


def _forget_promise(git_dir: Path) -> None:
    """What was left out stays left out: without the promise in its configuration git never fetches on its own."""
    (git_dir / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n", "utf-8")


def fetch_blobs(places: Sequence[str], blobs: Sequence[str], git_dir: Path) -> bool:
    """Fetch single blobs into a clone of ours, from the first place that gives them; False where none does."""
    options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--filter=blob:none"]
    for url in places:
        try:
            run_git(
                git_dir,
                ["-c", "remote.source.promisor=true", "fetch", *options, "--", url, *blobs],
                protocols=[urlsplit(url).scheme],
                timeout_s=FETCH_TIMEOUT_S,
            )
        except GitFailedError:
            continue
        finally:
            _forget_promise(git_dir)
        return True
    return False


def list_remote(address: Address, mirrors: Sequence[str] = ()) -> tuple[str, dict[str, str]]:
    """The first place that answers, and its branches and tags with the commits they stand for.

    Raises:
        BenchwrightError: none answers.
    """
    failure: BenchwrightError | None = None
    for url in network_places(address, mirrors):
        with tempfile.TemporaryDirectory(prefix="benchwright-") as scratch:
            try:
                raw = run_git(
                    Path(scratch), ["ls-remote", "--", url], protocols=[urlsplit(url).scheme], timeout_s=LIST_TIMEOUT_S
                )
            except GitFailedError as error:
                failure = failure or explain_failure(error, url, "")
                continue
        refs: dict[str, str] = {}
        for line in raw.decode("utf-8", "replace").splitlines():
            oid, _, ref = line.partition("\t")
            # the peeled line of an annotated tag follows the tag's own and replaces it
            refs[ref.removesuffix("^{}")] = oid
        return url, refs
    raise failure or BenchwrightError("there is no place to ask", where=address.url)


def fetch_history(url: str, git_dir: Path) -> None:
    """Fetch all commits (no trees, no files) of ``url`` into a new bare repository, to look up short ids."""
    run_git(git_dir, ["init", "--quiet", "--bare", "--template=", str(git_dir)])
    try:
        run_git(
            git_dir,
            ["fetch", "--quiet", "--no-tags", "--filter=tree:0", "--", url, "+refs/*:refs/source/*"],
            protocols=[urlsplit(url).scheme],
            timeout_s=FETCH_TIMEOUT_S,
        )
    except GitFailedError as error:
        shutil.rmtree(git_dir, ignore_errors=True)
        raise explain_failure(error, url, "") from error


_REASONS = (
    (r"could not read (Username|Password)|Authentication failed|HTTP (401|403)|error: 40[13]|Permission denied",
     "it asks for a login, or there is no such public repository",
     "check the address; for a private repository configure a git credential helper or an ssh key"),
    (r"Repository not found|error: 404|does not appear to be a git repository|does not exist",
     "there is no repository at this address", "check the address"),
    (r"not our ref|unadvertised object|couldn't find remote ref|unknown revision|Needed a single revision",
     "it does not have the pinned commit", "benchwright repos update NAME --commit REV"),
    (r"Could not resolve host|Failed to connect|Connection refused|timed out|Couldn't connect|Network is unreachable",
     "the host cannot be reached", "check the network, or read from a mirror: benchwright --mirror TEMPLATE ..."),
    (r"did not end within|Operation too slow|low speed",
     "the server is too slow or stalls", "try again, or read from a mirror: benchwright --mirror TEMPLATE ..."),
    (r"transport '.*' not allowed", "this kind of address is not allowed", "use https or ssh"),
)  # fmt: skip


def explain_failure(error: GitFailedError, url: str, commit: str) -> InfrastructureError:
    """git's message in words, with what to do about it."""
    for pattern, reason, remedy in _REASONS:
        if re.search(pattern, f"{error.stderr}\n{error.message}", re.IGNORECASE):
            pin = f" {commit}" if commit and "pinned" in reason else ""
            return InfrastructureError(f"{reason}{pin} (git: {error.message})", where=url, remedy=remedy)
    return InfrastructureError(f"git could not fetch it: {error.message}", where=url)

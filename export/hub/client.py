"""One dataset on the Hub: what it holds at a revision, and the few changes a publication makes to it.

Each change is written as *look, act, look again*: :meth:`Hub.ensure` acts only where looking finds nothing, and looks
again after a lost answer, so that a request whose answer never came is not sent twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from ...core.errors import InfrastructureError
from .folder import KEPT, LocalFile, ReleaseFolder
from .patience import CONFLICTS, TRANSIENT, patiently

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

__all__ = ["Difference", "Hub", "PullRequest", "RemoteFile", "Settings"]

T = TypeVar("T")


@dataclass(frozen=True)
class RemoteFile:
    """A file as the Hub lists it: git's blob id, and the content's SHA-256 where it is stored as a large file."""

    size: int
    blob_id: str
    sha256: str | None

    def holds(self, local: LocalFile) -> bool:
        if self.size != local.size:
            return False
        return self.sha256 == local.sha256 if self.sha256 else self.blob_id == local.blob_id


@dataclass(frozen=True)
class Difference:
    """What separates a revision from the release folder, by path."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    def __str__(self) -> str:
        parts = (("missing", self.added), ("different", self.changed), ("left over", self.removed))
        return "; ".join(
            f"{word}: {', '.join(paths[:5])}{' ...' if len(paths) > 5 else ''}" for word, paths in parts if paths
        )


@dataclass(frozen=True)
class Settings:
    """Who may read the dataset."""

    private: bool
    gated: str | None
    """``auto`` or ``manual``; None: not gated."""

    @property
    def visibility(self) -> str:
        return "private" if self.private else "public"


@dataclass(frozen=True)
class PullRequest:
    number: int
    status: str
    """``draft``, ``open``, ``closed`` or ``merged``."""
    author: str
    merge_commit: str | None


class Hub:
    """The dataset ``repository`` on the Hub that ``HF_ENDPOINT`` names."""

    def __init__(self, repository: str, say: Callable[[str], None]) -> None:
        from huggingface_hub import HfApi

        self.repository = repository
        self.say = say
        self.api: HfApi = HfApi(library_name="benchwright")
        self._here: dict[str, Any] = {"repo_id": repository, "repo_type": "dataset"}

    @property
    def endpoint(self) -> str:
        url = urlsplit(str(self.api.endpoint))  # without a name and password, which may stand in it
        return url._replace(netloc=url.netloc.rpartition("@")[2]).geturl()

    # reading -----------------------------------------------------------------------------------------------

    def read(self, what: str, call: Callable[[], T]) -> T:
        """``call``, repeated while the Hub has passing trouble."""
        return patiently(what, call, self.say)

    def who(self) -> dict[str, Any] | None:
        """What the Hub says of the token's owner; None where a narrow token may not ask."""
        from huggingface_hub.errors import HfHubHTTPError

        def ask() -> dict[str, Any] | None:
            try:
                return self.api.whoami()
            except HfHubHTTPError as error:
                if error.response.status_code == 403:
                    return None
                raise

        return self.read("asking who the token belongs to", ask)

    def settings(self) -> Settings | None:
        """Visibility and gating; None where there is no such dataset (or it is hidden from this token)."""
        from huggingface_hub.errors import RepositoryNotFoundError

        def ask() -> Settings | None:
            try:
                info = self.api.dataset_info(self.repository)
            except RepositoryNotFoundError:
                return None
            return Settings(bool(info.private), str(info.gated) if info.gated else None)

        return self.read("reading the dataset's settings", ask)

    def head(self, revision: str = "main") -> str:
        """The commit that ``revision`` names now."""
        return self.read(
            f"reading {revision}", lambda: str(self.api.dataset_info(self.repository, revision=revision).sha)
        )

    def files(self, revision: str) -> dict[str, RemoteFile]:
        """Every file at ``revision``."""
        return self.read(f"listing the files of {revision[:12]}", lambda: self._files(revision))

    def _files(self, revision: str) -> dict[str, RemoteFile]:
        from huggingface_hub.hf_api import RepoFile

        entries = self.api.list_repo_tree(**self._here, revision=revision, recursive=True)
        return {
            item.path: RemoteFile(item.size, item.blob_id, item.lfs.sha256 if item.lfs else None)
            for item in entries
            if isinstance(item, RepoFile)
        }

    def difference(self, revision: str, release: ReleaseFolder) -> Difference:
        """What must change at ``revision`` for it to hold the release and nothing else."""
        return difference(self.files(revision), release)

    def tags(self) -> set[str]:
        """The names of the tags."""
        refs = self.read("reading the tags", lambda: self.api.list_repo_refs(**self._here))
        return {item.name for item in refs.tags}

    def recent_commits(self, revision: str) -> list[str]:
        """Commits of ``revision``, newest first."""
        commits = self.read(
            f"reading the history of {revision}",
            lambda: self.api.list_repo_commits(**self._here, revision=revision),
        )
        return [item.commit_id for item in commits]

    def pull_request(self, number: int) -> PullRequest | None:
        """How it stands; None where there is none of this number (the dataset was made anew)."""
        from huggingface_hub.errors import HfHubHTTPError

        def ask() -> PullRequest | None:
            try:
                found = self.api.get_discussion_details(discussion_num=number, **self._here)
            except HfHubHTTPError as error:
                if error.response.status_code == 404:
                    return None
                raise
            return PullRequest(number, found.status, found.author, found.merge_commit_oid)

        return self.read(f"reading pull request {number}", ask)

    def pull_requests(self, title: str, author: str | None) -> list[int]:
        """Numbers of the unfinished pull requests with this title, the oldest first; of ``author`` where known."""

        def ask() -> list[int]:
            found = self.api.get_repo_discussions(self.repository, repo_type="dataset", discussion_type="pull_request")
            return sorted(
                item.num
                for item in found
                if item.is_pull_request
                and item.title == title
                and item.status in ("draft", "open")
                and author in (None, item.author)
            )

        return self.read("looking for an unfinished pull request", ask)

    def download(self, path: str, revision: str, folder: Path) -> Path:
        """Bring one file into ``folder``; failures are the client library's own, for the caller's patience."""
        return Path(self.api.hf_hub_download(**self._here, filename=path, revision=revision, local_dir=folder))

    # changing ----------------------------------------------------------------------------------------------

    def ensure(self, what: str, look: Callable[[], T | None], act: Callable[[], T | None]) -> T:
        """What ``look`` finds, or what ``act`` gives where it finds nothing; both again after a failure that passes."""

        def once() -> T:
            found = look()
            if found is None:
                found = act()
            if found is None:
                found = look()
            if found is None:
                raise InfrastructureError(
                    f"{what}: the Hub accepted it and does not show it", remedy="run the same command again later"
                )
            return found

        return patiently(what, once, self.say, TRANSIENT | CONFLICTS)

    def create(self, private: bool) -> None:
        self.api.create_repo(**self._here, private=private, exist_ok=True)

    def change_settings(self, wanted: Settings) -> None:
        gated: Any = wanted.gated or False
        self.api.update_repo_settings(**self._here, private=wanted.private, gated=gated)

    def open_pull_request(self, title: str, description: str) -> int:
        return self.api.create_pull_request(**self._here, title=title, description=description).num

    def commit(self, release: ReleaseFolder, missing: Difference, revision: str, parent: str) -> str:
        """Bring ``revision`` to the release's content in one commit on top of ``parent``; give the commit."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        operations: list[CommitOperationAdd | CommitOperationDelete] = [
            CommitOperationAdd(path, release.files[path].path) for path in (*missing.added, *missing.changed)
        ]
        operations += [CommitOperationDelete(path, is_folder=False) for path in missing.removed]
        return self.commit_operations(operations, f"Release {release.tag}", revision, parent)

    def commit_operations(self, operations: list[Any], message: str, revision: str, parent: str) -> str:
        done = self.api.create_commit(
            **self._here, operations=operations, commit_message=message, revision=revision, parent_commit=parent
        )
        return str(done.oid)

    def set_open(self, number: int) -> None:
        """A pull request made by a program begins as a draft, which cannot be merged."""
        self.api.change_discussion_status(**self._here, discussion_num=number, new_status="open")

    def merge(self, number: int) -> None:
        self.api.merge_pull_request(**self._here, discussion_num=number)

    def create_tag(self, tag: str, commit: str, message: str) -> None:
        self.api.create_tag(**self._here, tag=tag, revision=commit, tag_message=message, exist_ok=False)


def difference(remote: Mapping[str, RemoteFile], release: ReleaseFolder) -> Difference:
    """Compare listed files with the folder's, leaving out what belongs to the Hub's side."""
    there = {path: file for path, file in remote.items() if path not in KEPT}
    return Difference(
        tuple(path for path in release.files if path not in there),
        tuple(path for path, file in release.files.items() if path in there and not there[path].holds(file)),
        tuple(sorted(set(there) - set(release.files))),
    )

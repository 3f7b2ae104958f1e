"""The transaction: look at what is there, do what is missing, and let nobody see a half of it.

A pull request collects the whole release in one commit; it is loaded back from its own ref in a fresh cache and
compared with the local files, merged, and the merge is tagged. Main therefore holds the old release or the new one.
The receipt is written after each step, but the Hub's own state decides what is left to do.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...core import toolkit_version
from ...core.errors import BenchwrightError
from ...core.progress import Reporter
from ...core.workspace import Workspace
from ...validators.checks import Guarded, guard_release
from ..release.trees import local_tree
from .client import Difference, Hub, Settings
from .folder import ReleaseFolder, read_release
from .locking import publishing
from .outline import Outline, missing_here, outline
from .plan import Plan, make_plan
from .readback import read_back
from .receipt import Receipt, read_receipt, write_receipt

__all__ = ["Published", "hub_of", "publish_release"]


@dataclass(frozen=True)
class Published:
    """What came of it; with ``--dry-run`` only the plan, or its outline where the Hub could not be asked."""

    plan: Plan | Outline
    receipt: Receipt | None

    @property
    def unknown(self) -> bool:
        """Something is missing, so that nothing was found out on the Hub."""
        return isinstance(self.plan, Outline)

    def value(self) -> dict[str, Any]:
        return {
            "plan": self.plan.value(),
            "receipt": self.receipt.model_dump(mode="json") if self.receipt else None,
        }

    def lines(self) -> list[str]:
        if self.receipt is None:
            return self.plan.lines()
        receipt = self.receipt
        rows = sum(item.rows for item in receipt.read_back)
        return [
            f"published {receipt.repository}@{receipt.tag} at {receipt.commit}",
            f"{receipt.files} files, {rows} rows of {len(receipt.read_back)} splits read back equal",
            f"receipt: releases/receipts/{receipt.tag}.json",
            f"next: datasets.load_dataset({receipt.repository!r}, revision={receipt.tag!r})",
        ]


def hub_of(workspace: Workspace, reporter: Reporter) -> Hub:
    """The Hub's dataset that the workspace names.

    Raises:
        BenchwrightError: it names none, or something that is no ``owner/name``.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils._validators import validate_repo_id
    from huggingface_hub.utils.tqdm import disable_progress_bars

    repository = workspace.config.hub.repository
    where = f"{workspace.config_path} [hub] repository"
    if not repository:
        raise BenchwrightError("no dataset is named to publish to", where=where, remedy='repository = "owner/name"')
    try:
        validate_repo_id(repository)
    except HFValidationError as error:
        raise BenchwrightError(str(error), where=where) from error
    if "/" not in repository:
        raise BenchwrightError(f"{repository!r} has no owner", where=where, remedy='repository = "owner/name"')
    if reporter.quiet or not sys.stderr.isatty():
        disable_progress_bars()
    return Hub(repository, reporter.say)


def publish_release(
    workspace: Workspace,
    folder: Path | None = None,
    *,
    reporter: Reporter,
    dry_run: bool = False,
    accept: Sequence[str] = (),
    mirrors: Sequence[str] = (),
) -> Published:
    """Publish the release folder (default ``releases/VERSION``), or continue an interrupted publication of it.

    Its rows are checked by the rules of ``check`` first; ``accept`` names those whose errors are let pass.

    Raises:
        BenchwrightError: something stands against it; nothing was changed, or the message says what to undo.
        PrerequisiteError: the token, the rights, the disk or an extra is missing.
        InfrastructureError: the Hub kept failing; the same command continues.
    """
    version = workspace.config.version
    release = read_release((folder or workspace.root / "releases" / version).resolve(), version)
    for line in _guarded(workspace, release, accept, mirrors, reporter).lines():
        reporter.warn(f"benchwright check: {line}")
    if dry_run and (missing := missing_here(workspace)):
        return Published(outline(workspace, release, missing), None)
    hub = hub_of(workspace, reporter)
    receipt = _continued(workspace, release, hub)
    plan = make_plan(workspace, release, hub, receipt)
    if dry_run:
        return Published(plan, None)
    for line in plan.lines():
        reporter.say(line)
    with publishing(workspace):
        return Published(plan, _Publication(workspace, release, hub, plan, receipt).run())


def _guarded(
    workspace: Workspace, release: ReleaseFolder, accept: Sequence[str], mirrors: Sequence[str], reporter: Reporter
) -> Guarded:
    return guard_release(
        workspace,
        release.splits.get("default", {}),
        Workspace(release.root).repositories(),
        lambda repository: local_tree(repository, workspace.clones_dir, mirrors),
        accept,
        reporter,
    )


def _continued(workspace: Workspace, release: ReleaseFolder, hub: Hub) -> Receipt | None:
    """The receipt to go on with; none where it speaks of another dataset or Hub."""
    receipt = read_receipt(workspace, release.tag)
    if receipt and (receipt.repository, receipt.endpoint) == (hub.repository, hub.endpoint):
        return receipt
    return None


class _Publication:
    """One run: each step leaves the receipt as far as it came."""

    def __init__(
        self, workspace: Workspace, release: ReleaseFolder, hub: Hub, plan: Plan, receipt: Receipt | None
    ) -> None:
        self.workspace, self.release, self.hub, self.plan = workspace, release, hub, plan
        self.receipt = receipt or Receipt(
            version=release.version,
            tag=release.tag,
            endpoint=hub.endpoint,
            repository=hub.repository,
            digest=release.digest,
            toolkit_version=toolkit_version(),
        )
        if self.receipt.digest != release.digest:  # built anew since: what was read back no longer counts
            self.keep(digest=release.digest, state="begun", read_back=(), read_back_commit=None)

    def keep(self, **fields: Any) -> None:
        """Note what was reached."""
        updated = self.receipt.model_copy(update=fields)
        if updated != self.receipt:
            self.receipt = updated
            write_receipt(self.workspace, updated)

    def run(self) -> Receipt:
        self._prepare_dataset()
        tagged = self.release.tag in self.hub.tags()
        commit = self.hub.head(self.release.tag) if tagged else self._finished_commit() or self._through_pull_request()
        self._read_back(commit)
        if not tagged:
            self._tag(commit)
        self._check(self.release.tag)
        self._apply(self.plan.after)
        self.keep(
            state="published",
            commit=commit,
            files=len(self.release.files),
            bytes=sum(file.size for file in self.release.files.values()),
            visibility=self.plan.after.visibility,
            gated=self.plan.after.gated,
            published_at=self.receipt.published_at or datetime.now(UTC).isoformat(timespec="seconds"),
        )
        return self.receipt

    # the dataset -------------------------------------------------------------------------------------------

    def _prepare_dataset(self) -> None:
        """Make the dataset, and close it where it is to be closed; it is opened only when all is checked."""
        hub, after = self.hub, self.plan.after
        found = hub.ensure("making the dataset", hub.settings, lambda: hub.create(private=True))
        self._apply(replace(after, private=after.private or found.private, gated=after.gated or found.gated))

    def _apply(self, wanted: Settings) -> None:
        def as_wanted() -> Settings | None:
            found = self.hub.settings()
            return found if found == wanted else None

        self.hub.ensure(
            f"setting it {wanted.visibility}, gated: {wanted.gated or 'no'}",
            as_wanted,
            lambda: self.hub.change_settings(wanted),
        )

    # the pull request --------------------------------------------------------------------------------------

    def _finished_commit(self) -> str | None:
        """A commit on main that holds the release already: an earlier run was interrupted between merge and tag."""
        candidates = [self.hub.head()]
        if self.receipt.pull_request is not None:
            found = self.hub.pull_request(self.receipt.pull_request)
            candidates += [found.merge_commit] if found and found.merge_commit else []
        return next((commit for commit in candidates if not self.hub.difference(commit, self.release)), None)

    def _through_pull_request(self) -> str:
        number = self._pull_request()
        self.keep(pull_request=number)
        head = self._upload(f"refs/pr/{number}")
        self.keep(state="uploaded")
        self._read_back(head)
        commit = self._merge(number, head)
        self.keep(state="merged", commit=commit)
        self._check(commit)
        return commit

    def _pull_request(self) -> int:
        """The unfinished one of an earlier run (from the receipt, or found by its title), else a new one."""
        hub = self.hub
        title = f"Release {self.release.tag}"

        def usable() -> int | None:
            known = hub.pull_request(self.receipt.pull_request) if self.receipt.pull_request is not None else None
            if known and known.status in ("draft", "open"):
                return known.number
            # a stranger may use the same title: only one by this account is ours to continue
            return next(iter(hub.pull_requests(title, self.plan.account)), None) if self.plan.account else None

        description = (
            f"Made by `benchwright release publish`; content `{self.release.digest}`.\n\n"
            "It is merged after every split was loaded back from it. To undo it, close it."
        )
        return hub.ensure("opening the pull request", usable, lambda: hub.open_pull_request(title, description))

    def _upload(self, revision: str) -> str:
        """Bring the pull request to the release's content in one commit; give the commit."""
        head, missing = "", Difference((), (), ())

        def complete() -> str | None:
            nonlocal head, missing
            head = self.hub.head(revision)
            missing = self.hub.difference(head, self.release)
            return None if missing else head

        def commit() -> None:
            self.hub.commit(self.release, missing, revision, head)

        return self.hub.ensure("uploading the release", complete, commit)

    def _read_back(self, commit: str) -> None:
        """Load every split from ``commit`` in a fresh cache, unless this content was read back equal before."""
        if self.receipt.read_back:
            return
        splits = read_back(self.workspace, self.release, self.hub, commit)
        self.keep(state="read_back", read_back=tuple(splits), read_back_commit=commit)

    def _merge(self, number: int, head: str) -> str:
        hub = self.hub

        def merged() -> str | None:
            found = hub.pull_request(number)
            if found is None or found.status == "closed":
                raise BenchwrightError(
                    f"pull request {number} was closed meanwhile", remedy="run the command again: it opens a new one"
                )
            return (found.merge_commit or hub.head()) if found.status == "merged" else None

        def merge() -> None:
            self._check_unmoved(number, head)
            found = hub.pull_request(number)
            if found and found.status == "draft":
                hub.set_open(number)
            hub.merge(number)

        return hub.ensure(f"merging pull request {number}", merged, merge)

    def _check_unmoved(self, number: int, head: str) -> None:
        """Neither the pull request nor main may have changed since the release was read back."""
        undo = f"close pull request {number} at {self.hub.endpoint}/datasets/{self.hub.repository}/discussions/{number}"
        if self.hub.head(f"refs/pr/{number}") != head:
            raise BenchwrightError(
                f"somebody changed pull request {number} after it was checked",
                remedy=f"{undo}, then run the command again",
            )
        if self.hub.head() not in self.hub.recent_commits(head):
            raise BenchwrightError(
                "main has moved since the pull request was opened, so merging would mix two states",
                remedy=f"{undo}, then run the command again: it opens a new one",
            )

    # the tag -----------------------------------------------------------------------------------------------

    def _tag(self, commit: str) -> None:
        hub, tag = self.hub, self.release.tag
        message = f"Release {tag}, content {self.release.digest}"

        def there() -> str | None:
            return tag if tag in hub.tags() else None

        # one that somebody else made meanwhile is judged by its content, as any
        hub.ensure(f"tagging {tag}", there, lambda: hub.create_tag(tag, commit, message))

    def _check(self, revision: str) -> None:
        """Compare the checksums of every file at ``revision`` with the folder's.

        Raises:
            BenchwrightError: they differ, which no run of this publisher leaves behind.
        """
        found = self.hub.difference(revision, self.release)
        if found:
            raise BenchwrightError(
                f"it does not hold the release after publishing ({found})",
                where=f"{self.hub.repository}@{revision}",
                remedy="see who else changed it; run the command again to publish on top, or raise the version",
            )

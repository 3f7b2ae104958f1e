"""Withdrawing what turned out bad: a published version gets a mark, an example is left out from the next release on.

History and tags stay as they are; a reader who pinned a version still gets it, and is told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...core.errors import BenchwrightError, InfrastructureError
from ...core.files import atomic_write, canonical_json
from ...core.progress import Reporter
from ...core.tasks import load_tasks
from ...core.workspace import Workspace
from ..checksums import SUMS
from .client import Hub
from .folder import tag_of
from .locking import publishing
from .publish import hub_of
from .receipt import Withdrawal, read_receipt, write_receipt

__all__ = ["YANKED", "Yanked", "yank_example", "yank_version"]

YANKED = "YANKED.md"
HEAD = "# Withdrawn versions\n\nTheir tags stay as they are; do not report new scores on them.\n\n"
FRONT_MATTER = re.compile(r"\A---\r?\n.*?\r?\n---\r?\n", re.DOTALL)


@dataclass(frozen=True)
class Yanked:
    """What was marked, where, and why."""

    what: str
    reason: str
    where: str
    already: bool = False
    """It was marked before; nothing was changed."""

    def value(self) -> dict[str, Any]:
        return {"yanked": self.what, "reason": self.reason, "where": self.where, "already": self.already}

    def line(self) -> str:
        if self.already:
            return f"{self.what} was withdrawn before: {self.reason}"
        return f"withdrew {self.what}: {self.where}"


# an example ------------------------------------------------------------------------------------------------


def yank_example(workspace: Workspace, name: str, reason: str) -> Yanked:
    """Mark the example ``REPOSITORY/NUMBER`` (or ``GITHUB_ID/NUMBER``): releases built from now on leave it out.

    Its number is never used again; releases that hold it stay as they are.

    Raises:
        BenchwrightError: there is no such example, or the reason is empty.
    """
    text = _reason(reason)
    repository, _, number = name.rpartition("/")
    with workspace.lock():
        for item in load_tasks(workspace):
            reference = item.task.repository
            if repository not in (reference.name, str(reference.github_id)):
                continue
            for place, example in enumerate(item.examples):
                if str(example.id) != number:
                    continue
                path = item.folder / "examples.jsonl"
                if example.yanked is not None:
                    return Yanked(name, example.yanked, str(path), already=True)
                examples = list(item.examples)
                examples[place] = example.model_copy(update={"yanked": text})
                lines = [canonical_json(entry.model_dump(mode="json")) for entry in examples]
                atomic_write(path, "".join(f"{line}\n" for line in lines))
                return Yanked(name, text, str(path))
    raise BenchwrightError(
        f"there is no example {name}",
        where=str(workspace.tasks_dir),
        remedy="name it REPOSITORY/NUMBER; benchwright tasks show REPOSITORY/TASK lists the numbers",
    )


def _reason(reason: str) -> str:
    text = " ".join(reason.split())
    if not text:
        raise BenchwrightError("a reason is needed", remedy="--reason 'what is wrong with it'")
    return text


# a version -------------------------------------------------------------------------------------------------


def yank_version(workspace: Workspace, version: str, reason: str, *, reporter: Reporter) -> Yanked:
    """Mark a published version: a line in ``YANKED.md`` on main and, where main shows this version, in its card.

    One commit on main; the tag and all history stay.

    Raises:
        BenchwrightError: the version was never published, or the reason is empty.
        InfrastructureError: the Hub kept failing, or main kept moving.
    """
    text = _reason(reason)
    hub = hub_of(workspace, reporter)
    tag = tag_of(version.removeprefix("v"))
    if tag not in hub.tags():
        raise BenchwrightError(
            f"there is no version {tag}", where=hub.repository, remedy="benchwright release publish comes first"
        )
    at = datetime.now(UTC).date().isoformat()
    line = f"- `{tag}` ({at}): {text}\n"
    seen: list[str] = []

    def marked() -> str | None:
        head = hub.head()
        listed = _texts(workspace, hub, head, [YANKED]).get(YANKED, "")
        found = re.search(rf"^- `{re.escape(tag)}` \([^)]*\): (.*)$", listed, re.MULTILINE)
        seen.append(head)
        return found[1] if found else None

    with publishing(workspace):
        before = hub.read(f"reading {YANKED}", marked)
        if before is None:
            hub.ensure(f"marking {tag}", marked, lambda: _mark(workspace, hub, seen[-1], tag, line, text))
    receipt = read_receipt(workspace, tag)
    if receipt is not None and receipt.yanked is None:
        write_receipt(workspace, receipt.model_copy(update={"yanked": Withdrawal(reason=before or text, at=at)}))
    return Yanked(tag, before or text, f"{hub.repository}/{YANKED}", already=before is not None)


def _mark(workspace: Workspace, hub: Hub, head: str, tag: str, line: str, reason: str) -> None:
    from huggingface_hub import CommitOperationAdd

    main, old = hub.files(head), hub.files(tag)
    texts = _texts(workspace, hub, head, [path for path in (YANKED, "README.md", SUMS) if path in main])
    new = {YANKED: texts.get(YANKED, HEAD) + line}
    if main.get("README.md") == old.get("README.md") and "README.md" in texts:  # main shows this very version
        new["README.md"] = _with_notice(texts["README.md"], tag, reason)
        if SUMS in texts:
            new[SUMS] = _with_sum(texts[SUMS], "README.md", new["README.md"])
    operations = [CommitOperationAdd(path, text.encode()) for path, text in new.items()]
    hub.commit_operations(operations, f"Withdraw {tag}", "main", head)


def _with_notice(card: str, tag: str, reason: str) -> str:
    notice = f"\n> **{tag} is withdrawn:** {reason}. Do not report new scores on it.\n"
    block = FRONT_MATTER.match(card)
    end = block.end() if block else 0
    return card[:end] + notice + card[end:]


def _with_sum(sums: str, path: str, text: str) -> str:
    import hashlib

    digest = hashlib.sha256(text.encode()).hexdigest()
    return re.sub(rf"^[0-9a-f]{{64}}(  {re.escape(path)})$", rf"{digest}\1", sums, flags=re.MULTILINE)


def _texts(workspace: Workspace, hub: Hub, revision: str, paths: list[str]) -> dict[str, str]:
    """The texts of those of ``paths`` that are there at ``revision``."""
    import tempfile

    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    found = {}
    workspace.private_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hub-", dir=workspace.private_dir) as folder:
        for path in paths:
            try:
                local = hub.download(path, revision, Path(folder))
            except LocalEntryNotFoundError:
                raise
            except EntryNotFoundError:
                continue
            try:
                found[path] = local.read_text("utf-8")
            except UnicodeDecodeError as error:
                raise InfrastructureError(f"{path} on the Hub is no text", where=hub.repository) from error
    return found

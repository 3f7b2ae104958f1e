"""Which text of a repository a release may pass on, and the licence texts that go with it."""

from __future__ import annotations

import posixpath
import re

from ...core.errors import BenchwrightError
from ...core.models import Repository
from ...core.tasks import TaskFolder
from ...core.workspace import Workspace
from ...curation.documents.text import decode
from ...curation.licenses import UNKNOWN, find_license
from ...curation.source import PinnedTree

__all__ = ["contradiction", "license_texts", "may_pass_on", "require_decided"]

NOTICE = re.compile(r"notice(?:\.(?:txt|md))?", re.IGNORECASE)
"""What Apache-2.0 asks to be passed on beside the licence."""


def may_pass_on(workspace: Workspace, repository: Repository) -> bool:
    """Whether the release may hold text of the repository: its licence is on the list in benchwright.toml."""
    return repository.license in workspace.config.redistributable_licenses


def require_decided(workspace: Workspace, item: TaskFolder, repository: Repository) -> None:
    """Stop where nobody has decided about a licence, or where text that is left out could not be found again.

    Raises:
        BenchwrightError: the licence is not known; or it is not on the list, and no place in the repository is known
            from which ``join`` could read the task's README segment.
    """
    if repository.license in (None, UNKNOWN):
        raise BenchwrightError(
            f"the licence of {repository.name} is not known, so its text cannot be redistributed",
            where=str(workspace.repositories_path),
            remedy=f"read the licence at {repository.url}, then write below its name: license = an SPDX id "
            "(https://spdx.org/licenses), or LicenseRef-NAME for other terms or none at all. Text under an id that "
            f"is not in redistributable_licenses ({workspace.config_path.name}) stays out of the release, and "
            "join() reads it from the repository",
        )
    if not may_pass_on(workspace, repository) and item.oracle and item.task.source is None:
        raise BenchwrightError(
            f"the licence {repository.license} of {repository.name} is not on the list of those that may be "
            "redistributed, and the place of this text in the repository is not known",
            where=str(item.folder / "oracle.md"),
            remedy=f"read the licence; then add it to redistributable_licenses in {workspace.config_path.name}, or "
            "write the place as [source] path, blob, start_line, end_line into task.toml, or withdraw the examples: "
            f"benchwright release yank {repository.name}/NUMBER --reason ...",
        )


def contradiction(repository: Repository, tree: PinnedTree | None) -> str | None:
    """How the registry and the licence file at the pin differ; None where they agree or the file says nothing."""
    found = find_license(tree) if tree is not None else None
    if found is None or found.spdx in (UNKNOWN, _plain(repository.license)) or repository.license is None:
        return None
    return f"{repository.name}: repositories.toml says {repository.license}, {found.path} at the pin is {found.spdx}"


def _plain(license: str | None) -> str:
    return (license or "").removesuffix("-only").removesuffix("-or-later")


def license_texts(repository: Repository, tree: PinnedTree | None) -> str:
    """The repository's part of ``THIRD_PARTY_LICENSES``: its licence file and its NOTICE, verbatim."""
    title = f"{repository.name}: {repository.license}\n{repository.url} at {repository.commit}"
    parts = [f"{'=' * 78}\n{title}\n{'=' * 78}\n"]
    found = find_license(tree) if tree is not None else None
    names = [found.path] if found else []
    if tree is not None:
        names += [path for path in tree.paths() if NOTICE.fullmatch(posixpath.basename(path)) and "/" not in path]
    for name in names:
        data = tree.read(name) if tree is not None else None
        text = None if data is None else decode(data)
        parts.append(f"--- {name}\n{text if text is not None else '(its content was not at hand)'}\n")
    if not names:
        reason = "there is no licence file at its root" if tree is not None else "the repository was not at hand"
        parts.append(f"({reason})\n")
    return "\n".join(parts) + "\n"

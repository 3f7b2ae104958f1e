"""The rules as a guard: what they call an error stops a release, unless someone decided otherwise for that rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.errors import BenchwrightError
from ...core.models import Repository
from ...core.progress import Reporter
from ...core.workspace import Workspace
from ...curation.source import PinnedTree
from .reading import rows_of_files, rows_of_workspace
from .rules import RULES, Rule, selected
from .run import Report, check_examples
from .subject import Context, Finding, Subject

__all__ = ["Guarded", "Opener", "guard_release", "guard_workspace"]

Opener = Callable[[Repository], PinnedTree | None]
"""Gives a repository's files from this machine; None where they are not here."""
SHOWN = 5


@dataclass(frozen=True)
class Guarded:
    """What was found and does not stop the release."""

    report: Report
    accepted: Mapping[str, str]
    """Rule -> why its errors were let pass; only rules that found some."""

    def value(self) -> dict[str, Any]:
        """Counts by rule, for machines."""
        return {"findings": dict(_counts(self.report.findings)), "accepted": dict(self.accepted)}

    def lines(self) -> list[str]:
        """One line for each rule that found something worth a look."""
        counts = _counts(item for item in self.report.findings if item.rule.severity != "info")
        return [_line(RULES[name], count, self.accepted.get(name)) for name, count in sorted(counts.items())]


def guard_workspace(
    workspace: Workspace, open_here: Opener, accept: Iterable[str] = (), reporter: Reporter | None = None
) -> Guarded:
    """Check every example that stands in the workspace.

    Raises:
        BenchwrightError: a rule of severity error found something, and neither ``accept`` nor ``[check.accept]`` in
            benchwright.toml lets it pass.
    """
    known = {item.github_id or 0: item for item in workspace.repositories()}
    return _guard(workspace, rows_of_workspace(workspace), known, open_here, accept, reporter)


def guard_release(
    workspace: Workspace,
    splits: Mapping[str, Sequence[Path]],
    repositories: Iterable[Repository],
    open_here: Opener,
    accept: Iterable[str] = (),
    reporter: Reporter | None = None,
) -> Guarded:
    """Check every row of a release's files, given by split; ``repositories`` are those of the release.

    Raises:
        BenchwrightError: as :func:`guard_workspace`.
    """
    known = {item.github_id or 0: item for item in repositories}
    return _guard(workspace, rows_of_files(splits), known, open_here, accept, reporter)


def _guard(
    workspace: Workspace,
    rows: Iterable[Subject | Finding],
    known: Mapping[int, Repository],
    open_here: Opener,
    accept: Iterable[str],
    reporter: Reporter | None,
) -> Guarded:
    decided = _decided(workspace, accept)
    context = Context(known, _strict(open_here), workspace.config.redistributable_licenses)
    report = check_examples(rows, context, RULES.values(), reporter)
    errors = [item for item in report.findings if item.rule.severity == "error"]
    stopping = [item for item in errors if item.rule.id not in decided]
    if stopping:
        raise _refusal(stopping, decided)
    return Guarded(report, {name: decided[name] for name in sorted({item.rule.id for item in errors})})


def _strict(open_here: Opener) -> Callable[[Repository], PinnedTree]:
    def opened(repository: Repository) -> PinnedTree:
        tree = open_here(repository)
        if tree is None:
            raise BenchwrightError("its pin is not on this machine", remedy="benchwright curate, or name a --mirror")
        return tree

    return opened


def _decided(workspace: Workspace, accept: Iterable[str]) -> dict[str, str]:
    """Rule id -> why it may pass: what the command says, and what the workspace's file says."""
    found: dict[str, str] = {}
    for word, why in workspace.config.check.accept.items():
        if not why.strip():
            raise BenchwrightError(f"no reason is given for {word}", where=f"{workspace.config_path} [check.accept]")
        found |= dict.fromkeys((item.id for item in selected([word], ())), why)
    words = list(accept)
    return found | dict.fromkeys((item.id for item in selected(words, ())) if words else (), "--accept")


def _refusal(stopping: Sequence[Finding], decided: Collection[str]) -> BenchwrightError:
    shown = [f"{item.where}: {item.rule.id} {item.rule.name}: {item.message}" for item in stopping[:SHOWN]]
    more = [f"... and {len(stopping) - SHOWN} more"] if len(stopping) > SHOWN else []
    rules = ", ".join(sorted({item.rule.id for item in stopping} - set(decided)))
    return BenchwrightError(
        "\n  ".join([f"{len(stopping)} errors stand against a release:", *shown, *more]),
        remedy=f"benchwright check shows them all; or decide to release in spite of {rules}: [check.accept] in "
        "benchwright.toml with the reason, or --accept",
    )


def _counts(findings: Iterable[Finding]) -> Counter[str]:
    return Counter(item.rule.id for item in findings)


def _line(rule: Rule, count: int, accepted: str | None) -> str:
    line = f"{rule.id} {rule.severity}, {count} times: {rule.summary}"
    return f"{line} Accepted: {accepted}" if accepted else line

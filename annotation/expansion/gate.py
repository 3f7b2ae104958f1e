"""What a new example has to pass before it is written: the rules of ``check``, beside all that is there already."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ...core.models import Example, Repository
from ...core.tasks import TaskFolder
from ...core.workspace import Workspace
from ...curation.source import PinnedTree
from ...validators.checks import RULES, Context, Finding, Rule, Subject, check_examples
from ...validators.checks.across_rules import is_training
from ...validators.checks.reading import example_values, memberships
from ...validators.checks.subject import subject_of

__all__ = ["Gate", "training_splits"]

ALSO_REFUSED = frozenset({"BW202", "BW203", "BW307", "BW402"})
"""Warnings that a machine's example may not raise: a value unsaid or written otherwise, a placeholder, a near copy."""
NOT_ITS_OWN = frozenset({"BW403", "BW503"})
"""Rules about the task as a whole, which its accepted examples raise as well."""


def training_splits(workspace: Workspace, item: TaskFolder) -> tuple[str, ...]:
    """The training splits that hold examples of a task; its new ones belong there, too, and all others in full."""
    return _training(memberships(workspace), item)


def _training(splits: dict[str, list[str]], item: TaskFolder) -> tuple[str, ...]:
    held = {name for example in item.examples for name in splits.get(f"{item.task.repository.name}/{example.id}", [])}
    return tuple(sorted(name for name in held if is_training(name)))


def numbered(example: Example, number: int) -> Example:
    """The example with its number."""
    return example.model_copy(update={"id": number})


@dataclass
class Gate:
    """The rules over the examples of one repository."""

    workspace: Workspace
    repository: Repository
    tree: PinnedTree
    standing: Sequence[TaskFolder]
    """Every task of the repository."""

    def __post_init__(self) -> None:
        splits = memberships(self.workspace)
        self._split = {item.task.id: (*_training(splits, item), "full")[0] for item in self.standing}
        self._kept = [
            self._subject(item, example) for item in self.standing for example in item.examples if not example.yanked
        ]
        self._found: dict[int | None, set[Rule]] = defaultdict(set)
        for finding in self._checked(self._kept):
            self._found[finding.id].add(finding.rule)

    def error_of(self, example: Example) -> str:
        """The rule of severity error that an accepted example breaks; empty where it breaks none."""
        broken = sorted(f"{rule.id} {rule.name}" for rule in self._found[example.id] if rule.severity == "error")
        return ", ".join(broken)

    def says_all(self, example: Example) -> bool:
        """Whether an accepted example's instruction states every value."""
        return all(rule.id != "BW203" for rule in self._found[example.id])

    def passed(self, item: TaskFolder, drafts: Sequence[Example], number: int, refused: Counter[str]) -> list[Example]:
        """Those of ``drafts`` that pass, numbered from ``number``, which is free as all after it are.

        They are compared with from now on. ``refused`` counts the others by rule.
        """
        subjects = [self._subject(item, numbered(draft, number + at)) for at, draft in enumerate(drafts)]
        by_key = {subject.key: at for at, subject in enumerate(subjects)}
        faulty: dict[int, str] = {}
        for finding in self._checked([*self._kept, *subjects]):
            at = by_key.get((finding.github_id or 0, finding.id or 0))
            if at is not None and (finding.rule.severity == "error" or finding.rule.id in ALSO_REFUSED):
                faulty.setdefault(at, f"{finding.rule.id} {finding.rule.name}")
        refused.update(faulty.values())
        good = [draft for at, draft in enumerate(drafts) if at not in faulty]
        fresh = [numbered(draft, number + at) for at, draft in enumerate(good)]
        self._kept += [self._subject(item, example) for example in fresh]
        return fresh

    def _checked(self, subjects: Sequence[Subject]) -> tuple[Finding, ...]:
        context = Context({self.repository.github_id or 0: self.repository}, lambda _: self.tree)
        rules = [rule for rule in RULES.values() if rule.id not in NOT_ITS_OWN]
        return check_examples(subjects, context, rules).findings

    def _subject(self, item: TaskFolder, example: Example) -> Subject:
        where = f"{item.task.id} {example.id}"
        return subject_of(example_values(item.task, item.oracle, example), where, self._split[item.task.id])

"""Running the rules: over rows of a dataset's files, or over a workspace; and mending what is safe to mend."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import BenchwrightError
from ...core.files import atomic_write
from ...core.models import Repository
from ...core.progress import Reporter
from ...core.tasks import load_tasks, write_task
from ...core.workspace import Workspace
from ...curation.source import PinnedTree, open_tree
from .across_rules import check_across
from .argument_rules import check_arguments_of, check_instruction
from .code_rules import check_code, check_repository, tree_of
from .reading import Fixes, mended_examples, mended_lines, rows_of_files, rows_of_workspace
from .rules import Rule, rule
from .source_rules import check_licences, check_source
from .subject import Context, Finding, Subject
from .text_rules import check_text

__all__ = ["Report", "check_dataset", "check_examples", "check_workspace", "fix_dataset", "fix_workspace"]

_REPOSITORY_RULES = ("BW301", "BW302", "BW303", "BW304", "BW305", "BW306", "BW503", "BW308")
_SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class Report:
    """What was found, and over how many examples."""

    examples: int
    findings: tuple[Finding, ...]

    def count(self, severity: str) -> int:
        return sum(finding.rule.severity == severity for finding in self.findings)

    @property
    def exit_code(self) -> int:
        """1 where an error was found."""
        return 1 if self.count("error") else 0

    def lines(self) -> list[str]:
        """One line for each finding and one for the whole."""
        found = []
        for item in self.findings:
            name = f" {item.github_id}/{item.id}" if item.github_id is not None else ""
            mark = " [fixable]" if item.fix else ""
            found.append(
                f"{item.where}:{name} {item.rule.id} {item.rule.severity}: {item.rule.name}: {item.message}{mark}"
            )
        counts = ", ".join(f"{self.count(severity)} {severity}s" for severity in _SEVERITIES)
        fixable = sum(bool(item.fix) for item in self.findings)
        tail = f"; --fix mends {fixable}" if fixable else ""
        return [*found, f"{self.examples} examples: {counts}{tail}"]


def check_dataset(
    splits: Mapping[str, Sequence[Path]],
    repositories: Iterable[Repository],
    rules: Iterable[Rule],
    *,
    clones_dir: Path,
    mirrors: Sequence[str] = (),
    reporter: Reporter | None = None,
) -> Report:
    """Check the rows of a dataset's files, given by split.

    Raises:
        BenchwrightError: a file cannot be read at all.
    """
    known = {item.github_id: item for item in repositories if item.github_id is not None}
    context = Context(known, lambda repository: open_tree(repository, clones_dir, mirrors))
    return check_examples(rows_of_files(splits), context, rules, reporter)


def check_workspace(
    workspace: Workspace, rules: Iterable[Rule], *, mirrors: Sequence[str] = (), reporter: Reporter | None = None
) -> Report:
    """Check every example that stands in a workspace.

    Raises:
        BenchwrightError: the workspace's own files are wrong.
    """
    registered = workspace.repositories()
    known = {item.github_id or 0: item for item in registered}
    context = Context(
        known,
        lambda repository: open_tree(repository, workspace.clones_dir, mirrors),
        workspace.config.redistributable_licenses,
    )
    return check_examples(rows_of_workspace(workspace), context, rules, reporter)


def check_examples(
    read: Iterable[Subject | Finding], context: Context, rules: Iterable[Rule], reporter: Reporter | None = None
) -> Report:
    """Run the rules over examples; findings come in the order of the examples, then of the rules."""
    wanted = {item.id for item in rules}
    subjects: list[Subject] = []
    findings: list[Finding] = []
    order: dict[str, int] = {}
    for item in read:
        order.setdefault(item.where, len(order))
        if isinstance(item, Finding):
            findings.append(item)
        else:
            subjects.append(item)
    findings += check_across(subjects)
    findings += check_licences(subjects, context)
    findings += _each(subjects, context, wanted, reporter or Reporter(quiet=True))
    kept = {_identity(item): item for item in reversed(findings) if item.rule.id in wanted}
    ordered = sorted(kept.values(), key=lambda item: (order.get(item.where, -1), item.rule.id, item.message))
    return Report(len(subjects), tuple(ordered))


def _identity(finding: Finding) -> tuple[object, ...]:
    """An example that stands in several splits is told of once."""
    where = finding.where if finding.github_id is None or finding.rule.id in ("BW001", "BW002", "BW403") else ""
    return finding.rule.id, where, finding.github_id, finding.id, finding.message


def _each(subjects: Sequence[Subject], context: Context, wanted: set[str], reporter: Reporter) -> Iterator[Finding]:
    by_repository: dict[tuple[int, str], list[Subject]] = defaultdict(list)
    for subject in subjects:
        by_repository[(subject.key[0], subject.text("commit"))].append(subject)
    needs_files = bool(wanted & {*_REPOSITORY_RULES, "BW201"})
    with reporter.track("checking", len(by_repository)) as advance:
        for members in by_repository.values():
            tree = tree_of(members[0], context) if needs_files else "not asked for"
            if isinstance(tree, str) and needs_files:
                name = context.repositories.get(members[0].key[0])
                yield Finding(rule("BW308"), name.name if name else members[0].text("github"), tree)
            yield from _members(members, context, tree if isinstance(tree, PinnedTree) else None, wanted)
            if isinstance(tree, PinnedTree):
                tree.close()
            advance(f"{members[0].text('github')}: {len(members)} examples")


def _members(
    members: Sequence[Subject], context: Context, tree: PinnedTree | None, wanted: set[str]
) -> Iterator[Finding]:
    shingles: dict[str, frozenset[tuple[str, ...]]] = {}
    for subject in members:
        yield from check_text(subject, context)
        yield from check_code(subject, context)
        yield from check_arguments_of(subject, tree)
        yield from check_instruction(subject, context)
        if tree is not None:
            yield from check_repository(subject, tree)
            if "BW503" in wanted:
                yield from check_source(subject, tree, shingles)


# mending ---------------------------------------------------------------------------------------------------


def _fixes(report: Report) -> Mapping[tuple[int, int], Fixes]:
    """By example what to mend. Of two rules on one column the first is applied; the next run finds the other."""
    found: dict[tuple[int, int], dict[tuple[str, str], str]] = defaultdict(dict)
    for item in report.findings:
        if item.fix and item.github_id is not None and item.id is not None:
            for column, text in item.fix.items():
                found[(item.github_id, item.id)].setdefault((column, item.before[column]), text)
    return found


def fix_workspace(workspace: Workspace, report: Report) -> int:
    """Write what is safe to mend into the tasks; how many examples were changed.

    Evidence is bound to an example's text, so changed examples need ``validate`` again.
    """
    fixes = _fixes(report)
    changed = 0
    with workspace.lock():
        for item in load_tasks(workspace):
            number = item.task.repository.github_id or 0
            mine = {
                example.id: fixes[(number, example.id)] for example in item.examples if (number, example.id) in fixes
            }
            if mine:
                write_task(workspace, item.task, item.oracle, mended_examples(item, mine))
                changed += len(mine)
    return changed


def fix_dataset(splits: Mapping[str, Sequence[Path]], report: Report) -> int:
    """Write what is safe to mend into JSONL files, leaving all other lines as they are; how many examples changed.

    Raises:
        BenchwrightError: a file to be changed is Parquet.
    """
    fixes = _fixes(report)
    if not fixes:
        return 0
    paths = [path for some in splits.values() for path in some]
    other = [path for path in paths if path.suffix != ".jsonl"]
    if other:
        raise BenchwrightError(
            "only JSONL files are mended in place",
            where=str(other[0]),
            remedy="benchwright tasks import it into a workspace, then benchwright check --fix there",
        )
    for path in paths:
        atomic_write(path, mended_lines(path, fixes))
    return len(fixes)

"""From the archive to ``tasks/``: what was accepted, and agreed on, becomes a task with an example.

Reads only the archive, so it gives the same again at any time; an annotation that changed changes its example, which
keeps its id. Nothing is removed: a task whose annotators changed their minds is reported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..core.errors import BenchwrightError
from ..core.models import Annotation, Candidate, Example, Task
from ..core.store import Store
from ..core.tasks import TaskFolder, load_tasks, next_example_id, read_evidence, write_task
from ..core.workspace import Workspace
from . import archive
from .arguments import parse_arguments
from .assignment import all_assignments, gold_pairs, overlap_of
from .interface import fields_of
from .projects import ADJUDICATION

__all__ = ["Acceptance", "Decision", "accept", "decide", "differences", "judgements"]


@dataclass
class Acceptance:
    """What became of the annotated candidates, each named once; in ``problems`` with the reason."""

    written: list[str] = field(default_factory=list)
    """Tasks made or changed by this call."""
    unchanged: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    """Candidates that fewer people judged than the project asks for."""
    disagreements: dict[str, list[str]] = field(default_factory=dict)
    """Candidate -> the fields in which its annotators differ."""
    problems: dict[str, str] = field(default_factory=dict)
    not_executed: list[str] = field(default_factory=list)
    """Accepted tasks without evidence of a run."""

    def lines(self) -> list[str]:
        """The report for a person."""
        lines = [
            f"tasks: {len(self.written)} written, {len(self.unchanged)} unchanged; candidates: "
            f"{len(self.rejected)} rejected, {len(self.waiting)} waiting for another annotator, "
            f"{len(self.disagreements)} with differences, {len(self.problems)} with problems"
        ]
        lines += [f"  written: {task}" for task in self.written]
        lines += [f"  they differ: {key}: {', '.join(names)}" for key, names in self.disagreements.items()]
        lines += [f"  problem: {key}: {reason}" for key, reason in self.problems.items()]
        lines += [f"  not executed yet: {task}" for task in self.not_executed]
        return [*lines, "next: benchwright validate"] if self.not_executed else lines


@dataclass(frozen=True)
class Decision:
    """What a candidate's annotations amount to."""

    kind: str
    """accepted, rejected, disagreed, waiting or faulty."""
    annotation: Annotation | None = None
    """Whose fields the task takes."""
    fields: tuple[str, ...] = ()
    reason: str = ""

    def why(self) -> str:
        """What stands in the way, for people."""
        if self.kind == "faulty":
            return self.reason
        more = self.reason or ", ".join(self.fields)
        return f"{self.kind}: {more}" if more else self.kind


def accept(workspace: Workspace, store: Store) -> Acceptance:
    """Write every accepted task that is not yet written as it should be; the caller holds the workspace's lock."""
    result = Acceptance()
    candidates = {candidate.id: candidate for candidate in store.candidates()}
    tasks = load_tasks(workspace)
    assignments = all_assignments(workspace)
    for candidate_id, judged in sorted(judgements(workspace).items()):
        candidate = candidates.get(candidate_id)
        there = next((item for item in tasks if item.task.candidate_id == candidate_id), None)
        decision = decide(judged, candidate, overlap_of(assignments, candidate_id))
        if decision.kind == "accepted":
            assert candidate is not None
            assert decision.annotation is not None
            folder = _write(workspace, candidate, decision.annotation, judged, there, tasks)
            if folder == there:
                result.unchanged.append(folder.task.id)
            else:
                result.written.append(folder.task.id)
                tasks = [item for item in tasks if item is not there] + [folder]
            continue
        _note(result, candidate_id, decision)
        if there:
            result.problems[candidate_id] = (
                f"is the task {there.task.id}, which stays as it is, but no longer accepted ({decision.why()}): "
                "settle that, or withdraw its example with benchwright release yank"
            )
    result.not_executed = [
        item.task.id
        for item in sorted(tasks, key=lambda item: item.task.id)
        if item.task.candidate_id and not any(e.control == "gold" for e in read_evidence(item.folder))
    ]
    return result


def _note(result: Acceptance, candidate_id: str, decision: Decision) -> None:
    if decision.kind == "rejected":
        result.rejected.append(candidate_id)
    elif decision.kind == "waiting":
        result.waiting.append(candidate_id)
    elif decision.kind == "disagreed":
        result.disagreements[candidate_id] = list(decision.fields)
    else:
        result.problems[candidate_id] = decision.reason


def judgements(workspace: Workspace) -> dict[str, list[Annotation]]:
    """Candidate id -> the newest annotation of each annotator, in the order of pseudonyms; none skipped or sent back.

    A candidate whose only annotations were sent back is there with none.
    An adjudication counts as that of one more annotator; it is recognised by its project's name. Judgements of gold
    measure the annotator and are left out.
    """
    gold = gold_pairs(all_assignments(workspace))
    newest: dict[tuple[str, str, bool], Annotation] = {}
    found: dict[str, list[Annotation]] = {}
    for project in archive.projects(workspace):
        for annotation in archive.latest(archive.read(workspace, project)).values():
            if annotation.skipped or (annotation.candidate_id, annotation.annotator) in gold:
                continue
            if annotation.returned:
                found.setdefault(annotation.candidate_id, [])
                continue
            key = (annotation.candidate_id, annotation.annotator, project.endswith(ADJUDICATION))
            if key not in newest or newest[key].updated_at <= annotation.updated_at:
                newest[key] = annotation
    for key in sorted(newest):
        found.setdefault(key[0], []).append(newest[key])
    return found


def decide(judged: Sequence[Annotation], candidate: Candidate | None, overlap: int = 1) -> Decision:
    """What ``judged`` (one annotation a person) amounts to; an adjudication, the newest, decides alone."""
    settled = [a for a in judged if a.project.endswith(ADJUDICATION)]
    if settled:
        judged, overlap = [max(settled, key=lambda a: a.updated_at)], 1
    if len(judged) < overlap:
        return Decision("waiting", reason=f"{len(judged)} of {overlap} judged it")
    if all(a.verdict == "reject" for a in judged):
        return Decision("rejected", judged[0])
    if fields := differences(judged):
        return Decision("disagreed", fields=fields)
    if candidate is None:
        return Decision("faulty", reason="no such candidate at the pinned commit, or not curated since")
    faults = sorted({fault for a in judged if (fault := _fault(a, candidate))})
    return Decision("faulty", reason="; ".join(faults)) if faults else Decision("accepted", judged[0])


def differences(judged: Sequence[Annotation]) -> tuple[str, ...]:
    """The essential fields in which annotations differ: accept and fix are one verdict, wording may differ."""
    views = [
        {
            "verdict": "reject" if a.verdict == "reject" else "accept",
            "type": a.type,
            "arguments": {name: str(value) for name, value in a.arguments.items()},
            "script": _normal(a.output),
            "prefix_code": _normal(a.prefix_code),
        }
        for a in judged
    ]
    if any(view["verdict"] != views[0]["verdict"] for view in views):
        return ("verdict",)  # whoever rejects need not fill in the rest
    return tuple(name for name in views[0] if any(view[name] != views[0][name] for view in views))


def _normal(script: str) -> str:
    return "\n".join(line.rstrip() for line in script.strip().splitlines())


def _fault(annotation: Annotation, candidate: Candidate) -> str | None:
    """Why this annotation cannot become a task, None where it can."""
    who = annotation.annotator
    if annotation.verdict is None:
        return f"{who} gave no verdict"
    if annotation.candidate_digest != candidate.digest:
        return f"the candidate changed after {who} annotated it: push it again and have it looked at"
    if annotation.verdict == "fix" and _normal(annotation.output) == _normal(candidate.output):
        return f"{who} says fix, but the script is still the suggested one"
    for name, value in (("instruction", annotation.instruction), ("script", annotation.output)):
        if not value.strip():
            return f"{who} left the {name} empty"
    try:
        parse_arguments(fields_of(annotation.raw).get("arguments", ""))
    except BenchwrightError as error:
        return f"{who}: {error.message}"
    said = fields_of(annotation.raw)
    for name, kept in (("scope", annotation.oracle_scope), ("type", annotation.type)):
        if said.get(name) and kept is None:  # set past the form, which offers no such choice
            return f"{who} chose the {name} {str(said[name])[:60]!r}, which does not exist"
    scopes = {scope.scope for scope in candidate.oracle_scopes}
    if annotation.oracle_scope and scopes and annotation.oracle_scope not in scopes:
        return f"{who} chose the scope {annotation.oracle_scope}, which the candidate does not have"
    return None


def _write(
    workspace: Workspace,
    candidate: Candidate,
    annotation: Annotation,
    judged: Sequence[Annotation],
    there: TaskFolder | None,
    tasks: Sequence[TaskFolder],
) -> TaskFolder:
    """Write the task unless it stands there already; its other examples and its settings stay as they are."""
    texts = {scope.scope: scope.text for scope in candidate.oracle_scopes}
    oracle = texts.get(annotation.oracle_scope, candidate.oracle) if annotation.oracle_scope else candidate.oracle
    made = {
        "repository": candidate.repository,
        "type": annotation.type or candidate.type,
        "path": candidate.path,
        "entry_point": candidate.entry_point,
        "source": candidate.source,
        "oracle_scope": annotation.oracle_scope,
        "candidate_id": candidate.id,
        "candidate_digest": candidate.digest,
        "annotators": tuple(sorted({a.annotator for a in judged})),
    }
    task = there.task.model_copy(update=made) if there else Task.model_validate({"name": _name(candidate), **made})
    examples = {example.id: example for example in there.examples} if there else {}
    ours = min((i for i, example in examples.items() if not example.machine_written), default=None)
    number = ours if ours is not None else next_example_id(tasks, candidate.repository.github_id)
    said = {
        "type": annotation.type or candidate.type,
        "instruction": annotation.instruction,
        "arguments": annotation.arguments,
        "prefix_code": annotation.prefix_code,
        "output": annotation.output,
    }
    examples[number] = (
        examples[number].model_copy(update=said) if ours is not None else Example.model_validate({"id": number, **said})
    )
    ordered = tuple(examples[i] for i in sorted(examples))
    if there and (there.task, there.oracle, there.examples) == (task, oracle, ordered):
        return there
    return write_task(workspace, task, oracle, ordered)


def _name(candidate: Candidate) -> str:
    """A folder name that says what the task starts, unique by the candidate's hash."""
    target = re.sub(r"\.(py|sh)$", "", candidate.entry_point.target)
    words = re.sub(r"[^A-Za-z0-9._]+", "-", target).strip("-._")[:60] or "task"
    return f"{words}-{candidate.id[-12:]}"

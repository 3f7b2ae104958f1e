"""``annotate status``: how far each annotator is, how fast, how well against gold and against the others."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ..core.models import Annotation, Evidence
from ..core.tasks import TaskFolder, load_tasks, read_evidence
from ..core.workspace import Workspace
from . import archive
from .acceptance import differences, judgements
from .agreement import by_annotator
from .assignment import all_assignments, gold_pairs
from .projects import ADJUDICATION

__all__ = ["BLINDNESS", "Standing", "columns_and_rows", "status"]

BLINDNESS = (
    "Each annotator's project is their own, but the community server has no roles: whoever looks can open the others'."
)


@dataclass
class Standing:
    """One annotator's work, as of the last pull."""

    annotator: str
    assigned: int = 0
    """Candidates given to them, gold among them; 0 where nobody assigned anything."""
    done: int = 0
    skipped: int = 0
    sent_back: int = 0
    """Annotations they were asked to look at again."""
    minutes_each: float | None = None
    """Median time with a form open."""
    gold_right: int = 0
    gold_judged: int = 0
    agreement: float | None = None
    """Share of comparisons with others on one candidate in which the essential fields are equal."""
    accepted: int = 0
    """Accepted tasks they are an author of."""
    passed: int = 0
    """Those of them whose newest execution passed."""
    executed: int = 0


def status(workspace: Workspace) -> list[Standing]:
    """Everyone who was assigned or said anything, by pseudonym."""
    standings: dict[str, Standing] = {}

    def of(name: str) -> Standing:
        return standings.setdefault(name, Standing(name))

    assignments = all_assignments(workspace)
    for plan in assignments:
        for name in plan.annotators:
            of(name).assigned += len(plan.of(name))
    times: dict[str, list[float]] = defaultdict(list)
    gold, tasks = gold_pairs(assignments), load_tasks(workspace)
    settled = {item.task.candidate_id: item for item in tasks}
    for project in archive.projects(workspace):
        for said in archive.latest(archive.read(workspace, project)).values():
            person = of(said.annotator)
            if said.returned:
                person.sent_back += 1
                continue
            person.skipped += said.skipped
            person.done += not said.skipped
            if said.lead_time_s and not said.skipped:
                times[said.annotator].append(said.lead_time_s / 60)
            if (said.candidate_id, said.annotator) in gold and not said.skipped:
                person.gold_judged += 1
                person.gold_right += said.candidate_id in settled and _equals(said, settled[said.candidate_id])
    for name, found in times.items():
        of(name).minutes_each = statistics.median(found)
    _compare(workspace, standings)
    for item in tasks:
        ran = [e for e in read_evidence(item.folder) if e.control == "gold"]
        for name in item.task.annotators:
            _count(of(name), ran)
    return [standings[name] for name in sorted(standings, key=lambda name: (len(name), name))]


def _count(person: Standing, ran: Sequence[Evidence]) -> None:
    person.accepted += 1
    person.executed += bool(ran)
    person.passed += bool(ran) and ran[-1].outcome.passed


def _compare(workspace: Workspace, standings: dict[str, Standing]) -> None:
    units = []
    for judged in judgements(workspace).values():
        own = [a for a in judged if not a.project.endswith(ADJUDICATION)]
        groups: list[list[Annotation]] = []
        for said in own:
            group = next((g for g in groups if not differences([g[0], said])), None)
            if group is None:
                groups.append([said])
            else:
                group.append(said)
        units.append({a.annotator: index for index, group in enumerate(groups) for a in group})
    for name, (_, share) in by_annotator(units).items():
        standings[name].agreement = share


def _equals(said: Annotation, item: TaskFolder) -> bool:
    """True where a judgement of gold gives the settled answer: accepted, and equal in the essential fields."""
    example = item.examples[0]
    answer = said.model_copy(
        update={
            "verdict": "accept",
            "type": example.type,
            "arguments": example.arguments,
            "output": example.output,
            "prefix_code": example.prefix_code,
        }
    )
    return not differences([answer, said])


def columns_and_rows(standings: Sequence[Standing]) -> tuple[list[str], list[list[str]]]:
    """The standings as a table for people; a dash where there is nothing to say yet."""
    columns = [
        "annotator",
        "assigned",
        "done",
        "skipped",
        "sent back",
        "minutes each",
        "gold",
        "agreement",
        "accepted",
        "passed",
    ]
    rows = [
        [
            s.annotator,
            str(s.assigned or "-"),
            str(s.done),
            str(s.skipped),
            str(s.sent_back),
            _share(s.minutes_each),
            f"{s.gold_right} of {s.gold_judged}" if s.gold_judged else "-",
            _share(s.agreement),
            str(s.accepted),
            f"{s.passed} of {s.executed} executed",
        ]
        for s in standings
    ]
    return columns, rows


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"

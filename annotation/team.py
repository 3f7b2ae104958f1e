"""``annotate push --annotators``: a project for each annotator, so that nobody is shown another's work.

The community server has no roles: it cannot forbid anyone to open another's project. What it can be made to do is
not to show them: each annotator has an own project, with gold among the tasks that nothing tells apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..core.errors import BenchwrightError
from ..core.models import Candidate
from ..core.progress import Reporter
from ..core.tasks import load_tasks
from ..core.workspace import Workspace
from ..curation.slots import Slots
from . import accounts, archive, assignment
from .assignment import Assignment
from .client import Client, Server
from .people import People
from .projects import ensure_project, slug_of
from .pushing import PushReport, item_of, only_one, push_items
from .selection import Selection, select
from .server import connect
from .trials import Trials

__all__ = ["TeamReport", "address", "push_to", "share_of"]


@dataclass
class TeamReport:
    """What a push to several annotators did."""

    projects: list[PushReport] = field(default_factory=list)
    overlap: int = 1
    load: dict[str, int] = field(default_factory=dict)
    """Pseudonym -> candidates assigned, gold not counted."""
    gold: dict[str, int] = field(default_factory=dict)
    """Pseudonym -> gold tasks among them."""
    logins: dict[str, str] = field(default_factory=dict)
    """E-mail address -> password of accounts made by this push: shown once, kept nowhere."""
    notes: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The report for a person."""
        lines = [line for report in self.projects for line in report.lines()]
        lines += [f"{name}: {n} candidates and {self.gold.get(name, 0)} gold" for name, n in self.load.items()]
        lines += [f"login made, shown only now: {email}  {password}" for email, password in self.logins.items()]
        return [*lines, *self.notes]


def push_to(
    workspace: Workspace,
    annotators: Sequence[str],
    candidates: Iterable[Candidate] | Selection | None = None,
    *,
    overlap: int = 1,
    gold: float = 0.0,
    title: str | None = None,
    server: Server | None = None,
    reporter: Reporter | None = None,
) -> TeamReport:
    """Assign candidates to ``annotators`` (e-mail addresses, or names of accounts to make) and push each their own.

    ``gold``: share (0 up to 1) of each one's tasks that have a settled answer already.

    Raises:
        BenchwrightError: an address or share is wrong, or fewer annotators than ``overlap``.
        InfrastructureError: the server stays away; the same command goes on from there.
    """
    if not 0 <= gold < 1:
        raise BenchwrightError(f"a share of gold of {gold:g} is not possible", remedy="name one from 0% to below 100%")
    server = server or connect(workspace)
    client = server.client()
    reporter = reporter or Reporter(quiet=True)
    title = title or workspace.config.name
    slug = slug_of(title)
    with workspace.open_store() as store, only_one(workspace):
        chosen = select(store, candidates)
        known = {candidate.id: candidate for candidate in (*store.candidates(), *chosen)}
        report = TeamReport(overlap=overlap)
        emails = list(dict.fromkeys(address(name) for name in annotators))
        with workspace.lock():
            names = _pseudonyms(workspace, emails)
            plan = _plan(workspace, slug, [c.id for c in chosen], list(names), overlap, gold, known, report)
        outcomes, slots = Trials(workspace).outcomes(store, known.values()), Slots(known.values())
        for name, email in names.items():
            mine = [key for key in plan.of(name) if key in known]
            project = ensure_project(client, workspace, _title(title, email), f"{slug}.{name}")
            # gold was run long ago: beside tasks that were not, its result would give it away
            shown = outcomes if not plan.gold or outcomes.keys() >= set(mine) else {}
            items = [item_of(known[key], shown.get(key), slots.of(known[key])) for key in mine]
            report.projects.append(push_items(workspace, client, store, project, items, reporter))
        _make_accounts(client, server, emails, report)  # last: what fails before would lose the passwords
    report.notes.append(
        "the server shows each annotator their own project first, but cannot forbid opening another's: ask them not to"
    )
    return report


def share_of(text: str | None) -> float:
    """``10%`` or ``0.1`` as 0.1; nothing as 0.

    Raises:
        BenchwrightError: it is neither.
    """
    try:
        number = float((text or "0").removesuffix("%"))
    except ValueError as error:
        raise BenchwrightError(f"{text!r} is no share", remedy="write it as 10% or 0.1") from error
    return number / 100 if text and text.endswith("%") else number


def address(name: str) -> str:
    """The e-mail address of an annotator named by it, or by a bare name."""
    return name if "@" in name else f"{name}@benchwright.example"


def _title(title: str, email: str) -> str:
    who = email.partition("@")[0]
    return f"{title[: max(3, 47 - len(who))]}: {who}"[:50]


def _pseudonyms(workspace: Workspace, emails: Sequence[str]) -> dict[str, str]:
    taken = {v.annotator for slug in archive.projects(workspace) for v in archive.read(workspace, slug)}
    taken |= {name for plan in assignment.all_assignments(workspace) for name in plan.annotators}
    people = People(workspace, taken)
    return {people.pseudonym(email): email for email in emails}


def _plan(
    workspace: Workspace,
    slug: str,
    candidates: Sequence[str],
    names: Sequence[str],
    overlap: int,
    gold: float,
    known: Mapping[str, Candidate],
    report: TeamReport,
) -> Assignment:
    """The assignment, extended and saved; the caller holds the workspace's lock."""
    settled = {
        item.task.candidate_id: item.task.annotators
        for item in load_tasks(workspace)
        if item.task.candidate_id in known
    }
    skipped = {
        (version.candidate_id, version.annotator)
        for project in archive.projects(workspace)
        for version in archive.latest(archive.read(workspace, project)).values()
        if version.skipped
    }
    open_ones = [key for key in candidates if key not in settled]
    plan = assignment.assign(assignment.load(workspace, slug), open_ones, names, overlap, skipped)
    if gold:
        plan = assignment.choose_gold(plan, {key: who for key, who in settled.items() if key}, gold)
    assignment.save(workspace, plan)
    for name in names:
        report.load[name] = sum(name in who for who in plan.assigned.values())
        report.gold[name] = sum(name in who for who in plan.gold.values())
    wanted = round(gold * max(report.load.values(), default=0) / (1 - gold))
    if min(report.gold.values(), default=0) < wanted:
        report.notes.append(
            f"gold: {wanted} were wanted for each, but only settled candidates that the annotator has not judged can "
            f"be gold; there are {len(settled)} settled ones"
        )
    if len(open_ones) < len(candidates):
        report.notes.append(f"{len(candidates) - len(open_ones)} candidates are tasks already and were not assigned")
    return plan


def _make_accounts(client: Client, server: Server, emails: Sequence[str], report: TeamReport) -> None:
    there = {email.casefold() for email in client.emails().values()}
    for email in emails:
        if email.casefold() not in there:
            report.logins[email] = accounts.create(server, email).password

"""What answers really start, where their text alone does not tell: recorded in the sandbox, kept in the run's folder.

Comes in: the answers whose arguments could not be read exactly. Goes out: ``recordings.jsonl``, each recording once,
keyed by everything it depends on, so that a run resumes and judges again without a sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.files import append_lines, canonical_json, read_json_lines
from ...core.models import OutcomeKind
from ...core.progress import Reporter
from ..rows import Key, Row
from .evidence import job_key
from .execute import open_runner
from .score import Sample
from .settings import Options, Setting

if TYPE_CHECKING:
    from ...core.models import Outcome
    from ...validators.arguments import Trace
    from ...validators.execution import Job

__all__ = ["Recordings"]

Reader = Callable[["Outcome"], "Trace | None"]


class Recordings:
    """The recordings of one run, and the answers that still want one."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "recordings.jsonl"
        self.wanted: dict[Key, tuple[Row, set[str]]] = {}
        """Row and code of what was asked for in vain."""
        self.spoilt: set[tuple[Key, str]] = set()
        """What the infrastructure kept from being recorded: nothing can be said against such an answer."""
        self._known: dict[tuple[Key, str], Trace] = {}

    def of(self, row: Row) -> _OfRow:
        """The recordings of one row's answers, as the check of arguments asks for them."""
        return _OfRow(self, row)

    def judged(self, sample: Sample) -> Sample:
        """The sample; ungraded where it was refused for want of a recording that the infrastructure spoilt."""
        if sample.outcome != "wrong_arguments" or (sample.key, sample.code) not in self.spoilt:
            return sample
        detail = "the sandbox failed before its calls could be recorded"
        return replace(sample, outcome=OutcomeKind.INFRASTRUCTURE.value, detail=detail, cause=None, refusals=None)

    def find(self, row: Row, code: str) -> Trace | None:
        """What is recorded; otherwise it is noted as wanted."""
        found = self._known.get((row.key, code))
        if found is None:
            self.wanted.setdefault(row.key, (row, set()))[1].add(code)
        return found

    def make(
        self,
        settings: dict[Key, Setting],
        digests: dict[str, str],
        sandbox: str,
        options: Options,
        reporter: Reporter,
    ) -> set[Key]:
        """Record what is wanted and not in the file yet; the rows that are to be judged anew.

        What the infrastructure spoilt stays unknown, and is recorded by the next run.
        """
        wanted = [(row, code) for row, codes in self.wanted.values() for code in sorted(codes)]
        if not wanted:
            return set()
        keys = {
            (row.key, code): _key(row, code, settings[row.key], digests[settings[row.key].environment], sandbox)
            for row, code in wanted
        }
        told = self._read()
        todo = {keys[row.key, code]: (row, code) for row, code in wanted if keys[row.key, code] not in told}
        if todo and not options.regrade:
            for key, trace in _record(todo, settings, options, reporter):
                append_lines(self.path, [canonical_json({"key": key, "trace": _fields(trace)})])
                told[key] = trace
            self.spoilt = {place for place, key in keys.items() if key not in told}
        self._known |= {place: told[key] for place, key in keys.items() if key in told}
        self.wanted.clear()
        return {key for key, _ in (*self._known, *self.spoilt)}

    def _read(self) -> dict[str, Trace]:
        if not self.path.exists():
            return {}
        return {str(line["key"]): _trace(line["trace"]) for _, line in read_json_lines(self.path, torn=True)}


@dataclass(frozen=True)
class _OfRow:
    recordings: Recordings
    row: Row

    def record(self, code: str, *, path: str, prefix_code: str) -> Trace | None:
        """The recorded calls of an answer to this row, whose folder and prefix code they were recorded with."""
        return self.recordings.find(self.row, code)


def _key(row: Row, code: str, setting: Setting, digest: str, sandbox: str) -> str:
    return job_key(code, "recorded calls", row.path, row.prefix_code, setting, digest, sandbox)


def _record(
    todo: dict[str, tuple[Row, str]], settings: dict[Key, Setting], options: Options, reporter: Reporter
) -> Iterator[tuple[str, Trace]]:
    readers: dict[str, Reader] = {}
    jobs = _jobs(todo, settings, readers)
    with open_runner(options, reporter) as runner, reporter.track("recording calls", len(todo)) as advance:
        for job, outcome in runner.run(jobs):
            trace = readers.pop(job.key)(outcome)
            row, _ = todo[job.key]
            told = "nothing is known" if trace is None else f"{len(trace.calls)} calls"
            advance(f"{row.github_id}/{row.id}: {told}")
            if trace is not None:
                yield job.key, trace


def _jobs(todo: dict[str, tuple[Row, str]], settings: dict[Key, Setting], readers: dict[str, Reader]) -> Iterator[Job]:
    from ...validators.arguments.recorder import recording

    for key, (row, code) in todo.items():
        setting = settings[row.key]
        job, readers[key] = recording(
            code,
            path=row.path,
            prefix_code=row.prefix_code,
            environment=setting.environment,
            repository=setting.repository,
        )
        yield replace(job, key=key)


def _fields(trace: Trace) -> dict[str, Any]:
    calls = [{**asdict(call), "prepared": sorted(call.prepared)} for call in trace.calls]
    return {"calls": calls, "doubts": trace.doubts}


def _trace(fields: dict[str, Any]) -> Trace:
    from ...validators.arguments import Call, Trace

    calls = (
        Call(
            item["kind"],
            item["target"],
            tuple(item["argv"]),
            item["folder"],
            tuple(item["launcher"]),
            tuple((name, value) for name, value in item["env"]),
            frozenset(item["prepared"]),
        )
        for item in fields["calls"]
    )
    return Trace(tuple(calls), tuple(fields["doubts"]))

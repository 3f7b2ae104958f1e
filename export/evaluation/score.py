"""Judging one sample: what the strict protocol and the published one say of it, from the same evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...core.models import Outcome, OutcomeKind
from ..rows import Key, Row, arguments_of
from . import mlbench
from .answers import extract, is_text, language_of
from .causes import Cause, cause_of_arguments, cause_of_crash, cause_of_text

__all__ = ["NOT_EXECUTED", "Sample", "examine", "with_outcome"]

if TYPE_CHECKING:
    from ...curation.flags import SourceFiles
    from ...validators.arguments import Records, Refusal

LANGUAGES = {"Bash Script": "shell", "Python Code": "python"}
NOT_EXECUTED = OutcomeKind.NOT_EXECUTED.value
INFRASTRUCTURE = OutcomeKind.INFRASTRUCTURE.value


@dataclass(frozen=True)
class Sample:
    """One sample of one example, judged as far as its evidence goes."""

    key: Key
    index: int
    """Place in the prediction's list, from 0."""
    outcome: str
    """The strict verdict: an outcome's name, or wrong_arguments, wrong_type, no_code, missing."""
    detail: str
    code: str | None
    code_rule: str
    ml_bench: mlbench.Verdict
    runs: str | None
    """The text to execute; None where neither protocol asks for it."""
    answer: str | None = None
    """The sample as predicted."""
    execution: str | None = None
    """Key of its line in ``outcomes.jsonl``; None where it was not executed."""
    cause: Cause | None = None
    """Why it is wrong; None where it is right, or nothing can be said yet."""
    refusals: tuple[Refusal, ...] | None = None
    """Arguments that it does not meet; None where they were not compared."""

    @property
    def right(self) -> bool:
        return self.outcome == OutcomeKind.PASSED.value

    @property
    def ungraded(self) -> bool:
        """Whether the machine, not the sample, is to blame for the missing verdict."""
        return self.outcome == INFRASTRUCTURE

    def line(self) -> dict[str, Any]:
        """The line of ``results.jsonl``."""
        return {
            "github_id": self.key[0],
            "id": self.key[1],
            "sample": self.index,
            "outcome": self.outcome,
            "detail": self.detail,
            "code": self.code,
            "code_rule": self.code_rule,
            "ml_bench": {"passed": self.ml_bench.passed, "rule": self.ml_bench.rule},
            "error": None if self.cause is None else self.cause.as_json(),
        }

    def comparison(self, arguments: Mapping[str, Any]) -> list[dict[str, Any]] | None:
        """``{"name", "wanted", "found", "met"}`` for each of the row's arguments; None where they were not compared."""
        if self.refusals is None:
            return None
        refused = {refusal.argument: refusal for refusal in self.refusals}
        whole = refused.get(None)
        lines = []
        for name, wanted in arguments.items():
            refusal = refused.get(name, whole)
            found = None if refusal is None or refusal.found is None else str(refusal.found)
            lines.append({"name": name, "wanted": str(wanted), "found": found, "met": refusal is None})
        return lines


def examine(
    row: Row, index: int, text: str | None, files: SourceFiles | None = None, recorder: Records | None = None
) -> Sample:
    """Everything that can be said of a sample before its execution.

    With ``files``, the repository at its pin, arguments are read through the program's own flags; without, by names
    as written. ``recorder`` knows what was recorded of scripts whose text alone does not tell what they start.

    Raises:
        BenchwrightError: the row's arguments are no mapping.
    """
    if text is None:
        nothing = mlbench.Verdict(False, "missing")
        gave_up = cause_of_text("missing", "", "")
        return Sample(row.key, index, "missing", "the sample is missing", None, "", nothing, None, cause=gave_up)
    published = mlbench.by_text(row, arguments_of(row), text)
    found = extract(text, row.type)
    outcome, detail = NOT_EXECUTED, found.detail
    refusals: tuple[Refusal, ...] | None = None
    if found.code is None:
        outcome = "no_code"
    else:
        language = language_of(found.code)
        if found.rule == "other_language_block" or language not in (LANGUAGES[row.type], "unknown"):
            wanted = "a shell command" if row.type == "Bash Script" else "Python code"
            outcome, detail = "wrong_type", f"asked for {wanted}, the answer reads as {language}"
        else:
            refusals, doubts = _arguments(row, found.code, files, recorder)
            if refusals:
                outcome, detail = "wrong_arguments", "; ".join(map(str, refusals))
            elif doubts:
                detail = "; ".join(part for part in (detail, f"the arguments are not certain: {doubts}") if part)
    runs: str | None = found.code if found.code is not None else text
    if published.rule is None and not is_text(runs or ""):
        published = mlbench.Verdict(False, "not_text")
    if outcome != NOT_EXECUTED and published.rule is not None:
        runs = None
    cause = cause_of_text(outcome, found.rule, detail)
    if refusals and found.code is not None:
        cause = cause_of_arguments(found.code, row.type, refusals)
    return Sample(
        row.key, index, outcome, detail, found.code, found.rule, published, runs, text, cause=cause, refusals=refusals
    )


def _arguments(
    row: Row, code: str, files: SourceFiles | None, recorder: Records | None
) -> tuple[tuple[Refusal, ...], str]:
    """What the code does not do of what the arguments ask, and what the check was not sure of."""
    from ...validators.arguments import check_arguments

    verdict = check_arguments(
        code,
        row.type,
        arguments_of(row),
        path=row.path,
        prefix_code=row.prefix_code,
        reference=row.output,
        files=files,
        recorder=recorder,
    )
    return verdict.problems, "; ".join(verdict.notes)


def with_outcome(sample: Sample, row: Row, text: str, outcome: Outcome, crash: Cause | None = None) -> Sample:
    """The sample with the verdicts that its execution adds.

    ``crash`` is what its output said of the cause, where ``outcome`` does not hold the output any more.
    """
    verdict = mlbench.judge(row, arguments_of(row), text, outcome)
    if outcome.outcome is OutcomeKind.INFRASTRUCTURE or sample.outcome == NOT_EXECUTED:
        if sample.outcome != NOT_EXECUTED:
            return replace(sample, ml_bench=verdict)
        detail = "; ".join(part for part in (outcome.detail, sample.detail) if part)
        return replace(
            sample,
            outcome=outcome.outcome.value,
            detail=detail,
            ml_bench=verdict,
            cause=crash or cause_of_crash(outcome),
        )
    return replace(sample, ml_bench=verdict)

"""Why a sample is wrong: one class for each wrong sample, and the rule that assigned it.

The classes are those of ML-Bench's error analysis (arXiv 2311.09835: hallucination, lack of knowledge, knowledge
manipulation, syntax, operational), derived here from evidence instead of asked of a model: what the text checks
refused, and the last words of the program that failed. What no rule explains is ``unexplained``, never guessed.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ...core.models import Outcome, OutcomeKind

if TYPE_CHECKING:
    from ...validators.arguments import Refusal

__all__ = ["CLASSES", "Cause", "cause_of_arguments", "cause_of_crash", "cause_of_text"]

HALLUCINATION = "hallucination"
KNOWLEDGE = "missing_knowledge"
MISUSE = "misuse"
SYNTAX = "syntax"
GAVE_UP = "gave_up"
LIMIT = "limit"
UNEXPLAINED = "unexplained"

CLASSES = {
    HALLUCINATION: "names a flag, module, script or command that does not exist, or answers in the other language",
    KNOWLEDGE: "leaves out what the program needs: an argument, a file, a definition",
    MISUSE: "uses what exists with a wrong value or in a wrong way",
    SYNTAX: "cannot be parsed",
    GAVE_UP: "holds no answer",
    LIMIT: "ran into a limit of time, memory, output or disk",
    UNEXPLAINED: "failed, and no rule says why",
}
"""Class -> what a sample of it does."""

CRASHES: Sequence[tuple[str, str, re.Pattern[str]]] = [
    (cause, rule, re.compile(pattern, re.MULTILINE))
    for cause, rule, pattern in (
        (SYNTAX, "python_syntax", r"^(?:SyntaxError|IndentationError|TabError): .*"),
        (SYNTAX, "shell_syntax", r"^.*: (?:syntax error(?: near unexpected token|:)|unexpected EOF while looking).*"),
        (HALLUCINATION, "unknown_flag", r"error: unrecognized arguments: .*"),
        (HALLUCINATION, "unknown_flag", r"No such option:? .*"),
        (HALLUCINATION, "unknown_flag", r"Unknown command line flag '.*'"),
        (HALLUCINATION, "unknown_flag", r"^.*: (?:un(?:known|recognized)|invalid|illegal) option(?: --)? .*"),
        (HALLUCINATION, "unknown_flag", r"Could not consume arg: .*"),
        (HALLUCINATION, "unknown_flag", r"Could not override '.*"),
        (HALLUCINATION, "no_such_command", r"No such command '?.*"),
        (HALLUCINATION, "no_such_script", r"can't open file '.*': \[Errno 2\].*"),
        (HALLUCINATION, "no_such_script", r"^(?:.*/)?(?:ba)?sh: (?!line ).*: No such file or directory"),
        (HALLUCINATION, "no_such_module", r"^(?:.*/)?python[\d.]*: (?:No module named|Error while finding module) .*"),
        (HALLUCINATION, "no_such_module", r"^ModuleNotFoundError: .*"),
        (HALLUCINATION, "no_such_name", r"^ImportError: cannot import name .*"),
        (HALLUCINATION, "no_such_name", r"^AttributeError: (?:partially initialized )?module .* has no attribute .*"),
        (HALLUCINATION, "no_such_command", r"^.*: command not found"),
        (KNOWLEDGE, "required_argument", r"error: the following arguments are required: .*"),
        (KNOWLEDGE, "required_argument", r"Missing (?:option|argument|parameter) .*"),
        (KNOWLEDGE, "required_argument", r"Flag --\S+ must have a value other than None"),
        (KNOWLEDGE, "required_argument", r"^TypeError: .*missing \d+ required .*"),
        (KNOWLEDGE, "no_such_file", r"^(?:FileNotFoundError|NotADirectoryError): .*"),
        (KNOWLEDGE, "no_such_file", r"^.*: No such file or directory"),
        (KNOWLEDGE, "undefined_name", r"^(?:NameError|UnboundLocalError): .*"),
        (MISUSE, "unknown_keyword", r"^TypeError: .*unexpected keyword argument .*"),
        (MISUSE, "refused_value", r"error: argument .*"),
        (MISUSE, "refused_value", r"Invalid value for .*"),
        (MISUSE, "refused_value", r"flag --\S+=.*: .*"),
        (MISUSE, "exception", r"^(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Iteration)\b.*"),
    )
]
"""Class, rule and pattern; where several match, the match that stands last in the output decides, then the order."""

LIMITS = frozenset(
    {OutcomeKind.TIMED_OUT, OutcomeKind.OUT_OF_MEMORY, OutcomeKind.OUTPUT_EXCEEDED, OutcomeKind.DISK_EXCEEDED}
)
SHOWN = 300
"""Characters of the program's own words that are kept."""


@dataclass(frozen=True)
class Cause:
    """Why a sample is wrong."""

    error_class: str
    """A key of :data:`CLASSES`."""
    rule: str
    """The rule that assigned it."""
    words: str = ""
    """The program's own words that the rule went by."""

    def as_json(self) -> dict[str, str]:
        """``{"class", "rule", "words"}``."""
        fields = asdict(self)
        return {"class": fields.pop("error_class"), **fields}


def cause_of_crash(outcome: Outcome) -> Cause | None:
    """The cause that an execution shows; None where it passed, was not executed, or the machine spoilt it."""
    if outcome.outcome in LIMITS:
        return Cause(LIMIT, outcome.outcome.value, outcome.detail[:SHOWN])
    if outcome.outcome is not OutcomeKind.FAILED:
        return None
    text = outcome.output.tail or outcome.output.head
    best: tuple[int, Cause] | None = None
    for error_class, rule, pattern in CRASHES:
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start())
            if best is None or line > best[0]:
                best = (line, Cause(error_class, rule, match.group()[:SHOWN]))
    return best[1] if best else Cause(UNEXPLAINED, "exit_code", outcome.detail[:SHOWN])


def cause_of_text(outcome: str, rule: str, detail: str) -> Cause | None:
    """The cause of a sample that is refused before its arguments are read; ``rule`` is that of the extraction."""
    if outcome == "missing":
        return Cause(GAVE_UP, "missing")
    if outcome == "no_code":
        return Cause(GAVE_UP, rule, detail)
    if outcome == "wrong_type":
        return Cause(HALLUCINATION, "other_language", detail)
    return None


def cause_of_arguments(code: str, task_type: str, refusals: Sequence[Refusal]) -> Cause:
    """The cause of a sample whose arguments are refused."""
    if task_type == "Python Code" and (problem := _syntax_problem(code)):
        return Cause(SYNTAX, "python_syntax", problem)
    words = "; ".join(map(str, refusals))[:SHOWN]
    if any(refusal.argument is None for refusal in refusals):
        return Cause(HALLUCINATION, "other_program", words)
    if all(refusal.found is None for refusal in refusals):
        return Cause(KNOWLEDGE, "argument_left_out", words)
    return Cause(MISUSE, "other_value", words)


def _syntax_problem(code: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except SyntaxError as error:
        return f"SyntaxError: {error.msg} (line {error.lineno})"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"{type(error).__name__}: {error}"
    return ""

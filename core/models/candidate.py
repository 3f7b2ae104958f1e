"""A candidate: a task proposed by the machine, in the shape that ``candidates export`` writes."""

from __future__ import annotations

from typing import Any, Literal

from .record import Part, Record
from .repository import RepositoryRef

__all__ = [
    "Argument",
    "Candidate",
    "ContextPiece",
    "EntryPoint",
    "OracleScope",
    "ScopeName",
    "Source",
    "TaskType",
]

TaskType = Literal["Bash Script", "Python Code"]
ScopeName = Literal["block", "section", "parent", "document"]


class Source(Part):
    """A place in a document: 1-based inclusive lines of the file as stored in git, with its blob id."""

    path: str
    blob: str
    start_line: int
    end_line: int
    heading: tuple[str, ...] = ()
    """Headings from the outermost to the one the place stands under."""


class EntryPoint(Part):
    """What a task starts: a file, a module (``python -m``), a console script, or a call of the package's API."""

    kind: Literal["file", "module", "console_script", "api"]
    target: str


class Argument(Part):
    """One argument of an entry point, with what the document gives it and what the code says about it."""

    name: str
    flag: str | None = None
    """The option as written (``--lr``); None for positionals and API parameters."""
    value: Any = None
    """The value in the candidate's command; None where the command does not set it."""
    default: Any = None
    default_source: str | None = None
    """The default's expression where it is not a literal."""
    static: bool = True
    """False where part of this cannot be known without running the code."""
    type: str | None = None
    choices: tuple[Any, ...] | None = None
    required: bool = False
    help: str | None = None
    defined_at: str | None = None
    """``path:line`` of the definition; None where the code does not define it."""


class OracleScope(Part):
    """A stretch of the document an annotator may choose as the oracle: the source text as stored."""

    scope: ScopeName
    start_line: int
    end_line: int
    text: str


class ContextPiece(Part):
    """A stretch of repository code that helps to write the command or snippet."""

    path: str
    start_line: int
    end_line: int
    symbol: str
    text: str


class Candidate(Record):
    """One distinct task found in a repository.

    ``id`` holds no commit and no line number, so it survives a moved pin; ``digest`` covers everything an
    annotator is shown, so it changes exactly when the annotator's view does.
    """

    id: str
    digest: str
    repository: RepositoryRef
    source: Source
    type: TaskType
    path: str
    """Folder the command runs in, ``./``-prefixed."""
    entry_point: EntryPoint
    output: str
    """One command or one code block, as the document gives it."""
    arguments: tuple[Argument, ...] = ()
    oracle: str
    oracle_scopes: tuple[OracleScope, ...] = ()
    prefix_code: str = ""
    context: tuple[ContextPiece, ...] = ()
    score: float = 0.0
    reasons: tuple[str, ...] = ()
    """Why the score is what it is, one phrase for each part of it."""
    also_at: tuple[Source, ...] = ()

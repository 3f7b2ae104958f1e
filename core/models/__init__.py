"""Everything that stages hand to one another, as strict records with a schema version.

Comes in: fields read from disk. Goes out: checked, immutable records. Open ``record.py`` first (how versions are
checked and upgraded), then ``candidate.py`` and ``task.py`` (what the toolkit is about).
"""

from .annotation import Annotation, Verdict
from .candidate import (
    Argument,
    Candidate,
    ContextPiece,
    EntryPoint,
    OracleScope,
    ScopeName,
    Source,
    TaskType,
)
from .outcome import Evidence, Outcome, OutcomeKind, Output
from .record import Part, Record, explain
from .repository import COMMIT_PATTERN, NAME_PATTERN, Name, Repository, RepositoryRef
from .task import Example, Limits, Success, Task

__all__ = [
    "COMMIT_PATTERN",
    "NAME_PATTERN",
    "Annotation",
    "Argument",
    "Candidate",
    "ContextPiece",
    "EntryPoint",
    "Evidence",
    "Example",
    "Limits",
    "Name",
    "OracleScope",
    "Outcome",
    "OutcomeKind",
    "Output",
    "Part",
    "Record",
    "Repository",
    "RepositoryRef",
    "ScopeName",
    "Source",
    "Success",
    "Task",
    "TaskType",
    "Verdict",
    "explain",
]

"""The code that helps to write a command or snippet, cut to a budget.

Comes in: the files of a repository, and an entry point or a snippet. Goes out: pieces of source text, most useful
first, that together never exceed the budget by the count named in ``tokens.py``. Open ``wanted_by_script.py``
first.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...core.models import Argument, ContextPiece
from ..flags import SourceFiles
from .cutting import cut, tokens_of
from .index import CONFIGURATIONS, Definition, FileIndex, Index, index_source
from .tokens import TOKENIZER, count_tokens
from .wanted_by_script import named_file, wanted_by_script
from .wanted_by_snippet import wanted_by_snippet

__all__ = [
    "BUDGET_TOKENS",
    "CONFIGURATIONS",
    "TOKENIZER",
    "Definition",
    "FileIndex",
    "Index",
    "context_for",
    "count_tokens",
    "index_source",
    "named_file",
    "tokens_of",
]

BUDGET_TOKENS = 4000
"""What a candidate's context may cost by :data:`TOKENIZER`."""


def context_for(
    files: SourceFiles | Index,
    *,
    script: str | None = None,
    snippet: str | None = None,
    folder: str = "",
    arguments: Sequence[Argument] = (),
    budget_tokens: int = BUDGET_TOKENS,
) -> tuple[ContextPiece, ...]:
    """The pieces of code that matter for one candidate, most useful first.

    ``script`` is the path of the file a command starts: its parser, its main path, the definitions it uses through
    local imports, and the lines that tell the values of ``arguments`` apart. ``snippet`` is Python code that runs in
    ``folder``: the classes and functions of the repository that it uses. Hand in one :class:`Index` for many candidates
    of a repository. The tokens of all pieces, their paths and symbols included, are at most ``budget_tokens``.
    """
    index = files if isinstance(files, Index) else Index(files)
    stretches = wanted_by_script(index, script, arguments) if script is not None else []
    if snippet is not None:
        stretches = [*stretches, *wanted_by_snippet(index, snippet, folder)]
    return cut(index, stretches, budget_tokens)

"""What a model might answer to the demo's examples: five samples each, two of them right."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ..rows import Row

__all__ = ["predictions"]


def predictions(rows: Iterable[Row]) -> str:
    """JSON lines in ML-Bench's form of predictions."""
    return "".join(f"{json.dumps(_line(row, first=index == 0))}\n" for index, row in enumerate(rows))


def _line(row: Row, first: bool) -> dict[str, object]:
    # one that never ends is enough to see what the wall limit does
    bad = _endless(row) if first else _misspelt(row)
    samples = [_fenced(row), _misspelt(row), _considered(row), bad, "I am sorry, but I cannot help with that."]
    return {"github_id": row.github_id, "id": row.id, "output": samples}


def _language(row: Row) -> str:
    return "python" if row.type == "Python Code" else "bash"


def _block(row: Row, code: str) -> str:
    return f"```{_language(row)}\n{code}\n```"


def _fenced(row: Row) -> str:
    return f"This should do it:\n\n{_block(row, row.output)}\n"


def _considered(row: Row) -> str:
    return f"<think>\nPerhaps this?\n{_block(row, 'exit(1)')}\nNo.\n</think>\n\n{_block(row, row.output)}\n"


def _misspelt(row: Row) -> str:
    if row.type == "Python Code":
        return _block(row, row.output.replace(" import ", "_ import ", 1))
    return _block(row, row.output.replace(".py", "s.py", 1))


def _endless(row: Row) -> str:
    """Does what was asked, and then never ends: a timeout is not a pass."""
    return _block(
        row, f"{row.output}\nwhile True:\n    pass" if row.type == "Python Code" else f"{row.output}\nsleep 600"
    )

"""Showing what curation found: lists, one candidate in full, JSON lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..core.errors import BenchwrightError, InfrastructureError
from ..core.files import atomic_write
from ..core.models import Candidate
from ..core.progress import Reporter
from ..core.store import Store
from ..core.workspace import Workspace
from .pipeline import Curated
from .slots import Slot

__all__ = ["as_published", "chosen", "export_lines", "list_rows", "registered", "show", "show_one"]


def show(results: Sequence[Curated], reporter: Reporter) -> None:
    """The result of ``curate``; raises where a repository could not be curated.

    Raises:
        InfrastructureError: with each repository's reason.
    """
    rows = [(r.name, r.candidates, "unchanged" if r.unchanged else "failed" if r.error else "curated") for r in results]
    value = [
        {"name": r.name, "candidates": r.candidates, "unchanged": r.unchanged, "error": r.error and r.error.message}
        for r in results
    ]
    reporter.table("", ("repository", "candidates", "state"), rows, value)
    failed = [result for result in results if result.error]
    if failed:
        reasons = "\n  ".join(f"{result.name}: {result.error}" for result in failed)
        raise InfrastructureError(f"{len(failed)} of {len(results)} repositories could not be curated\n  {reasons}")


_SORTS = {
    "score": lambda c: (c.repository.name, -c.score),
    "document": lambda c: (c.repository.name, c.source.path, c.source.start_line),
    "id": lambda c: c.id,
}


def chosen(
    candidates: Iterable[Candidate],
    kind: str | None = None,
    minimum: float = 0.0,
    document: str | None = None,
    sort: str = "score",
    limit: int | None = None,
) -> list[Candidate]:
    """Candidates of one type, of at least a score, of one document; sorted; at most ``limit`` of each repository.

    Raises:
        BenchwrightError: an unknown type or order.
    """
    types = {None: None, "bash": "Bash Script", "python": "Python Code"}
    if kind not in types or sort not in _SORTS:
        raise BenchwrightError(
            f"unknown {'type' if kind not in types else 'order'}",
            where=kind if kind not in types else sort,
            remedy="--type bash or python; --sort score, document or id",
        )
    found = [
        c
        for c in candidates
        if (kind is None or c.type == types[kind])
        and c.score >= minimum
        and (document is None or c.source.path == document)
    ]
    counts: dict[str, int] = {}
    kept = []
    for candidate in sorted(found, key=_SORTS[sort]):
        counts[candidate.repository.name] = counts.get(candidate.repository.name, 0) + 1
        if limit is None or counts[candidate.repository.name] <= limit:
            kept.append(candidate)
    return kept


def registered(workspace: Workspace, names: Iterable[str] | None) -> list[str]:
    """The names as registered; none given stands for all.

    Raises:
        BenchwrightError: one is not registered.
    """
    return [repository.name for repository in workspace.repositories(names)] if names else []


def list_rows(candidates: Sequence[Candidate]) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """Rows for people, and the same for machines."""
    rows = [
        (c.id, f"{c.score:.2f}", c.type.split()[0], c.path, _short(c), f"{c.source.path}:{c.source.start_line}")
        for c in candidates
    ]
    values = [
        {
            "id": c.id,
            "score": c.score,
            "type": c.type,
            "path": c.path,
            "entry_point": c.entry_point.target,
            "output": c.output,
            "source": f"{c.source.path}:{c.source.start_line}",
        }
        for c in candidates
    ]
    return rows, values


def _short(candidate: Candidate) -> str:
    text = candidate.entry_point.target if candidate.type == "Python Code" else " ".join(candidate.output.split())
    return text if len(text) <= 72 else f"{text[:71]}…"


def as_published(body: str) -> str:
    """A stored candidate as one line of the export: without what is only the store's."""
    fields = json.loads(body)
    fields.pop("schema_version", None)
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def export_lines(store: Store, names: Iterable[str], output: Path | None, reporter: Reporter) -> None:
    """Write all candidates as JSON lines to ``output``, or print them; UTF-8 and line feeds whatever the locale."""
    lines = [as_published(body) for (body,) in store.candidate_bodies(names)]
    text = "".join(f"{line}\n" for line in lines)
    if output is None:
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()
        return
    if not output.parent.exists():
        raise BenchwrightError("there is no such folder", where=str(output.parent))
    try:
        atomic_write(output, text)
    except OSError as error:
        raise InfrastructureError(str(error), where=str(output)) from error
    reporter.result({"file": str(output), "candidates": len(lines)}, [f"wrote {len(lines)} candidates to {output}"])


def show_one(candidate: Candidate, reporter: Reporter, slots: Sequence[Slot] = ()) -> None:
    """Everything about one candidate, highlighted on a terminal; ``slots`` say what is worth varying."""
    if reporter.json:
        value = candidate.model_dump(mode="json", exclude={"schema_version"})
        reporter.result({**value, "slots": [asdict(slot) for slot in slots]})
        return
    from rich.console import Console, Group, RenderableType
    from rich.panel import Panel
    from rich.syntax import Syntax
    from rich.table import Table
    from rich.text import Text

    language = "python" if candidate.type == "Python Code" else "bash"
    where = f"{candidate.source.path}:{candidate.source.start_line}-{candidate.source.end_line}"
    facts = Table.grid(padding=(0, 2))
    for name, value in (
        ("repository", f"{candidate.repository.name} at {candidate.repository.commit[:12]}"),
        ("licence", candidate.repository.license or "none known"),
        ("document", f"{where}  {' > '.join(candidate.source.heading)}"),
        ("also at", ", ".join(f"{s.path}:{s.start_line}" for s in candidate.also_at[:8])),
        ("type", candidate.type),
        ("runs in", candidate.path),
        ("entry point", f"{candidate.entry_point.kind} {candidate.entry_point.target}"),
        ("score", f"{candidate.score:.2f}  ({'; '.join(candidate.reasons)})"),
    ):
        if value:
            facts.add_row(Text(name, style="bold"), Text(value))
    parts: list[RenderableType] = [facts]
    if candidate.prefix_code:
        parts.append(Panel(Syntax(candidate.prefix_code.rstrip(), "bash", word_wrap=True), title="prefix code"))
    parts.append(Panel(Syntax(candidate.output.rstrip(), language, word_wrap=True), title="output"))
    if candidate.arguments:
        parts.append(_arguments(candidate, slots))
    parts.append(Panel(Syntax(candidate.oracle.rstrip(), "markdown", word_wrap=True), title="oracle"))
    others = [f"{s.scope} {s.start_line}-{s.end_line}" for s in candidate.oracle_scopes]
    parts.append(Text(f"oracle scopes: {', '.join(others)}"))
    for piece in candidate.context:
        title = f"{piece.path}:{piece.start_line}-{piece.end_line} {piece.symbol}"
        parts.append(Panel(Syntax(piece.text.rstrip(), "python", word_wrap=True), title=title))
    Console(width=None if sys.stdout.isatty() else 120).print(Group(*parts))


def _arguments(candidate: Candidate, slots: Sequence[Slot]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"{candidate.id}: arguments", title_justify="left")
    for column in ("name", "value", "default", "type", "choices", "worth trying", "defined at", "help"):
        table.add_column(column, overflow="fold")
    worth_trying = {slot.name: ", ".join(map(str, slot.values)) for slot in slots}
    for argument in sorted(candidate.arguments, key=lambda item: item.value is None):
        default = argument.default if argument.default_source is None else argument.default_source
        cells = (
            f"{argument.flag or argument.name}{' (required)' if argument.required else ''}",
            argument.value,
            default,
            argument.type,
            ", ".join(map(str, argument.choices or ())),
            worth_trying.get(argument.name),
            argument.defined_at,
            argument.help,
        )
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in cells))
    return table

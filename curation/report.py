"""Showing what curation found: lists, one candidate in full, JSON lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
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

__all__ = ["as_published", "chosen", "export_lines", "registered", "show", "show_list", "show_one"]


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


def show_list(candidates: Sequence[Candidate], reporter: Reporter) -> None:
    """A line for each candidate; where there is none, what may be the cause."""
    if not candidates:
        reporter.result([], ["no candidates: run benchwright curate; if that was done, these options leave all out"])
        return
    rows = [
        (
            c.id,
            f"{c.score:.2f}",
            c.type.split()[0],
            c.path,
            _cut(_what(c), 64),
            _cut(c.source.heading[-1] if c.source.heading else "", 32),
            f"{c.source.path}:{c.source.start_line}",
        )
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
            "heading": list(c.source.heading),
            "source": f"{c.source.path}:{c.source.start_line}",
        }
        for c in candidates
    ]
    columns = ("id", "score", "type", "runs in", "what", "section", "from")
    reporter.table("", columns, rows, values)


def _what(candidate: Candidate) -> str:
    """A command on one line; of a snippet the first line that uses what it shows."""
    if candidate.type == "Bash Script":
        return " ".join(candidate.output.replace("\\\n", " ").split())
    lines = (line.strip() for line in candidate.output.splitlines())
    doing = [line for line in lines if line and not line.startswith(("#", "import ", "from ", '"""', "@"))]
    used = candidate.entry_point.target.rpartition(".")[2]
    return next((line for line in doing if used in line), (doing or [candidate.entry_point.target])[0])


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


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


def show_one(candidate: Candidate, reporter: Reporter, slots: Sequence[Slot] = (), context: bool = False) -> None:
    """One candidate, highlighted on a terminal: what an annotator is shown, or with ``context`` the code it uses.

    ``slots`` say what is worth varying. As JSON there is everything, whatever ``context`` says.
    """
    from .context import BUDGET_TOKENS, TOKENIZER, tokens_of

    tokens = tokens_of(candidate.context)
    if reporter.json:
        fields = candidate.model_dump(mode="json", exclude={"schema_version"})
        counted = {"tokens": tokens, "budget": BUDGET_TOKENS, "tokenizer": TOKENIZER}
        reporter.result({**fields, "slots": [asdict(slot) for slot in slots], "context_size": counted})
        return
    from rich.console import Console, Group, RenderableType
    from rich.text import Text

    code = Text(f"code context: {len(candidate.context)} pieces, {tokens} of {BUDGET_TOKENS} tokens ({TOKENIZER})")
    parts: list[RenderableType] = [_facts(candidate)]
    if context:
        parts += [_output(candidate), code, *_context(candidate)]
    else:
        parts += [*_card(candidate, slots), code.append("; --context shows them" if candidate.context else "")]
    Console(width=None if sys.stdout.isatty() else 120).print(Group(*parts))


def _facts(candidate: Candidate) -> Any:
    from rich.table import Table
    from rich.text import Text

    where = f"{candidate.source.path}:{candidate.source.start_line}-{candidate.source.end_line}"
    facts = Table.grid(padding=(0, 2))
    for name, text in (
        ("repository", f"{candidate.repository.name} at {candidate.repository.commit[:12]}"),
        ("licence", candidate.repository.license or "none known"),
        ("document", f"{where}  {' > '.join(candidate.source.heading)}"),
        ("also at", ", ".join(f"{s.path}:{s.start_line}" for s in candidate.also_at[:8])),
        ("type", candidate.type),
        ("runs in", candidate.path),
        ("entry point", f"{candidate.entry_point.kind} {candidate.entry_point.target}"),
        ("score", f"{candidate.score:.2f}  ({'; '.join(candidate.reasons)})"),
    ):
        if text:
            facts.add_row(Text(name, style="bold"), Text(text))
    return facts


def _card(candidate: Candidate, slots: Sequence[Slot]) -> Iterator[Any]:
    from rich.text import Text

    if candidate.prefix_code:
        yield _panel(candidate.prefix_code, "bash", "prefix code")
    yield _output(candidate)
    if candidate.arguments:
        yield _arguments(candidate, slots)
    yield _panel(candidate.oracle, "markdown", "oracle")
    others = [f"{s.scope} {s.start_line}-{s.end_line}" for s in candidate.oracle_scopes]
    yield Text(f"oracle scopes: {', '.join(others)}")


def _output(candidate: Candidate) -> Any:
    return _panel(candidate.output, "python" if candidate.type == "Python Code" else "bash", "output")


def _context(candidate: Candidate) -> Iterator[Any]:
    """Each piece under its place and symbol, with the line numbers of its file."""
    from rich.syntax import Syntax

    for piece in candidate.context:
        title = f"{piece.path}:{piece.start_line}-{piece.end_line}  {piece.symbol}"
        yield _panel(piece.text, Syntax.guess_lexer(piece.path), title, piece.start_line)


def _panel(text: str, language: str, title: str, start_line: int | None = None) -> Any:
    """Highlighted text in a frame; from ``start_line`` on its lines are numbered."""
    from rich.panel import Panel
    from rich.syntax import Syntax
    from rich.text import Text

    code = Syntax(
        text.rstrip(),
        language,
        word_wrap=True,
        background_color="default",
        line_numbers=start_line is not None,
        start_line=start_line or 1,
    )
    return Panel(code, title=Text(title), title_align="left")


def _arguments(candidate: Candidate, slots: Sequence[Slot]) -> Any:
    """Those the command gives first, then those worth varying; what the code says of each."""
    from rich.table import Table
    from rich.text import Text

    worth_trying = {slot.name: slot for slot in slots}
    table = Table(title=f"{candidate.id}: arguments", title_justify="left", show_lines=True)
    for column, ratio in (("name", 3), ("value", 3), ("default", 3), ("type, choices", 3), ("worth trying", 4)):
        table.add_column(column, overflow="fold", ratio=ratio)
    table.add_column("meaning", overflow="fold", ratio=5)
    for argument in sorted(candidate.arguments, key=lambda item: (item.value is None, item.name not in worth_trying)):
        slot = worth_trying.get(argument.name)
        default = argument.default if argument.default_source is None else argument.default_source
        choices = "" if argument.choices is None else f": {', '.join(map(str, argument.choices))}"
        cells = (
            f"{argument.flag or argument.name}{' (required)' if argument.required else ''}",
            argument.value,
            default,
            f"{argument.type or ''}{choices}",
            None if slot is None else ", ".join(map(str, slot.values)),
            " ".join(filter(None, (argument.help, argument.defined_at and f"({argument.defined_at})"))),
        )
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in cells))
    return table

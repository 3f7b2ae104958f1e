"""The labeling interface: what an annotator is shown of a candidate, and what the form's fields are called.

``interface.xml`` is Label Studio's configuration. Names of controls begin with ``out_``, so that none equals a key of
the task's data. Every control the toolkit reads is checked against a configuration before anything is pushed to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, get_args
from xml.etree import ElementTree

from ..core.errors import BenchwrightError
from ..core.files import digest_of
from ..core.models import Argument, Candidate, Outcome, ScopeName, TaskType, Verdict
from ..curation.slots import Slot
from .arguments import write_arguments
from .display import document_html, plain_text, preformatted, table_html

__all__ = [
    "check_configuration",
    "configuration",
    "fields_of",
    "guidelines_html",
    "live_item",
    "opening",
    "prefill",
    "result_for",
    "task_data",
]

OBJECT = "code"
NOTE = "note_html"
"""Key of the data that says why a task was sent back; empty where it was not."""
LIVE = "out_live"
"""The field in which execution while typing shows its result; nothing in it is ever read back."""
NOT_RUN = "Not run yet. Where Auto-Annotation is offered below and switched on, leaving 4, 5 or 6 changed runs it."
TEXTS = ("out_instruction", "out_arguments", "out_script", "out_prefix_code", "out_reason")
SINGLE = ("out_scope", "out_type", "out_verdict")
MULTIPLE = ("out_flags",)
FIXED_CHOICES = {"out_type": get_args(TaskType), "out_verdict": get_args(Verdict)}
COLLAPSE = '<Collapse accordion="false" bordered="true">'
ANSWERS = """
        <Panel value="What the annotators said" open="true">
          <View className="bw-scroll"><HyperText name="answers" value="$answers_html" inline="true" \
selectionEnabled="false"/></View>
        </Panel>"""
CONTEXT_LIMIT = 40_000
"""Characters of repository code shown; a longer one says how much is left out."""


def configuration(adjudication: bool = False) -> str:
    """Label Studio's labeling configuration of our projects; one for ``adjudication`` also shows the answers given."""
    text = (files(__package__) / "interface.xml").read_text("utf-8")
    return text.replace(COLLAPSE, COLLAPSE + ANSWERS) if adjudication else text


def guidelines_html() -> str:
    """The project's expert instruction: ``guidelines.md`` as HTML; the server takes the styles out of it."""
    text = document_html((files(__package__) / "guidelines.md").read_text("utf-8"), "guidelines.md")
    return re.sub("(</(?:p|ul)>)(?!\\s*<ul)", r"\1<br>", text)


def check_configuration(text: str, where: str) -> None:
    """See that a labeling configuration has every control the toolkit reads, of the right kind, and what it shows.

    Raises:
        BenchwrightError: it is no XML, a control or one of its choices is missing, or it shows what no task has.
    """
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 (expat resolves no external entity)
    except ElementTree.ParseError as error:
        raise BenchwrightError(f"the labeling configuration is no XML: {error}", where=where) from error
    named = {element.get("name"): element for element in root.iter() if element.get("name")}
    problems = [problem for name in (*TEXTS, *SINGLE, *MULTIPLE) if (problem := _control_problem(name, named))]
    unknown = sorted(_variables(text) - _variables(configuration(adjudication=True)))
    problems += [f"it shows ${name}, which our tasks do not have" for name in unknown]
    if problems:
        raise BenchwrightError(
            f"the labeling configuration does not fit: {'; '.join(problems)}",
            where=where,
            remedy="put the controls back in the project's settings, or push to a project of another title",
        )


def _variables(text: str) -> set[str]:
    """Names of the data that a configuration shows."""
    return set(re.findall(r'"\$(\w+)"', text))


def _control_problem(name: str, named: Mapping[str | None, ElementTree.Element]) -> str | None:
    element, kind = named.get(name), "TextArea" if name in TEXTS else "Choices"
    if element is None or element.tag != kind:
        return f"there is no {kind} {name}"
    if element.get("toName") not in named:
        return f"{name} refers to {element.get('toName')}, which is not there"
    missing = set(FIXED_CHOICES.get(name, ())) - {choice.get("value") for choice in element.iter("Choice")}
    return f"{name} lacks the choice {', '.join(sorted(missing))}" if missing else None


# what is shown -----------------------------------------------------------------------------------------------


def task_data(candidate: Candidate, outcome: Outcome | None = None, slots: Sequence[Slot] = ()) -> dict[str, Any]:
    """Everything an annotator is shown of ``candidate``, under the keys that ``interface.xml`` names.

    ``slots`` are the arguments worth varying; their values stand in the arguments' table.

    ``shown`` is a digest of it all; ``candidate_id`` is the key by which the task is found again.
    """
    texts: dict[str, str] = {scope.scope: scope.text for scope in candidate.oracle_scopes}
    if not texts:
        texts = {_preferred_scope(candidate): candidate.oracle}
    data: dict[str, Any] = {
        "candidate_id": candidate.id,
        "candidate_digest": candidate.digest,
        "title": plain_text(f"{candidate.repository.name}: {candidate.entry_point.target}"),
        NOTE: "",
        "place_html": _place_html(candidate),
        **{f"{scope}_html": _scope_html(texts.get(scope), candidate) for scope in get_args(ScopeName)},
        "scopes": _scopes(candidate) or [{"value": scope, "hotkey": "alt+shift+1"} for scope in texts],
        "arguments_html": _arguments_html(candidate.arguments, slots),
        "suggestion_html": _suggestion_html(candidate, outcome),
        "code": _context_text(candidate),
    }
    return {**data, "shown": digest_of(data)}


def _scopes(candidate: Candidate) -> list[dict[str, str]]:
    """The choices of part 1; a key alone must choose nothing, since people type while a box is closed to them."""
    return [
        {
            "value": scope.scope,
            "hint": f"lines {scope.start_line} to {scope.end_line}",
            "hotkey": f"alt+shift+{number}",
        }
        for number, scope in enumerate(candidate.oracle_scopes, 1)
    ]


def _place_html(candidate: Candidate) -> str:
    place = " > ".join(candidate.source.heading)
    return f"<p><b>{_safe(candidate.source.path)}</b> {_safe(place)}</p>"


def _scope_html(text: str | None, candidate: Candidate) -> str:
    return "" if text is None else document_html(text, candidate.source.path)


def _preferred_scope(candidate: Candidate) -> ScopeName:
    """The scope whose text is the candidate's oracle, else the smallest."""
    for scope in candidate.oracle_scopes:
        if scope.text == candidate.oracle:
            return scope.scope
    return candidate.oracle_scopes[0].scope if candidate.oracle_scopes else "section"


def _arguments_html(arguments: Sequence[Argument], slots: Sequence[Slot]) -> str:
    if not arguments:
        return "<p>none found</p>"
    columns = ("argument", "document", "type", "default", "choices", "worth trying", "meaning")
    worth_trying = {slot.name: slot.values for slot in slots}
    rows = [
        (
            argument.flag or argument.name,
            argument.value,
            argument.type,
            _default(argument),
            _listed(argument.choices or ()),
            _listed(worth_trying.get(argument.name, ())),
            _meaning(argument),
        )
        for argument in sorted(arguments, key=lambda argument: argument.value is None)
    ]
    return table_html(columns, rows)


def _default(argument: Argument) -> Any:
    if argument.required:
        return "(required)"
    return argument.default if argument.default is not None else argument.default_source


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(map(str, values))


def _meaning(argument: Argument) -> str:
    return "\n".join(part for part in (argument.help, argument.defined_at) if part)


def _suggestion_html(candidate: Candidate, outcome: Outcome | None) -> str:
    parts = [preformatted(candidate.output), f"<p>runs in {_safe(candidate.path)}</p>"]
    if outcome is None:
        return "".join((*parts, "<p>not executed yet</p>"))
    status = "" if outcome.exit_code is None else f", exit status {outcome.exit_code}"
    parts.append(
        f"<p>last execution: <b>{outcome.outcome}</b>{status}, {outcome.duration_s:.1f} s {_safe(outcome.detail)}</p>"
    )
    return "".join((*parts, preformatted(outcome.output.tail or outcome.output.head)))


def _context_text(candidate: Candidate) -> str:
    pieces = [
        f"# {piece.path}, lines {piece.start_line} to {piece.end_line}: {piece.symbol}\n{piece.text.rstrip()}\n"
        for piece in candidate.context
    ]
    text = plain_text("\n".join(pieces)) or "(no code of the repository belongs to this candidate)"
    if len(text) <= CONTEXT_LIMIT:
        return text
    return f"{text[:CONTEXT_LIMIT]}\n# ... {len(text) - CONTEXT_LIMIT} more characters"


def _safe(text: str) -> str:
    from html import escape

    return escape(plain_text(text))


# what is filled in -------------------------------------------------------------------------------------------


def prefill(candidate: Candidate) -> dict[str, Any]:
    """The form's fields as the candidate proposes them; the verdict is the annotator's alone."""
    return {
        "scope": _preferred_scope(candidate),
        "type": candidate.type,
        "arguments": {a.name: a.value for a in candidate.arguments if a.value is not None},
        "script": candidate.output,
        "prefix_code": candidate.prefix_code,
    }


def opening(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The result items of a form that opens with these answers filled in.

    A text without a value is there too, empty, so that it is edited in place like the others: what is typed into
    Label Studio's own empty box is lost unless Add is pressed.
    """
    kept = [
        {key: item[key] for key in ("id", "from_name", "to_name", "type", "value") if key in item}
        for item in items
        if item.get("from_name") in (*TEXTS, *SINGLE, *MULTIPLE)
    ]
    given = {item["from_name"] for item in kept}
    empty = [_item(name, "textarea", {"text": [""]}) for name in TEXTS if name not in given]
    return [*kept, *empty, live_item(NOT_RUN)]


def result_for(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The result items that Label Studio stores when a form is submitted with these fields.

    Fields: ``scope``, ``type``, ``instruction``, ``arguments`` (a dictionary, or the text typed), ``script``,
    ``prefix_code``, ``flags`` (a list), ``verdict``, ``reason``. An absent or empty field gives no item, as in
    the browser.

    Raises:
        BenchwrightError: a field is none of these.
    """
    items = []
    for field, value in fields.items():
        name = f"out_{field}"
        if name in MULTIPLE:
            chosen: list[str] = list(value)
        elif name in SINGLE:
            chosen = [value] if value else []
        elif name in TEXTS:
            text = write_arguments(value) if isinstance(value, Mapping) else value
            if text:
                items.append(_item(name, "textarea", {"text": [text]}))
            continue
        else:
            raise BenchwrightError(f"the form has no field {field}")
        if chosen:
            items.append(_item(name, "choices", {"choices": chosen}))
    return items


def _item(name: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "from_name": name, "to_name": OBJECT, "type": kind, "value": value}


def live_item(text: str) -> dict[str, Any]:
    """The result item that shows ``text`` as what the script does now."""
    return _item(LIVE, "textarea", {"text": [text]})


def fields_of(items: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The form's fields out of stored result items: the reverse of :func:`result_for`, arguments as text."""
    fields: dict[str, Any] = {}
    for item in items:
        name, value = str(item.get("from_name")), item.get("value") or {}
        field = name.removeprefix("out_")
        if name in TEXTS:
            texts = value.get("text") or []
            fields[field] = texts if isinstance(texts, str) else "".join(texts[-1:])
        elif name in MULTIPLE:
            fields[field] = list(value.get("choices") or [])
        elif name in SINGLE:
            fields[field] = (value.get("choices") or [None])[0]
    return fields

"""A run as one HTML file that needs nothing else: no server, no request, no script of others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...core.models import Outcome
from ..rows import Key
from .runs import Comparison, Run, records

__all__ = ["html_page"]

HEAD_CHARACTERS = 600
TAIL_CHARACTERS = 1600
"""Of what a script wrote, the page shows this much; all that was kept stands in ``outcomes.jsonl``."""
TEXT_CHARACTERS = 20_000


def html_page(runs: Sequence[Run], comparisons: Sequence[Comparison] = ()) -> str:
    """The page for one run or several."""
    data = {
        "runs": [_run_data(run) for run in runs],
        "comparisons": [comparison.as_json() for comparison in comparisons],
    }
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    # "</" would end the script element, "<!--" begin a comment in it
    safe = text.replace("<", "\\u003c")
    template = (files(__package__) / "data" / "report.html").read_text("utf-8")
    return template.replace("@DATA@", safe)


def _run_data(run: Run) -> dict[str, Any]:
    answers = _answers(run.folder)
    outputs = dict(_outputs(run.folder, {str(line["execution"]) for line in answers.values() if line["execution"]}))
    return {
        "name": run.name,
        "report": run.report,
        "examples": [run.examples[key] for key in sorted(run.examples)],
        "samples": [_sample(line, answers, outputs) for line in run.results],
    }


def _sample(
    line: dict[str, Any], answers: dict[tuple[Key, int], dict[str, Any]], outputs: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    more = answers.get(((line["github_id"], line["id"]), line["sample"]), {})
    answer = more.get("answer")
    found = {**line, "answer": _cut(answer), "code": _cut(line["code"]), "arguments": more.get("arguments")}
    if line["code"] == answer:
        found["code"] = None  # the page shows the answer once
    executed = outputs.get(str(more.get("execution")))
    return {**found, "run": executed} if executed else found


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= TEXT_CHARACTERS:
        return text
    return f"{text[:TEXT_CHARACTERS]}\n[{len(text) - TEXT_CHARACTERS} more characters]"


def _answers(folder: Path) -> dict[tuple[Key, int], dict[str, Any]]:
    path = folder / "samples.jsonl"
    lines = records(path, sample=int, execution=(str, type(None))) if path.exists() else iter(())
    return {((f["github_id"], f["id"]), f["sample"]): f for f in lines}


def _outputs(folder: Path, wanted: set[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    path = folder / "outcomes.jsonl"
    if not path.exists():
        return
    with open(path, "rb") as file:
        for number, raw in enumerate(file, 1):
            try:
                fields = json.loads(raw)
                key, recorded = str(fields["key"]), fields["outcome"]
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # torn by a kill
            if key in wanted:
                outcome = Outcome.load(recorded, f"{path}:{number}").model_dump(mode="json")
                yield key, {**outcome, "output": _shortened(outcome["output"])}


def _shortened(output: dict[str, Any]) -> dict[str, Any]:
    whole = output["head"] + output["tail"]
    if not output["tail"] and len(whole) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return {"head": whole, "tail": "", "bytes": output["bytes"]}
    return {"head": output["head"][:HEAD_CHARACTERS], "tail": whole[-TAIL_CHARACTERS:], "bytes": output["bytes"]}

"""What the demo's two annotators do: each logs in with an account of their own and submits through the API."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import tomlkit

from ...annotation.accounts import Account, create
from ...annotation.client import Server
from ...annotation.interface import result_for
from ...core.files import atomic_write
from ...core.models import Candidate

__all__ = ["ANNOTATORS", "Submitted", "annotators", "submit"]

ANNOTATORS = ("ada@benchwright.example", "ben@benchwright.example")


@dataclass(frozen=True)
class Submitted:
    """What was put in by this call, and what had been there before."""

    new: int
    known: int


def annotators(server: Server, folder: Path) -> list[Account]:
    """The two accounts, made if they are not there; their passwords are kept in ``folder``, readable by you only."""
    path = folder / "demo-annotators.toml"
    known = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    accounts = [create(server, email, known.get(email)) for email in ANNOTATORS]
    atomic_write(path, tomlkit.dumps({account.email: account.password for account in accounts}), mode=0o600)
    return accounts


def submit(account: Account, project: int, candidates: Iterable[Candidate], second: bool) -> Submitted:
    """Answer every task of ``project`` as this annotator would; what they have answered before is left alone."""
    client = account.client()
    (own,) = [user for user, email in client.emails().items() if email == account.email]
    by_id = {candidate.id: candidate for candidate in candidates}
    answers = _answers()
    new = known = 0
    for task in client.tasks(project, "id,data,annotations,completed_by", full=True):
        candidate = by_id.get(task["data"]["candidate_id"])
        answer = _answer_to(candidate, answers) if candidate else None
        if candidate is None or answer is None:
            continue
        if any(_author(annotation) == own for annotation in task["annotations"]):
            known += 1
            continue
        if second:
            answer |= answer.pop("second", {})
        client.request(
            "submitting an annotation", "POST", f"api/tasks/{task['id']}/annotations", body=_annotation(answer)
        )
        new += 1
    return Submitted(new, known)


def _answers() -> list[dict[str, Any]]:
    text = (files("benchwright.export") / "data" / "demo" / "annotations.toml").read_text("utf-8")
    return list(tomllib.loads(text)["answer"])


def _answer_to(candidate: Candidate, answers: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    # a command may be wrapped over lines in the document: compare words
    shown = " ".join(candidate.output.replace("\\\n", " ").split())
    for answer in answers:
        if answer["repository"] == candidate.repository.name and answer["output"] in shown:
            return dict(answer)
    return None


def _annotation(answer: dict[str, Any]) -> dict[str, Any]:
    if answer.get("skip"):
        return {"result": [], "was_cancelled": True, "lead_time": 8.0}
    fields = {
        "scope": "block",
        "type": "Python Code" if "import " in answer["script"] else "Bash Script",
        "instruction": answer["instruction"],
        "arguments": answer["arguments"],
        "script": answer["script"].strip(),
        "prefix_code": answer.get("prefix_code", ""),
        "verdict": "accept",
    }
    return {"result": result_for(fields), "was_cancelled": False, "lead_time": 45.0}


def _author(annotation: dict[str, Any]) -> int:
    author = annotation["completed_by"]
    return int(author["id"] if isinstance(author, dict) else author)

"""The shared cases about arguments: quoting, launchers, parsers that disagree with the README, answers that mention."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchwright.validators.arguments import check_arguments, trace_shell
from benchwright.validators.arguments.programs import bound_call

CASES = Path(__file__).parents[3] / "shared" / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not on this machine")


class Folder:
    """A case's folder as a repository."""

    def __init__(self, name: str) -> None:
        self.root = CASES / name

    def paths(self) -> list[str]:
        return sorted(path.name for path in self.root.iterdir())

    def read(self, path: str) -> bytes | None:
        file = self.root / path
        return file.read_bytes() if file.is_file() else None

    def expected(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.root / "expect.json").read_text("utf-8"))
        return found

    def block(self) -> str:
        match = re.search(r"```bash\n(.*?)```", (self.root / "README.md").read_text("utf-8"), re.DOTALL)
        assert match is not None
        return match[1]


def test_quoted_values_are_what_the_parser_gives() -> None:
    case = Folder("13-quoting-and-values")
    wanted = case.expected()["args"]
    assert check_arguments(case.block(), "Bash Script", wanted, entry="main.py", files=case).accepted
    for name, value in wanted.items():
        near = {**wanted, name: [*value, "x"] if isinstance(value, list) else f"{value}1"}
        assert not check_arguments(case.block(), "Bash Script", near, entry="main.py", files=case).accepted, name


def test_every_launcher_starts_the_same_script_with_the_same_argument() -> None:
    case = Folder("14-launchers")
    lines = case.block().strip().split("\n")
    assert len(lines) == case.expected()["count"]
    for line in lines:
        assert check_arguments(line, "Bash Script", {"lr": 0.1}, entry="train.py", files=case).accepted, line
        assert not check_arguments(line, "Bash Script", {"lr": 0.2}, entry="train.py", files=case).accepted, line


def test_a_command_is_refused_where_its_parser_refuses_it() -> None:
    case = Folder("17-readme-args-vs-parser")
    calls = trace_shell(case.block()).calls
    accepted = [bound_call(call, case).binding.accepted for call in calls]
    assert accepted == [code == 0 for code in case.expected()["exit_codes"]]


@pytest.mark.parametrize("with_files", [True, False])
def test_answers_that_mention_the_values_and_do_not_use_them_are_refused(with_files: bool) -> None:
    case = Folder("28-argument-false-positives")
    task = json.loads((case.root / "task.json").read_text("utf-8"))
    example = "python train.py --epochs 10 --lr 1"
    for line in (case.root / "answers.jsonl").read_text("utf-8").splitlines():
        answer = json.loads(line)
        for given in ({"entry": task["script"]}, {"reference": example}):
            verdict = check_arguments(
                answer["answer"], task["type"], task["arguments"], files=case if with_files else None, **given
            )
            assert verdict.accepted is case.expected()["verdicts"][answer["id"]], (answer, verdict)

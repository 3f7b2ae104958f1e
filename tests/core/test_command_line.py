"""The command line as a user meets it: as a process of its own."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from benchwright.core import cli
from benchwright.core.cli import app


def benchwright(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-P", "-c", "from benchwright.core.cli import main; main()", *words]
    return subprocess.run(program, capture_output=True, text=True, env={**os.environ, **environment}, timeout=60)


def test_a_mistake_ends_in_one_message_with_a_remedy_and_no_traceback(tmp_path: Path) -> None:
    done = benchwright("--workspace", str(tmp_path), "repos", "list")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "benchwright init DIR" in done.stderr
    assert "Traceback" not in done.stderr


def test_with_json_the_error_is_json_too(tmp_path: Path) -> None:
    done = benchwright("--json", "--workspace", str(tmp_path), "repos", "list")
    assert json.loads(done.stderr)["error"]["where"] == str(tmp_path)


def test_an_option_can_be_given_by_the_environment(tmp_path: Path) -> None:
    assert benchwright("init", str(tmp_path / "bench")).returncode == 0
    done = benchwright("repos", "list", BENCHWRIGHT_WORKSPACE=str(tmp_path / "bench"), BENCHWRIGHT_JSON="1")
    assert (done.returncode, json.loads(done.stdout)) == (0, [])


def test_an_unknown_option_is_a_usage_error() -> None:
    assert benchwright("curate", "--nonsense").returncode == 2


def test_doctor_says_for_everything_missing_how_to_get_it() -> None:
    done = benchwright("--json", "doctor", DOCKER_HOST="unix:///nowhere.sock", HF_TOKEN="")
    findings = {finding["what"]: finding for finding in json.loads(done.stdout)}
    assert findings["Docker engine"]["state"] == "missing"
    assert findings["git"]["state"] == "present"
    assert all(finding["remedy"] for finding in findings.values() if finding["state"] != "present")


def test_every_command_and_every_option_has_help() -> None:
    lacking = []

    def walk(command: object, name: str) -> None:
        if not getattr(command, "help", None):
            lacking.append(name)
        lacking.extend(
            f"{name} {parameter.name}"
            for parameter in getattr(command, "params", [])
            if not getattr(parameter, "help", None)
        )
        for child, inner in getattr(command, "commands", {}).items():
            walk(inner, f"{name} {child}")

    walk(typer.main.get_command(app), "benchwright")
    assert lacking == []


@pytest.mark.parametrize(
    "words", [("evaluate", "", "p"), ("evaluate", "a", "b", "-o", ""), ("report", "a", "--html=")], ids=str
)
def test_an_empty_word_is_named_and_never_means_the_folder_one_is_in(words: tuple[str, ...]) -> None:
    done = benchwright(*words)
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (2, "", False)
    assert "is empty" in done.stderr
    assert "shell" in done.stderr


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.ENOTDIR])
def test_what_the_system_refuses_ends_in_a_remedy(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> None:
        raise OSError(number, os.strerror(number), "/some/file")

    monkeypatch.setattr(cli, "app", refuse)
    monkeypatch.setattr(sys, "argv", ["benchwright", "doctor"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    said = capsys.readouterr().err
    assert caught.value.code == 2
    assert f"/some/file: {os.strerror(number)}" in said
    assert "to mend it" in said

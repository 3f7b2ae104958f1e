"""The annotator's page (docs/annotator.md) as people follow it: two annotators and an adjudicator in a real browser."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchwright.annotation import Server, accounts
from benchwright.core.errors import PrerequisiteError
from benchwright.core.tasks import load_tasks, read_evidence
from benchwright.core.workspace import Workspace
from benchwright.validators.sandbox import open_sandbox

from . import wordmill
from .browser import Person, chromium

__all__ = ["chromium"]

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

TRICKY = """\
# \u6e2f\u306e\u8a00\u8449 "tide" & <b>mast</b>

if true; then
\tpython grind.py --text 'samples/harbour.txt' \\
\t  --keep 5 --order "frequency"  && echo "<b>&amp; 'done'"
fi
"""
ANSWERS: dict[str, dict[str, str]] = {
    "grind.py": {
        "instruction": "Keep the 5 most frequent words of samples/harbour.txt, in the order of their frequency.",
        "script": TRICKY,
    },
    "hangman.py": {"instruction": "Let the player guess lighthouse with 7 lives; the seed is 3."},
    "row.py": {"instruction": "Put tide, mast and anchor into a row of width 16."},
}
WRONG = "python grind.py --text samples/harbour.txt --keep 50 --order rhyme"
Command = Callable[..., Any]


@pytest.fixture
def benchwright(workspace: Workspace, label_studio: Server) -> Command:
    """``benchwright("annotate", "pull")`` in the workspace, as the maintainer types it; its JSON."""

    def run(*words: str) -> Any:
        done = subprocess.run(
            _command(workspace, *words), capture_output=True, text=True, timeout=300, env=_environment(label_studio)
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def _command(workspace: Workspace, *words: str) -> list[str]:
    program = [sys.executable, "-P", "-c", "from benchwright.core.cli import main; main()"]
    return [*program, "--workspace", str(workspace.root), "--mirror", wordmill.mirror_of(workspace), "--json", *words]


def _environment(server: Server) -> dict[str, str]:
    return {**os.environ, "LABEL_STUDIO_URL": server.url, "LABEL_STUDIO_API_KEY": server.token}


def _sandbox() -> str:
    """Docker, or bubblewrap on a machine without an engine (never with CI=true)."""
    try:
        with open_sandbox("docker"):
            return "docker"
    except PrerequisiteError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        try:
            with open_sandbox("bubblewrap"):
                return "bubblewrap"
        except PrerequisiteError:
            pytest.skip(str(error))


@contextmanager
def _live(workspace: Workspace, server: Server, sandbox: str, log: Path) -> Iterator[None]:
    """``benchwright annotate live`` while the block runs; it must end cleanly when it is asked to."""
    with log.open("w") as out:
        process = subprocess.Popen(
            _command(workspace, "annotate", "live", "--sandbox", sandbox),
            stdout=out,
            stderr=out,
            env=_environment(server),
        )
    try:
        deadline = time.monotonic() + 60
        while "while annotators type" not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


def test_two_annotators_and_an_adjudicator_in_a_real_browser(
    workspace: Workspace, label_studio: Server, benchwright: Command, chromium: Any, tmp_path: Path
) -> None:
    sandbox = _sandbox()
    pictures = Path(os.environ.get("BENCHWRIGHT_PICTURES", tmp_path / "pictures"))
    candidates = {candidate.entry_point.target: candidate for candidate in wordmill.make(workspace)}
    assert set(candidates) == set(ANSWERS)
    team = ["--annotators", "ada@mill.example,ben@mill.example", "--overlap", "2", "--project", "mill"]
    pushed = benchwright("annotate", "push", *team, "--execute", "--sandbox", sandbox)
    projects = [item["project"] for item in pushed["projects"]]
    assert set(pushed["logins"]) == {"ada@mill.example", "ben@mill.example"}

    log = tmp_path / "live.log"
    with _live(workspace, label_studio, sandbox, log):
        ada = Person(chromium, label_studio.url, "ada@mill.example", pushed["logins"]["ada@mill.example"], pictures)
        _annotate_as_ada(ada, projects[0])
        ben = Person(chromium, label_studio.url, "ben@mill.example", pushed["logins"]["ben@mill.example"], pictures)
        _annotate_as_ben(ben, projects[1])

    client = label_studio.client()
    for project in projects:  # nothing of it is left, and what is filled in is still the candidate's
        assert client.request("listing backends", "GET", "api/ml", params={"project": project}) == []
        assert client.project(project)["model_version"].startswith("benchwright 0")

    first = benchwright("annotate", "pull")
    assert first["acceptance"]["written"] == [_task(candidates["grind.py"].id, "grind")]
    assert first["acceptance"]["disagreements"] == {candidates["hangman.py"].id: ["script"]}
    assert first["acceptance"]["waiting"] == [candidates["row.py"].id]  # one skipped it

    settled = benchwright("annotate", "adjudicate", "--project", "mill")
    chief = accounts.create(label_studio, "chief@mill.example", "a-long-Password-9")
    judge = Person(chromium, label_studio.url, chief.email, chief.password, pictures)
    judge.start(settled["project"])
    assert "differs" in judge.page.locator(".bw-source").inner_text()
    judge.picture("adjudicator", height=1200)
    judge.write("script", candidates["hangman.py"].output)
    judge.choose("accept")
    judge.submit()
    assert judge.finished

    last = benchwright("annotate", "pull")
    assert last["acceptance"]["disagreements"] == {}
    assert {item.task.candidate_id for item in load_tasks(workspace)} == {
        candidates["grind.py"].id,
        candidates["hangman.py"].id,
    }
    (grind,) = [item for item in load_tasks(workspace) if item.task.candidate_id == candidates["grind.py"].id]
    assert grind.examples[0].output == TRICKY  # byte for byte
    assert grind.task.annotators == ("annotator-1", "annotator-2")
    # what live showed counts for nothing: the accepted scripts are run again, and only that is evidence
    assert set(last["acceptance"]["not_executed"]) == {item.task.id for item in load_tasks(workspace)}
    benchwright("validate", "--repeat", "1", "--sandbox", sandbox)
    for item in load_tasks(workspace):
        assert [e.outcome.passed for e in read_evidence(item.folder) if e.control == "gold"] == [True]
    for private in (label_studio.token, *pushed["logins"].values()):
        assert private not in log.read_text()


def _task(candidate_id: str, name: str) -> str:
    return f"wordmill/{name}-{candidate_id[-12:]}"


def _annotate_as_ada(ada: Person, project: int) -> None:
    """All three tasks; the first one's script first wrong, then corrected, with the result in sight."""
    ada.start(project)
    ada.page.get_by_test_id("bottombar-auto-annotation-toggle").click()
    for _ in ANSWERS:
        name = ada.title.removeprefix("wordmill: ")
        source = ada.page.locator(".bw-source").inner_text()
        assert "passed, exit status 0" in source  # the suggestion's own run, before the push
        ada.write("instruction", ANSWERS[name]["instruction"])
        if name == "grind.py":
            _try_scripts(ada)
        ada.choose("fix" if name == "grind.py" else "accept")
        ada.submit()
    assert ada.finished


def _try_scripts(ada: Person) -> None:
    took = [_write_and_wait(ada, WRONG, "FAILED")]
    assert "The script does not set: keep: wanted '5', found 50 in --keep" in ada.live
    assert "invalid choice: 'rhyme'" in ada.live
    ada.picture("annotator", height=1300)
    took.append(_write_and_wait(ada, TRICKY, "PASSED"))
    assert min(took) < 3, took  # seconds, for scripts that take no time
    assert "The script sets every argument." in ada.live
    assert "<b>&amp; 'done'" in ada.live
    assert "FAILED" not in ada.live
    ada.choose("parent")  # another part of the document, and back
    ada.page.get_by_text("Playing hangman").wait_for()
    ada.choose("section")
    ada.page.get_by_text("Playing hangman").wait_for(state="hidden")


def _write_and_wait(person: Person, script: str, word: str) -> float:
    """Enter a script and wait for its result; seconds that took."""
    started = time.monotonic()
    person.write("script", script)
    person.wait_for_live(word, within_s=15)
    return time.monotonic() - started


def _annotate_as_ben(ben: Person, project: int) -> None:
    """The same three tasks: one alike, one with another script, one skipped."""
    ben.start(project)
    for _ in ANSWERS:
        name = ben.title.removeprefix("wordmill: ")
        if name == "row.py":
            ben.skip()
            continue
        answer = ANSWERS[name]
        ben.write("instruction", answer["instruction"])
        if name == "hangman.py":
            ben.write("script", "python hangman.py --word lighthouse --lives 8 --seed 3")
        else:
            ben.write("script", answer["script"])
        ben.choose("fix")
        ben.submit()
    assert ben.finished

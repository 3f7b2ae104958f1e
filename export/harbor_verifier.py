"""Scoring one answer inside a container that is the environment itself: Harbor's verifier, as ``export harbor`` has it.

``python3 -m benchwright.export.harbor_verifier EXAMPLE ANSWER FOLDER``: ``EXAMPLE`` is JSON with the row, its limits
and the recipe's variables; ``ANSWER`` the file the agent left. Goes out: ``FOLDER/reward.txt`` (1 or 0) and
``FOLDER/benchwright.json`` with the outcome and its reason. It is the strict protocol of ``evaluate``; only the
sandbox is the container that the harness made, which is to give it neither network nor more memory than the limits.

An exit status other than 0 says that there is no verdict: the machine failed, not the answer.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..core.files import atomic_write
from ..core.models import Limits, Outcome
from ..validators.outcomes import judge
from ..validators.sandbox.contract import Observation, Run, System
from ..validators.sandbox.messages import launcher, message
from ..validators.sandbox.pipes import listen
from .chat import FENCES, fenced
from .evaluation.score import NOT_EXECUTED, Sample, examine, with_outcome
from .rows import Row, row_of

__all__ = ["FolderFiles", "main", "verdict"]

REPOSITORY = Path("/repository")
NOBODY = 65534
DROP = (
    f"import os,sys;os.setgroups([]);os.setgid({NOBODY});os.setuid({NOBODY});os.umask(0o022);"
    "os.execv(sys.argv[1],sys.argv[1:])"
)
"""Run as root, the script gets a user that owns nothing: it can reach neither the reward nor this program."""


class FolderFiles:
    """The files of a folder, as the argument checks read a repository's."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def paths(self) -> Sequence[str]:
        found = (path for path in self._root.rglob("*") if path.is_file() and not path.is_symlink())
        return sorted(path.relative_to(self._root).as_posix() for path in found)

    def read(self, path: str) -> bytes | None:
        try:
            return (self._root / path).read_bytes()
        except OSError:
            return None


def main(arguments: Sequence[str]) -> int:
    """Score, write the reward, give the exit status."""
    example_path, answer_path, folder = (Path(argument) for argument in arguments)
    example = json.loads(example_path.read_text("utf-8"))
    if os.geteuid() == 0:
        example_path.parent.chmod(0o700)  # the example holds the solution, which the script must not read
    row = row_of(example["row"], str(example_path))
    answer = _read_answer(answer_path)
    sample, outcome = verdict(row, answer, Limits.model_validate(example["limits"]), example["variables"], REPOSITORY)
    folder.mkdir(parents=True, exist_ok=True)
    about = {**sample.line(), "execution": outcome.model_dump(mode="json") if outcome else None}
    if sample.ungraded:
        print(f"no verdict: {sample.detail}", file=sys.stderr)
        return 1
    atomic_write(folder / "benchwright.json", json.dumps(about, indent=2) + "\n")
    atomic_write(folder / "reward.txt", "1\n" if sample.right else "0\n")
    print(f"{sample.outcome}: {sample.detail}")
    return 0


def _read_answer(path: Path) -> str | None:
    """The answer's text; None where the agent left none (or something that is no plain file)."""
    if path.is_symlink() or not path.is_file():
        return None
    return path.read_bytes().decode("utf-8", "replace")


def verdict(
    row: Row, answer: str | None, limits: Limits, variables: dict[str, str], tree: Path
) -> tuple[Sample, Outcome | None]:
    """The strict protocol's verdict on a file's text, and what its execution gave where it came to that."""
    sample = examine(row, 0, None if answer is None else fenced(answer, FENCES[row.type]), FolderFiles(tree))
    if sample.outcome != NOT_EXECUTED or sample.runs is None:
        return sample, None
    run = _run_of(row, sample.runs, limits, variables, tree)
    outcome = judge(_execute(run), run, "container")
    return with_outcome(sample, row, sample.runs, outcome), outcome


def _run_of(row: Row, code: str, limits: Limits, variables: dict[str, str], tree: Path) -> Run:
    from ..validators.execution import Job

    job = Job(key="", code=code, type=row.type, prefix_code=row.prefix_code)
    here = System(
        name="container",
        digest="",
        root=Path("/"),
        python=sys.executable,
        packages=None,
        packages_at="",
        image="",
        variables=variables,
    )
    return Run(here, *job.prepared, limits, folder=row.path, tree=tree)


def _execute(run: Run) -> Observation:
    with tempfile.TemporaryDirectory(prefix="benchwright-", ignore_cleanup_errors=True) as folder:
        at = Path(folder)
        prefix: tuple[str, ...] = ()
        if os.geteuid() == 0:
            os.chown(at, NOBODY, NOBODY)
            prefix = (sys.executable, "-I", "-S", "-c", DROP)
        started: list[int] = []
        told: dict[str, Any] = {"work": str(at / "work"), "tree": str(run.tree), "disk": "", "home": str(at / "home")}
        return listen(
            [*prefix, *launcher(sys.executable).command],
            launcher(sys.executable).code + message(replace(run, variables={"TMPDIR": str(at)}), "container", **told),
            run,
            kill=lambda: _end(started),
            note=started.append,
            owner=NOBODY if prefix else None,
        )


def _end(pids: list[int]) -> None:
    for pid in pids:  # the launcher traces the whole tree, which ends with it
        with suppress(ProcessLookupError):
            os.kill(pid, 9)


if __name__ == "__main__":
    assert shutil.which("bash"), "the environment has no bash"
    sys.exit(main(sys.argv[1:]))

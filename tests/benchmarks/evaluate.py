"""What an evaluation costs beside the executions themselves: 260 examples of 5 samples with trivial scripts.

    python tests/benchmarks/evaluate.py [--examples 260] [--samples 5] [--workers 2] [--sandbox bubblewrap]

Every sample is another text, so that each is executed. Baselines, in the same run: the sandbox alone with as many
workers on the same texts and the examples' own outputs, which an evaluation executes too; and a plain serial loop that
starts a shell for each sample, without isolation, as ML-Bench's runner does, and without those outputs. Then: the
text checks alone (samples a second), a second run with nothing new, the report as HTML.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchwright.core.models import Limits, Repository
from benchwright.export import Dataset, open_dataset
from benchwright.export.evaluation.score import examine
from benchwright.validators.execution import Job, Runner

CLI = "from benchwright.core.cli import main; main()"
TRAIN = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=0.1)
parser.add_argument("--rounds", type=int, default=1)
print("rate", parser.parse_args().rate)
"""
LIMITS = Limits(timeout_s=20, memory_bytes=256 << 20)


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=A Tester", "-c", "user.email=tester@example.org")
    return subprocess.run(
        ["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def make_release(folder: Path, examples: int) -> Repository:
    """A release of one repository with one script; returns the repository at its pin."""
    kettle = folder / "kettle"
    kettle.mkdir()
    (kettle / "train.py").write_text(TRAIN)
    git(kettle, "init", "-q", "-b", "main")
    git(kettle, "add", ".")
    git(kettle, "commit", "-q", "-m", "All there is")
    pin = git(kettle, "rev-parse", "HEAD")
    release = folder / "release"
    release.mkdir()
    rows: list[dict[str, Any]] = [
        {
            "github_id": 31, "github": kettle.as_uri(), "repo_id": 1, "path": "./", "id": number, "prefix_code": "",
            "arguments": f"{{'rate': '0.5', 'rounds': '{number}'}}", "instruction": f"Train {number} rounds at 0.5.",
            "oracle": "python train.py --rate 0.1", "type": "Bash Script", "task_id": f"kettle/{number % 20}",
            "output": gold(number),
        }
        for number in range(1, examples + 1)
    ]  # fmt: skip
    write_lines(release / "full.jsonl", rows)
    (release / "repositories.toml").write_text(
        f'[[repository]]\nname = "kettle"\nurl = "{kettle.as_uri()}"\ncommit = "{pin}"\ngithub_id = 31\n'
    )
    limits = {"timeout_s": LIMITS.timeout_s, "memory_bytes": LIMITS.memory_bytes}
    write_lines(release / "tasks.jsonl", [{"task_id": f"kettle/{number}", "limits": limits} for number in range(20)])
    return Repository(name="kettle", github_id=31, url=kettle.as_uri(), commit=pin)


def write_lines(path: Path, lines: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def gold(number: int) -> str:
    return f"python train.py --rate 0.5 --rounds {number}"


def answer(number: int, sample: int) -> str:
    return f"python train.py --rounds {number} --rate {'0.5' + '0' * sample}"


def timed(*words: str) -> tuple[float, int]:
    """Seconds and peak memory in bytes of one command."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", CLI, "--quiet", *words], stdout=subprocess.DEVNULL)
    _pid, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(words)} ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - began, usage.ru_maxrss * 1024


def sandbox_alone(codes: Sequence[str], repository: Repository, sandbox: str, workers: int, clones: Path) -> float:
    jobs = [Job(code, code, "Bash Script", repository=repository, limits=LIMITS) for code in codes]
    with Runner(sandbox=sandbox, clones_dir=clones, workers=workers) as runner:
        runner.execute(jobs[0])  # the tree and the system are made before the clock starts
        began = time.perf_counter()
        assert all(outcome.passed for _job, outcome in runner.run(jobs))
        return time.perf_counter() - began


def serial_shell(codes: Sequence[str], tree: Path) -> float:
    """With the interpreter that the sandbox uses: one in front of it on PATH may be a slow wrapper."""
    programs = tree.parent / "programs"
    programs.mkdir()
    (programs / "python").symlink_to("/usr/bin/python3")
    environment = {**os.environ, "PATH": f"{programs}:/usr/bin:/bin"}
    began = time.perf_counter()
    for code in codes:
        subprocess.run(["bash", "-c", code], cwd=tree, env=environment, check=True, capture_output=True)
    return time.perf_counter() - began


def text_checks(dataset: Dataset, samples: int) -> float:
    """Samples a second of answers as models write them: a draft, an install block, prose, the command."""
    before = "<think>\nLet me see.\n</think>\nRun\n\n```bash\npip install -r requirements.txt\n```\n\n"
    pairs = [
        (row, f"{before}```bash\n{answer(row.id, s)}\n```") for row in dataset.rows("full") for s in range(samples)
    ]
    began = time.perf_counter()
    assert all(examine(row, 0, text).outcome == "not_executed" for row, text in pairs)
    return len(pairs) / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=260)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sandbox", default="bubblewrap")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repository = make_release(folder, given.examples)
        answers = {n: [answer(n, s) for s in range(given.samples)] for n in range(1, given.examples + 1)}
        predictions = folder / "predictions.jsonl"
        write_lines(predictions, [{"github_id": 31, "id": n, "output": texts} for n, texts in answers.items()])
        codes = [text for texts in answers.values() for text in texts]
        count = len(codes)
        words = ("evaluate", str(folder / "release"), str(predictions))

        bare = serial_shell(codes, folder / "kettle")
        every = [*map(gold, answers), *codes]
        alone = sandbox_alone(every, repository, given.sandbox, given.workers, folder / "clones")
        run = folder / "run"
        options = ("--sandbox", given.sandbox, "--jobs", str(given.workers), "-o", str(run))
        whole, memory = timed(*words, *options)
        again, _ = timed(*words, *options)
        rate = text_checks(open_dataset(str(folder / "release")), given.samples)
        page, _ = timed("report", str(run), "--html", str(folder / "report.html"))
        passed = json.loads((run / "report.json").read_text())["protocols"]["strict"]["outcomes"]
        size = (folder / "report.html").stat().st_size

    print(f"{count} samples, {given.sandbox}, {given.workers} workers: {passed}")
    print(f"evaluate {whole:.1f} s; the sandbox alone {alone:.1f} s: {whole / alone:.2f} times")
    print(f"a serial shell without isolation {bare:.1f} s: evaluate takes {whole / bare:.2f} times that")
    print(f"peak memory {memory / 1e6:.0f} MB")
    print(f"a second run, nothing new: {again:.1f} s")
    print(f"code found, type and arguments checked: {rate:.0f} samples a second; 300 are asked for")
    print(f"the report as HTML: {page:.1f} s, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

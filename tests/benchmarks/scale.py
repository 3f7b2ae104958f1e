"""Loads beyond one machine's afternoon: many samples, the Ray engine, many repositories, a repository of many files.

    python tests/benchmarks/scale.py [samples] [engines] [curation] [--most 50000]

``samples``: whole evaluations of 1,000, 10,000 and 50,000 samples whose executions are answered from a record: time and
memory for each sample, against the smallest of them. ``engines``: empty scripts through the Ray engine (two workers on
a cluster started here), against the local engine on the same sandbox. ``curation``: 20 and 200 small repositories, and
one of 5,000 and 50,000 files, against the smaller of each.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Self

from benchwright.core.models import Limits, Output, Repository
from benchwright.validators import execution
from benchwright.validators.execution import Job
from benchwright.validators.sandbox import Capabilities, Observation, Run

LIMITS = Limits(timeout_s=20, memory_bytes=256 << 20)


class Recorded:
    """A sandbox that executes nothing: every run is told to have gone as one did."""

    name = "docker"
    capabilities = Capabilities()
    stopped = False

    def execute(self, run: Run) -> Observation:
        output = Output(head="rate 0.5\n", tail="", bytes=9)
        return Observation(output=output, duration_s=0.05, finished=True, shell_status=0, entries_ended=1)

    def stop(self) -> None:
        self.stopped = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def evaluation_benchmark() -> ModuleType:
    """The other benchmark's release, imported by path."""
    spec = importlib.util.spec_from_file_location("evaluate_benchmark", Path(__file__).parent / "evaluate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def child(*words: str) -> tuple[float, int]:
    """Seconds and peak memory in bytes of this program doing one thing in a process of its own."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, __file__, *words], stdout=subprocess.DEVNULL)
    _pid, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(words)} ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - began, usage.ru_maxrss * 1024


def evaluate_recorded(folder: Path) -> None:
    from benchwright.core.cli import app

    execution.open_sandbox = lambda _name=None, _workers=1: Recorded()  # type: ignore[attr-defined]
    words = ["evaluate", str(folder / "release"), str(folder / "predictions.jsonl"), "--jobs", "4"]
    app(["--quiet", "--json", *words, "-o", str(folder / "run")], standalone_mode=False)


def samples(most: int) -> None:
    other = evaluation_benchmark()
    first: float | None = None
    for count in [n for n in (1_000, 10_000, 50_000) if n <= most]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            other.make_release(folder, count // 5)
            lines = [
                {"github_id": 31, "id": n, "output": [other.answer(n, s) for s in range(5)]}
                for n in range(1, count // 5 + 1)
            ]
            other.write_lines(folder / "predictions.jsonl", lines)
            took, memory = child("--evaluate", name)
            began = time.perf_counter()
            with open(folder / "run" / "results.jsonl", encoding="utf-8") as file:
                assert sum(1 for _ in map(json.loads, file)) == count
            page = [sys.executable, "-c", other.CLI, "report", str(folder / "run"), "--html", str(folder / "r.html")]
            subprocess.run(page, check=True, capture_output=True)
            opening, size = time.perf_counter() - began, (folder / "r.html").stat().st_size
        each = took / count * 1000
        first = first or each
        print(
            f"{count} samples: {took:.1f} s, {each:.2f} ms each ({each / first:.2f} times the smallest run's), "
            f"{memory / 1e6:.0f} MB, {memory / count / 1e3:.1f} kB each; results and report opened in {opening:.1f} s, "
            f"the page has {size / 1e6:.1f} MB",
            flush=True,
        )


def engines() -> None:
    from benchwright.validators.engine.remote import RayRunner

    jobs = [Job(str(number), "true", "Bash Script", limits=LIMITS) for number in range(200)]
    with execution.Runner("bubblewrap", workers=2) as local, RayRunner("bubblewrap", workers=2) as ray:
        each: dict[str, list[float]] = {"local": [], "ray": []}
        for _ in range(3):
            for name, runner in (("local", local), ("ray", ray)):
                list(runner.run(jobs[:8]))  # workers and sandboxes are made before the clock starts
                began = time.perf_counter()
                assert all(outcome.passed for _job, outcome in runner.run(jobs))
                each[name].append((time.perf_counter() - began) / len(jobs) * 2000)
    best = {name: min(found) for name, found in each.items()}
    print(
        f"an empty script, 2 workers: local {best['local']:.1f} ms of a worker, ray {best['ray']:.1f} ms: "
        f"{best['ray'] - best['local']:.1f} ms more, {best['ray'] / best['local']:.2f} times",
        flush=True,
    )


def make_repository(folder: Path, files: int, number: int) -> Repository:
    """One README with ten commands on ten scripts, and as many further modules as make up ``files``."""
    folder.mkdir(parents=True)
    commands = "\n".join(f"```bash\npython train{n}.py --rate 0.{n + 1}\n```\n" for n in range(10))
    (folder / "README.md").write_text(f"# Repository {number}\n\n## Training\n\n{commands}")
    for n in range(10):
        text = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--rate', type=float, default=0.1)\n"
        (folder / f"train{n}.py").write_text(f"{text}print({n}, p.parse_args())\n")
    for n in range(files - 11):
        package = folder / f"package{n // 500}"
        package.mkdir(exist_ok=True)
        (package / f"module{n}.py").write_text(f"def work_{number}_{n}(value={n}):\n    return value + {n}\n")
    identity = ["-c", "user.name=A Tester", "-c", "user.email=tester@example.org"]
    git = ["git", "-C", str(folder), *identity, "-c", "gc.auto=0", "-c", "maintenance.auto=false"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "All there is"]):
        subprocess.run([*git, *words], check=True)
    pin = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    return Repository(name=folder.name, github_id=number, url=folder.as_uri(), commit=pin)


def curate_folder(folder: Path) -> None:
    from benchwright.core.workspace import Workspace
    from benchwright.curation.pipeline import curate

    results = curate(Workspace(folder / "bench"))
    assert all(result.candidates == 10 for result in results), [r.error for r in results if r.error]


def curation() -> None:
    from benchwright.core.workspace import Workspace

    for what, loads in (("small repositories", ((20, 14), (200, 14))), ("files", ((1, 5_000), (1, 50_000)))):
        first: float | None = None
        for count, files in loads:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                workspace = Workspace.create(folder / "bench")
                made = [make_repository(folder / f"mill{n}", files, 100 + n) for n in range(count)]
                entries = [
                    f'[[repository]]\nname = "{r.name}"\nurl = "{r.url}"\ncommit = "{r.commit}"\n'
                    f"github_id = {r.github_id}\n"
                    for r in made
                ]
                (workspace.root / "repositories.toml").write_text("\n".join(entries))
                took, memory = child("--curate", name)
            size = count if count > 1 else files
            each = took / size * 1000
            first = first or each
            print(
                f"curate {size} {what}: {took:.1f} s, {each:.2f} ms each ({each / first:.2f} times the smaller load's)"
                f", {memory / 1e6:.0f} MB in the largest process",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["samples", "engines", "curation", []])
    parser.add_argument("--most", type=int, default=50_000)
    parser.add_argument("--evaluate", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--curate", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.evaluate:
        evaluate_recorded(given.evaluate)
        return
    if given.curate:
        curate_folder(given.curate)
        return
    parts = given.parts or ["samples", "engines", "curation"]
    if "samples" in parts:
        samples(given.most)
    if "engines" in parts:
        engines()
    if "curation" in parts:
        curation()


if __name__ == "__main__":
    main()

"""How fast releases are built and answers scored, each beside a named baseline measured in the same run.

python tests/benchmarks/export.py [build] [text] [evaluate]
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchwright.core.models import Example, Repository, Source, Task
from benchwright.core.progress import Reporter
from benchwright.core.tasks import write_task
from benchwright.core.workspace import Workspace
from benchwright.export.dataset import Dataset, open_dataset
from benchwright.export.evaluation import Options, evaluate
from benchwright.export.evaluation.score import examine
from benchwright.export.evaluation.settings import clones_dir
from benchwright.export.release.parquet import ROW_DTYPES, write_parquet
from benchwright.export.release.repositories import DOCUMENT_DTYPES
from benchwright.export.rows import row_of
from benchwright.validators.execution import Job, Runner

ROWS = 10_115
DOCUMENTS = 18
DOCUMENT_BYTES = 200_000
PAIRINGS, REPEATS = 2, 5
EXAMPLES, SAMPLES, WORKERS = int(os.environ.get("BENCH_EXAMPLES", "260")), 5, 2


def main() -> None:
    wanted = sys.argv[1:] or ["build", "text", "evaluate"]
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            {"build": bench_build, "text": bench_text, "evaluate": bench_evaluate}[name](Path(folder))


def say(what: str, ours: float, baseline: str, theirs: float, unit: str = "s") -> None:
    print(f"{what}: {ours:.3f} {unit}; {baseline}: {theirs:.3f} {unit}; ratio {theirs / ours:.1f}", flush=True)


# building --------------------------------------------------------------------------------------------------


def documents() -> list[str]:
    words = [f"{random.Random(7).choice('abcdefghij')}word{i}" for i in range(4000)]
    found = []
    for number in range(DOCUMENTS):
        source = random.Random(number)
        sentences = (" ".join(source.choices(words, k=14)).capitalize() for _ in range(DOCUMENT_BYTES // 100))
        found.append(".\n".join(sentences)[:DOCUMENT_BYTES])
    return found


def rows(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        github_id = number % DOCUMENTS + 1
        yield {
            **dict.fromkeys(ROW_DTYPES),
            "github_id": github_id,
            "github": f"https://example.org/a/repository{github_id}",
            "repo_id": number,
            "path": "./",
            "arguments": json.dumps({"lr": str(number + 1)}),
            "instruction": f"Please train the model of repository {github_id} with care at rate {number + 1}.",
            "oracle": "Run\n\npython train.py --lr 0.1\n",
            "type": "Bash Script",
            "id": number,
            "prefix_code": "",
            "output": f"python train.py --lr {number + 1}",
        }


def bench_build(folder: Path) -> None:
    """10,115 rows over 18 documents of 200 KB: ours (each document once) against the document in every row."""
    import datasets
    import pandas

    datasets.disable_progress_bars()
    texts = documents()
    plain = list(rows(ROWS))
    once = [{**dict.fromkeys(DOCUMENT_DTYPES), "github_id": i + 1, "text": text} for i, text in enumerate(texts)]
    full = [{**row, "readme_content": texts[row["github_id"] - 1]} for row in plain]
    data, documents_file = folder / "ours" / "data.parquet", folder / "ours" / "repositories.parquet"

    def ours() -> None:
        write_parquet(data, ROW_DTYPES, plain)
        write_parquet(documents_file, DOCUMENT_DTYPES, once)

    def load(*paths: Path) -> None:
        with tempfile.TemporaryDirectory(dir=folder) as cache:
            for path in paths:
                datasets.load_dataset("parquet", data_files=str(path), cache_dir=cache)

    def read(*paths: Path) -> None:
        for path in paths:
            pandas.read_parquet(path)

    theirs: dict[str, tuple[Path, Callable[[], object], Callable[..., None]]] = {
        "datasets from_list().to_parquet()": (
            folder / "datasets.parquet",
            lambda: datasets.Dataset.from_list(full).to_parquet(folder / "datasets.parquet"),
            load,
        ),
        "pandas to_parquet()": (
            folder / "pandas.parquet",
            lambda: pandas.DataFrame(full).to_parquet(folder / "pandas.parquet"),
            read,
        ),
    }
    for once_before in (ours, lambda: load(data, documents_file), lambda: read(data)):
        once_before()  # so that imports are paid for by nobody
    for name, (path, write, back) in theirs.items():
        for _ in range(PAIRINGS):
            own, other = taken(ours, REPEATS), taken(write)
            own_back, other_back = taken(lambda: back(data, documents_file), REPEATS), taken(lambda: back(path))  # noqa: B023
            say("build", own, name, other)
            say("load back", own_back, f"the same reader, {path.name}", other_back)
            say("build and load back", own + own_back, name, other + other_back)
        size = sum(item.stat().st_size for item in (folder / "ours").iterdir())
        say("size", size / 1e6, name, path.stat().st_size / 1e6, "MB")
    for count in (2_000, ROWS):
        bench_release(folder / f"release-{count}", count, texts)


def taken(work: Callable[[], object], repeats: int = 1) -> float:
    """Seconds; the median of several for what takes a moment only."""
    found = []
    for _ in range(repeats):
        started = time.monotonic()
        work()
        found.append(time.monotonic() - started)
    return statistics.median(found)


def bench_release(folder: Path, count: int, texts: list[str]) -> None:
    """The whole command on a workspace with that many examples in ten tasks a repository; memory must stay flat."""
    repositories = [make_repository(folder / "git" / f"a+repository{i}", i, text) for i, text in enumerate(texts, 1)]
    workspace = Workspace.create(folder / "bench", repositories)
    tasks: dict[tuple[int, int], list[Example]] = {}
    for row in rows(count):
        fields = {"id": row["id"], "instruction": row["instruction"], "output": row["output"], "type": row["type"]}
        example = Example(**fields, arguments=json.loads(row["arguments"]))
        tasks.setdefault((row["github_id"], row["id"] // DOCUMENTS % 10), []).append(example)
    for (github_id, number), examples in tasks.items():
        repository = repositories[github_id - 1]
        source = Source(path="README.md", blob="0" * 40, start_line=1, end_line=1)
        task = Task(name=f"t{number}", repository=repository.ref_of(), type="Bash Script", source=source)
        write_task(workspace, task, f"Run task {number}.\n", examples)
    for more in ([], ["--denormalized"]):
        program = (
            "import sys, time\nfrom benchwright.core.cli import app\nstarted = time.monotonic()\n"
            "app(sys.argv[1:], standalone_mode=False)\n"
            "peak = open('/proc/self/status').read().split('VmHWM:')[1].split()[0]\n"
            "print(time.monotonic() - started, int(peak) // 1024)\n"
        )
        mirror = f"file://{folder}/git/{{owner}}+{{name}}"
        command = ["--quiet", "--workspace", str(workspace.root), "--mirror", mirror, "release", "build", *more]
        done = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, check=True)
        seconds, peak = done.stdout.splitlines()[-1].split()
        print(
            f"release build {' '.join(more)}, {count} examples: {float(seconds):.1f} s, peak memory {peak} MB",
            flush=True,
        )


def make_repository(folder: Path, number: int, text: str) -> Repository:
    folder.mkdir(parents=True)
    (folder / "README.md").write_text(text)
    (folder / "train.py").write_text(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr')\nparser.parse_args()\n"
    )
    identity = ("-c", "user.name=A Bench", "-c", "user.email=bench@example.org")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "All there is"]):
        subprocess.run(["git", *identity, *words], cwd=folder, check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True).stdout
    url = f"https://example.org/a/repository{number}"
    return Repository(name=f"repository{number}", url=url, commit=commit.strip(), github_id=number, license="MIT")


# judging text ----------------------------------------------------------------------------------------------


def bench_text(folder: Path) -> None:
    """Code from answers, type and argument checks, on answers that all differ."""
    made = [row_of(row, "bench") for row in rows(1000)]
    before = "<think>\nLet me see.\n</think>\nRun\n\n```bash\npip install -r requirements.txt\n```\n\n"
    answers = [f"{before}```bash\n{row.output} --seed {i}\n```" for i, row in enumerate(made)]
    started = time.monotonic()
    for row, answer in zip(made, answers, strict=True):
        assert examine(row, 0, answer).outcome == "not_executed"
    rate = len(made) / (time.monotonic() - started)
    say("text checks", rate, "asked for", 300, "samples a second")


# evaluating ------------------------------------------------------------------------------------------------


def bench_evaluate(folder: Path) -> None:
    """260 examples x 5 samples of trivial scripts against a plain serial loop with a shell and no isolation."""
    release, predictions, scripts = make_release(folder / "evaluation")
    started = time.monotonic()
    for script in scripts:
        subprocess.run(
            ["bash", "-c", script], cwd=folder / "evaluation" / "kettle", stdout=subprocess.DEVNULL, check=False
        )
    serial = time.monotonic() - started
    for sandbox in os.environ.get("BENCH_SANDBOXES", "bubblewrap docker").split():
        options = Options(sandbox=sandbox, workers=WORKERS)
        run = folder / f"run-{sandbox}"
        dataset = open_dataset(str(release))
        own = alone(sandbox, dataset, scripts)
        started = time.monotonic()
        done = evaluate(dataset, predictions, options, run, Reporter(quiet=True))
        taken = time.monotonic() - started
        assert done.ungraded == 0, done.report["protocols"]["strict"]["outcomes"]
        count = len((run / "outcomes.jsonl").read_text().splitlines())
        own = (own + alone(sandbox, dataset, scripts)) / 2  # before and after: the machine may not be quiet
        say(f"evaluate in {sandbox}, {count} executions", taken, "the runner alone, same scripts", own)
        say(f"evaluate in {sandbox}, {count} executions", taken, "a serial shell loop without isolation", serial)
        started = time.monotonic()
        evaluate(dataset, predictions, options, run, Reporter(quiet=True))
        say("again with nothing new", time.monotonic() - started, "asked for", 3)
        started = time.monotonic()
        from benchwright.export.evaluation.page import html_page
        from benchwright.export.evaluation.runs import open_run

        page = html_page([open_run(run)])
        say(f"HTML page of {len(page) / 1e6:.1f} MB", time.monotonic() - started, "asked for", 5)
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024
    print(f"peak memory {peak} MB", flush=True)


def alone(sandbox: str, dataset: Dataset, scripts: list[str]) -> float:
    """Seconds that the runner takes for the published outputs and the scripts, with nothing around it."""
    made = list(dataset.rows("full"))
    repository = Repository.load(
        {"name": "kettle", "url": made[0].github, "commit": made[0].commit}, "the benchmark's repository"
    )
    codes = [row.output for row in made] + [f"{script}\n" for script in scripts]
    jobs = [Job(key=str(i), code=code, type="Bash Script", repository=repository) for i, code in enumerate(codes)]
    started = time.monotonic()
    with Runner(sandbox=sandbox, clones_dir=clones_dir(), workers=WORKERS) as runner:
        for _ in runner.run(jobs):
            pass
    return time.monotonic() - started


def make_release(folder: Path) -> tuple[Path, Path, list[str]]:
    """A repository, a release of 260 examples of it, predictions, and the scripts they run."""
    kettle = folder / "kettle"
    kettle.mkdir(parents=True)
    (kettle / "train.sh").write_text('for word in "$@"; do :; done\n')

    def git(*words: str) -> str:
        identity = ("-c", "user.name=A Bench", "-c", "user.email=bench@example.org")
        return subprocess.run(["git", *identity, *words], cwd=kettle, check=True, capture_output=True, text=True).stdout

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "All there is")
    commit = git("rev-parse", "HEAD").strip()
    release = folder / "release"
    release.mkdir()
    made = []
    for number in range(1, EXAMPLES + 1):
        arguments, output = json.dumps({"seed": str(number)}), f"bash train.sh --seed {number}"
        common = {"github_id": 31, "github": kettle.as_uri(), "repo_id": number, "path": "./", "id": number}
        text = {"instruction": "Train.", "oracle": "bash train.sh", "type": "Bash Script", "prefix_code": ""}
        made.append({**common, **text, "arguments": arguments, "output": output, "commit": commit})
    (release / "full.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))
    scripts = [f"bash train.sh --seed {row['id']} --try {i}" for row in made for i in range(SAMPLES)]
    predictions = folder / "predictions.jsonl"
    lines = []
    for at, row in enumerate(made):
        outputs = [f"```bash\n{script}\n```" for script in scripts[at * SAMPLES : (at + 1) * SAMPLES]]
        lines.append(json.dumps({"github_id": 31, "id": row["id"], "output": outputs}) + "\n")
    predictions.write_text("".join(lines))
    return release, predictions, scripts


if __name__ == "__main__":
    main()

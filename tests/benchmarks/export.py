"""How fast and how small releases are built, beside ``datasets`` and pandas in the same run (about five minutes).

python tests/benchmarks/export.py
"""

from __future__ import annotations

import argparse
import json
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
from benchwright.core.tasks import write_task
from benchwright.core.workspace import Workspace
from benchwright.export.release.parquet import ROW_DTYPES, write_parquet
from benchwright.export.release.repositories import DOCUMENT_DTYPES

ROWS = 10_115
DOCUMENTS = 18
DOCUMENT_BYTES = 200_000
PAIRINGS, REPEATS = 2, 5


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench_build(Path(folder))


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


if __name__ == "__main__":
    main()

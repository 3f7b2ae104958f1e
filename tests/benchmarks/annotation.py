"""How push and pull compare with the bare requests to Label Studio that nobody can do without.

    python tests/benchmarks/annotation.py [--candidates 10000]

The baseline of push is one import call of the same tasks (a second project on the same server); that of pull is
reading the same pages with the same fields and throwing them away. Each task has a prediction; 20,000 annotations are
imported by two accounts' worth of imports before the pull. Exits with 1 where push takes more than 1.5 times, or pull
more than 1.3 times the baseline, or a count is wrong.
"""

from __future__ import annotations

import argparse
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchwright.annotation import archive, pull, push, server
from benchwright.annotation.client import FULL, Client
from benchwright.annotation.interface import configuration, prefill, result_for
from benchwright.annotation.pushing import CHUNK, item_of
from benchwright.core.files import digest_of
from benchwright.core.models import Candidate
from benchwright.core.progress import Reporter
from benchwright.core.workspace import Workspace

PUSH_TARGET, PULL_TARGET = 1.5, 1.3


def main() -> int:
    """Start a server with an empty folder, measure, end it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=10_000)
    count = parser.parse_args().candidates
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace.create(Path(folder) / "bench")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        running = server.up(workspace, port, Reporter())
        try:
            return measure(workspace, running.client(), running, count)
        finally:
            server.down(workspace)


def measure(workspace: Workspace, client: Client, running: server.Server, count: int) -> int:
    candidates = [candidate(number) for number in range(count)]
    tasks = [item_of(c).as_task() for c in candidates]
    size = sum(len(str(task["data"])) for task in tasks[:100]) / 100
    print(f"{count} tasks of about {size:.0f} characters, each with a prediction")

    bare = client.create_project(title="bare import", label_config=configuration())
    import_s = timed(lambda: client.import_tasks(bare, tasks))
    push_s = timed(lambda: push(workspace, candidates, server=running))
    again_s = timed(lambda: push(workspace, candidates, server=running))
    print(f"bare import, one call {import_s:6.1f} s")
    print(f"push                  {push_s:6.1f} s   {push_s / import_s:.2f} times (target {PUSH_TARGET})")
    print(f"push once more        {again_s:6.1f} s   nothing to do")

    project = push(workspace, candidates[:1], server=running).project
    annotate(client, project, candidates)
    baseline_s = timed(lambda: sum(1 for _ in client.tasks(project, FULL, full=True)))
    pull_s = timed(lambda: pull(workspace, server=running))
    later_s = timed(lambda: pull(workspace, server=running))
    found = len(archive.read(workspace, "bench"))
    print(f"reading the pages     {baseline_s:6.1f} s   {2 * count} annotations")
    print(f"pull                  {pull_s:6.1f} s   {pull_s / baseline_s:.2f} times (target {PULL_TARGET})")
    print(f"pull once more        {later_s:6.1f} s   nothing to do")
    in_project = client.project(project)["task_number"]
    print(f"{in_project} tasks in the project, {found} annotations in the archive")
    right = in_project == count and found == 2 * count
    return 0 if right and push_s <= PUSH_TARGET * import_s and pull_s <= PULL_TARGET * baseline_s else 1


def annotate(client: Client, project: int, candidates: list[Candidate]) -> None:
    """Put two annotations on every task: the tasks are replaced by equal ones that carry them."""
    client.request("removing all tasks", "DELETE", f"api/projects/{project}/tasks/")
    for start in range(0, len(candidates), CHUNK):
        part = []
        for c in candidates[start : start + CHUNK]:
            result = result_for({**prefill(c), "instruction": "Please train it.", "verdict": "reject"})
            said = {"result": result, "ground_truth": False, "lead_time": 30}
            part.append({**item_of(c).as_task(), "annotations": [said, said]})
        client.import_tasks(project, part)


def candidate(number: int) -> Candidate:
    """A training command with a section of README and two pieces of code: about 6,500 characters to show."""
    section = (
        "## Training\n\n"
        + "Some words about how the network is trained. " * 40
        + f"\n\n    python train.py --lr {number}\n"
    )
    code = "def step(batch):\n    return batch\n" * 40
    fields = {
        "id": f"tiny-{number:012x}",
        "repository": {"name": "tiny", "url": "https://example.org/a/tiny", "commit": "0" * 40},
        "source": {"path": "README.md", "blob": "b" * 40, "start_line": 1, "end_line": 5},
        "type": "Bash Script",
        "path": "./",
        "entry_point": {"kind": "file", "target": "train.py"},
        "output": f"python train.py --lr {number}",
        "arguments": [{"name": "lr", "flag": "--lr", "value": number, "type": "int", "default": 3}],
        "oracle": section,
        "oracle_scopes": [{"scope": "section", "start_line": 1, "end_line": 5, "text": section}],
        "context": [{"path": "train.py", "start_line": 1, "end_line": 80, "symbol": "step", "text": code}],
    }
    return Candidate.model_validate({**fields, "digest": digest_of(fields)})


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())

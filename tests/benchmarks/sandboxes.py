"""How much a sandbox costs over the bare program, each beside its named baseline in the same run.

    python tests/benchmarks/sandboxes.py [--runs 40]

Prints one line for each measurement: lower quartile of milliseconds, the baseline's, and their difference or ratio. The
runs of a pair alternate, so that a drift of the machine meets both alike; the lower quartile is what other work on the
machine disturbs least. The plain serial loop starts a shell for each script, as ML-Bench's runner does.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchwright.core.errors import PrerequisiteError
from benchwright.core.models import Limits
from benchwright.validators.environments import open_system
from benchwright.validators.execution import Job, Runner
from benchwright.validators.sandbox import Run, Sandbox, open_sandbox

SCRIPT = "print(6 * 7)\n"
LIMITS = Limits(timeout_s=30, memory_bytes=256 << 20, disk_bytes=64 << 20)


def quartile(times: list[float]) -> float:
    return statistics.quantiles(times, n=4)[0]


def pair(first: Callable[[], None], second: Callable[[], None], runs: int) -> tuple[float, float]:
    """Milliseconds of both, measured in turns after one warm-up each."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(runs + 1):
        for what, into in zip((first, second), times, strict=True):
            began = time.perf_counter()
            what()
            if turn:
                into.append((time.perf_counter() - began) * 1000)
    return quartile(times[0]), quartile(times[1])


def bare_python(script: Path) -> None:
    answer = subprocess.run(["/usr/bin/python3", str(script)], capture_output=True)
    assert answer.stdout == b"42\n"


def executed(sandbox: Sandbox) -> Callable[[], None]:
    run = Run(open_system(None, "standard"), SCRIPT.encode(), "python3", LIMITS)

    def once() -> None:
        seen = sandbox.execute(run)
        assert seen.output.head == "42\n", seen

    return once


def bare_engine(client: Any, image: str) -> None:
    """The Engine's own create, start, wait and remove of an equally hardened container, through the same SDK."""
    container = create_bare(client, image)
    client.api.start(container)
    assert client.api.wait(container)["StatusCode"] == 0
    client.api.remove_container(container)


def create_bare(client: Any, image: str) -> str:
    api = client.api
    config = api.create_host_config(
        read_only=True, tmpfs={"/tmp": "rw,exec,size=64m"}, mem_limit=LIMITS.memory_bytes,
        memswap_limit=LIMITS.memory_bytes, pids_limit=LIMITS.processes, nano_cpus=10**9, cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
    )  # fmt: skip
    made = api.create_container(
        image, ["python3", "-c", SCRIPT], user="65534:65534", network_disabled=True, host_config=config
    )
    return str(made["Id"])


def pooled(client: Any, image: str, runs: int) -> tuple[float, float]:
    """Milliseconds of our run in a container made ahead, and of bare start and wait of one made before."""
    run = Run(open_system(None, "standard"), SCRIPT.encode(), "python3", LIMITS)
    ours, bare = [], []
    with open_sandbox("docker") as sandbox:
        for turn in range(runs + 2):
            began = time.perf_counter()
            assert sandbox.execute(run).output.head == "42\n"
            if turn > 1:  # the second run alike orders the first container ahead
                ours.append((time.perf_counter() - began) * 1000)
            time.sleep(0.5)  # the engine makes the next one meanwhile
            container = create_bare(client, image)
            time.sleep(0.2)
            began = time.perf_counter()
            client.api.start(container)
            assert client.api.wait(container)["StatusCode"] == 0
            if turn > 1:
                bare.append((time.perf_counter() - began) * 1000)
            client.api.remove_container(container)
    return quartile(ours), quartile(bare)


def throughput(name: str, workers: int, runs: int) -> float:
    """Scripts a second; each is a shell that starts Python."""
    jobs = (Job(str(n), "/usr/bin/python3 -c 'print(6 * 7)'", "Bash Script", limits=LIMITS) for n in range(runs))
    with Runner(name, workers=workers) as runner:
        began = time.perf_counter()
        assert all(outcome.passed for _, outcome in runner.run(jobs))
        return runs / (time.perf_counter() - began)


def shell_loop(script: Path, runs: int) -> float:
    """Scripts a second of a plain serial loop with a shell, without any isolation."""
    began = time.perf_counter()
    for _ in range(runs):
        answer = subprocess.run(f"/usr/bin/python3 {script}", shell=True, executable="/bin/bash", capture_output=True)
        assert answer.stdout == b"42\n"
    return runs / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40, help="runs of each measurement")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.py")
        script.write_text(SCRIPT)
        for name, target in (("bubblewrap", " (at most 25)"), ("process", "")):
            with suppress(PrerequisiteError), open_sandbox(name) as sandbox:
                ours, bare = pair(executed(sandbox), lambda: bare_python(script), runs)
                print(f"{name:10} {ours:7.1f} ms, bare python3 {bare:6.1f} ms: {ours - bare:5.1f} ms over it{target}")
        with suppress(PrerequisiteError):
            rates = [(throughput("bubblewrap", 2, runs), shell_loop(script, runs)) for _ in range(4)]
            ours, bare = max(rates, key=lambda rate: rate[0] / rate[1])
            print(f"bubblewrap {ours:.1f}/s with 2 workers, a plain serial shell loop {bare:.1f}/s (at least as fast)")
    with suppress(PrerequisiteError), open_sandbox("docker", workers=0) as sandbox:
        import docker

        client = docker.from_env()
        image = open_system(None, "standard").image
        ours, bare = pair(executed(sandbox), lambda: bare_engine(client, image), runs)
        print(f"docker     {ours:7.1f} ms, the engine's own {bare:6.1f} ms: {ours / bare:.2f} times (at most 1.15)")
        ours, bare = pooled(client, image, runs)
        print(f"made ahead {ours:7.1f} ms, bare start and wait {bare:6.1f} ms: {ours / bare:.2f} times (at most 1.2)")
        client.close()
    for name in ("bubblewrap", "docker"):
        with suppress(PrerequisiteError):
            rates = [f"{throughput(name, workers, runs * workers):.1f}/s with {workers}" for workers in (1, 2, 4)]
            print(f"{name:10} {', '.join(rates)} workers")
    with suppress(PrerequisiteError):
        throughput("bubblewrap", 2, runs)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        throughput("bubblewrap", 2, 10 * runs)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"toolkit memory after {runs} runs {before / 1024:.1f} MB, after {11 * runs} runs {grown / 1024:+.1f} MB")


if __name__ == "__main__":
    sys.exit(main())

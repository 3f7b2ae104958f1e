"""What asking costs beside the endpoint's own time: 260 examples of 5 samples against a double on this machine.

    python tests/benchmarks/predict.py
    python tests/benchmarks/predict.py --answer-tokens 8000 --delay 0.5 --concurrency 32

The double runs in a process of its own and answers each request after ``--delay`` seconds. The least time possible is
requests x delay / concurrency. Exits with 1 if the command takes 5 s of processor time or more, if a second call, which
has nothing to ask, takes 3 s of it, or if either needs 500 MB (processor time: it is the same on a busy machine).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "openai_double"))
from server import ChatDouble, Trouble

ASKING_S, AGAIN_S, MEMORY = 5, 3, 500_000_000
CLIENT = "from benchwright.core.cli import main; main()"


def serve(delay: float, tokens: int) -> None:
    """The double's process: says its address and runs until its input ends."""
    text = "```bash\n" + "echo word\n" * (tokens // 3) + "```"
    with ChatDouble() as double:
        double.trouble = lambda _number, _body: Trouble(delay_s=delay, message={"role": "assistant", "content": text})
        print(double.url, flush=True)
        sys.stdin.read()


def run(command: list[str]) -> tuple[float, float, int]:
    """Wall time and processor time in seconds, and peak memory in bytes."""
    started = time.monotonic()
    process = subprocess.Popen(command, env={**os.environ, "OPENAI_API_KEY": "none"}, stderr=subprocess.DEVNULL)
    _pid, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"predict ended with {os.waitstatus_to_exitcode(status)}")
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=260)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--answer-tokens", type=int, default=300)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.delay, given.answer_tokens)
        return
    words = [sys.executable, __file__, "--serve", "--delay", str(given.delay)]
    words += ["--answer-tokens", str(given.answer_tokens)]
    double = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert double.stdout is not None
    url = double.stdout.readline().strip()
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, "rows.jsonl")
        rows.write_text("".join(json.dumps(row(n)) + "\n" for n in range(given.examples)))
        command = [sys.executable, "-P", "-c", CLIENT, "--quiet", "predict", str(rows), "--model", "m"]
        command += ["--setting", "oracle", "--base-url", url, "--samples", str(given.samples)]
        command += ["--concurrency", str(given.concurrency), "-o", str(Path(folder, "p.jsonl"))]
        first, again = run(command), run(command)
    double.communicate()
    requests = given.examples * given.samples
    least = requests * given.delay / given.concurrency
    for name, (wall, cpu, memory) in (("asking", first), ("nothing to ask", again)):
        print(f"{name:15} {wall:6.2f} s, processor {cpu:5.2f} s, {memory / 1e6:4.0f} MB")
    print(f"{requests} requests, at least {least:.2f} s; {requests / first[0]:.0f} samples a second")
    good = first[1] < ASKING_S and again[1] < AGAIN_S and max(first[2], again[2]) < MEMORY
    sys.exit(0 if good else 1)


def row(number: int) -> dict[str, object]:
    return {
        "github_id": 1,
        "github": "https://example.org/tools/tool",
        "repo_id": number,
        "path": "./",
        "arguments": "{}",
        "instruction": f"Do what is asked for in question {number}.",
        "oracle": "Run the tool with the options that the question names.\n" * 40,
        "type": "Bash Script",
        "id": number,
        "prefix_code": "",
        "output": "true",
    }


if __name__ == "__main__":
    main()

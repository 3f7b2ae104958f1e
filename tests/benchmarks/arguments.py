"""Static argument checks a second on one core, and beside them ML-Bench's own rule: a substring for each value.

Every answer is new to the checker (its text is changed each time), so nothing it has seen before helps it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from benchwright.validators.arguments import check_arguments

WANTED = 300
PROGRAM = "import argparse\np = argparse.ArgumentParser()\n" + "".join(
    f"p.add_argument('--option-{number}', type={kind}, default={default})\n"
    for number, (kind, default) in enumerate([("int", 1), ("float", 0.5), ("str", "'a'")] * 15)
)
COMMAND = "cd work && torchrun --nproc_per_node 2 program.py --option-0 {n} --option-1=1e-3 --option-2 'b c' {rest}"
REST = " ".join(f"--option-{number} {number}" for number in range(3, 27, 3))
SNIPPET = """
import torch
from model.attention import Attention
size = ({n}, 49, 512)
x = torch.randn(*size)
layer = Attention(dim=512, heads=8, dropout=0.1)
print(layer(x).shape)
"""


class Files:
    """One program in a repository of a thousand files."""

    def paths(self) -> Sequence[str]:
        return ["work/program.py", *(f"package/module_{number}.py" for number in range(1000))]

    def read(self, path: str) -> bytes | None:
        return PROGRAM.encode() if path == "work/program.py" else b""


def rate(check: Callable[[int], bool], seconds: float = 3.0) -> float:
    """Checks a second; each must say yes."""
    started, done = time.process_time(), 0
    while time.process_time() - started < seconds:
        assert check(done)
        done += 1
    return done / (time.process_time() - started)


def main() -> None:
    files = Files()
    shell = {"option_0": 0, "option-1": "0.001", "option_2": "b c", "option_3": 3}
    command = COMMAND.format(n="{n}", rest=REST)
    python = {"data": "", "heads": "8", "model": "Attention"}

    def bash(number: int) -> bool:
        arguments = {**shell, "option_0": number}
        code = command.replace("{n}", str(number))
        return check_arguments(code, "Bash Script", arguments, files=files, reference=code).accepted

    def snippet(number: int) -> bool:
        arguments = {**python, "data": f"({number},49,512)"}
        code = SNIPPET.replace("{n}", str(number))
        return check_arguments(code, "Python Code", arguments, reference=code).accepted

    def substring(number: int) -> bool:
        code = command.replace("{n}", str(number)).lower()
        return all(str(value).lower() in code for value in ({**shell, "option-1": "1e-3", "option_0": number}).values())

    base = rate(substring, 1.0)
    for name, check in (("commands, with the example", bash), ("snippets, with the example", snippet)):
        found = rate(check)
        verdict = "ok" if found >= WANTED else "TOO SLOW"
        print(f"{name}: {found:.0f}/s, wanted {WANTED}/s: {verdict}; substrings {base / found:.0f} times as fast")


if __name__ == "__main__":
    main()

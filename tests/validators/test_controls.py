"""Near misses and equal writings of examples made from a seed: the first are always refused, the second accepted."""

from __future__ import annotations

import random
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from benchwright.validators.controls import Judged, judged, near_misses
from benchwright.validators.controls.changing import changed

SEED = 20
EXAMPLES = 200
PROGRAM = """
import argparse
p = argparse.ArgumentParser()
p.add_argument("corpus")
p.add_argument("--learning-rate", type=float, default=0.02)
p.add_argument("--rounds", type=int, default=4)
p.add_argument("--width", "-w", type=int, default=64)
p.add_argument("--optimizer", choices=["adam", "sgd", "lion"], default="adam")
p.add_argument("--title", default="untitled")
p.add_argument("--out_dir", default="runs/first")
p.add_argument("--layers", type=int, nargs="+", default=[2, 2])
p.add_argument("--warm", action="store_true")
p.parse_args()
"""
LIBRARY = "class Kettle:\n    def __init__(self, litres, power=2.0, label='plain'):\n        pass\n"


class Files:
    """A repository of two files."""

    def paths(self) -> Sequence[str]:
        return ["fit.py", "kettle.py"]

    def read(self, path: str) -> bytes | None:
        return {"fit.py": PROGRAM.encode(), "kettle.py": LIBRARY.encode()}[path]


FILES = Files()


def made(dice: random.Random) -> dict[str, Any]:
    """The arguments of one example: each value may stand in another place, too."""
    every: dict[str, Any] = {
        "corpus": dice.choice(["words.txt", "data/rounds 4.txt", "./a/words.txt"]),
        "learning_rate": dice.choice([0.001, "0.05", "0.02", 1]),
        "rounds": dice.choice([1, 4, "10", 64]),
        "width": dice.choice([1, 10, 64, "128"]),
        "optimizer": dice.choice(["adam", "sgd", "lion"]),
        "title": dice.choice(["a red car", "it's 4 o'clock", "adam", "$HOME", 'say "hi"']),
        "out_dir": dice.choice(["runs/first", "runs/64/adam", "runs"]),
        "layers": dice.choice([[4, 4], [64], [1, 10, 64]]),
        "warm": True,
    }
    chosen = dice.sample(sorted(every), dice.randint(2, len(every)))
    return {name: every[name] for name in every if name in chosen}


def parts_of(arguments: dict[str, Any]) -> list[list[str]]:
    """The command's groups of words: an option with its values, or a word of its own."""
    found = [[str(arguments.get("corpus", "words.txt"))]]
    for name, value in arguments.items():
        flag = {"learning_rate": "--learning-rate"}.get(name, f"--{name}")
        if name == "warm":
            found.append([flag])
        elif name != "corpus":
            found.append([flag, *map(str, value)] if isinstance(value, list) else [flag, str(value)])
    return found


def written(parts: list[list[str]]) -> str:
    return "python fit.py " + " ".join(shlex.join(part) for part in parts)


def number(word: str) -> str:
    return {"0.001": "1e-3", "0.05": "5.0e-2", "0.02": ".02"}.get(word, word)


def double(word: str) -> str:
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$") + '"'


def writings(parts: list[list[str]], dice: random.Random) -> Iterator[str]:
    word, options = parts[0], list(parts[1:])
    dice.shuffle(options)
    yield written([word, *options])
    yield "python fit.py " + " ".join(double(each) if each[:2] != "--" else each for part in parts for each in part)
    yield "python fit.py " + " ".join(
        f"{part[0]}={shlex.quote(part[1])}" if part[0][:2] == "--" and len(part) == 2 else shlex.join(part)
        for part in parts
    )
    yield written([[number(each) for each in part] for part in parts])
    yield written([[each[: dice.randint(4, len(each))] if each[:2] == "--" else each for each in part]
                   for part in parts])  # fmt: skip
    lines = [f"V{at}={shlex.quote(each)}" for at, each in enumerate(each for part in parts for each in part)]
    yield "\n".join([*lines, "python fit.py " + " ".join(f'"$V{at}"' for at in range(len(lines)))])
    yield f'words=({shlex.join(each for part in parts for each in part)})\npython3 -u fit.py "${{words[@]}}" | cat'


def test_of_made_commands_near_misses_are_refused_and_equal_writings_accepted() -> None:
    dice = random.Random(SEED)
    tried = 0
    for _ in range(EXAMPLES):
        arguments = made(dice)
        parts = parts_of(arguments)
        example = Judged(written(parts), "Bash Script", arguments, files=FILES)
        assert example.refusal(example.output) == ""
        refused, passed = judged(example)
        assert (passed, refused) == ([], list(arguments)), example.output
        for code in writings(parts, dice):
            tried += 1
            assert example.refusal(code) == "", f"{example.output}\nas\n{code}"
    assert tried == 7 * EXAMPLES


def test_of_made_snippets_near_misses_are_refused_and_equal_writings_accepted() -> None:
    dice = random.Random(SEED)
    for _ in range(EXAMPLES):
        litres, power = dice.choice([1, 2, 50]), dice.choice([2.0, 0.5, 50.0])
        label = dice.choice(["plain", "Kettle", "two words"])
        shape = dice.choice(["(50,1,7)", "(2,2)"])
        arguments = {"litres": litres, "power": str(power), "label": label, "data": shape, "model": "Kettle"}
        size = ", ".join(shape.strip("()").split(","))
        head = "import torch\nfrom kettle import Kettle\n\n"
        own = head + f"x = torch.randn({size})\nk = Kettle({litres}, power={power}, label={label!r})\nprint(k(x))\n"
        example = Judged(own, "Python Code", arguments, files=FILES)
        assert example.refusal(own) == ""
        refused, passed = judged(example)
        assert (passed, refused) == ([], list(arguments)), own
        for code in (
            head + f"s = ({size})\no = {{'power': {power}, 'label': {label!r}, 'litres': {litres}}}\n"
            "print(Kettle(**o)(torch.randn(*s)))\n",
            head + f"def main():\n    how_much = {litres}\n    x = torch.randn(({size}))\n"
            f"    print(Kettle(label={label!r}, litres=how_much, power={power:e})(x))\n\nmain()\n",
        ):
            assert example.refusal(code) == "", code


@pytest.mark.parametrize(
    ("value", "choices"),
    [
        (True, None), (3, None), (0, None), (0.5, None), ("0.001", None), ("1e-3", None), ("0", None), ("True", None),
        ("words.txt", None), ("a/b/", None), ("resnet50", None), ("what is it?", None), ("", None), ("(1, 2)", None),
        ([1, 2], None), ("adam", ["adam", "sgd"]), (None, None), ("?", None), ("名前", None),
    ],
)  # fmt: skip
def test_what_is_changed_is_another_value_of_the_same_kind(value: Any, choices: list[str] | None) -> None:
    from benchwright.validators.arguments import same

    other = changed(value, choices)
    assert not same(value, other)
    assert value is None or isinstance(other, type(value))
    assert changed(value, choices) == other


def test_a_near_miss_changes_one_argument_only_where_two_share_a_value() -> None:
    arguments = {"rounds": 64, "width": 64}
    example = Judged("python fit.py words.txt --rounds 64 --width 64", "Bash Script", arguments, files=FILES)
    assert [near.code for near in near_misses(example)] == [
        "python fit.py words.txt --rounds 65 --width 64",
        "python fit.py words.txt --rounds 64 --width 65",
    ]


def test_what_cannot_be_changed_in_the_text_is_changed_in_the_question() -> None:
    example = Judged("R=$(cat n)\npython fit.py words.txt", "Bash Script", {"title": "elsewhere"}, files=FILES)
    (near,) = near_misses(example)
    assert near.code is None or near.code != example.output
    broken = Judged("def f(:\n", "Python Code", {"litres": 2})
    (near,) = near_misses(broken)
    assert (near.code, near.wanted) == (None, {"litres": 3})

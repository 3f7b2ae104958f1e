"""Editing an output by its parsed arguments: exactly one argument changes, however the script writes it."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Sequence

import pytest

from benchwright.annotation.expansion.scripts import read_script
from benchwright.annotation.expansion.snippets import edited_snippet, literals_of

PROGRAM = b"""
import argparse
p = argparse.ArgumentParser()
p.add_argument("corpus")
p.add_argument("--rounds", type=int, default=4)
p.add_argument("--width", "-w", type=int, default=64)
p.add_argument("--rate", type=float, default=0.02)
p.add_argument("--shift", type=float, default=0.0)
p.add_argument("--optimizer", choices=["adam", "sgd"], default="adam")
p.add_argument("--title", default="untitled")
p.add_argument("--warm", action="store_true")
p.parse_args()
"""


class Files:
    """A repository of one program."""

    def paths(self) -> Sequence[str]:
        return ["tools/brew.py"]

    def read(self, path: str) -> bytes | None:
        return PROGRAM if path == "tools/brew.py" else None


FILES = Files()


def edited(code: str, name: str, value: str, prefix: str = "") -> str | None:
    script = read_script(code, "./tools", prefix, FILES)
    assert script is not None
    found = script.edited(name, value)
    return found.code if found is not None else None


@pytest.mark.parametrize(
    ("code", "name", "value", "wanted"),
    [
        ("python brew.py a --rounds 8 --width 8", "rounds", "9", "python brew.py a --rounds 9 --width 8"),
        ("python brew.py a --rounds 8 --width 8", "width", "9", "python brew.py a --rounds 8 --width 9"),
        ("python brew.py a -w 8 --rounds=8", "rounds", "16", "python brew.py a -w 8 --rounds=16"),
        ("python brew.py a -w 8 --rounds=8", "width", "16", "python brew.py a -w 16 --rounds=8"),
        ("python brew.py 8 --rounds 8", "corpus", "9", "python brew.py 9 --rounds 8"),
        ("python brew.py a --rate '0.1' # --rate 0.1", "rate", "0.2", "python brew.py a --rate 0.2 # --rate 0.1"),
        ("python brew.py a --title 'two words'", "title", "it's", "python brew.py a --title 'it'\"'\"'s'"),
        ("python brew.py a --title=\"x\"", "title", "a b", "python brew.py a --title='a b'"),
        ("N=8\npython brew.py a --rounds $N -w 8", "rounds", "9", "N=9\npython brew.py a --rounds $N -w 8"),
        ("python brew.py a \\\n  --rounds 8 \\\n  --rate 1e-3", "rate", "0.01",
         "python brew.py a \\\n  --rounds 8 \\\n  --rate 0.01"),
        ("echo 8\npython brew.py a --rounds 8 > 8.log", "rounds", "9", "echo 8\npython brew.py a --rounds 9 > 8.log"),
        ("python brew.py a", "rounds", "9", "python brew.py a --rounds 9"),
        ("python brew.py a > log.txt", "rounds", "9", "python brew.py a --rounds 9 > log.txt"),
        ("python brew.py a && echo done", "optimizer", "sgd", "python brew.py a --optimizer sgd && echo done"),
        ("python brew.py a", "shift", "-0.5", "python brew.py a --shift=-0.5"),
        ("python brew.py 茶 --rounds 8", "rounds", "9", "python brew.py 茶 --rounds 9"),
    ],
)  # fmt: skip
def test_one_argument_changes_and_nothing_else(code: str, name: str, value: str, wanted: str) -> None:
    assert edited(code, name, value) == wanted


@pytest.mark.parametrize(
    ("code", "name", "value"),
    [
        ("python brew.py a --rounds 8", "optimizer", "lion"),  # no such choice
        ("python brew.py a --rounds 8", "rounds", "8.5"),  # not of its type
        ("N=8\npython brew.py a --rounds $N -w $N", "rounds", "9"),  # would change the other, too
        ("for n in 8 16; do python brew.py a --rounds $n; done", "rounds", "9"),  # a second run
        ("python brew.py a", "warm", "1"),  # a switch takes no value
        ("python brew.py a", "nothing", "1"),
    ],
)  # fmt: skip
def test_what_cannot_be_changed_alone_is_not_changed(code: str, name: str, value: str) -> None:
    script = read_script(code, "./tools", "", FILES)
    assert script is None or script.edited(name, value) is None


def test_the_prefix_code_stays_out_of_the_edit() -> None:
    assert edited("python brew.py a --rounds $N", "rounds", "9", "N=8") is None
    assert edited("python brew.py a --rounds 8", "rounds", "9", "N=8") == "python brew.py a --rounds 9"


def test_every_order_and_form_of_equal_values_keeps_them_apart() -> None:
    forms = {"rounds": ("--rounds 8", "--rounds=8"), "width": ("-w 8", "--width 8", "--width=8"), "rate": ("--rate 8",)}
    for names in itertools.permutations(forms):
        for words in itertools.product(*(forms[name] for name in names)):
            code = f"python brew.py 8 {' '.join(words)}"
            for name, word in zip(names, words, strict=True):
                wanted = code.replace(word, word[:-1] + "9")
                assert edited(code, name, "9") == wanted
                assert len(shlex.split(wanted)) == len(shlex.split(code))


def test_a_literal_of_a_keyword_or_variable_changes_in_place() -> None:
    code = "from kettle import Kettle\nlabel = 'grün'; k = Kettle(litres=3, power=2.5)  # litres=3\nprint(k, label)\n"
    assert [literal.name for literal in literals_of(code)] == ["label", "litres", "power"]
    assert edited_snippet(code, "litres", 5) == code.replace("litres=3,", "litres=5,")
    assert edited_snippet(code, "label", "it's") == code.replace("'grün'", '"it\'s"')
    assert edited_snippet(code, "power", -0.5) == code.replace("2.5", "-0.5")
    assert edited_snippet(code, "colour", 1) is None


def test_a_name_or_value_that_stands_twice_is_left_alone() -> None:
    assert literals_of("f(size=3)\ng(size=4)\n") == ()
    assert literals_of("x = rand(7, 512)\nf(width=512)\n") == ()
    assert literals_of("f(on=True)\n") == ()
    assert literals_of("f(size=") == ()

"""Words are bound as the program's own parser binds them: held against argparse itself."""

from __future__ import annotations

import argparse
import contextlib
import io
import shlex
import sys

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchwright.curation.flags import FlagReport, bind, flags_of


class Files:
    """One program in memory."""

    def __init__(self, **sources: str) -> None:
        self.sources = {f"{name}.py": text for name, text in sources.items()}

    def paths(self) -> list[str]:
        return list(self.sources)

    def read(self, path: str) -> bytes | None:
        return self.sources[path].encode() if path in self.sources else None


def report_of(source: str) -> FlagReport:
    return flags_of(Files(program=source), "program.py")


HEAD = "import argparse\nparser = argparse.ArgumentParser()\n"
TAIL = "\nargs = parser.parse_args()\n"

FLAGS = st.sampled_from(
    [
        'parser.add_argument("--rate", type=float, default=0.1)',
        'parser.add_argument("--rank", type=int)',
        'parser.add_argument("-n", "--number", type=int, default=3)',
        'parser.add_argument("-v", action="count", default=0)',
        'parser.add_argument("-q", "--quiet", action="store_true")',
        'parser.add_argument("--no-shuffle", dest="shuffle", action="store_false")',
        'parser.add_argument("--mode", choices=["fast", "slow"], default="fast")',
        'parser.add_argument("--ids", nargs="+", type=int)',
        'parser.add_argument("--pair", nargs=2)',
        'parser.add_argument("--maybe", nargs="?", const="yes")',
        'parser.add_argument("--many", nargs="*")',
        'parser.add_argument("--tag", action="append")',
        'parser.add_argument("--more", action="extend", nargs="+", default=["x"])',
        'parser.add_argument("--two", action="store_const", const=2)',
        'parser.add_argument("-o", "--out", required=True)',
        'parser.add_argument("source")',
        'parser.add_argument("target", nargs="?", default="here")',
        'parser.add_argument("rest", nargs="*")',
        'parser.add_argument("level", type=int, choices=[1, 2])',
    ]
)
WORDS = st.sampled_from(
    [
        "--rate",
        "--ra",
        "--r",
        "--rate=1e-3",
        "0.5",
        "-1",
        "-1.5",
        "-n",
        "-n5",
        "-nv",
        "-vv",
        "-vq",
        "-qv",
        "--quiet",
        "--quiet=1",
        "--no-shuffle",
        "--no",
        "--mode",
        "slow",
        "wild",
        "--mode=slow",
        "--ids",
        "1",
        "2",
        "--pair",
        "a",
        "--maybe",
        "--maybe=x",
        "--many",
        "--tag",
        "--tag=t",
        "--more",
        "--two",
        "-o",
        "-oout",
        "--out",
        "--",
        "--unknown",
        "--unknown=3",
        "-x",
        "-",
        "--m",
        "--n",
        "--number=7",
        "-vx",
        "-n=4",
        "-q=1",
        "---rate",
        "--ids=3",
        "",
        "a b",
    ]
)


def as_argparse(lines: list[str], words: list[str]) -> dict[str, object] | None:
    """What argparse gives; None where it refuses."""
    parser = argparse.ArgumentParser()
    exec("\n".join(lines), {"parser": parser})
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            return vars(parser.parse_args(words))
        except SystemExit:
            return None


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="later versions treat ``--`` and empty positionals otherwise")
@settings(max_examples=300, deadline=None)
@given(st.lists(FLAGS, min_size=1, max_size=5, unique=True), st.lists(WORDS, max_size=7))
def test_values_and_refusals_are_those_of_argparse(lines: list[str], words: list[str]) -> None:
    assume(words.count("--") < 2)  # a second one is dropped by 3.11 in ways its authors called a fault
    expected = as_argparse(lines, words)
    report = report_of(HEAD + "\n".join(lines) + TAIL)
    bound = bind(report, words)
    assert bound.accepted == (expected is not None), bound.problems
    if expected is not None:
        values = {argument.name: argument.default for argument in report.arguments} | bound.values
        if expected.get("rest") == []:
            expected["rest"] = None  # argparse's empty list for a positional that got no word and has no default
        assert values == expected


def test_an_unknown_option_keeps_the_words_behind_it() -> None:
    bound = bind(report_of(HEAD + 'parser.add_argument("--lr", type=float)' + TAIL), ["--epochs", "5", "--lr", "0.1"])
    assert bound.unknown == {"--epochs": ["5"]}
    assert bound.values == {"lr": 0.1}
    assert [problem.kind for problem in bound.problems] == ["unknown_option"]


def test_a_prefix_of_a_flag_does_not_make_a_longer_option_known() -> None:
    bound = bind(report_of(HEAD + 'parser.add_argument("--lr_decay", nargs="+")' + TAIL), ["--lr_decay_step=250000"])
    assert [problem.kind for problem in bound.problems] == ["unknown_option"]


def test_an_abbreviation_is_accepted_and_said() -> None:
    bound = bind(report_of(HEAD + 'parser.add_argument("--model_path")' + TAIL), ["--model", "a.pt"])
    assert bound.values == {"model_path": "a.pt"}
    assert bound.options == {"model_path": "--model_path"}
    assert [(problem.kind, problem.name) for problem in bound.problems] == [("ok_abbreviation", "model_path")]
    assert bound.accepted


def test_a_subcommand_reads_what_stands_behind_it() -> None:
    source = (
        HEAD
        + 'parser.add_argument("--seed", type=int)\nsub = parser.add_subparsers(dest="job", required=True)\n'
        + 'train = sub.add_parser("train")\ntrain.add_argument("--lr", type=float)'
        + TAIL
    )
    bound = bind(report_of(source), shlex.split("--seed 1 train --lr 0.1"))
    assert bound.values == {"seed": 1, "job": "train", "lr": 0.1}
    assert bound.subcommand == ("train",)
    assert not bind(report_of(source), ["fly"]).accepted
    assert not bind(report_of(source), []).accepted


def test_flags_that_exclude_each_other_are_refused_together() -> None:
    source = (
        HEAD
        + "group = parser.add_mutually_exclusive_group(required=True)\n"
        + 'group.add_argument("--train", action="store_true")\ngroup.add_argument("--eval", action="store_true")'
        + TAIL
    )
    assert [problem.kind for problem in bind(report_of(source), ["--train", "--eval"]).problems] == ["exclusive"]
    assert [problem.kind for problem in bind(report_of(source), []).problems] == ["missing_required"]
    assert bind(report_of(source), ["--eval"]).accepted


def test_type_bool_takes_every_word_for_true_and_a_converter_does_not() -> None:
    source = (
        HEAD
        + 'parser.add_argument("--naive", type=bool)\n'
        + 'parser.add_argument("--meant", type=lambda word: word.lower() == "true")'
        + TAIL
    )
    assert bind(report_of(source), ["--naive", "False", "--meant", "False"]).values == {"naive": True, "meant": False}


ABSL = """
import absl.flags as flags
flags.DEFINE_string("data_dir", None, "where the data lies")
flags.DEFINE_bool("do_train", False, "whether to train")
flags.DEFINE_float("rate", 5e-5, "learning rate")
flags.DEFINE_list("layers", "1,2", "sizes")
flags.DEFINE_enum("mode", "a", ["a", "b"], "which")
flags.DEFINE_multi_integer("gpu", [0], "which cards")
flags.mark_flag_as_required("data_dir")
"""


@pytest.mark.parametrize(
    ("words", "values", "problems"),
    [
        ("--data_dir=x --do_train --rate 1e-4", {"data_dir": "x", "do_train": True, "rate": 1e-4}, []),
        ("-data_dir x --nodo_train", {"data_dir": "x", "do_train": False}, []),
        ("--do_train=false --data_dir=x --layers=3,4", {"data_dir": "x", "do_train": False, "layers": ["3", "4"]}, []),
        ("--data_dir=x --gpu=1 --gpu=2", {"data_dir": "x", "gpu": [1, 2]}, []),
        ("--data_dir=x --mode=c", {"data_dir": "x", "mode": "c"}, ["bad_choice"]),
        ("--data=x", {}, ["unknown_option", "missing_required"]),
        ("--data_dir=x --alsologtostderr", {"data_dir": "x"}, []),
    ],
)
def test_absl_words_are_read_as_absl_reads_them(words: str, values: dict[str, object], problems: list[str]) -> None:
    bound = bind(report_of(ABSL), words.split())
    assert bound.values == values
    assert [problem.kind for problem in bound.problems] == problems


def test_click_words_are_read_as_click_reads_them() -> None:
    source = (
        "import click\n@click.command()\n@click.argument('source')\n@click.option('-n', '--count', default=1)\n"
        "@click.option('--fast/--slow', default=False)\ndef main(source, count, fast): pass\nmain()\n"
    )
    report = report_of(source)
    assert bind(report, ["a.txt", "-n3", "--slow"]).values == {"source": "a.txt", "count": 3, "fast": False}
    assert next(problem.kind for problem in bind(report, ["a.txt", "--cou", "3"]).problems) == "unknown_option"


def test_places_are_given_to_a_script_without_a_framework() -> None:
    report = report_of("import sys\nsource = sys.argv[1]\nepochs = int(sys.argv[2]) if len(sys.argv) > 2 else 5\n")
    assert bind(report, ["a", "7"]).values == {"source": "a", "epochs": 7}
    assert bind(report, ["a"]).accepted
    assert not bind(report, []).accepted

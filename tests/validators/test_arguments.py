"""Whether answers meet arguments, through programs' own flags: judged by what runs, never by what the text mentions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from benchwright.validators.arguments import Call, Trace, Verdict, check_arguments

ONE_FLAG = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--rounds', type=int)\np.parse_args()\n"
PROGRAMS = {
    "fit.py": """
import argparse
p = argparse.ArgumentParser()
p.add_argument("corpus")
p.add_argument("--step", "-s", "--step-size", type=float, default=0.01, dest="step")
p.add_argument("--rounds", type=int, required=True)
p.add_argument("--round_limit", type=int)
p.add_argument("--widths", type=int, nargs="+", default=[8])
p.add_argument("--resume", action="store_true")
p.add_argument("--shuffle", type=bool, default=False)
p.add_argument("--out", default="runs/one")
p.add_argument("--code", default="")
p.add_argument("-v", action="count", default=0)
p.parse_args()
""",
    "strict.py": """
import argparse
p = argparse.ArgumentParser(allow_abbrev=False)
p.add_argument("--rounds", type=int)
p.parse_args()
""",
    "sub.py": """
import argparse
p = argparse.ArgumentParser()
s = p.add_subparsers(dest="what")
a = s.add_parser("fit")
a.add_argument("--rounds", type=int)
b = s.add_parser("score")
b.add_argument("--rounds", type=int)
p.parse_args()
""",
    "absl_fit.py": """
from absl import app, flags
flags.DEFINE_integer("rounds", 3, "")
flags.DEFINE_bool("warm", False, "")
flags.DEFINE_list("layers", [], "")
app.run(lambda _: None)
""",
    "tool.py": """
import click
@click.command()
@click.option("--rounds", default=1)
@click.option("--fast/--no-fast", default=False)
@click.argument("source")
def main(rounds, fast, source): ...
main()
""",
    "plain.py": """
import sys
source = sys.argv[1]
rounds = int(sys.argv[2])
""",
    "steps.sh": "#!/bin/bash\nCORPUS=$1\nROUNDS=$2\npython fit.py $CORPUS --rounds $ROUNDS --step 0.5\n",
    "other.py": ONE_FLAG,
    "pkg/__init__.py": "",
    "pkg/cli.py": ONE_FLAG,
}


class Files:
    """A repository of a few files."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files

    def paths(self) -> Sequence[str]:
        return sorted(self.files)

    def read(self, path: str) -> bytes | None:
        return self.files[path].encode() if path in self.files else None


REPOSITORY = Files(PROGRAMS)


def judged(code: str, arguments: Mapping[str, Any], **options: Any) -> Verdict:
    options.setdefault("files", REPOSITORY)
    return check_arguments(code, "Bash Script", arguments, **options)


WANTED = {"step": 0.001, "rounds": 30}
GOLD = "python fit.py words.txt --step 0.001 --rounds 30"


@pytest.mark.parametrize(
    "code",
    [
        GOLD,
        "python fit.py --rounds=30 --step=0.001 words.txt",
        "python fit.py words.txt -s 1e-3 --rounds 30",
        "python fit.py words.txt -s.001 --rounds 030",
        "python fit.py words.txt --step-size '0.0010' --rounds \"30\"",
        "python fit.py words.txt --step-s 0.001 --rounds 30",
        "python fit.py words.txt --step 5 --rounds 30 --step 0.001",
        "R=30\npython fit.py words.txt \\\n --step 1.0E-3 \\\n --rounds $R",
        "cd . && nohup python3 -u fit.py words.txt --step 0.001 --rounds 30 > log 2>&1 &",
        "torchrun --nproc_per_node 4 fit.py words.txt --step 0.001 --rounds 30",
        "python -m fit words.txt --step 0.001 --rounds 30",
        "f() { python fit.py \"$@\"; }; f words.txt --step 0.001 --rounds 30",
        "python fit.py --help; python fit.py words.txt --step 0.001 --rounds 30",
        "python other.py --rounds 1; python fit.py words.txt --step 0.001 --rounds 30",
        "for r in 30; do python fit.py words.txt --step 0.001 --rounds $r; done",
        "bash -c 'python fit.py words.txt --step 0.001 --rounds 30'",
    ],
)  # fmt: skip
def test_the_same_call_written_differently_is_accepted(code: str) -> None:
    assert judged(code, WANTED, entry="fit.py").accepted
    verdict = judged(code, WANTED, reference=GOLD)
    assert verdict.accepted, verdict
    assert verdict.problems == ()


@pytest.mark.parametrize(
    "code",
    [
        "python fit.py words.txt --step 0.0001 --rounds 300",
        "python fit.py words.txt --step 30 --rounds 0.001",
        "python fit.py words.txt --step 2 --rounds 5 # --step 0.001 --rounds 30",
        "echo python fit.py words.txt --step 0.001 --rounds 30",
        "# python fit.py words.txt --step 0.001 --rounds 30\npython fit.py words.txt --step 1 --rounds 1",
        "python fit.py words.txt --step 0.001 --rounds 30 --step 0.5",
        "python other.py words.txt --step 0.001 --rounds 30",
        "python fit.py words.txt --step 0.001 --round_limit 30 --rounds 5",
        "python fit.py words.txt --step 0.001 --round 30",
        "false && python fit.py words.txt --step 0.001 --rounds 30",
        "exit 0; python fit.py words.txt --step 0.001 --rounds 30",
        "cat <<E > x\npython fit.py words.txt --step 0.001 --rounds 30\nE",
        "python fit.py words.txt --step 1 --rounds 1 --out '--step 0.001 --rounds 30'",
        "SAID='--step 0.001 --rounds 30'; python fit.py words.txt --step 1 --rounds 2",
        "never() { python fit.py words.txt --step 0.001 --rounds 30; }; python fit.py words.txt --step 1 --rounds 1",
        "python fit.py words.txt --rounds 30",
        "STEP=0.001 python fit.py words.txt --rounds 30",
        "python fit.py words.txt -- --step 0.001 --rounds 30",
        "for s in 1 0.1 0.001; do python fit.py words.txt --step $s --rounds 30; done",
        "python fit.py words.txt --step 2 --rounds 1; python fit.py words.txt --step 0.001 --rounds 30",
        "python - <<E\n# fit.py --step 0.001 --rounds 30\nE",
        "",
    ],
)
def test_an_answer_that_only_mentions_the_values_is_refused(code: str) -> None:
    assert not judged(code, WANTED, entry="fit.py").accepted
    verdict = judged(code, WANTED, reference=GOLD)
    assert not verdict.accepted
    assert verdict.problems


def test_a_refusal_names_the_argument_the_wanted_and_the_found() -> None:
    (problem,) = judged("python fit.py w --step 0.1 --rounds 30", WANTED).problems
    assert (problem.argument, problem.wanted, problem.found) == ("step", 0.001, 0.1)
    assert str(problem) == "step: wanted '0.001', found 0.1 in --step"


@pytest.mark.parametrize(
    ("arguments", "words", "accepted"),
    [
        ({"step": "0.01"}, "", True),  # the default
        ({"step": "0.02"}, "", False),
        ({"step_size": "0.5"}, "--step 0.5", True),  # an alias
        ({"step-size": "0.5"}, "-s 0.5", True),
        ({"resume": True}, "--resume", True),
        ({"resume": "True"}, "", False),
        ({"resume": ""}, "--resume", True),
        ({"resume": False}, "", True),
        ({"resume": False}, "--resume", False),
        ({"shuffle": "True"}, "--shuffle 1", True),
        ({"shuffle": "False"}, "--shuffle False", True),
        ({"shuffle": "True"}, "--shuffle False", False),
        ({"widths": "8 16"}, "--widths 8 16", True),
        ({"widths": [8, 16]}, "--widths 8 16", True),
        ({"widths": "8,16"}, "--widths 8 16", True),
        ({"widths": "16 8"}, "--widths 8 16", False),
        ({"widths": "8"}, "--widths 8 16", False),
        ({"out": "./runs/two/"}, "--out runs/two", True),
        ({"out": "runs/two"}, "--out runs/twofold", False),
        ({"out": "runs"}, "--out runs/two", False),
        ({"code": "007"}, "--code 7", False),
        ({"code": "007"}, "--code 007", True),
        ({"v": 2}, "-vv", True),
        ({"v": 2}, "-v", False),
        ({"corpus": "words.txt"}, "", True),
        ({"corpus": "word.txt"}, "", False),
        ({"rounds": 30}, "--rounds 30", True),
        ({"rounds": "thirty"}, "--rounds 30", False),
    ],
)
def test_values_are_compared_by_the_flags_type(arguments: dict[str, Any], words: str, accepted: bool) -> None:
    rounds = "" if "--rounds" in words else "--rounds 1"
    assert judged(f"python fit.py words.txt {rounds} {words}", arguments).accepted is accepted


@pytest.mark.parametrize(
    ("code", "arguments", "accepted"),
    [
        ("python strict.py --rounds 4", {"rounds": 4}, True),
        ("python strict.py --round 4", {"rounds": 4}, False),
        ("python sub.py fit --rounds 4", {"what": "fit", "rounds": 4}, True),
        ("python sub.py score --rounds 4", {"what": "fit", "rounds": 4}, False),
        ("python absl_fit.py --rounds=4 --warm", {"rounds": "4", "warm": "True"}, True),
        ("python absl_fit.py --rounds=4 --nowarm", {"rounds": "4", "warm": "True"}, False),
        ("python absl_fit.py --layers=a,b", {"layers": ["a", "b"], "rounds": 3}, True),
        ("python tool.py --no-fast data.csv --rounds 4", {"fast": False, "rounds": 4, "source": "data.csv"}, True),
        ("python tool.py --fast data.csv --rounds 4", {"fast": False, "rounds": 4}, False),
        ("python plain.py data.csv 4", {"source": "data.csv", "rounds": 4}, True),
        ("python plain.py 4 data.csv", {"source": "data.csv", "rounds": 4}, False),
        ("python -m pkg.cli --rounds 4", {"rounds": 4}, True),
        ("bash steps.sh words.txt 4", {"bash": "steps.sh", "argument1": "words.txt", "argument2": 4}, True),
        ("bash steps.sh words.txt 5", {"bash": "steps.sh", "argument1": "words.txt", "argument2": 4}, False),
    ],
)
def test_every_kind_of_program_is_read_its_own_way(code: str, arguments: dict[str, Any], accepted: bool) -> None:
    assert judged(code, arguments).accepted is accepted


def test_a_script_of_the_repository_may_start_the_program_that_is_asked_for() -> None:
    wanted = {"corpus": "words.txt", "rounds": 4, "step": 0.5}
    assert judged("bash steps.sh words.txt 4", wanted, entry="fit.py").accepted
    assert not judged("bash steps.sh words.txt 5", wanted, entry="fit.py").accepted


NAMED = {"model": "./nets/wide-2.1", "version": "2.1", "data": "words.txt"}
NAMED_GOLD = "python fit.py words.txt --rounds 3 --out ./nets/wide-2.1/weights.bin --code ./nets/wide-2.1/vocab"


@pytest.mark.parametrize(
    ("code", "accepted"),
    [
        (NAMED_GOLD, True),
        (NAMED_GOLD.replace("./nets", "nets"), True),
        (NAMED_GOLD.replace("wide-2.1", "wide-2.2"), False),
        (NAMED_GOLD.replace("wide-2.1/vocab", "deep-2.1/vocab"), False),  # one of the two places
        (NAMED_GOLD.replace("words.txt", "wordings.txt"), False),
        ("python fit.py other.txt --rounds 3 --out ./nets/wide-2.1/words.txt --code ./nets/wide-2.1/vocab", False),
    ],
)
def test_names_that_are_no_flags_belong_where_the_example_has_them(code: str, accepted: bool) -> None:
    assert judged(code, NAMED, reference=NAMED_GOLD).accepted is accepted


@pytest.mark.parametrize(
    ("value", "word", "accepted"),
    [
        ("blip", "blip_caption", True),
        ("blip", "blip2_caption", False),
        ("blip2", "blip2_caption", True),
        ("GAN", "gan", True),
        ("gan", "cgan", False),
        ("traffic", "traffic.csv", True),
        ("words", "data/words/part.csv", True),
        ("data/words", "data/words/part.csv", True),
        ("./words", "data/words/part.csv", False),
        ("2.0", "dev-v2.0.json", True),
        ("2.0", "dev-v12.0.json", False),
        ("7", "run-17", False),
        ("7", "run-7", True),
    ],
)
def test_a_value_is_a_whole_word_of_a_name_or_part_of_a_path(value: str, word: str, accepted: bool) -> None:
    assert judged(f"python fit.py {word} --rounds 1", {"argument1": value}).accepted is accepted


def test_a_flag_that_the_example_itself_gives_otherwise_is_bound_where_the_example_has_the_value() -> None:
    gold = "python fit.py words.txt --rounds 3 --code custom --out runs/traffic"
    wanted = {"code": "traffic"}
    assert not judged(gold, wanted).accepted
    assert judged(gold, wanted, reference=gold).accepted
    assert not judged(gold.replace("runs/traffic", "runs/weather"), wanted, reference=gold).accepted


@pytest.mark.parametrize(
    ("code", "accepted"),
    [
        ("python unknown.py --rounds 4 --step=1e-1", True),
        ("python unknown.py --step .1 --rounds 4.0", True),
        ("python unknown.py --max_rounds 4 --step 0.1", False),
        ("python unknown.py --rounds 4 --step 0.1 --step 3", False),
        ("python unknown.py 4 0.1", False),
    ],
)
def test_without_the_repository_options_count_as_written(code: str, accepted: bool) -> None:
    reference = "python unknown.py --rounds 4 --step 0.1"
    assert judged(code, {"rounds": 4, "step": 0.1}, files=None, reference=reference).accepted is accepted


def test_the_preparation_is_no_part_of_the_answer() -> None:
    prefix = "R=30\npython fit.py words.txt --step 0.001 --rounds 30"
    assert not judged("ls", WANTED, prefix_code=prefix, entry="fit.py").accepted
    assert judged("python fit.py w --step 0.001 --rounds $R", WANTED, prefix_code=prefix, entry="fit.py").accepted


def test_a_variable_of_the_preparation_is_no_use_of_its_value() -> None:
    prefix = "export MODELS=./models/base_12"
    own = "python fit.py words.txt --vocabulary=$MODELS/words.txt"
    other = "python fit.py words.txt --vocabulary=./models/large_24/words.txt"
    arguments = {"model": "./models/base_12"}
    assert judged(own, arguments, prefix_code=prefix, reference=own).accepted
    assert not judged(other, arguments, prefix_code=prefix, reference=own).accepted
    assert not judged(other, arguments, prefix_code=prefix).accepted


def test_of_a_variable_that_is_set_twice_the_last_counts() -> None:
    assert judged("export CARD=1\nCARD=2 python fit.py w", {"card": 2}).accepted
    assert not judged("export CARD=1\nCARD=2 python fit.py w", {"card": 1}).accepted


class Scripted:
    """A recorder that knows the answer."""

    def record(self, code: str, *, path: str, prefix_code: str) -> Trace:
        return Trace((Call("file", "fit.py", ("words.txt", "--step", "0.001", "--rounds", "30")),))


def test_a_recorder_settles_what_cannot_be_followed() -> None:
    code = "python fit.py words.txt --step 0.001 --rounds $(cat rounds)"
    assert not judged(code, WANTED).accepted
    assert judged(code, WANTED).notes
    assert judged(code, WANTED, recorder=Scripted()).accepted


def test_what_can_be_followed_is_not_recorded() -> None:
    assert not judged("python fit.py words.txt --step 9 --rounds 30", WANTED, recorder=Scripted()).accepted


HOSTILE = [
    "python fit.py {1..4000}{1..4000}{1..4000}",
    "for a in {1..256}; do for b in {1..256}; do for c in {1..256}; do echo; done; done; done",
    "f() { f; f; f; f; }; f",
    "(" * 3000 + "python fit.py" + ")" * 3000,
    "a = 7\n" + "a = a * a\n" * 60 + "f(a)",
    "a = 'x'\n" + "a = a + a\n" * 60 + "f(a)",
    "f(" + "[" * 5000,
    "f(" + "-" * 20_000 + "1)",
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("code", ["'", "$(", "if", "\0", "python", "python fit.py --", "((", "é" * 3000, *HOSTILE])
def test_no_answer_makes_it_fail(code: str) -> None:
    judged(code, WANTED, reference=GOLD)
    check_arguments(code, "Python Code", WANTED, reference="x = 1")

"""Flags are read from source, by general mechanisms, and nothing is imported or run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchwright.curation.flags import Flag, FlagReport, bind, flags_of

CASES = Path(__file__).parents[3] / "shared" / "cases"


class Files:
    """A repository in memory that counts what is read of it."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.sources = sources
        self.asked: list[str] = []

    def paths(self) -> list[str]:
        return list(self.sources)

    def read(self, path: str) -> bytes | None:
        self.asked.append(path)
        return self.sources[path].encode() if path in self.sources else None


def read(source: str, **more: str) -> FlagReport:
    sources = {"run.py": source} | {name.replace("__", "/") + ".py": text for name, text in more.items()}
    return flags_of(Files(sources), "run.py")


def flag(report: FlagReport, name: str) -> Flag:
    found = report.flag(name)
    assert found is not None, f"{name} is not among {list(report.options)}"
    return found


PARSER = "import argparse\nparser = argparse.ArgumentParser()\n"


def test_constants_are_folded_and_what_depends_on_the_machine_is_not() -> None:
    report = read(
        "import argparse, os\nSIZES = ['s', 'm']\nRATE = 3e-4\np = argparse.ArgumentParser()\n"
        "p.add_argument('--size', choices=SIZES, default=SIZES[0])\n"
        "p.add_argument('--rate', type=float, default=RATE * 10)\n"
        "p.add_argument('--out', default=os.environ.get('OUT', 'runs'))\n"
    )
    assert flag(report, "--size").argument.choices == ("s", "m")
    assert flag(report, "--size").argument.default == "s"
    rate = flag(report, "--rate").argument
    assert (rate.default, rate.default_source) == (pytest.approx(3e-3), "RATE * 10")
    out = flag(report, "--out").argument
    assert (out.default, out.static, out.default_source) == (None, False, "os.environ.get('OUT', 'runs')")


def test_commented_and_quoted_calls_are_no_flags() -> None:
    report = read(PARSER + "# parser.add_argument('--ghost')\ntext = \"parser.add_argument('--ghost2')\"\n")
    assert [option for option in report.options if "ghost" in option] == []


def test_a_helper_of_another_package_root_fills_the_parser_it_is_handed() -> None:
    files = Files(
        {
            "examples/gcn/train.py": "import argparse\nfrom lib.data import register_args\n"
            "p = argparse.ArgumentParser()\nregister_args(p)\np.add_argument('--lr', type=float)\np.parse_args()\n",
            "python/lib/__init__.py": "",
            "python/lib/data/__init__.py": "from .base import *\n",
            "python/lib/data/base.py": "def register_args(parser):\n"
            "    parser.add_argument('--dataset', required=True)\n",
        }
    )
    report = flags_of(files, "examples/gcn/train.py")
    assert flag(report, "--dataset").argument.defined_at == "python/lib/data/base.py:2"
    assert flag(report, "--dataset").argument.required
    assert report.complete
    assert "python/lib/data/base.py" in report.read_paths


def test_option_classes_are_followed_through_inheritance() -> None:
    report = read(
        "from options.train import TrainOptions\nopt = TrainOptions().parse()\n",
        options__base="import argparse\nclass Base:\n    def __init__(self):\n"
        "        self.parser = argparse.ArgumentParser()\n    def initialize(self):\n"
        "        self.parser.add_argument('--name', default='x')\n    def parse(self):\n"
        "        self.initialize()\n        return self.parser.parse_args()\n",
        options__train="from .base import Base\nclass TrainOptions(Base):\n    def initialize(self):\n"
        "        Base.initialize(self)\n        self.parser.add_argument('--niter', type=int, default=100)\n",
    )
    assert [argument.flag for argument in report.arguments] == ["--name", "--niter"]


def test_parents_groups_loops_and_helpers_count() -> None:
    report = read(
        "import argparse\nparent = argparse.ArgumentParser(add_help=False)\nparent.add_argument('--seed', type=int)\n"
        "p = argparse.ArgumentParser(parents=[parent], allow_abbrev=False)\ng = p.add_argument_group('x')\n"
        "g.add_argument('--lr', type=float)\nfor n in ('a', 'b'):\n    p.add_argument(f'--{n}', default=n)\n"
        "p.parse_args()\n"
    )
    assert [argument.flag for argument in report.arguments] == ["--seed", "--lr", "--a", "--b"]
    assert not report.allow_abbrev


def test_two_stages_and_set_defaults_from_a_file() -> None:
    report = read(
        "import argparse, yaml\nc = argparse.ArgumentParser()\nc.add_argument('-c', '--config')\n"
        "p = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default=0.1)\n"
        "def parse():\n    known, rest = c.parse_known_args()\n    if known.config:\n"
        "        p.set_defaults(**yaml.safe_load(open(known.config)))\n    return p.parse_args(rest)\nparse()\n"
    )
    assert {argument.flag for argument in report.arguments} == {"--config", "--lr"}
    assert report.notes
    assert not report.accepts_unknown


def test_set_defaults_replaces_a_default() -> None:
    report = read(PARSER + "parser.add_argument('--x', default=1)\nparser.set_defaults(x=2)\nparser.parse_args()\n")
    assert flag(report, "--x").argument.default == 2


def test_what_cannot_be_read_is_said_with_its_place() -> None:
    report = read(
        "import argparse, sys, elsewhere\np = argparse.ArgumentParser(parents=[elsewhere.parser()])\n"
        "p.add_argument(sys.argv[0])\nelsewhere.more(p)\np.parse_args()\n"
    )
    assert not report.complete
    assert [text.split(" ")[0] for text in report.unresolved] == ["run.py:2:", "run.py:3:", "run.py:4:"]


def test_a_flag_of_one_branch_is_conditional_and_not_static() -> None:
    report = read(PARSER + "import os\nif os.name == 'x':\n    parser.add_argument('--only', required=True)\n")
    assert flag(report, "--only").conditional
    assert not flag(report, "--only").argument.static
    assert bind(report, []).accepted


def test_a_truth_value_converter_is_a_bool() -> None:
    report = read(
        PARSER + "def str2bool(v):\n    if v.lower() in ('yes', 'true'):\n        return True\n    return False\n"
        "parser.add_argument('--a', type=str2bool)\nparser.add_argument('--b', type=lambda x: x.lower() == 'true')\n"
        "parser.add_argument('--c', type=lambda x: x.split(','))\n"
    )
    assert [argument.type for argument in report.arguments] == ["bool", "bool", "lambda x: x.split(',')"]
    assert flag(report, "--a").converter == "str2bool"


def test_absl_flags_of_imported_modules_count_and_required_ones_are_marked() -> None:
    report = read(
        "from absl import app, flags\nimport shared\nflags.DEFINE_integer('steps', 10, 'how many')\n"
        "if __name__ == '__main__':\n    flags.mark_flag_as_required('steps')\n    app.run(main)\n",
        shared="from absl import flags\nflags.DEFINE_bool('tpu', False, 'use it')\n"
        "if __name__ == '__main__':\n    flags.DEFINE_string('not_here', '', '')\n",
    )
    assert report.kind == "absl"
    assert [argument.name for argument in report.arguments] == ["steps", "tpu"]
    assert flag(report, "steps").argument.required
    assert flag(report, "--notpu").negations == ("--notpu",)


def test_click_typer_and_fire_are_read_from_signatures() -> None:
    click = read(
        "import click\n@click.group()\ndef cli(): pass\n@cli.command('go')\n"
        "@click.option('--mode', type=click.Choice(['a', 'b']), default='a', help='how')\n"
        "@click.argument('files', nargs=-1)\ndef go(mode, files): pass\ncli()\n"
    )
    assert click.kind == "click"
    assert flag(click.subcommands["go"], "--mode").argument.choices == ("a", "b")
    assert flag(click.subcommands["go"], "files").nargs == "*"
    typer = read(
        "import typer\napp = typer.Typer()\n@app.command()\n"
        "def main(name: str, count: int = typer.Option(1, '--count', '-c', help='n'), loud: bool = False):\n"
        "    pass\napp()\n"
    )
    assert [(a.name, a.type, a.required) for a in typer.arguments] == [
        ("name", "str", True),
        ("count", "int", False),
        ("loud", "bool", False),
    ]
    assert flag(typer, "loud").options == ("--loud", "--no-loud")
    fire = read("import fire\ndef main(path, size=3): pass\nfire.Fire(main)\n")
    assert [(a.flag, a.default, a.required) for a in fire.arguments] == [("--path", None, True), ("--size", 3, False)]


def test_hydra_keys_come_from_the_yaml_files() -> None:
    files = Files(
        {
            "run.py": "import hydra\n@hydra.main(config_path='conf', config_name='main')\ndef main(cfg): pass\n",
            "conf/main.yaml": "defaults:\n  - model: small\nlr: 1e-3\ntrain:\n  steps: 10\nout: ${hydra:run}\n",
            "conf/model/small.yaml": "width: 8\n",
            "conf/model/large.yaml": "width: 64\n",
        }
    )
    report = flags_of(files, "run.py")
    by_name = {argument.name: argument for argument in report.arguments}
    assert by_name["model"].choices == ("large", "small")
    assert by_name["model.width"].default == 8
    assert by_name["lr"].default == pytest.approx(1e-3)
    assert by_name["train.steps"].defined_at == "conf/main.yaml:5"
    assert not by_name["out"].static
    assert bind(report, ["model=large", "lr=0.1"]).values == {"model": "large", "lr": 0.1}


def test_shell_positions_have_names_and_defaults() -> None:
    script = 'GPU=$1\nSEED=${2:-7}\nf() { echo "$3"; }\npython run.py --gpu $GPU\n'
    report = flags_of(Files({"run.sh": script}), "run.sh")
    assert [(a.name, a.required, a.default) for a in report.arguments] == [("GPU", True, None), ("SEED", False, "7")]


def test_a_missing_import_a_syntax_error_or_a_missing_file_is_no_crash() -> None:
    assert read("import nowhere\n" + PARSER + "parser.add_argument('--a')\n").options.get("--a") == "a"
    broken = read(PARSER + "parser.add_argument('--a')\nprint 'old'\ndef (:\n")
    assert "--a" in broken.options
    missing = flags_of(Files({}), "gone.py")
    assert (missing.kind, missing.complete) == ("none", False)


def test_hostile_source_ends_soon() -> None:
    for source in (
        PARSER + "parser.add_argument('--a', default=9**9**9**9)\n",
        PARSER + "parser.add_argument('--a', default='x' * 10**10)\n",
        PARSER + "x = [" * 3000 + "]" * 3000 + "\nparser.add_argument('--a')\n",
        PARSER + "def f(p):\n    f(p)\nf(parser)\nparser.add_argument('--a')\n",
        PARSER + "for a in range(300):\n  for b in range(300):\n    for c in range(300):\n      parser.prog = 1\n",
    ):
        report = read(source)
        assert "--a" in report.options or not report.complete


def test_the_same_report_whatever_was_read_before() -> None:
    sources = {
        "a.py": "from shared import build\nbuild().parse_args()\n",
        "b.py": "from shared import build\np = build()\np.add_argument('--b')\np.parse_args()\n",
        "shared.py": "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--shared')\n"
        "def build():\n    return parser\n",
    }
    files = Files(sources)
    first = flags_of(files, "a.py")
    flags_of(files, "b.py")
    assert flags_of(files, "a.py") == first == flags_of(Files(sources), "a.py")
    assert flags_of(files, "b.py").read_paths == {"b.py", "shared.py"}


@pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not on this machine")
def test_the_case_of_the_parser_that_must_not_run() -> None:
    folder = CASES / "16-argparse-static"
    expected = json.loads((folder / "expect.json").read_text())
    report = flags_of(Files({"opts.py": (folder / "opts.py").read_text()}), "opts.py")
    for name, wanted in expected["must_have"].items():
        found = flag(report, name)
        assert set(wanted.get("aliases", [])) <= set(found.options)
        assert wanted.get("dest", found.argument.name) == found.argument.name
        for key in ("type", "default"):
            if key in wanted and wanted[key] != "unresolved":
                assert getattr(found.argument, key) == wanted[key]
        assert list(found.argument.choices or ()) == wanted.get("choices", [])
        assert found.nargs == wanted.get("nargs", found.nargs)
        assert found.const == wanted.get("const", found.const)
        assert found.takes_value == wanted.get("takes_value", found.takes_value)
        assert wanted.get("negation", "") in ("", *found.negations)
    assert not flag(report, "--out").argument.static
    assert report.allow_abbrev == expected["allow_abbrev"]
    assert "--format" in report.subcommands["export"].options
    assert not set(expected["must_not_have"]) & set(report.options)


def test_the_options_of_a_shift_loop_are_flags_and_no_positions() -> None:
    source = (
        'while [ $# -gt 0 ]; do\n  case "$1" in\n    -n|--name) NAME="$2"; shift 2 ;;\n'
        '    --rate=*) RATE="${1#*=}"; shift ;;\n'
        "    --dry) DRY=1; shift ;;\n    *) exit 1 ;;\n  esac\ndone\n"
    )
    report = flags_of(Files({"go.sh": source}), "go.sh")
    assert [(f.options, f.argument.name, f.takes_value) for f in report.flags] == [
        (("-n", "--name"), "NAME", True),
        (("--rate",), "RATE", True),
        (("--dry",), "DRY", False),
    ]


def test_words_of_one_call_are_named_by_the_function_they_are_given_to() -> None:
    source = (
        "import sys\n\n\n@cache\ndef load(config, weights):\n    pass\n\n\n"
        "model = load(sys.argv[1], sys.argv[2])\nother = join(sys.argv[3], sys.argv[4])\n"
    )
    assert [f.argument.name for f in read(source).flags] == ["config", "weights", "argument3", "argument4"]


def test_a_folder_gives_way_to_a_package_of_its_name_further_on() -> None:
    report = flags_of(
        Files(
            {
                "net/scripts/run.py": "from net import options\noptions.parser().parse_args()\n",
                "net/net/__init__.py": "",
                "net/net/options.py": "import argparse\n\n\ndef parser():\n    p = argparse.ArgumentParser()\n"
                "    p.add_argument('--deep')\n    return p\n",
            }
        ),
        "net/scripts/run.py",
    )
    assert "--deep" in report.options


def test_decorators_of_the_repository_bring_their_click_options() -> None:
    source = (
        "import click\n\n\ndef common(f):\n    f = click.option('--seed', type=int, default=1)(f)\n    return f\n\n\n"
        "def with_device(f):\n    @click.option('--device', type=click.Choice(['cpu', 'cuda']))\n"
        "    def inner(*a):\n        return f(*a)\n    return inner\n\n\n"
        "@click.command()\n@common\n@with_device\n@click.argument('path')\ndef main(path):\n    pass\n\n\nmain()\n"
    )
    report = read(source)
    assert report.complete
    assert {"--seed", "--device"} <= set(report.options)
    assert flag(report, "device").argument.choices == ("cpu", "cuda")


def test_an_enumeration_gives_typer_its_choices() -> None:
    source = (
        "import typer\nfrom enum import Enum\n\n\nclass Mode(str, Enum):\n    fast = 'fast'\n    slow = 'slow'\n\n\n"
        "def main(mode: Mode = Mode.fast):\n    pass\n\n\ntyper.run(main)\n"
    )
    mode = flag(read(source), "mode").argument
    assert (mode.type, mode.default, mode.choices) == ("str", "fast", ("fast", "slow"))


def test_methods_of_a_class_that_derives_from_the_parser_are_followed() -> None:
    source = (
        "import argparse\n\n\nclass Own(argparse.ArgumentParser):\n"
        "    def __init__(self):\n        super().__init__()\n"
        "        self.add_argument('--base')\n\n    def add_more(self):\n        self.add_argument('--more')\n\n\n"
        "p = Own()\np.add_more()\np.parse_args()\n"
    )
    assert {"--base", "--more"} <= set(read(source).options)


def test_data_classes_and_dictionaries_of_keywords_give_flags() -> None:
    source = (
        "from dataclasses import dataclass\nfrom simple_parsing import ArgumentParser\n\n\n@dataclass\nclass Options:\n"
        "    rate: float = 0.1\n\n\nkw = dict(type=int, default=3)\np = ArgumentParser()\n"
        "p.add_arguments(Options, dest='options')\np.add_argument('--depth', **kw)\np.parse_args()\n"
    )
    report = read(source)
    assert flag(report, "rate").argument.default == 0.1
    assert (flag(report, "depth").argument.type, flag(report, "depth").argument.default) == ("int", 3)


@pytest.mark.parametrize(
    "source",
    [
        "import tyro\n\n\ndef main(a: int):\n    pass\n\n\ntyro.cli(main)\n",
        "import argparse\nimport other\n\np = argparse.ArgumentParser()\np.add_special_args()\np.parse_args()\n",
    ],
)
def test_what_other_packages_add_is_said_to_be_unknown(source: str) -> None:
    report = read(source)
    assert not report.complete
    assert report.unresolved


def test_keys_of_loaded_configurations_are_taken_from_the_command_line() -> None:
    source = (
        "from omegaconf import OmegaConf\n\nbase = OmegaConf.load('conf/base.yaml')\n"
        "print(OmegaConf.merge(base, OmegaConf.from_cli()))\n"
    )
    files = Files({"run.py": source, "conf/base.yaml": "lr: 0.1\nnet:\n  name: a\n"})
    bound = bind(flags_of(files, "run.py"), ["lr=0.2", "net.name=b", "new=1"])
    assert bound.values == {"lr": 0.2, "net.name": "b"}
    assert bound.accepted

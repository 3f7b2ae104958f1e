"""Candidates: one for each distinct task, with its place, its folder, its preparation and its oracle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from benchwright.core.models import Candidate, Repository
from benchwright.curation import open_tree
from benchwright.curation.candidates import candidates_of

Find = Callable[..., list[Candidate]]

TRAIN = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--epochs", type=int, default=3)
if __name__ == "__main__":
    print(parser.parse_args())
"""


@pytest.fixture
def find(make_repository: Callable[..., tuple[Path, str]], tmp_path: Path) -> Find:
    def find_in(files: Mapping[str, str], **fields: object) -> list[Candidate]:
        _, commit = make_repository("bird", files)
        entry = {"name": "bird", "url": "https://example.org/own/bird", "commit": commit, **fields}
        repository = Repository.load(entry, "test")
        with open_tree(repository, tmp_path / "clones", [f"file://{tmp_path}/origins/{{owner}}/{{name}}"]) as tree:
            return candidates_of(repository, tree)

    return find_in


def fence(code: str, tag: str = "bash") -> str:
    return f"```{tag}\n{code}\n```\n"


# the same task in several places ------------------------------------------------------------------------------


def test_the_same_command_in_other_spellings_and_languages_is_one_candidate(find: Find) -> None:
    found = find(
        {
            "train.py": TRAIN,
            "README.md": "# Bird\n\n" + fence("python train.py --lr 0.5 --epochs 2")
            + "\nAgain:\n\n" + fence("$ python train.py \\\n    --epochs=2 \\\n    --lr 0.5\nloss 1", "console"),
            "README_de.md": "# Vogel\n\n" + fence("A=0 python -u  train.py --lr 0.5 --epochs 2 # so"),
            "docs/README.md": "# More\n\n" + fence("python train.py --lr 0.9"),
        }
    )  # fmt: skip
    assert [(c.source.path, len(c.also_at)) for c in found] == [("README.md", 2), ("docs/README.md", 0)]
    assert {s.path for s in found[0].also_at} == {"README.md", "README_de.md"}


def test_a_readme_for_those_who_install_the_package_is_a_copy(find: Find) -> None:
    code = "from {}.nests import Nest\n\nprint(Nest(3).eggs)"
    files = {
        "model/__init__.py": "",
        "model/nests.py": "",
        "README.md": "# Bird\n\n" + fence(code.format("model"), "python"),
        "README_package.md": "# Bird\n\n" + fence(code.format("bird_on_the_index"), "python"),
    }
    (found,) = find(files)
    assert found.entry_point.target == "model.nests.Nest"
    assert [source.path for source in found.also_at] == ["README_package.md"]


def test_a_command_in_running_text_counts_where_its_file_is_there(find: Find) -> None:
    text = "# Bird\n\nTo train, run python train.py --lr 0.5 and wait. Others run python fly.py --lr 2 here.\n"
    (found,) = find({"train.py": TRAIN, "README.md": text})
    assert found.output == "python train.py --lr 0.5"
    assert (found.source.start_line, found.source.end_line) == (3, 3)


def test_the_path_after_a_variable_or_the_own_name_begins_at_the_root(find: Find) -> None:
    text = "# Bird\n\n" + fence("python ${HERE}/train.py --lr 1\npython bird/train.py --lr 2\npython $PWD/train.py")
    found = find({"train.py": TRAIN, "wing/train.py": TRAIN, "README.md": text})
    assert [c.entry_point.target for c in found if c.source.path == "README.md"][:3] == ["train.py"] * 3


def test_an_option_that_the_code_does_not_know_is_one_argument(find: Find) -> None:
    text = "# Bird\n\n" + fence("python train.py --wings=2 nest.eggs=3")
    (found,) = find({"train.py": TRAIN, "README.md": text})
    given = {argument.name: argument.value for argument in found.arguments if argument.value is not None}
    assert given == {"wings": "2", "argument1": "nest.eggs=3"}


def test_an_id_survives_new_lines_around_the_task_and_the_digest_changes_with_the_view(find: Find) -> None:
    (first,) = find({"train.py": TRAIN, "README.md": "# Bird\n\n" + fence("python train.py --lr 1")})
    (moved,) = find({"train.py": TRAIN, "README.md": "# Bird\n\nNew words.\n\n" + fence("python train.py --lr 1")})
    assert moved.id == first.id
    assert moved.digest != first.digest
    text = "# Bird\n\nNew words.\n\n" + fence("python train.py --lr 1")
    (again,) = find({"train.py": TRAIN, "other.txt": "x", "README.md": text})
    assert (again.id, again.digest) == (moved.id, moved.digest)


# where it runs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "code", "path", "target"),
    [
        ("README.md", "python train.py", "./", "train.py"),
        ("README.md", "cd examples/a\npython train.py", "./examples/a", "examples/a/train.py"),
        ("README.md", "git clone x\ncd bird/examples/a\npython train.py", "./examples/a", "examples/a/train.py"),
        ("README.md", "cd data\nbash get.sh\ncd examples/a\npython train.py", "./examples/a", "examples/a/train.py"),
        ("README.md", "python -m pkg.run", "./src", "src/pkg/run.py"),
        ("README.md", "python ~/work/bird/examples/a/train.py", "./", "examples/a/train.py"),
        ("examples/a/README.md", "python train.py", "./examples/a", "examples/a/train.py"),
        ("examples/a/README.md", "python examples/a/train.py", "./", "examples/a/train.py"),
        ("examples/a/README.md", "cd ../..\npython train.py", "./", "train.py"),
    ],
)  # fmt: skip
def test_a_command_runs_where_its_document_means(find: Find, document: str, code: str, path: str, target: str) -> None:
    files = {"train.py": TRAIN, "examples/a/train.py": TRAIN, "src/pkg/__init__.py": "", "src/pkg/run.py": TRAIN}
    found = [c for c in find({**files, document: f"# Bird\n\n{fence(code)}"}) if c.score > 0.4]
    assert [(c.path, (c.context or c.arguments) and c.entry_point.kind) for c in found] == [
        (path, "module" if " -m " in code else "file")
    ]
    assert all(argument.defined_at and argument.defined_at.startswith(f"{target}:") for argument in found[0].arguments)


def test_a_console_script_of_the_package_is_an_entry_point(find: Find) -> None:
    found = find(
        {
            "pyproject.toml": '[project]\nname = "bird"\n[project.scripts]\nfly = "bird.cli:main"\n',
            "bird/__init__.py": "",
            "bird/cli.py": TRAIN,
            "README.md": "# Bird\n\n" + fence("fly --lr 2\nls\nother-tool --x"),
        }
    )
    assert [(c.entry_point.kind, c.entry_point.target, c.output) for c in found] == [
        ("console_script", "fly", "fly --lr 2")
    ]
    assert {a.name: a.value for a in found[0].arguments} == {"lr": 2.0, "epochs": None}


def test_a_configuration_file_that_a_command_names_is_in_its_context(find: Find) -> None:
    files = {
        "train.py": TRAIN.replace("--epochs", "--config").replace("int, default=3", "str"),
        "conf/fast.yaml": "lr: 0.7\nsteps: 9\n",
        "README.md": fence("python train.py --config conf/fast.yaml"),
    }
    (found,) = find(files)
    assert ("conf/fast.yaml", "lr: 0.7\nsteps: 9\n") in [(piece.path, piece.text) for piece in found.context]


def test_a_script_outside_is_no_task_and_one_that_is_not_there_is_ranked_low(find: Find) -> None:
    code = "python $TOOLS/evaluate.py x\npython /opt/run.py\npython gone.py --lr 1\npython train.py --lr 1"
    found = find({"train.py": TRAIN, "README.md": f"# Bird\n\n{fence(code)}"})
    assert [c.entry_point.target for c in found] == ["train.py", "gone.py"]
    assert any("no such file" in reason for reason in found[1].reasons)


# arguments, prefix code, oracle -------------------------------------------------------------------------------


def test_what_document_and_code_disagree_about_is_kept_and_said(find: Find) -> None:
    (found,) = find({"train.py": TRAIN, "README.md": f"# Bird\n\n{fence('python train.py --lr 1 --speed 3')}"})
    speed = next(argument for argument in found.arguments if argument.name == "speed")
    assert (speed.flag, speed.value, speed.defined_at) == ("--speed", "3", None)
    assert any("disagree" in reason and "--speed" in reason for reason in found.reasons)


def test_setup_lines_become_prefix_code_and_not_tasks(find: Find) -> None:
    text = f"# Bird\n\n{fence('export HOME_OF_DATA=/d')}\n## Run\n\n{fence('pip install bird')}\n" + fence(
        "cd data\nbash download_all.sh small\ncd ..\nfor s in 7 8; do\n"
        "  python train.py --lr $HOME_OF_DATA --epochs $s\ndone"
    )
    (found,) = find({"train.py": TRAIN, "data/download_all.sh": "wget x", "README.md": text})
    assert found.output == "python train.py --lr $HOME_OF_DATA --epochs $s"
    assert found.prefix_code.splitlines() == [
        "pip install bird",
        "export HOME_OF_DATA=/d",
        "(cd data && bash download_all.sh small)",
        "s=7",
    ]


def test_the_oracle_comes_in_scopes_of_which_one_is_preferred(find: Find) -> None:
    text = (
        "# Bird\n\nHello.\n\n## Use\n\nIntro.\n\n### Train\n\nFirst so:\n\n"
        f"{fence('python train.py --lr 1')}\nThis takes long.\n\nThen so:\n\n{fence('python train.py --lr 2')}\n"
        "### Test\n\nNothing.\n\n## End\n\nBye.\n"
    )
    found = {c.output: c for c in find({"train.py": TRAIN, "README.md": text})}
    scopes = {s.scope: (s.start_line, s.end_line) for s in found["python train.py --lr 1"].oracle_scopes}
    assert scopes == {"block": (9, 17), "section": (9, 23), "parent": (5, 27), "document": (1, 31)}
    second = {s.scope: s.text for s in found["python train.py --lr 2"].oracle_scopes}
    assert second["block"].startswith("This takes long.\n\nThen so:")
    assert found["python train.py --lr 1"].oracle == "".join(text.splitlines(keepends=True)[8:17])


# snippets -----------------------------------------------------------------------------------------------------


def test_snippets_that_use_the_repository_are_candidates(find: Find) -> None:
    first = "from bird.wing import Wing\nw = Wing(3, span=(1, 2))"
    session = ">>> import bird\n>>> bird.go()\n1"
    text = (
        f"# Bird\n\n{fence(first, 'python')}\nThen:\n\n{fence('w.fly()', 'python')}\n"
        f"Elsewhere:\n\n{fence(session, '')}\nOutput:\n\n{fence('{a: 1}', 'python')}"
    )
    found = find({"bird/__init__.py": "", "bird/wing.py": "class Wing:\n    pass\n", "README.md": text})
    assert [(c.type, c.entry_point.target, c.output) for c in found] == [
        ("Python Code", "bird.wing.Wing", "from bird.wing import Wing\nw = Wing(3, span=(1, 2))\n"),
        ("Python Code", "bird", "import bird\nbird.go()\n"),
        ("Python Code", "bird.wing.Wing", "w.fly()\n"),
    ]
    assert {a.name: a.value for a in found[0].arguments} == {"argument1": 3, "span": [1, 2]}


# scripts ------------------------------------------------------------------------------------------------------


def test_scripts_that_a_document_names_are_followed_with_their_variables(find: Find) -> None:
    script = "model=$1\nfor lr in 1 2; do\n  python train.py --lr $lr \\\n    --epochs ${2:-9}  # {0}\ndone\n"
    found = find(
        {
            "train.py": TRAIN,
            "scripts/x/one.sh": script,
            "scripts/y/two.sh": "cd $(dirname $0)/../..\npython train.py --lr 7\n",
            "README.md": f"# Bird\n\n## Run\n\n{fence('bash scripts/x/one.sh big')}",
        }
    )
    outputs = {c.output: c for c in found}
    assert "bash scripts/x/one.sh big" in outputs
    assert "python train.py --lr 1 \\\n  --epochs 9" in outputs
    assert "python train.py --lr 2 \\\n  --epochs 9" in outputs
    beside = outputs["python train.py --lr 7"]
    assert (beside.source.path, beside.source.start_line) == ("README.md", 6)
    assert [(s.path, s.start_line) for s in beside.also_at] == [("scripts/y/two.sh", 2)]
    assert beside.score < outputs["bash scripts/x/one.sh big"].score
    assert beside.oracle_scopes[0].text.startswith("## Run")


def test_a_script_that_no_document_names_is_ranked_below_with_the_section_about_it(find: Find) -> None:
    found = find(
        {
            "train.py": TRAIN,
            "examples/glide.py": TRAIN,
            "bird/__init__.py": "",
            "bird/inner.py": TRAIN,
            "tests/test_all.py": TRAIN,
            "README.md": f"# Bird\n\n## Train\n\n{fence('python train.py --lr 1')}\n## Glide\n\nGliding is easy.\n",
        }
    )
    assert [(c.output, c.path, c.source.heading) for c in found] == [
        ("python train.py --lr 1", "./", ("Bird", "Train")),
        ("python glide.py", "./examples", ("Bird", "Glide")),
    ]
    assert found[0].score > found[1].score


def test_nothing_of_a_repository_is_run(find: Find, tmp_path: Path) -> None:
    bad = f"open({str(tmp_path / 'RAN')!r}, 'w')\n{TRAIN}"
    find(
        {
            "setup.py": bad,
            "train.py": bad,
            "README.md": fence("python train.py --lr 1 $(touch RAN)\npython setup.py install"),
        }
    )
    assert not (tmp_path / "RAN").exists()


def test_a_repository_without_documents_has_no_candidates(find: Find) -> None:
    assert find({"train.py": TRAIN}) == []


def test_registered_patterns_add_documents(find: Find) -> None:
    files = {"train.py": TRAIN, "guide/a.md": fence("python train.py --lr 3")}
    assert find(files) == []
    assert len(find(files, documents=["guide/*.md"])) == 1

"""What an annotator needs is in the context, and the context is never larger than its budget."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.core.models import Argument, ContextPiece
from benchwright.curation.context import FileIndex, Index, context_for, count_tokens, index_source


class Files:
    """A repository in memory."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.sources = sources
        self.asked: list[str] = []

    def paths(self) -> list[str]:
        return list(self.sources)

    def read(self, path: str) -> bytes | None:
        self.asked.append(path)
        return self.sources[path].encode() if path in self.sources else None


PROGRAM = """import argparse
from models import build_model
from data.loader import load


def main(args):
    model = build_model(args.model)
    data = load(args.data)
    model.fit(data)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="small", help="which one")
    parser.add_argument("--data", required=True)
    main(parser.parse_args())
"""
REPOSITORY = {
    "train.py": PROGRAM,
    "models/__init__.py": "from .zoo import build_model\n",
    "models/zoo.py": 'class Small:\n    pass\n\n\ndef build_model(name):\n    """Make a model."""\n'
    "    return {'small': Small, 'large': Large}[name]()\n",
    "data/loader.py": "def load(path):\n    return open(path).read()\n",
    "unrelated.py": "def nothing():\n    pass\n",
}


def symbols(pieces: tuple[ContextPiece, ...]) -> list[str]:
    return [piece.symbol for piece in pieces]


def cost(pieces: tuple[ContextPiece, ...]) -> int:
    return sum(count_tokens(piece.path + piece.symbol) + count_tokens(piece.text) for piece in pieces)


def test_a_command_gets_its_parser_its_main_path_and_what_that_uses() -> None:
    pieces = context_for(Files(REPOSITORY), script="train.py")
    text = "".join(piece.text for piece in pieces)
    assert '"--model"' in text
    assert '"--data"' in text
    assert {"main", "build_model", "load"} <= set(symbols(pieces))
    assert "unrelated.py" not in {piece.path for piece in pieces}
    assert pieces[0].symbol.startswith("flags of")


def test_lines_that_tell_values_apart_are_found() -> None:
    model = Argument(name="model", flag="--model", value="large", type="str")
    pieces = context_for(Files(REPOSITORY), script="train.py", arguments=[model])
    assert any("'large': Large" in piece.text for piece in pieces)


def test_every_piece_is_the_source_at_its_lines() -> None:
    for piece in context_for(Files(REPOSITORY), script="train.py"):
        lines = REPOSITORY[piece.path].splitlines(keepends=True)
        assert piece.text == "".join(lines[piece.start_line - 1 : piece.end_line])


def test_a_snippet_gets_the_definitions_it_uses_through_re_exports_and_registries() -> None:
    files = Files(
        {
            "lib/__init__.py": "from lib.core import load\n",
            "lib/core.py": 'def load(name, size=3):\n    """Load by name."""\n    return REGISTRY[name](size)\n',
            "lib/nets.py": "from .core import register\n\n\n@register('blue_net')\nclass BlueNet:\n"
            "    def __init__(self, size):\n        self.size = size\n\n"
            "    def caption(self, image):\n        return 'x'\n",
            "lib/other.py": "def unused():\n    pass\n",
        }
    )
    pieces = context_for(files, snippet="from lib import load\nmodel = load('blue_net')\nmodel.caption(image)\n")
    assert "load" in symbols(pieces)
    assert any(piece.path == "lib/nets.py" and "class BlueNet" in piece.text for piece in pieces)
    assert any("def caption" in piece.text for piece in pieces)
    assert "lib/other.py" not in {piece.path for piece in pieces}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 600), st.integers(0, 60))
def test_the_budget_is_never_exceeded_and_pieces_never_overlap(budget: int, flags: int) -> None:
    many = "".join(f"    parser.add_argument('--flag{n}', help='{'x' * n}')\n" for n in range(flags))
    sources = REPOSITORY | {"train.py": PROGRAM.replace("    main(parser", many + "    main(parser")}
    pieces = context_for(Files(sources), script="train.py", budget_tokens=budget)
    assert cost(pieces) <= budget
    seen: set[tuple[str, int]] = set()
    for piece in pieces:
        lines = {(piece.path, line) for line in range(piece.start_line, piece.end_line + 1)}
        assert not seen & lines
        seen |= lines


def test_flags_that_the_command_gives_come_first_when_room_is_short() -> None:
    many = "".join(f"    parser.add_argument('--flag{n}', help='{'x' * 60}')\n" for n in range(40))
    sources = {"train.py": PROGRAM.replace("    main(parser", many + "    main(parser")}
    last = Argument(name="flag39", flag="--flag39", value="1", type="str")
    pieces = context_for(Files(sources), script="train.py", arguments=[last], budget_tokens=300)
    assert "--flag39" in pieces[0].text


def test_the_same_input_gives_the_same_pieces() -> None:
    assert context_for(Files(REPOSITORY), script="train.py") == context_for(Files(REPOSITORY), script="train.py")


@pytest.mark.parametrize(
    "source", ["", "def (:\n", "class A\n", "\xff\x00", "def f():\n    'doc'", "if x:\n  def g(): pass"]
)
def test_broken_files_are_indexed_as_far_as_they_go(source: str) -> None:
    made = index_source(source.encode("latin-1"))
    assert FileIndex.from_bytes(made.to_bytes()) == made
    assert context_for(Files({"a.py": source}), script="a.py", budget_tokens=100) is not None


def test_an_index_knows_definitions_and_headers() -> None:
    made = index_source(
        b'import os\n@wraps(f)\nclass A(B):\n    """About."""\n    def run(self):\n        """Doc\n        more."""\n'
        b"        go(1)\n        def inner(): stop()\n\nstart()\n"
    )
    assert [(d.qualified, d.kind, d.start_line, d.header_line, d.end_line) for d in made.definitions] == [
        ("A", "class", 2, 4, 9),
        ("A.run", "function", 5, 7, 9),
        ("A.run.inner", "function", 9, 9, 9),
    ]


def test_a_kept_index_is_not_made_again() -> None:
    cache: dict[str, bytes] = {}
    blobs = {path: f"blob of {path}" for path in REPOSITORY}
    first = Index(Files(REPOSITORY), blob_of=blobs.get, cache=cache).build()
    files = Files(REPOSITORY)
    assert Index(files, blob_of=blobs.get, cache=cache).build() == first
    assert files.asked == []


def test_a_package_that_is_installed_under_another_name_is_found_by_its_files() -> None:
    files = Files({"model/attention/SGE.py": "class Enhance:\n    def __init__(self, groups):\n        pass\n"})
    pieces = context_for(files, snippet="from installed_name.attention.SGE import Enhance\nm = Enhance(groups=8)\n")
    assert symbols(pieces) == ["Enhance"]


def test_the_configuration_that_a_value_names_is_shown() -> None:
    sources = {"run/train.py": PROGRAM, "run/conf/small.yaml": "model: small\nlr: 0.1\n"}
    given = Argument(name="data", flag="--data", value="conf/small.yaml", type="str")
    pieces = context_for(Files(sources), script="run/train.py", arguments=[given])
    assert ("run/conf/small.yaml", "model: small\nlr: 0.1\n") in [(piece.path, piece.text) for piece in pieces]


def test_a_program_without_a_main_block_is_shown_with_its_constants_and_statements() -> None:
    source = "import lib\n\nCHECKPOINT = 'small.pt'\n\n\ndef helper(x):\n    return x\n\n\nprint(helper(CHECKPOINT))\n"
    text = "".join(piece.text for piece in context_for(Files({"demo.py": source}), script="demo.py"))
    assert "CHECKPOINT = 'small.pt'" in text
    assert "print(helper(CHECKPOINT))" in text


def test_a_shell_script_is_shown_with_the_flags_of_the_program_that_it_starts() -> None:
    sources = REPOSITORY | {"scripts/run.sh": "cd ..\npython train.py --model large\n"}
    pieces = context_for(Files(sources), script="scripts/run.sh")
    assert pieces[0].path == "scripts/run.sh"
    assert any('"--model"' in piece.text for piece in pieces)


def test_a_value_that_names_a_definition_or_a_configuration_brings_it() -> None:
    sources = REPOSITORY | {
        "lib/settings.py": "@register\ndef huge_settings():\n    return {'layers': 48}\n",
        "lib/configs/wide.json": '{\n  "width": 9\n}\n',
    }
    given = [Argument(name="model", flag="--model", value=value, type="str") for value in ("huge_settings", "wide")]
    text = "".join(piece.text for piece in context_for(Files(sources), script="train.py", arguments=given))
    assert "'layers': 48" in text
    assert '"width": 9' in text


def test_strings_of_a_snippet_are_found_beside_the_others_of_their_kind() -> None:
    sources = {
        "net/__init__.py": "from .factory import create\n",
        "net/factory.py": "from .known import WEIGHTS\n\n\ndef create(name, weights=None):\n    return WEIGHTS[name]\n",
        "net/known.py": "WEIGHTS = {\n    'tiny': dict(first_run=1),\n    'giant': dict(second_run=2),\n}\n",
    }
    pieces = context_for(Files(sources), snippet="import net\nm = net.create('tiny', weights='first_run')\n")
    text = "".join(piece.text for piece in pieces)
    assert "def create" in text
    assert "second_run" in text


def test_words_that_mean_other_packages_bring_nothing() -> None:
    sources = {"lib/random_streams.py": "def permutation(n):\n    return n\n\n\ndef train():\n    pass\n"}
    snippet = "split = {}\nsplit['train'] = np.random.permutation(9)\n"
    assert context_for(Files(sources), snippet=snippet) == ()


def test_a_configuration_with_flags_is_shown_with_what_its_lines_are_nested_in() -> None:
    sources = {
        "app.py": "import hydra\n\n\n@hydra.main(config_path='conf', config_name='config')\ndef main(cfg):\n    pass\n",
        "conf/config.yaml": "tasks:\n  first:\n    steps: 3\n  second:\n    steps: 4\n",
    }
    assert any(piece.text == sources["conf/config.yaml"] for piece in context_for(Files(sources), script="app.py"))

"""The shared cases of documents, commands and duplicates, through public functions. Skipped where they are absent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.models import Repository
from benchwright.curation import open_tree
from benchwright.curation.candidates import candidates_of
from benchwright.curation.commands import Command, commands_in, invocation_of
from benchwright.curation.documents import read_document

CASES = Path(__file__).parents[3] / "shared" / "cases"
pytestmark = pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")


def case(name: str) -> tuple[dict[str, Any], list[Any], list[Command]]:
    (folder,) = CASES.glob(f"{name}-*")
    expected = json.loads((folder / "expect.json").read_text())
    blocks = list(read_document("README.md", (folder / "README.md").read_bytes()).blocks)
    commands = [
        command
        for block in blocks
        for command in commands_in(block.text, block.language, tag=block.tag, first_line=block.start_line).commands
    ]
    return expected, blocks, commands


@pytest.mark.parametrize("name", ["01", "02", "03", "10"])
def test_blocks_are_those_expected(name: str) -> None:
    expected, blocks, commands = case(name)
    for wanted, block in zip(expected.get("blocks", ()), blocks, strict=True) if "blocks" in expected else ():
        assert block.tag == wanted["lang"]
        assert block.text == wanted.get("text", block.text)
        assert block.start_line == wanted.get("first_line", block.start_line)
        assert block.text.count("\n") == wanted.get("lines", block.text.count("\n"))
    if "langs" in expected:
        assert [block.language for block in blocks] == expected["langs"]
    if "commands" in expected:
        assert [command.text for command in commands] == expected["commands"]
    if "argv" in expected:
        assert [list(command.argv) for command in commands] == expected["argv"]


def test_a_session_gives_what_was_typed() -> None:
    expected, _, commands = case("05")
    joined = [part for line in expected["commands"] for part in line.split(" && ")]
    assert [command.text for command in commands] == joined


def test_hidden_blocks_stay_hidden_and_entities_are_decoded() -> None:
    expected, _, commands = case("08")
    assert {command.text for command in commands} == set(expected["commands_set"])


def test_structure_of_the_shell_is_understood() -> None:
    expected, _, commands = case("12")
    python = [command for command in commands if command.program == "python"]
    assert [list(command.argv[1:]) for command in python] == expected["python_argv_static"]
    assert {c.argv[1]: dict(c.env) for c in python if c.env} == expected["env"]
    folders = {command.argv[1]: command.cwd for command in python}
    assert {name: folders[name] for name in expected["cwd_run"]} == expected["cwd_run"]


def test_fifteen_launchers_start_the_same_script() -> None:
    expected, _, commands = case("14")
    found = [invocation_of(command.argv, command.static) for command in commands]
    assert len(found) == expected["count"]
    for invocation in found:
        assert invocation is not None
        assert invocation.target.removeprefix("./") in ("train.py", "train")
        assert invocation.args == ("--lr", "0.1")
    assert [n for n, command in enumerate(commands, 1) if command.background] == expected["background"]
    env = {
        n: dict(c.env + i.env) for n, (c, i) in enumerate(zip(commands, found, strict=True), 1) if i and c.env + i.env
    }
    assert {str(n): values for n, values in env.items()} == expected["env"]


@pytest.mark.parametrize(("name", "count"), [("13", 1), ("14", 1), ("19", 2)])
def test_candidates_of_whole_cases(
    name: str, count: int, make_repository: Callable[..., tuple[Path, str]], tmp_path: Path
) -> None:
    (folder,) = CASES.glob(f"{name}-*")
    expected = json.loads((folder / "expect.json").read_text())
    inputs = [path for path in folder.iterdir() if path.suffix in (".md", ".py") and path.name != "EXPECT.md"]
    files = {path.name: path.read_bytes() for path in inputs}
    _, commit = make_repository("case", {"train.py": b"", **files})
    repository = Repository(name="case", url="https://example.org/own/case", commit=commit)
    with open_tree(repository, tmp_path / "clones", [f"file://{tmp_path}/origins/{{owner}}/{{name}}"]) as tree:
        found = [candidate for candidate in candidates_of(repository, tree) if candidate.score > 0.4]
    assert len(found) == count
    if name == "13":
        values = {argument.name: argument.value for argument in found[0].arguments}
        assert values == expected["args"]
    if name == "19":
        assert sorted(1 + len(candidate.also_at) for candidate in found) == sorted(expected["locations"].values())

"""Recipes: what a person may write, and how a mistake is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.progress import Reporter
from benchwright.validators.environments import build
from benchwright.validators.recipes import Recipe, find_recipes, read_recipe


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "environment.toml").write_text(text)


def test_standard_needs_no_file() -> None:
    assert read_recipe(None, "standard") == Recipe()


def test_an_unknown_environment_is_named(tmp_path: Path) -> None:
    with pytest.raises(BenchwrightError, match="no environment quartz"):
        read_recipe(tmp_path, "quartz")


@pytest.mark.parametrize("name", ["../up", "a/b", "", "-x", "a b"])
def test_a_name_is_never_a_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(BenchwrightError, match="cannot name an environment"):
        read_recipe(tmp_path, name)


@pytest.mark.parametrize(
    "text",
    [
        'requirements = ["--index-url=example"]',
        'requirements = ["tool @ https://example.org/tool.whl"]',
        'python = "2.7"',
        'python = "3.11.2"',
        'base = "python:3.11"',
        'base = "debian-root:book/worm"',
        'base = "debian:bookworm"',
        'base = "example.org/image:tag"',
        'system_packages = ["git; rm -rf /"]',
        "gpus = -1",
        '[variables]\n"A B" = "c"',
        '[[assets]]\npath = "../x"\nurl = "https://example.org/x"\nsha256 = "00"',
        'colour = "red"',
    ],
)
def test_a_wrong_field_is_refused_with_its_file(tmp_path: Path, text: str) -> None:
    write(tmp_path, "marble", text)
    with pytest.raises(BenchwrightError) as caught:
        read_recipe(tmp_path, "marble")
    assert str(tmp_path / "marble" / "environment.toml") in str(caught.value)


def test_notes_do_not_change_what_is_built() -> None:
    assert Recipe(requirements=("a",), notes="why").digest == Recipe(requirements=("a",)).digest
    assert Recipe(requirements=("a",)).digest != Recipe(requirements=("b",)).digest


def test_a_smoke_test_does_not_change_what_is_built_and_a_card_does() -> None:
    assert Recipe(smoke="import a").digest == Recipe().digest
    assert Recipe(gpus=1).digest != Recipe().digest


def test_standard_comes_first_then_names_in_order(tmp_path: Path) -> None:
    write(tmp_path, "slate", "")
    write(tmp_path, "basalt", "")
    assert [name for name, _ in find_recipes(tmp_path)] == ["standard", "basalt", "slate"]


def test_a_release_stays_as_it_is_where_its_environment_is_built_to_score(tmp_path: Path) -> None:
    write(tmp_path, "plain", 'schema_version = 1\nbase = "host"\n')
    build(tmp_path, "plain", Reporter(quiet=True), record=False)
    assert [path.name for path in (tmp_path / "plain").iterdir()] == ["environment.toml"]
    build(tmp_path, "plain", Reporter(quiet=True))
    assert (tmp_path / "plain" / "Dockerfile").is_file()

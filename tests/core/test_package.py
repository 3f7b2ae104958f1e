"""The house: packages, the direction of imports, what a folder says of itself."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STAGES = ["core", "curation", "validators", "annotation", "export"]
MODULES = sorted(
    path for stage in STAGES for path in (ROOT / stage).rglob("*.py") if "data" not in path.relative_to(ROOT).parts
)
PACKAGES = sorted({path.parent for path in MODULES if path.name == "__init__.py"})


def dotted(path: Path) -> str:
    parts = ("benchwright", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(part for part in parts if part != "__init__")


def imported_by(path: Path) -> set[str]:
    """Absolute names of the benchwright modules that a file imports, at the top or inside functions."""
    here = dotted(path).split(".")
    package = here if path.name == "__init__.py" else here[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            found.add(".".join([*base, *(node.module or "").split(".")]).rstrip("."))
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return {name for name in found if name.startswith("benchwright.")}


def test_the_package_list_names_every_folder_with_code() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted(dotted(package / "__init__.py") for package in PACKAGES)


def test_imports_run_one_way_from_stage_to_stage() -> None:
    wrong = []
    for path in MODULES:
        if path.is_relative_to(ROOT / "core" / "cli"):  # the composition root names the stages
            continue
        own = STAGES.index(path.relative_to(ROOT).parts[0])
        wrong += [f"{dotted(path)} -> {name}" for name in imported_by(path) if STAGES.index(name.split(".")[1]) > own]
    assert wrong == []


@pytest.mark.parametrize("package", [p for p in PACKAGES if p.parent == ROOT], ids=lambda path: path.name)
def test_a_stage_says_what_comes_in_what_goes_out_and_where_to_begin(package: Path) -> None:
    said = " ".join((ast.get_docstring(ast.parse((package / "__init__.py").read_text("utf-8"))) or "").split()).lower()
    for words in ("comes in", "goes out", "first"):
        assert words in said, f"{package.name}/__init__.py does not say it: {words}"


@pytest.mark.parametrize("heavy", ["datasets", "docker", "label_studio_sdk", "pandas", "pyarrow", "huggingface_hub"])
def test_the_command_line_loads_no_heavy_package(heavy: str) -> None:
    program = f"import sys, benchwright.core.cli; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", program]).returncode == 0

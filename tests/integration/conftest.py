"""What the integration tests share: the double of the Hub and a small workspace that publishes to it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchwright.core.errors import PrerequisiteError
from benchwright.validators.sandbox import open_sandbox

from .real_label_studio import label_studio, proxy

__all__ = ["label_studio", "proxy"]


@pytest.fixture(params=["docker", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> str:
    """Name of a sandbox that works here (with CI=true its absence is a failure, else the way to get it is named)."""
    try:
        with open_sandbox(request.param):
            return str(request.param)
    except PrerequisiteError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))


def _double(module: str) -> ModuleType:
    """A module of the double, imported by path: the tests' folders are no packages."""
    if "hub_double" not in sys.modules:
        folder = Path(__file__).parents[1] / "hub_double"
        spec = importlib.util.spec_from_file_location(
            "hub_double", folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None
        assert spec.loader is not None
        package = importlib.util.module_from_spec(spec)
        sys.modules["hub_double"] = package
        spec.loader.exec_module(package)
    return importlib.import_module(f"hub_double.{module}")


@pytest.fixture
def start_hub(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """``start_hub(xet=True)`` gives a running double; it ends with the test."""
    server = _double("server")
    running: list[Any] = []

    def start(*, xet: bool = False) -> Any:
        double = server.HubDouble(tmp_path / f"hub{len(running)}", xet=xet)
        running.append(double)
        return double.__enter__()

    yield start
    for double in running:
        double.__exit__()


@pytest.fixture
def make_publisher(tmp_path: Path) -> Callable[..., Any]:
    """``make_publisher(double)`` gives a workspace with a built release, and the command line to publish it."""

    def make(double: Any, name: str = "bench", **options: Any) -> Any:
        return _double("workspace").make_publisher(tmp_path / name, double.url, xet=double.xet, **options)

    return make


@pytest.fixture
def trouble() -> Any:
    """The class of what befalls a request."""
    return _double("server").Trouble

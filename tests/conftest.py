"""What tests of several stages share: a workspace, and candidates made by hand."""

from __future__ import annotations

import importlib.util
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.files import digest_of
from benchwright.core.models import Candidate
from benchwright.core.workspace import Workspace

MakeCandidate = Callable[..., Candidate]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a suite started behind a shell's back inherits "ignored", and so would every command that a test interrupts
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "bench")


@pytest.fixture
def make_candidate() -> MakeCandidate:
    return build_candidate


@pytest.fixture
def chat_double() -> Iterator[Any]:
    """A running double of an OpenAI-compatible endpoint, imported by path: the tests' folders are no packages."""
    name = "openai_double_server"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / "openai_double" / "server.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    with sys.modules[name].ChatDouble() as double:
        yield double


def build_candidate(number: int = 1, **changes: Any) -> Candidate:
    """The candidate of this number: a training command with two arguments, in a section with a table."""
    section = (
        f"## Training\n\n| option | meaning |\n|---|---|\n| lr | step |\n\n```\npython train.py --lr 0.{number}\n```\n"
    )
    fields: dict[str, Any] = {
        "id": f"tiny-{number:012x}",
        "repository": {
            "name": "tiny",
            "github_id": 7,
            "url": "https://example.org/a/tiny",
            "commit": "0123456789abcdef0123456789abcdef01234567",
            "license": "MIT",
        },
        "source": {
            "path": "README.md",
            "blob": "b" * 40,
            "start_line": 7,
            "end_line": 7,
            "heading": ("Tiny", "Training"),
        },
        "type": "Bash Script",
        "path": "./",
        "entry_point": {"kind": "file", "target": "train.py"},
        "output": f"python train.py --lr 0.{number} --name net{number}",
        "arguments": (
            {"name": "lr", "flag": "--lr", "value": float(f"0.{number}"), "default": 0.1, "type": "float"},
            {"name": "name", "flag": "--name", "value": f"net{number}", "type": "str", "choices": ("a", "b")},
            {"name": "epochs", "flag": "--epochs", "default": 3, "type": "int"},
        ),
        "oracle": section,
        "oracle_scopes": (
            {"scope": "block", "start_line": 7, "end_line": 7, "text": f"python train.py --lr 0.{number}\n"},
            {"scope": "section", "start_line": 1, "end_line": 8, "text": section},
        ),
        "context": (
            {"path": "train.py", "start_line": 1, "end_line": 2, "symbol": "main", "text": "def main():\n\tpass\n"},
        ),
        "score": 1.0 - number / 100_000,
    }
    fields.update(changes)
    fields["digest"] = digest_of({key: value for key, value in fields.items() if key != "digest"})
    return Candidate.model_validate(fields)

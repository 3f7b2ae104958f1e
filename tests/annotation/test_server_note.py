"""What is noted of the Label Studio server beside its data."""

from pathlib import Path

import pytest

from benchwright.annotation import server
from benchwright.core.errors import BenchwrightError, PrerequisiteError
from benchwright.core.workspace import Workspace


def _note(workspace: Workspace, text: str) -> Path:
    path = workspace.private_dir / "label-studio" / "server.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text", ["", "5", "[]", "[" * 100_000, '{"pid": "x", "port": 1}', '{"pid": 1}'], ids=lambda t: t[:8]
)
def test_a_server_note_of_any_wrong_shape_is_an_error_that_names_the_file(workspace: Workspace, text: str) -> None:
    path = _note(workspace, text)
    with pytest.raises(BenchwrightError) as seen:
        server.connect(workspace)
    assert seen.value.where == str(path)
    assert seen.value.remedy == "remove the file"


def test_a_server_that_was_ended_is_told_to_be_down(workspace: Workspace) -> None:
    _note(workspace, '{"port": 8080}')
    with pytest.raises(PrerequisiteError, match="benchwright annotate up"):
        server.connect(workspace)

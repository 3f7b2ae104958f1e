"""Records on disk: strict fields, versions, pure upgrades."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Repository
from benchwright.core.models.record import Record, Upgrade

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Note(Record):
    """A record in its third version: version 1 called the text ``body``, version 2 had no tags."""

    SCHEMA_VERSION: ClassVar[int] = 3
    UPGRADES: ClassVar[Mapping[int, Upgrade]] = {
        1: lambda fields: {"text": fields["body"], **{k: v for k, v in fields.items() if k != "body"}},
        2: lambda fields: {**fields, "tags": []},
    }

    text: str
    tags: tuple[str, ...]


def test_an_old_version_is_upgraded_step_by_step_without_changing_what_was_given() -> None:
    old: dict[str, Any] = {"schema_version": 1, "body": "hello"}
    note = Note.load(old, "note.json")
    assert (note.schema_version, note.text, note.tags) == (3, "hello", ())
    assert old == {"schema_version": 1, "body": "hello"}


@pytest.mark.parametrize("version", [0, 4, "2", None, 1.5])
def test_an_unknown_version_names_the_file_and_the_remedy(version: object) -> None:
    with pytest.raises(BenchwrightError) as caught:
        Note.load({"schema_version": version, "text": "x", "tags": []}, "note.json")
    assert caught.value.where == "note.json"
    assert "pip install -U benchwright" in str(caught.value)


def test_an_unknown_field_is_named_and_its_value_is_not() -> None:
    with pytest.raises(BenchwrightError) as caught:
        Repository.load({"name": "a", "url": "u", "commit": COMMIT, "token": "s3cret"}, "repositories.toml")
    assert "token" in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("name", ["../escaped", "a/b", "", ".hidden", "-rf", "with space", "x" * 101, "海"])
def test_a_name_that_could_be_a_path_or_an_option_is_refused(name: str) -> None:
    with pytest.raises(BenchwrightError, match="name"):
        Repository.load({"name": name, "url": "u", "commit": COMMIT}, "repositories.toml")


@pytest.mark.parametrize("commit", ["main", COMMIT[:12], COMMIT.upper(), COMMIT + "\n", f"{COMMIT}0"])
def test_only_a_full_commit_is_a_pin(commit: str) -> None:
    with pytest.raises(BenchwrightError, match="commit"):
        Repository.load({"name": "a", "url": "u", "commit": commit}, "repositories.toml")

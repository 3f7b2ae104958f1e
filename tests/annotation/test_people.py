"""Pseudonyms and the archive."""

import stat

from benchwright.annotation.people import People
from benchwright.core.workspace import Workspace


def test_a_person_keeps_one_pseudonym_and_the_file_is_private(workspace: Workspace) -> None:
    people = People(workspace)
    assert people.is_new
    assert people.pseudonym("ann@example.org") == "annotator-1"
    assert people.pseudonym("ben@example.org") == "annotator-2"
    again = People(workspace)
    assert not again.is_new
    assert again.pseudonym("Ann@Example.org") == "annotator-1"
    assert stat.S_IMODE(again.path.stat().st_mode) == 0o600
    assert "cannot be rebuilt" in again.path.read_text()


def test_after_a_loss_nobody_gets_a_pseudonym_that_stands_in_the_archive(workspace: Workspace) -> None:
    people = People(workspace, {"annotator-1", "annotator-4", "unknown"})
    assert people.pseudonym("new@example.org") == "annotator-5"


def test_the_archive_gives_back_who_was_who(workspace: Workspace) -> None:
    people = People(workspace, {"annotator-1", "annotator-2"})
    people.recognise({"annotator-2": "ben@example.org"})
    assert people.pseudonym("ben@example.org") == "annotator-2"
    assert people.pseudonym("ann@example.org") == "annotator-3"

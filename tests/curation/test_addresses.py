"""Addresses and pins are judged before any process starts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.workspace import Workspace
from benchwright.curation import gitrun
from benchwright.curation.address import parse_address, parse_pin
from benchwright.curation.mirrors import local_mirrors
from benchwright.curation.repositories import add

CASE = Path(__file__).parents[3] / "shared" / "cases/52-hostile-urls-refs-ids"


@pytest.fixture(autouse=True)
def no_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(gitrun, "git_at", refuse)
    return


@pytest.mark.parametrize(
    "url",
    [
        "https://forge.example/alice/bird",
        "https://forge.example/alice/bird.git",
        "https://forge.example/alice/bird/",
        "HTTPS://Forge.Example/Alice/Bird",
        "git@forge.example:alice/bird.git",
        "ssh://git@forge.example/alice/bird",
        "https://me:pass@forge.example/alice/bird",
    ],
)
def test_every_spelling_names_one_repository(url: str) -> None:
    assert parse_address(url).key == "forge.example/alice/bird"


def test_user_and_password_are_kept_nowhere() -> None:
    address = parse_address("https://me:hunter2@forge.example/alice/bird")
    assert "hunter2" not in repr(address)
    assert "me" not in address.url
    with pytest.raises(BenchwrightError) as caught:
        parse_address("https://me:hunter2@forge.example/alice/bird?x=1")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        " ",
        "ext::sh -c date",
        "fd::3",
        "--upload-pack=x",
        "-x",
        "ssh://-oProxyCommand=x/y/z",
        "file:///srv/x",
        "ftp://forge.example/alice/bird",
        "http://forge.example/alice/bird",
        "git://forge.example/alice/bird",
        "https://forge.example/alice/..",
        "https://forge.example/../bird",
        "https://forge.example/alice/-bird",
        "https://forge.example/alice/bi$(date)rd",
        "https://forge.example/alice/bird;date",
        "https://forge.example/alice/bird\n--x",
        "https://forge.example/alice/bird#main",
        "https://github.com/alice/bird/tree/main/x",
        "https://forge.example/bird",
        "https:///alice/bird",
        "../bird",
        "/srv/git/bird",
    ],
)
def test_what_is_no_plain_address_is_refused(url: str, workspace: Workspace) -> None:
    with pytest.raises(BenchwrightError):
        add(workspace, url, "main")
    assert workspace.repositories() == []


def test_a_file_address_needs_permission() -> None:
    assert parse_address("file:///srv/git/alice/bird", allow_file=True).name == "bird"
    with pytest.raises(BenchwrightError):
        parse_address("file:///srv/../etc", allow_file=True)


@pytest.mark.parametrize("pin", ["main", "v1.2", "release/2024", "0123abc", "a" * 40, "feature_x"])
def test_plain_names_are_pins(pin: str) -> None:
    assert parse_pin(pin) == pin


@pytest.mark.parametrize(
    "pin",
    [
        "",
        "-",
        "--x",
        "a..b",
        "a:b",
        "a^",
        "a~1",
        "@{1}",
        "a b",
        "a\n",
        "../x",
        "a//b",
        "a.lock",
        "$(date)",
        "a;b",
        "x/",
    ],
)
def test_expressions_and_options_are_no_pins(pin: str) -> None:
    with pytest.raises(BenchwrightError):
        parse_pin(pin)


def test_mirrors_are_matched_without_regard_to_case(tmp_path: Path) -> None:
    mirror = tmp_path / "Alice+BIRD" / "repo"
    (mirror / "objects").mkdir(parents=True)
    (mirror / "HEAD").touch()
    found = local_mirrors(
        parse_address("https://forge.example/alice/bird"), [f"file://{tmp_path}/{{owner}}+{{name}}/repo"]
    )
    assert list(found) == [mirror]


@pytest.mark.parametrize("field", ["{x}", "{owner.__class__}", "{owner[0]}", "{owner!r}", "{owner:>9999}", "{}", "{"])
def test_a_mirror_template_with_other_fields_is_refused(field: str) -> None:
    with pytest.raises(BenchwrightError, match="only"):
        list(local_mirrors(parse_address("https://forge.example/alice/bird"), [f"file:///{field}"]))


@pytest.mark.skipif(not CASE.exists(), reason="the shared cases are not here")
def test_the_hostile_addresses_and_refs_of_the_shared_case() -> None:
    for item in json.loads((CASE / "urls.json").read_text()):
        said = ""
        try:
            key = parse_address(item["url"]).key
        except BenchwrightError as error:
            key, said = "", str(error)
        assert "s3cret" not in said + key
        assert key in {"reject": ("",), "ok_or_reject": ("", "github.com/octo/demo")}.get(
            item["want"], ("github.com/octo/demo",)
        )
    for pin in json.loads((CASE / "refs.json").read_text()):
        with pytest.raises(BenchwrightError):
            parse_pin(pin)

"""Assets are believed by their checksum only."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from pydantic import ValidationError

from benchwright.core.errors import BenchwrightError, InfrastructureError
from benchwright.validators.assets import asset_file, place_assets
from benchwright.validators.recipes import Asset


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "source.bin"
    path.write_bytes(b"weights")
    return path


def asset(source: Path, digest: str | None = None, path: str = "deep/weights.bin") -> Asset:
    return Asset(path=path, url=source.as_uri(), sha256=digest or sha256(source.read_bytes()).hexdigest())


def test_it_is_fetched_once_and_kept(source: Path, tmp_path: Path) -> None:
    wanted = asset(source)
    place_assets([wanted], tmp_path / "one")
    source.unlink()
    place_assets([wanted], tmp_path / "two")
    assert (tmp_path / "two" / "deep" / "weights.bin").read_bytes() == b"weights"


def test_another_content_is_refused_and_not_kept(source: Path, tmp_path: Path) -> None:
    wrong = asset(source, "0" * 64)
    with pytest.raises(BenchwrightError, match="checksum"):
        place_assets([wrong], tmp_path / "one")
    assert not asset_file(wrong).exists()
    assert [path for path in asset_file(wrong).parent.iterdir() if not path.name.startswith(".")] == []


def test_an_address_without_an_answer_is_named(source: Path, tmp_path: Path) -> None:
    gone = asset(source)
    source.unlink()
    with pytest.raises(InfrastructureError, match=r"source\.bin"):
        place_assets([gone], tmp_path / "one")


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../up", "a/../../b", "a//b", "./a", "a\nb"])
def test_a_path_stays_below_the_assets(source: Path, path: str) -> None:
    with pytest.raises(ValidationError):
        asset(source, path=path)


@pytest.mark.parametrize("url", ["ftp://example.org/x", "data:,x", "example.org/x", "https://example.org/a b"])
def test_an_address_is_of_a_known_kind(url: str) -> None:
    with pytest.raises(ValidationError):
        Asset(path="x", url=url, sha256="0" * 64)

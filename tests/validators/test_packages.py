"""Wheels are unpacked once and shared; disk is looked at before it is filled."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from benchwright.core.errors import InfrastructureError
from benchwright.validators.bases import Base, host_base
from benchwright.validators.packages import check_space, fetch, install, pins, unpacked_bytes, wheel_folder

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Python: {python}\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
SCRIPT = "[console_scripts]\n{name} = {name}:main\n"


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Base:
    made = host_base()
    assert made is not None
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(tmp_path / "cache"))
    return made


def wheel(folder: Path, name: str, content: str, python: str = ">=3") -> str:
    """Put a wheel into the cache; its line of the lock."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/__init__.py", content)
        archive.writestr(f"{name}-1.0.dist-info/METADATA", METADATA.format(name=name, python=python))
        archive.writestr(f"{name}-1.0.dist-info/WHEEL", WHEEL)
        archive.writestr(f"{name}-1.0.dist-info/entry_points.txt", SCRIPT.format(name=name))
        archive.writestr(f"{name}-1.0.dist-info/RECORD", "")
    digest = sha256(path.read_bytes()).hexdigest()
    place = wheel_folder(digest)
    place.mkdir()
    path.rename(place / path.name)
    return f"{name}==1.0 --hash=sha256:{digest}\n"


def test_two_environments_share_what_a_wheel_unpacks_to(base: Base, tmp_path: Path) -> None:
    shared = wheel(tmp_path, "granite", "VALUE = 1\n" * 1000)
    other = wheel(tmp_path, "chalk", "VALUE = 2\n")
    assert unpacked_bytes(shared, base) > 10_000
    fetch(shared + other, base, "none is missing, so nothing is asked")
    install(base, shared, tmp_path / "one", "one")
    assert unpacked_bytes(shared, base) == 0
    log, large = install(base, shared + other, tmp_path / "two", "two")
    assert "granite" in log
    assert large == []
    first, second = (tmp_path / name / "granite" / "__init__.py" for name in ("one", "two"))
    assert first.stat().st_ino == second.stat().st_ino
    assert (tmp_path / "two" / "chalk" / "__init__.py").read_text() == "VALUE = 2\n"
    assert list((tmp_path / "two" / "granite" / "__pycache__").glob("*.pyc"))
    assert (tmp_path / "two" / "bin" / "chalk").read_text().startswith(f"#!{base.python}\n")
    assert pins(shared + other) == ["granite==1.0", "chalk==1.0"]


def test_a_wheel_for_the_bases_python_alone_is_unpacked_whatever_python_runs_this(base: Base, tmp_path: Path) -> None:
    old = wheel(tmp_path, "fossil", "VALUE = 3\n", python="<3.8")
    install(replace(base, python_version="3.7.16"), old, tmp_path / "one", "one")
    assert (tmp_path / "one" / "fossil" / "__init__.py").is_file()


def test_a_disk_that_is_too_small_is_said_before_it_is_full(base: Base) -> None:
    check_space(0, "nothing")
    with pytest.raises(InfrastructureError, match=r"the environment rock needs .* GiB, and .* GiB are free"):
        check_space(1 << 60, "the environment rock")

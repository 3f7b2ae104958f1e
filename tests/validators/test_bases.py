"""Roots that were made elsewhere: unpacked without harm, read without being run."""

from __future__ import annotations

import io
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest

from benchwright.core.errors import BenchwrightError, PrerequisiteError
from benchwright.validators.bases import host_base, open_base
from benchwright.validators.bases.base import adopt_root, installed_packages, interpreters, unpack
from benchwright.validators.recipes import Recipe


def make_root(root: Path, *, site: str = "usr/local/lib/python3.12/site-packages", own: tuple[str, ...] = ()) -> Path:
    programs = root / "usr" / "local" / "bin"
    programs.mkdir(parents=True)
    for name in ("python3.12", "python3.9", "python3", "python3.12-config"):
        (programs / name).write_text("not run")
    (root / site).mkdir(parents=True)
    for name in own:
        (root / site / name).mkdir()
    return root


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> io.BytesIO:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for entry, content in members:
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    stream.seek(0)
    return stream


def link(name: str, target: str) -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    return entry, b""


def test_no_member_of_a_tar_lands_outside(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    hostile = archive(
        (tarfile.TarInfo("etc/fine"), b"fine"),
        link("trap", str(outside)),
        (tarfile.TarInfo("trap/written"), b"x"),
    )
    with suppress(BenchwrightError):  # refused as a whole is as good
        unpack(hostile, tmp_path / "root")
    climbing = archive((tarfile.TarInfo("../climbed"), b"x"))
    with pytest.raises(BenchwrightError, match="cannot be unpacked"):
        unpack(climbing, tmp_path / "root2")
    assert list(outside.iterdir()) == []
    assert not (tmp_path / "climbed").exists()


def test_a_device_is_left_out_and_modes_stay(tmp_path: Path) -> None:
    device = tarfile.TarInfo("dev/sda")
    device.type, device.devmajor, device.devminor = tarfile.BLKTYPE, 8, 0
    program = tarfile.TarInfo("usr/bin/tool")
    program.mode = 0o755
    unpack(archive((device, b""), (program, b"#!")), tmp_path / "root")
    assert not (tmp_path / "root" / "dev" / "sda").exists()
    assert (tmp_path / "root" / "usr" / "bin" / "tool").stat().st_mode & 0o777 == 0o755


def test_the_newest_python_of_a_root_is_taken_or_the_one_asked_for(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    assert adopt_root(root, None, "it")[:2] == ("/usr/local/bin/python3.12", "3.12")
    assert adopt_root(root, "3.9", "it")[:2] == ("/usr/local/bin/python3.9", "3.9")
    with pytest.raises(BenchwrightError, match=r"no Python 3\.8"):
        adopt_root(root, "3.8", "it")


def test_a_root_with_packages_of_its_own_keeps_them_beside_ours(tmp_path: Path) -> None:
    empty = adopt_root(make_root(tmp_path / "empty"), None, "it")
    assert empty[2:] == ("/usr/local/lib/python3.12/site-packages", "")
    root = make_root(tmp_path / "full", own=("pip",))
    packages_at, path_file = adopt_root(root, None, "it")[2:]
    assert packages_at not in path_file
    assert packages_at in Path(f"{root}{path_file}").read_text()
    assert (root / "usr/local/lib/python3.12/site-packages/pip").is_dir()


def test_links_of_a_root_are_followed_inside_it(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (root / "assets").symlink_to(f"/../../{elsewhere.name}")
    (root / "tmp").symlink_to("/var/tmp")
    adopt_root(root, None, "it")
    assert (root / "var" / "tmp").stat().st_mode & 0o7777 == 0o1777
    assert list(elsewhere.iterdir()) == []


def test_debian_packages_are_read_from_a_root(tmp_path: Path) -> None:
    status = tmp_path / "var/lib/dpkg/status"
    status.parent.mkdir(parents=True)
    status.write_text(
        "Package: zlib1g\nStatus: install ok installed\nVersion: 1:1.2\nDescription: a\n more: words\n\n"
        "Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n\n"
        "Package: bash\nStatus: install ok installed\nVersion: 5.2-1\n"
    )
    assert installed_packages(tmp_path) == ["bash=5.2-1", "zlib1g=1:1.2"]
    assert installed_packages(tmp_path / "none") == []


def test_the_host_refuses_system_packages_and_a_python_it_lacks() -> None:
    with pytest.raises(BenchwrightError, match="cannot install system packages"):
        open_base(Recipe(system_packages=("git",)), "it")
    assert interpreters("3.99") == []
    with pytest.raises(PrerequisiteError, match=r"no Python 3\.99"):
        host_base("3.99")

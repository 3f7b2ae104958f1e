"""The base ``debian-root:SUITE``: a Debian root made on this machine by mmdebstrap, and recorded as that.

Comes in: a suite and the names of system packages. Goes out: a folder in the cache, identified by a digest over the
names and versions of all its packages: the archive moves on, and a root made later says that it is another one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...core.errors import BenchwrightError, PrerequisiteError
from ...core.files import atomic_write, digest_of
from ...core.workspace import cache_dir
from .base import Base, adopt_root, image_name, installed_packages, kept_base, package_digest, unpack

__all__ = ["debian_base"]

LAYOUT = 1
WAIT_S = 1800
INCLUDED = ("ca-certificates", "procps", "python-is-python3", "python3", "wget")
LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")


def debian_base(suite: str, system_packages: Sequence[str], version: str | None, *, make: bool) -> Base | None:
    """The root of ``suite`` with these packages; if it is not in the cache, made or None.

    Raises:
        PrerequisiteError: mmdebstrap is missing.
        BenchwrightError: it failed (its log is named), or the suite's Python is not the version asked for.
    """
    wanted = sorted({*INCLUDED, *system_packages})
    key = digest_of(["debian", LAYOUT, suite, wanted, version])[:20]
    return kept_base(key, (lambda folder, final: _make(suite, wanted, version, folder, final)) if make else None)


def _make(suite: str, wanted: Sequence[str], version: str | None, folder: Path, final: str) -> Base:
    if shutil.which("mmdebstrap") is None:
        raise PrerequisiteError("mmdebstrap is not installed", remedy="apt-get install mmdebstrap")
    root = folder / "root"
    log = cache_dir() / "logs" / f"debian-root-{suite}.log"
    with tempfile.TemporaryFile(dir=folder) as archive:
        answer = subprocess.run(
            [
                "mmdebstrap",
                f"--mode={'root' if os.geteuid() == 0 else 'unshare'}",
                "--variant=apt",
                f"--include={','.join(wanted)}",
                '--aptopt=Acquire::Check-Valid-Until "false"',
                *(f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT),
                "--format=tar",
                suite,
                "-",
            ],
            stdin=subprocess.DEVNULL, stdout=archive, stderr=subprocess.PIPE, timeout=WAIT_S,
        )  # fmt: skip
        atomic_write(log, answer.stderr)
        if answer.returncode:
            told = [line for line in answer.stderr.decode("utf-8", "replace").splitlines() if line.startswith("E:")]
            raise BenchwrightError(
                f"no Debian root could be made: {'; '.join(told[-2:]) or answer.returncode}",
                where=f"base debian-root:{suite} (log: {log})",
                remedy="correct the suite and the system_packages, or free space",
            )
        archive.seek(0)
        unpack(archive, root)
    packages = installed_packages(root)
    atomic_write(folder / "packages.txt", "".join(f"{line}\n" for line in packages))
    python, minor, packages_at, path_file = adopt_root(root, version, f"base debian-root:{suite}")
    identity = f"debian-root:{suite}:python{minor}:{package_digest(packages)}"
    return Base(identity, final, python, minor, packages_at, image_name(identity), path_file)

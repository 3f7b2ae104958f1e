"""Real git repositories made of the two folders in ``export/data/demo``, with the same commits on every machine."""

from __future__ import annotations

import shutil
from importlib.resources import as_file, files
from pathlib import Path

import git

__all__ = ["NAMES", "make_repositories", "url_of"]

NAMES = ("pocket-classifier", "tallybox")
AUTHOR = git.Actor("The benchwright authors", "demo@benchwright.example")
DATE = "2026-01-05T12:00:00"


def url_of(name: str) -> str:
    """The address a repository is registered under; it is read from a mirror, so nothing is ever fetched from it."""
    return f"https://git.benchwright.example/demo/{name}"


def make_repositories(folder: Path) -> dict[str, str]:
    """Make each repository below ``folder`` (anew if it is there) and give its commit by name."""
    commits = {}
    for name in NAMES:
        target = folder / name
        shutil.rmtree(target, ignore_errors=True)
        with as_file(files("benchwright.export") / "data" / "demo" / name) as source:
            # names made by running the package's own copy are not part of the repository
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        repository = git.Repo.init(target, initial_branch="main")
        with repository.config_writer() as config:
            config.set_value("core", "autocrlf", "false")
        repository.git.add("--all", "--force")
        commit = repository.index.commit(
            "Publish", author=AUTHOR, committer=AUTHOR, author_date=DATE, commit_date=DATE, skip_hooks=True
        )
        commits[name] = commit.hexsha
        repository.close()
    return commits

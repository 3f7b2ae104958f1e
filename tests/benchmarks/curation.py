"""How long ``curate`` takes for the preset's 18 repositories, and beside it the floor, measured in the same run.

    python tests/benchmarks/curation.py --mirror 'file:///srv/git/{owner}+{name}/repo'

The floor is what cannot be left out: every text blob at the pins through ``git cat-file --batch``, every ``.py`` parsed
by tree-sitter and every Markdown document by markdown-it-py, in two processes. Exits with 1 where curating takes more
than twice that, a second run more than 2 s, or a process more than 1.5 GB. Without a mirror it says so and ends well.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import tree_sitter_python
from markdown_it import MarkdownIt
from tree_sitter import Language, Parser

from benchwright.core.models import Repository
from benchwright.core.workspace import Workspace
from benchwright.curation import curate, open_tree, preset_repositories
from benchwright.curation.address import parse_address
from benchwright.curation.mirrors import local_mirrors

TARGET, RERUN_S, LARGEST_BYTES = 2.0, 2.0, 1.5e9
NOT_TEXT = (".png", ".jpg", ".jpeg", ".gif", ".pdf", ".zip", ".pt", ".pth", ".npy", ".pkl", ".pyc", ".mp4", ".wav")


def floor_of(work: tuple[Repository, Sequence[str]]) -> int:
    """Read and parse one repository, and throw it away."""
    repository, mirrors = work
    python, markdown, read = Parser(Language(tree_sitter_python.language())), MarkdownIt("commonmark"), 0
    with open_tree(repository, Path(os.devnull), mirrors) as tree:
        for path, data in tree.read_many(path for path in tree.paths() if not path.lower().endswith(NOT_TEXT)):
            if b"\0" in data[:8000]:
                continue
            read += len(data)
            if path.endswith(".py"):
                python.parse(data)
            elif path.lower().endswith((".md", ".markdown")):
                markdown.parse(data.decode("utf-8", "replace"))
    return read


def cpu_s() -> float:
    """Processor seconds of this process and its ended children: comparable also on a busy machine."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def main() -> int:
    """Measure the floor, a first and a second run, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", action="append", default=os.environ.get("BENCHWRIGHT_MIRROR", "").split())
    mirrors = parser.parse_args().mirror
    repositories = [
        repository
        for repository in preset_repositories("ml-bench")
        if list(local_mirrors(parse_address(repository.url), mirrors))
    ]
    if not repositories:
        print("no mirror holds the preset's repositories: give --mirror TEMPLATE; nothing was measured")
        return 0
    started, used = time.perf_counter(), cpu_s()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        read = sum(pool.imap_unordered(floor_of, [(repository, mirrors) for repository in repositories]))
        pool.close()
        pool.join()
    floor, floor_cpu = time.perf_counter() - started, cpu_s() - used
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace.create(Path(folder) / "bench", repositories)
        started, used = time.perf_counter(), cpu_s()
        found = sum(result.candidates for result in curate(workspace, jobs=2, mirrors=mirrors))
        first, first_cpu = time.perf_counter() - started, cpu_s() - used
        started = time.perf_counter()
        unchanged = all(result.unchanged for result in curate(workspace, jobs=2, mirrors=mirrors))
        second = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(f"floor: {len(repositories)} repositories, {read / 1e6:.0f} MB of text: {floor:.1f} s, CPU {floor_cpu:.1f} s")
    print(f"curate: {found} candidates: {first:.1f} s, CPU {first_cpu:.1f} s")
    print(f"ratio {first / floor:.2f}, of CPU {first_cpu / floor_cpu:.2f} (target {TARGET:g})")
    print(f"curate again: {second:.2f} s (target {RERUN_S:g}), unchanged: {unchanged}")
    print(f"largest worker: {peak / 1e6:.0f} MB (target {LARGEST_BYTES / 1e6:.0f})")
    return int(first > TARGET * floor or second > RERUN_S or not unchanged or peak > LARGEST_BYTES)


if __name__ == "__main__":
    sys.exit(main())

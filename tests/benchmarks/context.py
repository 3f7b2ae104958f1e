"""How long indexing every Python file takes, against the bare parse with the same queries.

    python tests/benchmarks/context.py --mirror 'file:///srv/git/{owner}+{name}/repo'

Two processes, the baseline beside ours in the same run; of three pairings the best counts, by the processor's time,
which other work on the machine does not blur. From cache: every index read back from a workspace's store under its
blob's id, one process. Exits with 1 if the index takes more than 1.5 times the bare parse, or reading it back more than
a second.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import tree_sitter_python
from tree_sitter import Language, Parser, Query, QueryCursor

from benchwright.core.store import Store
from benchwright.core.workspace import Workspace
from benchwright.curation.cache import DEFINITIONS, Blobs, Memory
from benchwright.curation.context import Index, index_source
from benchwright.curation.context.index import QUERY
from benchwright.curation.presets import preset_repositories
from benchwright.curation.source import PinnedTree, open_tree

RATIO, FROM_CACHE_S, ROUNDS = 1.5, 1.0, 3
halves: list[list[bytes]] = []


def bare(half: int) -> float:
    """Parse, and run the queries: what no index can do without. Gives the processor's seconds, as below."""
    started = time.process_time()
    language = Language(tree_sitter_python.language())
    query = Query(language, QUERY)
    for source in halves[half]:
        QueryCursor(query).captures(Parser(language).parse(source).root_node)
    return time.process_time() - started


def indexed(half: int) -> float:
    started = time.process_time()
    for source in halves[half]:
        index_source(source).to_bytes()
    return time.process_time() - started


def remembered(store: Store, trees: Sequence[PinnedTree]) -> tuple[int, int]:
    """Index every tree through the workspace's store; the definitions found, and the files indexed anew."""
    found = made = 0
    for tree in trees:
        memory = Memory(store)
        memory.expect(
            DEFINITIONS, [blob for path in tree.paths() if path.endswith(".py") and (blob := tree.blob_of(path))]
        )
        index = Index(tree, blob_of=tree.blob_of, cache=Blobs(memory, DEFINITIONS)).build()
        found += sum(len(file.definitions) for file in index.values())
        made += len(memory.new[DEFINITIONS])
        store.remember(DEFINITIONS, memory.new[DEFINITIONS])
    return found, made


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mirror", action="append", default=[])
    chosen = options.parse_args()
    sources: list[bytes] = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        trees = [
            stack.enter_context(open_tree(repository, Path(folder), chosen.mirror))
            for repository in preset_repositories("ml-bench")
        ]
        for tree in trees:
            sources.extend(data for _, data in tree.read_many(path for path in tree.paths() if path.endswith(".py")))
        sources.sort(key=len)
        halves.extend([sources[0::2], sources[1::2]])
        print(f"{len(sources)} files, {sum(map(len, sources)) / 1e6:.1f} MB")
        ratios: list[float] = []
        with multiprocessing.get_context("fork").Pool(2) as pool:
            for _ in range(ROUNDS):
                start = time.perf_counter()
                floor = sum(pool.map(bare, [0, 1], chunksize=1))
                between = time.perf_counter()
                ours = sum(pool.map(indexed, [0, 1], chunksize=1))
                walls = between - start, time.perf_counter() - between
                ratios.append(ours / floor)
                print(f"bare parse and query {walls[0]:.2f} s, CPU {floor:.2f} s")
                print(
                    f"index {walls[1]:.2f} s, CPU {ours:.2f} s: {walls[1] / walls[0]:.2f} times, CPU {ratios[-1]:.2f}"
                )
        with Workspace.create(Path(folder) / "bench").open_store() as store:
            first = remembered(store, trees)
            start = time.perf_counter()
            again = remembered(store, trees)
            from_cache = time.perf_counter() - start
    print(f"from cache {from_cache:.2f} s: {again[0]} definitions, {again[1]} files indexed anew")
    holds = min(ratios) <= RATIO and from_cache <= FROM_CACHE_S and again == (first[0], 0)
    print("ok" if holds else "NOT MET", f"(at most {RATIO} times, {FROM_CACHE_S} s)")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())

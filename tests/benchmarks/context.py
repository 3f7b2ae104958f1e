"""How long indexing every Python file takes, against the bare parse with the same queries.

    python tests/benchmarks/context.py --mirror 'file:///srv/git/{owner}+{name}/repo'

Two processes, the baseline beside ours in the same run. Exits with 1 if the index takes more than 1.5 times the bare
parse, or reading it back from its cache takes more than a second.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import tree_sitter_python
from tree_sitter import Language, Parser, Query, QueryCursor

from benchwright.curation.context import FileIndex, index_source
from benchwright.curation.context.index import QUERY
from benchwright.curation.presets import preset_repositories
from benchwright.curation.source import open_tree

RATIO, FROM_CACHE_S, ROUNDS = 1.5, 1.0, 3
halves: list[list[bytes]] = []


def bare(half: int) -> int:
    """Parse, and run the queries: what no index can do without."""
    language = Language(tree_sitter_python.language())
    query = Query(language, QUERY)
    return sum(len(QueryCursor(query).captures(Parser(language).parse(source).root_node)) for source in halves[half])


def indexed(half: int) -> list[bytes]:
    return [index_source(source).to_bytes() for source in halves[half]]


def read_back(kept: list[bytes]) -> int:
    return sum(FileIndex.from_bytes(data) is not None for data in kept)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mirror", action="append", default=[])
    chosen = options.parse_args()
    sources: list[bytes] = []
    with tempfile.TemporaryDirectory() as folder:
        for repository in preset_repositories("ml-bench"):
            with open_tree(repository, Path(folder), chosen.mirror) as tree:
                wanted = [path for path in tree.paths() if path.endswith(".py")]
                sources.extend(data for _, data in tree.read_many(wanted))
    sources.sort(key=len)
    halves.extend([sources[0::2], sources[1::2]])
    print(f"{len(sources)} files, {sum(map(len, sources)) / 1e6:.1f} MB")
    best_bare = best_ours = best_cache = float("inf")
    with ProcessPoolExecutor(2) as pool:
        for _ in range(ROUNDS):
            start = time.perf_counter()
            list(pool.map(bare, [0, 1]))
            best_bare = min(best_bare, time.perf_counter() - start)
            start = time.perf_counter()
            kept = list(pool.map(indexed, [0, 1]))
            best_ours = min(best_ours, time.perf_counter() - start)
            start = time.perf_counter()
            sum(map(read_back, kept))
            best_cache = min(best_cache, time.perf_counter() - start)
    ratio = best_ours / best_bare
    print(f"bare parse and queries {best_bare:.2f} s, index {best_ours:.2f} s: {ratio:.2f} times")
    print(f"from cache {best_cache:.2f} s, {sum(map(len, kept[0] + kept[1])) / 1e6:.1f} MB kept")
    return 0 if ratio <= RATIO and best_cache <= FROM_CACHE_S else 1


if __name__ == "__main__":
    sys.exit(main())

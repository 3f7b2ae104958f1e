"""``README.md`` of a release: metadata computed from what was written, never typed, and a page for readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.config import Config
from ..core.models import Repository
from .dataset import Compiled
from .rows import COLUMNS, Row

__all__ = ["Part", "card_text", "hub_license", "size_category"]

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))

_LICENSE_IDS = """
    afl-3.0 agpl-3.0 apache-2.0 artistic-2.0 bsd bsd-2-clause bsd-3-clause bsd-3-clause-clear bsl-1.0 cc cc0-1.0
    cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0
    cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-sa-3.0 cc-by-sa-4.0 epl-1.0 epl-2.0 gpl-2.0
    gpl-3.0 isc lgpl-2.1 lgpl-3.0 mit mpl-2.0 ncsa ofl-1.1 openrail pddl unlicense wtfpl zlib
"""
HUB_LICENSES = frozenset(_LICENSE_IDS.split())
"""Licence ids that the Hub's card accepts; others are published as ``other``."""


@dataclass(frozen=True)
class Part:
    """One split of one configuration, as written."""

    config: str
    split: str
    path: str
    rows: int
    bytes_in_memory: int
    bytes_on_disk: int


def size_category(rows: int) -> str:
    """The Hub's size class of a number of rows."""
    return next((name for limit, name in SIZES if rows < limit), "n>1M")


def hub_license(licenses: Sequence[str]) -> dict[str, Any]:
    """The card's licence fields for everything the release redistributes (SPDX ids)."""
    ids = sorted({item.lower().removesuffix("-only").removesuffix("-or-later") for item in licenses})
    if all(item in HUB_LICENSES for item in ids):
        return {"license": ids[0] if len(ids) == 1 else ids}
    return {"license": "other", "license_name": "several", "license_link": "THIRD_PARTY_LICENSES"}


def _metadata(config: Config, dtypes: Mapping[str, Mapping[str, str]], parts: Sequence[Part]) -> dict[str, Any]:
    configs, infos = [], []
    for name, columns in dtypes.items():
        own = [part for part in parts if part.config == name]
        entry: dict[str, Any] = {"config_name": name}
        if name == "default":
            entry["default"] = True
        configs.append({**entry, "data_files": [{"split": part.split, "path": part.path} for part in own]})
        infos.append(
            {
                "config_name": name,
                "features": [{"name": column, "dtype": dtype} for column, dtype in columns.items()],
                "splits": [
                    {"name": part.split, "num_bytes": part.bytes_in_memory, "num_examples": part.rows} for part in own
                ],
                "download_size": sum(part.bytes_on_disk for part in own),
                "dataset_size": sum(part.bytes_in_memory for part in own),
            }
        )
    return {
        "language": ["en"],
        "pretty_name": config.name,
        "size_categories": [size_category(sum(part.rows for part in parts if part.config == "default"))],
        "task_categories": ["text-generation"],
        "tags": ["benchmark", "code"],
        "configs": configs,
        "dataset_info": infos,
    }


def card_text(
    config: Config,
    dtypes: Mapping[str, Mapping[str, str]],
    parts: Sequence[Part],
    compiled: Compiled,
    kept: Mapping[str, Any],
) -> str:
    """The whole card: YAML (keys of ``kept`` that are not computed stay), then the page."""
    import yaml

    rows, repositories = compiled.splits["full"], compiled.repositories
    licenses = [config.license, *(item.license for item in repositories if item.license)]
    computed = {**_metadata(config, dtypes, parts), **hub_license(licenses)}
    foreign = {key: value for key, value in kept.items() if key not in {*computed, "license_name", "license_link"}}
    block = yaml.safe_dump({**computed, **foreign}, sort_keys=False, allow_unicode=True, width=120)
    return f"---\n{block}---\n\n{_page(config, parts, rows, repositories)}"


def _page(config: Config, parts: Sequence[Part], rows: Sequence[Row], repositories: Sequence[Repository]) -> str:
    splits = "\n".join(f"| {part.config} | {part.split} | {part.rows} |" for part in parts)
    return f"""# {config.name} {config.version}

Each row is one instruction on a repository at a fixed commit, and the command or snippet that fulfils it.

| configuration | split | rows |
|---|---|---|
{splits}

## Columns
The first eleven are ML-Bench's: {", ".join(f"`{name}`" for name in COLUMNS)}.
`arguments` is text: a JSON object or a Python mapping of literals; read it with `benchwright.export.arguments_of`.
The others say where a row comes from (`commit`, `license`, `source_path`, `start_line`, `end_line`, `blob`,
`task_id`) and what last ran its output with success (`environment`, `environment_digest`, `verified_at`,
`evidence_digest`); each is null where it is not known. `oracle` is empty where the repository's licence does not
allow it to be passed on: `benchwright.export.join` reads it from the repository itself.

The configuration `repositories` holds each repository's documents once: `datasets.load_dataset(..., "repositories")`.

## Composition
{_composition(rows, repositories)}

## Scoring
    pip install benchwright
    benchwright evaluate . predictions.jsonl -o run

`predictions.jsonl` holds one line an example: `{{"github_id": 1, "id": 1, "output": ["first sample", ...]}}`.

## Licences
The benchmark's own text (instructions, arguments, outputs): {config.license}. Text of each repository stays under
that repository's licence, named in its rows and in `repositories.toml`, and printed in `THIRD_PARTY_LICENSES`.

## Canary
This benchmark must not be used as training data. Its canary GUID is `{config.canary}`.
"""


def _composition(rows: Sequence[Row], repositories: Sequence[Repository]) -> str:
    names = {item.github_id: item for item in repositories}
    counts = Counter((row.github_id, row.type) for row in rows)
    tasks: dict[int, set[tuple[str, ...]]] = {}
    for row in rows:
        tasks.setdefault(row.github_id, set()).add(row.task)
    lines = ["| repository | commit | licence | tasks | Bash | Python |", "|---|---|---|---|---|---|"]
    for number in sorted(tasks):
        item = names[number]
        bash, python = counts[number, "Bash Script"], counts[number, "Python Code"]
        lines.append(
            f"| [{item.name}]({item.url}) | `{item.commit[:12]}` | {item.license or 'unknown'} "
            f"| {len(tasks[number])} | {bash} | {python} |"
        )
    return "\n".join(lines)

"""``README.md`` of a release: metadata computed from what was written, never typed, and a page for readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...core.config import Config
from ..rows import COLUMNS
from .about import description
from .border import Crossings
from .compile import Compiled
from .composition import TOKENIZERS, Composition
from .runner import scoring
from .splits import is_train

if TYPE_CHECKING:
    from ...annotation.consensus import AgreementReport

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
    composition: Composition,
    agreement: AgreementReport | None,
    found: Crossings,
    kept: Mapping[str, Any],
) -> str:
    """The whole card: YAML (keys of ``kept`` that are not computed stay), then the page."""
    import yaml

    licenses = [config.license, *(item.license for item in compiled.repositories if item.license)]
    computed = {**_metadata(config, dtypes, parts), **hub_license(licenses)}
    foreign = {key: value for key, value in kept.items() if key not in {*computed, "license_name", "license_link"}}
    block = yaml.safe_dump({**computed, **foreign}, sort_keys=False, allow_unicode=True, width=120)
    sections = (
        f"# {config.name} {config.version}\n\n{description(config)}",
        _splits(config, parts, found),
        _columns("denormalized" in dtypes),
        f"## Composition\n{_composition(compiled, composition)}",
        f"## Scoring\n{scoring(config)}\n\nThe same lines, with versions and environments, lie in `runner/`.",
        _annotations(compiled, agreement),
        _licenses(config, compiled),
        f"## Canary\nThis benchmark must not be used as training data. Its canary GUID is `{config.canary}`.",
    )
    return f"---\n{block}---\n\n{chr(10).join(f'{section}{chr(10)}' for section in sections if section)}"


def _splits(config: Config, parts: Sequence[Part], found: Crossings) -> str:
    lines = "\n".join(f"| {part.config} | {part.split} | {part.rows} |" for part in parts)
    told = ""
    if any(is_train(part.split) for part in parts):
        told = "\n\nNo task stands both in a training split and in another, and nothing nearly the same does."
    if found:
        told = (
            f"\n\n**{len(found.tasks)} tasks and {len(found.alike)} near-duplicates stand both in a training split "
            "and in another**: what is trained on the former is not fairly measured on the latter."
        )
    return f"| configuration | split | rows |\n|---|---|---|\n{lines}{told}"


def _columns(denormalized: bool) -> str:
    more = "\nThe configuration `denormalized` holds both in every row." if denormalized else ""
    return f"""## Columns
The first eleven are ML-Bench's: {", ".join(f"`{name}`" for name in COLUMNS)}.
`arguments` is text: a JSON object or a Python mapping of literals; read it with `benchwright.export.arguments_of`.
The others say where a row comes from (`commit`, `license`, `source_path`, `start_line`, `end_line`, `blob`,
`oracle_sha256`, `task_id`) and what last ran its output with success (`environment`, `environment_digest`,
`verified_at`, `evidence_digest`); each is null where it is not known.

The configuration `repositories` holds each repository's documents once; `retrieval` the passage that BM25 finds for
each example's instruction (ten sentences of the first thousand, as ML-Bench has it). `benchwright.export.join` puts
both beside the rows.{more}"""


def _composition(compiled: Compiled, composition: Composition) -> str:
    """A table by repository; lengths are mean tokens in each of the tokenizers."""
    table = composition.by_repository()
    repositories = {item.name: item for item in compiled.repositories}
    lines = [
        f"Lengths are tokens of {' / '.join(TOKENIZERS)}: of all documents of the repository, and the mean over its "
        "examples. By split and type: `composition.csv`; as plots: `composition.html`.",
        "",
        "| repository | commit | licence | tasks | Bash | Python | README | instruction | segment | output |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, row in table.iterrows():
        item = repositories[str(name)]
        linked = f"[{name}]({item.url})" if item.url.startswith(("https://", "http://")) else str(name)
        lengths = (_pair(row, text) for text in ("README", "instruction", "segment", "output"))
        lines.append(
            f"| {linked} | `{item.commit[:12]}` | {item.license} | {row['tasks']:.0f} | {row['Bash Script']:.0f} "
            f"| {row['Python Code']:.0f} | {' | '.join(lengths)} |"
        )
    return "\n".join(lines)


def _pair(row: Any, text: str) -> str:
    values = (row[f"{text} {tokenizer}"] for tokenizer in TOKENIZERS)
    return " / ".join(f"{value:.0f}" if value == value else "-" for value in values)  # NaN: not at hand


def _annotations(compiled: Compiled, agreement: AgreementReport | None) -> str:
    annotated = [item.task for item in compiled.tasks if item.task.origin == "annotated"]
    if not annotated:
        return ""
    text = (
        f"## Annotation\n{len(annotated)} of {len(compiled.tasks)} tasks were annotated in Label Studio; the others "
        "were imported. `annotations/guidelines.md` is what annotators were told, `annotations/labels.jsonl` what each "
        "of them said, under pseudonyms."
    )
    if agreement is None:
        return text
    titles, rows = agreement.rows()
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, ["---"] * len(titles), *rows))
    return (
        f"{text}\n\nAgreement over {agreement.candidates} candidates that two or more of "
        f"{len(agreement.annotators)} annotators judged, with 95 % bootstrap intervals:\n\n{table}"
    )


def _licenses(config: Config, compiled: Compiled) -> str:
    listed = config.redistributable_licenses
    closed = [f"{item.name} ({item.license})" for item in compiled.repositories if item.license not in listed]
    text = f"""## Licences
The benchmark's own text (instructions, arguments, outputs): {config.license}. Text of each repository stays under
that repository's licence, named in its rows and in `repositories.toml`, and printed in `THIRD_PARTY_LICENSES`."""
    if closed:
        text += (
            f"\n\nText of {', '.join(closed)} is not passed on here: `oracle` is empty in these rows, and "
            "`benchwright.export.join` reads it from the repository itself, at the commit and lines of the row."
        )
    return text

"""``evaluate``: predictions and a release in, ``results.jsonl`` and ``report.json`` out."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import toolkit_version
from ...core.errors import BenchwrightError
from ...core.files import atomic_write
from ...core.progress import Reporter
from ..dataset import Dataset
from ..rows import Key, Row, arguments_of
from .answers import is_text
from .causes import CLASSES
from .execute import DEFAULT_SANDBOX, Gold, Work, environment_digests, execute
from .metrics import DRAWS, LEVEL, SEED
from .predictions import VARYING, Predictions, read_predictions
from .recordings import Recordings
from .score import Sample, examine
from .scores import PROTOCOLS, Material, differences, protocol_report
from .settings import Options, Setting, chosen_rows, clones_dir, repository_names, settings_of

if TYPE_CHECKING:
    from ...curation.source import PinnedTree

__all__ = ["Evaluation", "Options", "declared_samples", "evaluate", "examined"]

REPORT_VERSION = 1


@dataclass(frozen=True)
class Evaluation:
    """A finished evaluation."""

    folder: Path
    report: dict[str, Any]
    ungraded: int
    """Samples, and gold outputs, that the machine kept from a verdict."""


def evaluate(
    dataset: Dataset, predictions_path: Path, options: Options, folder: Path, reporter: Reporter
) -> Evaluation:
    """Score the predictions and write ``results.jsonl``, ``report.json`` and, when executing, ``outcomes.jsonl``.

    Where an answer's text does not tell what it starts, its calls are recorded first (``recordings.jsonl``).

    ``samples.jsonl`` (the answers as predicted) and ``examples.jsonl`` beside them make the folder readable alone.

    Executions recorded in ``folder`` are not repeated, but for those that the machine spoilt.

    Raises:
        BenchwrightError: release, predictions or options are wrong; nothing is executed then.
        PrerequisiteError: the sandbox or an environment cannot be had.
    """
    started = time.monotonic()
    if options.protocol not in PROTOCOLS:
        raise BenchwrightError(f"there is no protocol {options.protocol!r}", remedy=f"use {' or '.join(PROTOCOLS)}")
    every = list(dataset.rows(dataset.main_split()))
    declared = options.samples if options.samples is not None else declared_samples(predictions_path, reporter)
    predictions = read_predictions(predictions_path, [row.key for row in every], declared)
    names = repository_names(dataset, every)
    rows = chosen_rows(every, names, options)
    settings = settings_of(dataset, rows, names) if options.execute or options.mirrors else {}
    recordings = Recordings(folder) if options.execute else None
    samples, own, read = examined(rows, predictions, settings, options, recordings)
    gold: dict[Key, Gold] | None = None
    environments: dict[str, str] = {}
    if recordings is not None:
        environments = environment_digests(options, settings.values(), reporter)
        sandbox = options.sandbox or DEFAULT_SANDBOX
        recorded = recordings.make(settings, environments, sandbox, options, reporter)
        again = examined([row for row in rows if row.key in recorded], predictions, settings, options, recordings)
        samples, own = samples | again[0], own | again[1]
        work = Work(settings, environments, sandbox)
        samples, gold = execute(rows, predictions, samples, own, work, options, folder, reporter)
    passes = None if gold is None else {key: item.passes for key, item in gold.items()}
    material = Material(rows, names, len(every), samples, passes, predictions.declared)
    report = {
        "schema_version": REPORT_VERSION,
        "headline": options.protocol,
        "error_classes": CLASSES,
        "protocols": {name: protocol_report(material, name) for name in PROTOCOLS},
        "gold_fails_here": [] if gold is None else [g.failure for g in gold.values() if g.failure],
        "differences": differences(material),
        "provenance": {
            **_provenance(dataset, predictions, options, environments, gold, started),
            "arguments_read_by": {
                names[number]: "names as written" if failed else "the program's own flags"
                for number, failed in sorted(read.items())
            },
        },
    }
    _write(folder, rows, names, samples, report)
    ungraded = sum(sample.ungraded for some in samples.values() for sample in some)
    ungraded += sum(g.passes["strict"] is None for g in (gold or {}).values())
    return Evaluation(folder, report, ungraded)


def declared_samples(predictions: Path, reporter: Reporter) -> int | None:
    """The number of samples that ``predict`` wrote down beside the file; None where there is no such record."""
    from .predict.meta import declared_by

    record = declared_by(predictions)
    if record is None:
        return None
    if not record.unchanged:
        reporter.warn(f"{predictions} was changed since predict wrote it; it was to have {record.samples} samples each")
    return record.samples


def examined(
    rows: Sequence[Row],
    predictions: Predictions,
    settings: dict[Key, Setting],
    options: Options,
    recordings: Recordings | None,
) -> tuple[dict[Key, list[Sample]], dict[Key, Sample], dict[int, str]]:
    """All samples judged before they run, each row's own output too, and github_id -> why its files cannot be read."""
    from ...curation.source import open_tree

    samples: dict[Key, list[Sample]] = {}
    own: dict[Key, Sample] = {}
    trees: dict[int, PinnedTree | None] = {}
    failed: dict[int, str] = {row.github_id: "not asked for" for row in rows}
    with ExitStack() as stack:
        for row in rows:
            if row.github_id not in trees:
                trees[row.github_id] = None
                if row.key in settings:
                    try:
                        tree = open_tree(settings[row.key].repository, clones_dir(), options.mirrors)
                        trees[row.github_id] = stack.enter_context(tree)
                        failed[row.github_id] = ""
                    except BenchwrightError as error:
                        failed[row.github_id] = str(error)
            files = trees[row.github_id]
            recorder = recordings.of(row) if recordings else None
            texts = enumerate(predictions.samples[row.key])
            judged = [examine(row, i, text, files, recorder) for i, text in (*texts, (0, row.output))]
            *samples[row.key], own[row.key] = map(recordings.judged, judged) if recordings else judged
    return samples, own, failed


def _write(
    folder: Path, rows: Sequence[Row], names: dict[int, str], samples: dict[Key, list[Sample]], report: dict[str, Any]
) -> None:
    """Everything a reader of the run needs, the report last: its presence says that the run is whole."""
    every = [sample for row in rows for sample in samples[row.key]]
    wanted = {row.key: arguments_of(row) for row in rows}
    _write_lines(folder / "results.jsonl", (sample.line() for sample in every))
    _write_lines(
        folder / "samples.jsonl",
        (
            {
                "github_id": sample.key[0],
                "id": sample.key[1],
                "sample": sample.index,
                "answer": sample.answer,
                "arguments": sample.comparison(wanted[sample.key]),
                "execution": sample.execution,
            }
            for sample in every
        ),
    )
    _write_lines(
        folder / "examples.jsonl",
        (
            {
                "github_id": row.github_id,
                "id": row.id,
                "repository": names[row.github_id],
                "task": list(row.task) if row.task_id is None else row.task_id,
                "type": row.type,
                "path": row.path,
                "instruction": row.instruction,
                "arguments": row.arguments,
                "output": row.output,
            }
            for row in rows
        ),
    )
    atomic_write(folder / "report.json", json.dumps(report, ensure_ascii=False, indent=2) + "\n")


def _write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    """JSON lines; text that UTF-8 cannot hold is written as escapes."""
    texts = []
    for line in lines:
        text = json.dumps(line, ensure_ascii=False)
        texts.append(text if text.isascii() or is_text(text) else json.dumps(line))
    atomic_write(path, "".join(f"{text}\n" for text in texts))


# provenance ------------------------------------------------------------------------------------------------


def _provenance(
    dataset: Dataset,
    predictions: Predictions,
    options: Options,
    environments: dict[str, str],
    gold: dict[Key, Gold] | None,
    started: float,
) -> dict[str, Any]:
    sandboxes = sorted({g.sandbox for g in (gold or {}).values() if g.sandbox})
    return {
        "toolkit": toolkit_version(),
        "protocol_versions": PROTOCOLS,
        "release": {
            "name": Path(dataset.name).name if Path(dataset.name).exists() else dataset.name,
            "revision": dataset.revision,
            "data_sha256": dataset.digest(),
        },
        "predictions": {
            "sha256": predictions.digest,
            "samples": VARYING if predictions.declared is None else predictions.declared,
            "ignored_samples": predictions.ignored,
        },
        "executed": options.execute,
        "limit": options.limit,
        "only": {"repositories": list(options.repositories), "type": options.type},
        "sandbox": sandboxes,
        "environments": environments,
        "intervals": {
            "method": "percentile bootstrap over tasks; over_repositories: over repositories",
            "level": LEVEL,
            "draws": DRAWS,
            "seed": SEED,
        },
        "machine": {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "duration_s": round(time.monotonic() - started, 3),
            "platform": platform.platform(),
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
            "workers": options.workers,
            "engine": options.engine,
        },
    }

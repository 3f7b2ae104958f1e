"""``predict``: a release and a model in, predictions out; interrupted at any moment, it goes on where it was."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from ....core import toolkit_version
from ....core.endpoint import Endpoint, check_base_url
from ....core.errors import BenchwrightError
from ....core.files import atomic_write
from ....core.pacing import Pace
from ....core.progress import Reporter
from ...dataset import Dataset
from ...rows import Row
from ..prompts import CONTEXT_TOKENS, Prompt, Prompts
from ..tokens import TOKENIZER
from .asking import Asking
from .journal import Journal, Slot
from .meta import META_VERSION, meta_path

__all__ = ["Options", "Predicted", "predict", "preview"]

MILLION = 1_000_000


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    model: str
    setting: str
    base_url: str
    samples: int = 5
    temperature: float = 1.0
    """ML-Bench's."""
    max_tokens: int = 8192
    """Tokens an answer may have; ML-Bench's."""
    context_tokens: int = CONTEXT_TOKENS
    concurrency: int = 8
    """Requests in flight."""
    per_minute: float | None = None
    """Requests begun in a minute; None: as fast as the endpoint answers."""
    timeout_s: float = 600
    limit: int | None = None
    """The first so many examples."""
    price_in: float | None = None
    price_out: float | None = None
    """Money for a million tokens of prompts and of answers."""
    mirrors: tuple[str, ...] = ()

    def parameters(self) -> dict[str, Any]:
        """What is sent beside the messages."""
        return {"model": self.model, "temperature": self.temperature, "max_tokens": self.max_tokens}


@dataclass(frozen=True)
class Predicted:
    """What one call did."""

    path: Path
    meta: dict[str, Any]
    """What ``FILE.meta.json`` says."""
    asked: int
    """Samples had by this call."""
    retries: int
    torn: int
    """Answers that an earlier call was killed in the middle of writing; they were asked for again."""
    stopped: BenchwrightError | None
    """Why it stopped before it had asked for everything."""


def predict(dataset: Dataset, options: Options, path: Path, key: str | None, reporter: Reporter) -> Predicted:
    """Ask for every sample that ``path``'s journal does not hold, then write the predictions and what they are.

    ``key`` is sent to the endpoint and goes nowhere else.

    Raises:
        BenchwrightError: the release or the options are wrong, the journal belongs to other options, or ``path`` is
            something that predict did not write.
    """
    check_base_url(options.base_url)
    journal_path = path.with_name(f"{path.name}.journal")
    if path.is_dir() or (path.exists() and not journal_path.exists()):
        raise BenchwrightError(
            "there is something that predict did not write", where=str(path), remedy="name another file with -o"
        )
    rows = _rows(dataset, options)
    prompts = _prompts(dataset, rows, options)
    slots = [(*row.key, sample) for row in rows for sample in range(options.samples)]
    with Journal.opened(journal_path, _identity(dataset, options)) as journal:
        missing = sum(slot not in journal.answers for slot in slots)
        if missing < len(slots):
            reporter.say(f"{len(slots) - missing} of {len(slots)} samples are in the journal; {missing} are asked for")
        try:
            with reporter.track("asking", missing) as advance:
                asking = asyncio.run(_ask(rows, prompts, journal, options, key, reporter, advance)) if missing else None
        except KeyboardInterrupt:
            reporter.say(f"interrupted; every answer that came is in {journal_path}, and the same command goes on")
            raise
        reasons = asking.reasons if asking else {}
        meta = _write(path, dataset, options, rows, journal, reasons)
        return Predicted(
            path,
            meta,
            asked=missing - len(meta["missing"]),
            retries=asking.retries if asking else 0,
            torn=journal.torn,
            stopped=asking.stopped if asking else None,
        )


def preview(dataset: Dataset, options: Options, reporter: Reporter) -> dict[str, Any]:
    """What would be asked: the prompt of each repository's first example, and the tokens of all."""
    rows = _rows(dataset, options)
    prompts = _prompts(dataset, rows, options)
    first: dict[int, Prompt] = {}
    total = most = 0
    with reporter.track("prompts", len(rows)) as advance:
        for row in rows:
            prompt = prompts.of(row)
            first.setdefault(row.github_id, prompt)
            total += prompt.tokens
            most = max(most, prompt.tokens)
            advance(f"{row.github_id}/{row.id}: {prompt.tokens} tokens")
    tokens = total * options.samples
    return {
        "requests": len(rows) * options.samples,
        "prompt_tokens": tokens,
        "longest_prompt_tokens": most,
        "answer_tokens_at_most": len(rows) * options.samples * options.max_tokens,
        "tokens_counted_by": TOKENIZER,
        "prompt_cost": None if options.price_in is None else tokens * options.price_in / MILLION,
        "prompts": [prompt.value() for prompt in first.values()],
    }


def _rows(dataset: Dataset, options: Options) -> list[Row]:
    return list(dataset.rows(dataset.main_split()))[: options.limit]


def _prompts(dataset: Dataset, rows: Sequence[Row], options: Options) -> Prompts:
    return Prompts(dataset, rows, options.setting, options.context_tokens, options.mirrors)


def _identity(dataset: Dataset, options: Options) -> dict[str, Any]:
    """What answers must have in common to stand in one file. The number of samples may grow, the address move."""
    return {
        **options.parameters(),
        "setting": options.setting,
        "context_tokens": options.context_tokens if options.setting == "code" else None,
        "dataset_digest": dataset.digest(),
    }


async def _ask(
    rows: Sequence[Row],
    prompts: Prompts,
    journal: Journal,
    options: Options,
    key: str | None,
    reporter: Reporter,
    advance: Callable[[str], None],
) -> Asking:
    endpoint = Endpoint(
        options.base_url, key, options.parameters(), timeout_s=options.timeout_s, connections=options.concurrency
    )
    async with endpoint:
        asking = Asking(endpoint, journal, Pace(options.per_minute), reporter, advance)
        await asking.all(_wanted(rows, prompts, journal, options.samples), options.concurrency)
    return asking


def _wanted(
    rows: Sequence[Row], prompts: Prompts, journal: Journal, samples: int
) -> Iterator[tuple[Slot, Callable[[], Prompt]]]:
    """Each missing sample with its prompt, which is made once an example and only where it is needed."""
    stored: dict[tuple[int, int], str] = {slot[:2]: answer.prompt for slot, answer in journal.answers.items()}
    for row in rows:
        made: list[Prompt] = []
        prompt_of = partial(_made, made, prompts, row, stored.get(row.key), journal.path)
        for sample in range(samples):
            slot = (*row.key, sample)
            if slot not in journal.answers:
                yield slot, prompt_of


def _made(made: list[Prompt], prompts: Prompts, row: Row, stored: str | None, journal: Path) -> Prompt:
    if not made:
        prompt = prompts.of(row)
        if stored is not None and stored != prompt.digest:
            raise BenchwrightError(
                f"the prompt of example {row.github_id}/{row.id} is not the one that earlier samples answered",
                where=str(journal),
                remedy="finish with the version of benchwright that began, or name another file with -o",
            )
        made.append(prompt)
    return made[0]


# what is written -------------------------------------------------------------------------------------------


def _write(
    path: Path,
    dataset: Dataset,
    options: Options,
    rows: Sequence[Row],
    journal: Journal,
    reasons: dict[Slot, str],
) -> dict[str, Any]:
    """Write the predictions that are there, and what they are; without any, only the latter."""
    lines: list[str] = []
    missing: list[dict[str, Any]] = []
    had: list[Slot] = []
    for row in rows:
        slots: list[Slot] = [(*row.key, sample) for sample in range(options.samples)]
        here = [slot for slot in slots if slot in journal.answers]
        had += here
        missing += [_missing(slot, reasons) for slot in slots if slot not in journal.answers]
        if here:
            outputs = [journal.answers[slot].content for slot in here]
            lines.append(json.dumps({"github_id": row.github_id, "id": row.id, "output": outputs}))
    text = "".join(f"{line}\n" for line in lines)
    meta = _meta(dataset, options, journal, had, missing, hashlib.sha256(text.encode()).hexdigest())
    if lines:
        atomic_write(path, text)
    atomic_write(meta_path(path), json.dumps(meta, ensure_ascii=False, indent=2) + "\n")
    return meta


def _missing(slot: Slot, reasons: dict[Slot, str]) -> dict[str, Any]:
    return {
        "github_id": slot[0],
        "id": slot[1],
        "sample": slot[2],
        "reason": reasons.get(slot, "not asked for yet"),
    }


def _meta(
    dataset: Dataset,
    options: Options,
    journal: Journal,
    had: Sequence[Slot],
    missing: list[dict[str, Any]],
    digest: str,
) -> dict[str, Any]:
    answers = [journal.answers[slot] for slot in had]
    tokens_in = sum(answer.prompt_tokens for answer in answers)
    tokens_out = sum(answer.completion_tokens for answer in answers)
    counted = sum(answer.counted for answer in answers)
    priced = options.price_in is not None or options.price_out is not None
    cost = (tokens_in * (options.price_in or 0) + tokens_out * (options.price_out or 0)) / MILLION
    return {
        "schema_version": META_VERSION,
        "samples": options.samples,
        "complete": not missing,
        "had": len(had),
        "missing": missing,
        "empty": sum(not answer.content.strip() for answer in answers),
        "finish_reasons": dict(sorted(Counter(str(answer.finish_reason) for answer in answers).items())),
        "predictions_sha256": digest,
        "dataset": dataset.name,
        "dataset_revision": dataset.revision,
        "endpoint": options.base_url.rstrip("/"),
        **_identity(dataset, options),
        "limit": options.limit,
        "tokens": {
            "prompts": tokens_in,
            "answers": tokens_out,
            "samples_counted_by_endpoint": counted,
            "samples_estimated": len(answers) - counted,
            "estimated_by": TOKENIZER,
        },
        "cost": cost if priced else None,
        "prices_per_million_tokens": [options.price_in, options.price_out] if priced else None,
        "benchwright": toolkit_version(),
        "written_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }

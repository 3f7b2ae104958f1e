"""``predict``: asking a model for the answers that ``evaluate`` scores."""

from __future__ import annotations

import math
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from .evaluation import MOST_SAMPLES
from .export import mirrors_of
from .session import session_of

__all__ = ["register"]


class Setting(StrEnum):
    """What the model is given of the repository."""

    CODE = "code"
    RETRIEVAL = "retrieval"
    ORACLE = "oracle"
    NONE = "none"


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command()(predict)


def predict(
    context: typer.Context,
    release: Annotated[
        str, typer.Argument(metavar="RELEASE", help="Release folder, Parquet or JSONL file, or Hub id: owner/name@tag.")
    ],
    model: Annotated[str, typer.Option(metavar="NAME", help="The model, as the endpoint calls it.")],
    setting: Annotated[
        Setting,
        typer.Option(help="What the model is given: the files, the passage BM25 finds, the README segment, nothing."),
    ],
    base_url: Annotated[
        str,
        typer.Option(
            metavar="URL",
            envvar=["BENCHWRIGHT_PREDICT_BASE_URL", "OPENAI_BASE_URL"],
            help="Any OpenAI-compatible endpoint; the key is read from OPENAI_API_KEY and never written down.",
        ),
    ] = "https://api.openai.com/v1",
    samples: Annotated[int, typer.Option(min=1, max=MOST_SAMPLES, metavar="N", help="Answers to each example.")] = 5,
    temperature: Annotated[float, typer.Option(min=0, max=100, metavar="T", help="The default is ML-Bench's.")] = 1.0,
    max_tokens: Annotated[int, typer.Option(min=1, metavar="N", help="Tokens that an answer may have.")] = 8192,
    context_tokens: Annotated[
        int, typer.Option(min=1, metavar="N", help="Tokens of files in the setting code (estimated, about 10 % off).")
    ] = 20_000,
    concurrency: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Requests at a time.")] = 8,
    per_minute: Annotated[
        float | None, typer.Option(min=0.001, metavar="N", help="Requests a minute; default: no limit.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.001, metavar="S", help="Seconds to wait for an answer.")] = 600,
    price: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="IN OUT", help="Price of a million tokens of prompts and of answers, to know the cost."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="The first N examples only.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: MODEL.SETTING.jsonl.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show a prompt of each repository and count tokens; ask nothing.")
    ] = False,
) -> None:
    """Ask a model for answers, as many as are missing: interrupted, the same command goes on where it was.

    For example: benchwright predict releases/1.0.0 --model gpt-4o --setting oracle -o predictions.jsonl
    """
    from ...export.dataset import open_dataset
    from ...export.evaluation import predict as asking
    from ..errors import BenchwrightError

    session = session_of(context)
    if price and not all(0 <= amount < math.inf for amount in price):
        raise BenchwrightError("--price is two amounts of money, none below 0", remedy="for example --price 2.5 10")
    options = asking.Options(
        model=model,
        setting=setting.value,
        base_url=base_url,
        samples=samples,
        temperature=temperature,
        max_tokens=max_tokens,
        context_tokens=context_tokens,
        concurrency=concurrency,
        per_minute=per_minute,
        timeout_s=timeout,
        limit=limit,
        price_in=price[0] if price else None,
        price_out=price[1] if price else None,
        mirrors=mirrors_of(session),
    )
    dataset = open_dataset(release)
    if dry_run:
        planned = asking.preview(dataset, options, session.reporter)
        session.reporter.result(planned, _planned(planned))
        return
    path = output or Path(f"{model.replace('/', '_')}.{setting.value}.jsonl")
    done = asking.predict(dataset, options, path, os.environ.get("OPENAI_API_KEY"), session.reporter)
    session.reporter.result({"predictions": str(path), "asked": done.asked, "retries": done.retries, **done.meta})
    if done.meta["had"]:
        for line in _summary(done.meta, done.retries, done.torn):
            session.reporter.say(line)
    _finish(done, release)


def _planned(planned: dict[str, Any]) -> list[str]:
    lines = []
    for prompt in planned["prompts"]:
        lines.append(f"--- {prompt['github_id']}/{prompt['id']}, {prompt['repository']}, {prompt['tokens']} tokens ---")
        lines += [message["content"] for message in prompt["messages"]]
    cost = planned["prompt_cost"]
    lines.append(
        f"--- {planned['requests']} requests, {planned['prompt_tokens']} tokens of prompts"
        f" (longest {planned['longest_prompt_tokens']}; {planned['tokens_counted_by']})"
        + (f", {cost:.2f} for them" if cost is not None else "")
        + f"; answers have at most {planned['answer_tokens_at_most']} tokens"
    )
    return lines


def _summary(meta: dict[str, Any], retries: int, torn: int) -> list[str]:
    tokens = meta["tokens"]
    counted = f"{tokens['samples_estimated']} samples estimated" if tokens["samples_estimated"] else "by the endpoint"
    cost = f", {meta['cost']:.4f} at the prices given" if meta["cost"] is not None else ""
    lines = [
        f"{meta['had']} samples, {len(meta['missing'])} missing; {retries} requests repeated",
        f"{tokens['prompts']} tokens of prompts, {tokens['answers']} of answers ({counted}){cost}",
    ]
    if torn:
        lines.append(f"{torn} answers were only half written when an earlier call ended; they were asked for again")
    if meta["empty"]:
        lines.append(f"{meta['empty']} answers have no text: the model wrote none (see finish_reasons)")
    if cut := meta["finish_reasons"].get("length"):
        lines.append(f"{cut} answers reached --max-tokens {meta['max_tokens']} and end there")
    return lines


def _finish(done: Any, release: str) -> None:
    """Say what comes next; exit code 2 while samples are missing."""
    from ..errors import InfrastructureError

    if done.stopped:
        raise done.stopped
    if done.meta["missing"]:
        reasons = sorted({item["reason"] for item in done.meta["missing"]})
        raise InfrastructureError(
            f"{len(done.meta['missing'])} samples could not be had: {'; '.join(reasons[:3])}",
            where=str(done.path),
            remedy="the same command asks for them again"
            + ("; scored as it is, they count as failures" if done.meta["had"] else ""),
        )

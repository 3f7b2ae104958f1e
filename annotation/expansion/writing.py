"""Instructions by a model behind any OpenAI-compatible endpoint, taken only if they give away no code.

That every value is stated is what the gate checks, for a model's sentences as for ours.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...core.endpoint import Answer, Endpoint, RefusedError, TryAgainError, check_base_url
from ...core.errors import InfrastructureError
from ...core.models import Example
from ...core.pacing import ATTEMPTS, LONGEST_WAIT, Pace, backoff
from ...core.progress import Reporter
from ...core.tasks import TaskFolder
from ...validators.arguments.values import text
from .wording import spoken, title_of

__all__ = ["Writer", "leak_of"]

MOST_TOKENS = 2000
TIMEOUT_S = 120.0
AT_A_TIME = 8
LONGEST = 1500
"""Characters of an instruction."""
SHOWN = 3000
"""Characters of the README segment that the model sees."""
_FENCE = re.compile(r"```|~~~|<code|^\s*(?:\$|>>>)\s", re.MULTILINE)
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z]")
_SCRIPT = re.compile(r"[\w-]\.(?:py|sh|bash|ipynb)\b")
_STATEMENT = re.compile(r"\b\w+=[^\s=]|^\s*import \w+|^\s*from \S+ import|\bpython3? -", re.MULTILINE)
_ORDERS = (
    "You write the instructions of a benchmark for code generation. Each is what a user of a repository would ask a "
    "colleague, in one to four English sentences, without greeting. State every setting with exactly the value given, "
    "in digits as given, and no other setting. Give away nothing of the answer: no code, no command, no option such "
    "as --name, no name of a script, no backticks. Answer with the instruction alone."
)


@dataclass
class Writer:
    """A model that is asked for instructions."""

    model: str
    base_url: str
    key: str | None
    reporter: Reporter = field(default_factory=lambda: Reporter(quiet=True))

    def __post_init__(self) -> None:
        check_base_url(self.base_url)

    def rewritten(self, item: TaskFolder, drafts: Sequence[Example], refused: Counter[str]) -> list[Example]:
        """The drafts with the model's instructions; ``refused`` counts those it wrote with code in them, or not at all.

        Raises:
            BenchwrightError: the endpoint cannot be reached, or will not answer anything.
        """
        answers = asyncio.run(self._answers([_messages(item, draft) for draft in drafts]))
        kept: list[Example] = []
        for draft, answer in zip(drafts, answers, strict=True):
            told = answer.content.strip().strip('"').strip() if answer is not None else ""
            leak = leak_of(told, draft) if answer is not None else "no answer to this prompt"
            if answer is not None and answer.finish_reason != "stop":
                leak = "an answer that was cut short"
            if leak:
                refused[f"the model: {leak}"] += 1
            else:
                kept.append(draft.model_copy(update={"instruction": told}))
        return kept

    async def _answers(self, asked: Sequence[list[dict[str, str]]]) -> list[Answer | None]:
        parameters = {"model": self.model, "temperature": 1.0, "max_tokens": MOST_TOKENS}
        gate, pace = asyncio.Semaphore(AT_A_TIME), Pace(None)
        async with Endpoint(self.base_url, self.key, parameters, TIMEOUT_S, AT_A_TIME) as endpoint:

            async def one(messages: list[dict[str, str]]) -> Answer | None:
                async with gate:
                    return await self._patiently(endpoint, pace, messages)

            try:
                async with asyncio.TaskGroup() as group:
                    waiting = [group.create_task(one(messages)) for messages in asked]
            except ExceptionGroup as errors:
                raise errors.exceptions[0] from None
        return [task.result() for task in waiting]

    async def _patiently(self, endpoint: Endpoint, pace: Pace, messages: list[dict[str, str]]) -> Answer | None:
        """The answer, asked for again after a failure that may pass; None where this prompt is refused."""
        reason = ""
        for attempt in range(1, ATTEMPTS + 1):
            await pace.turn()
            try:
                return await endpoint.ask(messages)
            except RefusedError:
                return None
            except TryAgainError as error:
                reason = error.reason
                if (error.wait or 0) > LONGEST_WAIT:
                    break
                self.reporter.say(f"{endpoint.url}: {reason}; asking again")
                pace.hold(error.wait or 0)
                await asyncio.sleep(backoff(attempt) if attempt < ATTEMPTS else 0)
        raise InfrastructureError(
            f"no answer in {ATTEMPTS} tries; the last: {reason}",
            where=endpoint.url,
            remedy="the same command goes on: tasks that are finished are written",
        )


def _messages(item: TaskFolder, draft: Example) -> list[dict[str, str]]:
    about = title_of(item.task, item.oracle) or item.task.repository.name
    settings = {spoken(name): value for name, value in draft.arguments.items()}
    asked = (
        f"Repository: {item.task.repository.name}\nAbout: {about}\n"
        f"What it is to be answered with: {'Python code' if draft.type == 'Python Code' else 'a shell script'}\n"
        f"Settings: {json.dumps(settings, ensure_ascii=False)}\n"
        f"From the README, to know what it does:\n{item.oracle[:SHOWN]}"
    )
    return [{"role": "system", "content": _ORDERS}, {"role": "user", "content": asked}]


def leak_of(told: str, draft: Example) -> str:
    """What an instruction gives away of the answer; empty where nothing. Argument values may stand in it."""
    if not told or len(told) > LONGEST:
        return "an empty or endless answer"
    bare = told
    for value in sorted((text(value).strip() for value in draft.arguments.values()), key=len, reverse=True):
        if value:
            bare = re.sub(rf"(?<![\w.-]){re.escape(value)}(?!\w)", "", bare)
    lines = (line.strip() for line in draft.output.splitlines())
    if _FENCE.search(bare) or _STATEMENT.search(bare) or any(len(line) > 8 and line in told for line in lines):
        return "code in the instruction"
    if _FLAG.search(bare):
        return "an option in the instruction"
    return "a script's name in the instruction" if _SCRIPT.search(bare) else ""

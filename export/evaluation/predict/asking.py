"""Asking for what is missing: a bounded number of requests at a time, each sample until it is had or given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ....core.endpoint import Answer, Endpoint, RefusedError, TryAgainError
from ....core.errors import BenchwrightError, InfrastructureError
from ....core.pacing import ATTEMPTS, LONGEST_WAIT, Pace, backoff
from ....core.progress import Advance, Reporter
from ...rows import Key
from ..prompts import Prompt
from ..tokens import count_tokens
from .journal import Journal, Slot, Stored

__all__ = ["Asking"]

HOPELESS = 10
"""Samples given up in a row, with not one had between them, after which the endpoint is taken to be down."""
WORTH_SAYING_S = 5


@dataclass
class Asking:
    """The state that all requests of one run share."""

    endpoint: Endpoint
    journal: Journal
    pace: Pace
    reporter: Reporter
    advance: Advance
    reasons: dict[Slot, str] = field(default_factory=dict)
    """Why a sample could not be had."""
    retries: int = 0
    stopped: BenchwrightError | None = None
    """Why nothing more is asked."""
    _refused: dict[Key, str] = field(default_factory=dict)
    _troubles: set[str] = field(default_factory=set)
    _given_up: int = 0

    async def all(self, wanted: Iterator[tuple[Slot, Callable[[], Prompt]]], workers: int) -> None:
        """Ask for every sample of ``wanted``, ``workers`` at a time.

        Requests that are under way when something stops the run are waited for: they are paid for.
        """
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self._work(wanted))

    async def _work(self, wanted: Iterator[tuple[Slot, Callable[[], Prompt]]]) -> None:
        for slot, prompt_of in wanted:
            if self.stopped:
                return
            try:
                await self._have(slot, prompt_of)
            except BenchwrightError as error:
                self.stopped = self.stopped or error
                return

    async def _have(self, slot: Slot, prompt_of: Callable[[], Prompt]) -> None:
        key = slot[:2]
        if key in self._refused:
            self._give_up(slot, self._refused[key])
            return
        prompt = prompt_of()
        reason = ""
        for attempt in range(1, ATTEMPTS + 1):
            await self.pace.turn()
            if self.stopped:
                return
            try:
                answer = await self.endpoint.ask(prompt.messages)
                await self._keep(slot, prompt, answer, attempt)
                return
            except RefusedError as error:
                self._refused[key] = str(error)
                self._give_up(slot, str(error))
                return
            except TryAgainError as error:
                reason = error.reason
                if (error.wait or 0) > LONGEST_WAIT:
                    reason += f" (to be tried in {error.wait:.0f} s)"
                    break
                if attempt < ATTEMPTS:
                    self.retries += 1
                    self._say_once(reason)
                    await self._rest(error, attempt)
        self._give_up(slot, reason)
        self._given_up += 1
        if self._given_up >= HOPELESS:
            raise InfrastructureError(
                f"{HOPELESS} samples in a row could not be had; the last: {reason}",
                where=self.endpoint.url,
                remedy="the same command goes on where it stopped",
            )

    def _say_once(self, reason: str) -> None:
        """Growing waits look like a program that hangs, unless it says what it waits for."""
        if reason not in self._troubles:
            self._troubles.add(reason)
            self.reporter.warn(f"{self.endpoint.url}: {reason}; up to {ATTEMPTS} tries a sample, with growing waits")

    async def _rest(self, error: TryAgainError, attempt: int) -> None:
        if error.wait:
            if error.wait >= WORTH_SAYING_S:
                self.reporter.say(f"the endpoint asks to wait {error.wait:.0f} s ({error.reason})")
            self.pace.hold(error.wait)  # what it says to one request holds for all
        await asyncio.sleep(backoff(attempt))

    async def _keep(self, slot: Slot, prompt: Prompt, answer: Answer, attempt: int) -> None:
        counted = answer.prompt_tokens is not None and answer.completion_tokens is not None
        stored = Stored(
            content=answer.content,
            prompt=prompt.digest,
            finish_reason=answer.finish_reason,
            prompt_tokens=prompt.tokens if answer.prompt_tokens is None else answer.prompt_tokens,
            completion_tokens=(
                count_tokens(answer.content) if answer.completion_tokens is None else answer.completion_tokens
            ),
            counted=counted,
        )
        about = {"attempts": attempt, "endpoint": self.endpoint.url, "response": answer.response}
        await self.journal.store(slot, stored, about)
        self._given_up = 0
        self.advance(f"{_name(slot)}: {stored.completion_tokens} tokens, {answer.finish_reason}")

    def _give_up(self, slot: Slot, reason: str) -> None:
        self.reasons[slot] = reason
        self.advance(f"{_name(slot)}: not had, {reason}")


def _name(slot: Slot) -> str:
    return f"{slot[0]}/{slot[1]} sample {slot[2] + 1}"

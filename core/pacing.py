"""When to ask: a rate for all requests together, waits that grow, and the point at which to give up."""

from __future__ import annotations

import asyncio
import math
import random
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["ATTEMPTS", "LONGEST_WAIT", "Pace", "backoff", "retry_after"]

ATTEMPTS = 8
"""Times one sample is asked for in one run before it is given up: about two minutes of waiting."""
FIRST_WAIT = 0.5
LONGEST_BACKOFF = 60.0
LONGEST_WAIT = 600.0
"""Seconds. A server that asks for a longer wait is believed, and the sample given up for this run."""


def backoff(attempt: int) -> float:
    """Seconds to wait after the ``attempt``-th failure (from 1): doubling, of random length so that not all return
    at once."""
    longest = min(LONGEST_BACKOFF, FIRST_WAIT * 2**attempt)
    return random.uniform(longest / 2, longest)  # noqa: S311 (no secret)


def retry_after(value: str | None) -> float | None:
    """Seconds that a ``Retry-After`` header asks for (a number or a date, RFC 9110); None if it says nothing."""
    if value is None:
        return None
    try:
        seconds = float(value)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


class Pace:
    """Lets requests begin at most so many times a minute, and none while the server has asked for silence."""

    def __init__(self, per_minute: float | None) -> None:
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0
        self._silent_until = 0.0

    def hold(self, seconds: float) -> None:
        """Nobody asks for so long."""
        self._silent_until = max(self._silent_until, time.monotonic() + seconds)

    async def turn(self) -> None:
        """Wait until a request may begin."""
        while True:
            now = time.monotonic()
            start = max(self._next, self._silent_until)
            if start <= now:
                self._next = now + self._gap
                return
            await asyncio.sleep(start - now)

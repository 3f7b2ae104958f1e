"""The journal: one line for each answer, appended the moment it came and flushed to disk before the next is asked.

The first line says what the answers are answers to. A line after it is ``{"github_id", "id", "sample", "prompt",
"content", "finish_reason", "tokens", "attempts", "endpoint", "response"}``, ``response`` being the endpoint's whole
object, usage included. A line that a killed process left unfinished is passed over: its sample is asked for again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ....core.errors import BenchwrightError, InfrastructureError
from ....core.files import append_lines
from ...rows import Key

__all__ = ["Journal", "Slot", "Stored"]

JOURNAL_VERSION = 1
Slot = tuple[int, int, int]
"""``(github_id, id, sample)``; samples count from 0."""


@dataclass(frozen=True)
class Stored:
    """What a later step needs of one answer; the rest stays on disk."""

    content: str
    prompt: str
    """The digest of the prompt it answers."""
    finish_reason: str | None
    prompt_tokens: int
    completion_tokens: int
    counted: bool
    """Whether the endpoint counted the tokens; else they are estimated."""


class Journal:
    """The answers of one predictions file. Open it with :meth:`opened`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.answers: dict[Slot, Stored] = {}
        self.torn = 0
        """Unfinished lines passed over."""
        self._waiting: list[str] = []
        self._writing = asyncio.Lock()
        self._broken: InfrastructureError | None = None

    @classmethod
    @contextmanager
    def opened(cls, path: Path, identity: dict[str, Any]) -> Iterator[Journal]:
        """Read the journal at ``path``, or begin it; nobody else writes it meanwhile.

        Raises:
            BenchwrightError: its answers are answers to something else than ``identity``, a line is no line of a
                journal, or another process writes it.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_name(f".{path.name}.lock"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise BenchwrightError(
                "another process is asking for these samples", where=str(path), remedy="wait for it, or end it"
            ) from None
        try:
            journal = cls(path)
            journal._read(identity)
            yield journal
        finally:
            lock.release()

    def _read(self, identity: dict[str, Any]) -> None:
        header = {"schema_version": JOURNAL_VERSION, **identity}
        found: dict[str, Any] | None = None
        for where, fields in self._lines():
            if found is None:
                found = fields
                self._compare(found, header)
            else:
                self._take(fields, where)
        if found is None:
            append_lines(self.path, [json.dumps(header)])

    def _lines(self) -> Iterator[tuple[str, dict[str, Any]]]:
        try:
            with open(self.path, "rb") as file:
                for number, raw in enumerate(file, 1):
                    try:
                        fields = json.loads(raw)
                    except ValueError:
                        self.torn += bool(raw.strip())
                        continue
                    if not isinstance(fields, dict):
                        raise BenchwrightError("no line of a journal of answers", where=f"{self.path}:{number}")
                    yield f"{self.path}:{number}", fields
        except FileNotFoundError:
            return
        except OSError as error:
            raise InfrastructureError(f"cannot read it: {error.strerror}", where=str(self.path)) from error

    def _compare(self, found: dict[str, Any], header: dict[str, Any]) -> None:
        other = [name for name in sorted({*header, *found}) if found.get(name) != header.get(name)]
        if other:
            said = "; ".join(f"{name} was {found.get(name)!r}, now {header.get(name)!r}" for name in other)
            raise BenchwrightError(
                f"its answers were given to another question: {said}",
                where=str(self.path),
                remedy="repeat the options of the first call, or name another file with -o",
            )

    def _take(self, fields: dict[str, Any], where: str) -> None:
        try:
            slot = (int(fields["github_id"]), int(fields["id"]), int(fields["sample"]))
            tokens = fields["tokens"]
            self.answers[slot] = Stored(
                content=str(fields["content"]),
                prompt=str(fields["prompt"]),
                finish_reason=fields["finish_reason"],
                prompt_tokens=int(tokens["prompt"]),
                completion_tokens=int(tokens["completion"]),
                counted=bool(tokens["counted_by_endpoint"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise BenchwrightError(
                f"no line of a journal of answers: {type(error).__name__} {error}",
                where=where,
                remedy="remove the line: its sample is then asked for again",
            ) from error

    async def store(self, slot: Slot, stored: Stored, about: dict[str, Any]) -> None:
        """Keep one answer; when this returns it is on disk.

        ``about`` holds what is kept beside it: the raw response, where it came from, how often it was asked for.

        Raises:
            InfrastructureError: it could not be written (no space).
        """
        line = {
            "github_id": slot[0],
            "id": slot[1],
            "sample": slot[2],
            "prompt": stored.prompt,
            "content": stored.content,
            "finish_reason": stored.finish_reason,
            "tokens": {
                "prompt": stored.prompt_tokens,
                "completion": stored.completion_tokens,
                "counted_by_endpoint": stored.counted,
            },
            **about,
        }
        self._waiting.append(json.dumps(line))
        async with self._writing:  # what comes while the disk is busy is written together, by whoever is next
            lines, self._waiting = self._waiting, []
            if lines and not self._broken:
                try:
                    await asyncio.to_thread(append_lines, self.path, lines)
                except InfrastructureError as error:
                    self._broken = error
            if self._broken:
                raise self._broken
        self.answers[slot] = stored

    def samples_of(self, key: Key) -> list[str]:
        """The stored samples of one example, in the order of their numbers."""
        return [self.answers[slot].content for slot in sorted(slot for slot in self.answers if slot[:2] == key)]

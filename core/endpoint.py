"""One request to an OpenAI-compatible chat endpoint, and what its answer means.

An answer is an answer only if it is whole: status 200, complete JSON, a choice with a message and a reason for its
end. Everything else is either worth another try (:class:`TryAgainError`), a refusal of this very prompt
(:class:`RefusedError`), or a mistake that every request would meet (``BenchwrightError``).
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self
from urllib.parse import urlsplit

from .errors import BenchwrightError, PrerequisiteError
from .pacing import retry_after

if TYPE_CHECKING:
    import httpx2

__all__ = ["KEY_VARIABLE", "Answer", "Endpoint", "RefusedError", "TryAgainError", "check_base_url"]

KEY_VARIABLE = "OPENAI_API_KEY"
SECRET_LENGTH = 8
"""Shorter keys ("EMPTY", "x") are placeholders that local servers ask for, no secrets to look for in texts."""
CONNECT_TIMEOUT_S = 30
AGAIN = frozenset({408, 409, 425, 429})
REFUSALS = frozenset({400, 413, 422})
BROKEN = frozenset({None, "error"})
"""Reasons of an end that is none: the server broke off."""
HIDDEN = "[key]"


class TryAgainError(Exception):
    """This request failed, the next may not. ``wait``: the seconds that the server asks for."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait = wait


class RefusedError(Exception):
    """The server will not answer this prompt, however often it is asked (too long, against its rules)."""


@dataclass(frozen=True)
class Answer:
    """One whole answer."""

    content: str
    """The message's text; empty if the model wrote none."""
    finish_reason: str
    prompt_tokens: int | None
    completion_tokens: int | None
    """Tokens as the endpoint counted them, None where it does not say."""
    response: dict[str, Any]


def check_base_url(url: str) -> str:
    """``url`` without a slash at its end.

    Raises:
        BenchwrightError: it is no plain http address, or it carries what may be a secret.
    """
    import httpx2

    try:
        httpx2.URL(url)
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        good = good and not any(character.isspace() for character in url)
    except (ValueError, httpx2.InvalidURL):  # what they say would repeat the address
        good = False
    if not good:
        raise BenchwrightError(
            "the endpoint's address is no http address",
            remedy="for example --base-url http://127.0.0.1:8000/v1",
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BenchwrightError(
            "the endpoint's address carries more than host, port and path; it is recorded, so it must hold no secret",
            remedy=f"put the key into the environment variable {KEY_VARIABLE}",
        )
    return url.rstrip("/")


class Endpoint:
    """An open client. ``parameters`` are sent with every request: model, temperature, max_tokens."""

    def __init__(
        self, base_url: str, key: str | None, parameters: dict[str, Any], timeout_s: float, connections: int
    ) -> None:
        import httpx2

        key = (key or "").strip()
        if not (key.isascii() and key.isprintable()):
            raise PrerequisiteError(f"the key in {KEY_VARIABLE} holds characters that no key has")
        self.url = f"{check_base_url(base_url)}/chat/completions"
        self._key = key
        self._parameters = dict(parameters)
        self._timeout_s = timeout_s
        self._client: httpx2.AsyncClient = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx2.Timeout(timeout_s, connect=min(CONNECT_TIMEOUT_S, timeout_s)),
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
        )

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    async def ask(self, messages: list[dict[str, str]]) -> Answer:
        """Ask once.

        Raises:
            TryAgainError, RefusedError: see there.
            BenchwrightError: no request to this endpoint can succeed (key, address, model).
        """
        import httpx2

        body = {**self._parameters, "messages": messages}
        try:
            async with asyncio.timeout(self._timeout_s):
                reply = await self._client.post(self.url, json=body)
        except TimeoutError:
            raise TryAgainError(f"no answer within {self._timeout_s:g} s") from None
        except httpx2.RequestError as error:
            raise TryAgainError(f"connection: {type(error).__name__}") from None
        text = reply.content.decode("utf-8", "surrogateescape")
        if len(self._key) >= SECRET_LENGTH:
            text = text.replace(self._key, HIDDEN)
        if reply.status_code != 200:
            self._fail(reply.status_code, text, body, retry_after(reply.headers.get("Retry-After")))
        return _answer(text)

    def _fail(self, status: int, text: str, body: dict[str, Any], wait: float | None) -> NoReturn:
        said = f"status {status}{_message(text)}"
        if "insufficient_quota" in text:
            raise BenchwrightError(said, where=self.url, remedy="top up the account; the same command goes on")
        if status in AGAIN or status >= 500:
            raise TryAgainError(said, wait)
        if status in REFUSALS:
            if "max_tokens" in body and "max_completion_tokens" in text:
                # OpenAI's newer models know the limit by this name only, and say so
                self._parameters["max_completion_tokens"] = self._parameters.pop("max_tokens", body["max_tokens"])
                raise TryAgainError(said)
            raise RefusedError(said)
        remedy = "check --base-url and --model"
        if status in (401, 403):
            remedy = f"set {KEY_VARIABLE} to a key that may use this model"
        raise BenchwrightError(said, where=self.url, remedy=remedy)


def _answer(text: str) -> Answer:
    try:
        text.encode("utf-8")  # bytes that were none came as surrogates
        response = json.loads(text)
    except (ValueError, RecursionError):
        raise TryAgainError("the answer is no JSON") from None
    choices = response.get("choices") if isinstance(response, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise TryAgainError(f"the answer holds no message{_message(text)}")
    finish = choice.get("finish_reason")
    content = message.get("content")
    if content is None:
        content = message.get("refusal") or ""  # a refusal, or a model that spent all its tokens on reasoning
    if not isinstance(content, str):
        raise TryAgainError("the answer's content is no text")
    if not isinstance(finish, str) or finish in BROKEN:
        raise TryAgainError(f"the answer was broken off{_message(text)}")
    usage = response.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Answer(content, finish, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"), response)


def _count(usage: dict[str, Any], name: str) -> int | None:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _message(text: str) -> str:
    """What the server says of its error, fit for a line of a terminal."""
    try:
        value = json.loads(text)
        error = value.get("error", value)
        said = error.get("message", "") if isinstance(error, dict) else error
    except (ValueError, AttributeError, RecursionError):
        said = text
    line = " ".join("".join(c if c.isprintable() else " " for c in str(said)).split())
    return f": {line[:200]}" if line else ""

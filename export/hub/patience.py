"""Which failures of the Hub pass by themselves, how long they are waited for, and what is said of the others.

The client library repeats some requests and not others (commits, tags, merges and ``repo_info`` fail at once), so
every conversation with the Hub goes through :func:`patiently`.
"""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ...core.errors import BenchwrightError, InfrastructureError, PrerequisiteError

__all__ = ["CONFLICTS", "TRANSIENT", "hinted_wait", "patiently", "redacted", "settle_for_waiting", "token_in_use"]

T = TypeVar("T")
Say = Callable[[str], None]

TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
CONFLICTS = frozenset({409, 412})
"""Somebody else (or this publisher's own lost request) was faster: look again, then decide."""
ATTEMPTS = 7
LONGEST_WAIT_S = 330.0
"""The Hub counts requests in windows of five minutes; a hint beyond that is left to the user."""
_SECRETS: set[str] = set()
"""Tokens that requests of this process were sent with; short-lived ones stand nowhere else."""


def patiently(what: str, call: Callable[[], T], say: Say, again_on: Collection[int] = TRANSIENT) -> T:
    """Call, and call again after a failure that passes by itself: at most seven times, waiting as the Hub asks.

    ``call`` must be safe to repeat. Without a hint the waits are 1, 2, 4, 8, 16 and 32 seconds.

    Raises:
        InfrastructureError: the Hub or the network kept failing.
        PrerequisiteError, BenchwrightError: the Hub refuses (token, rights, no such thing, invalid content).
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return call()
        except BenchwrightError:
            raise
        except Exception as error:
            wait = settle_for_waiting(error, attempt, again_on)
            if wait is None:
                raise _explained(what, error) from None  # the cause may hold signed addresses
            say(f"{what}: {_brief(error)}; trying again in {wait:.0f} s ({attempt} of {ATTEMPTS - 1})")
            time.sleep(wait)
    raise AssertionError("the last attempt returns or raises")


def settle_for_waiting(error: BaseException, attempt: int, again_on: Collection[int] = TRANSIENT) -> float | None:
    """Seconds to wait before attempt ``attempt + 1``; None where waiting does not help or was enough."""
    if attempt >= ATTEMPTS:
        return None
    status, headers = _answer(error)
    if status is None:
        return float(2 ** (attempt - 1)) if _connection_failed(error) else None
    if status not in again_on:
        return None
    hint = hinted_wait(headers)
    if hint is None:
        return float(2 ** (attempt - 1))
    return hint if hint <= LONGEST_WAIT_S else None


def hinted_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that ``RateLimit`` (draft-ietf-httpapi-ratelimit-headers) or ``Retry-After`` (RFC 9110) ask for."""
    from huggingface_hub.utils._http import parse_ratelimit_headers

    limit = parse_ratelimit_headers(headers)
    if limit is not None and limit.remaining == 0:
        return float(limit.reset_in_seconds + 1)
    text = next((value for name, value in headers.items() if name.lower() == "retry-after"), "").strip()
    if text.isdigit():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def token_in_use() -> str | None:
    """The token requests are sent with: a CI's short-lived one (``HF_OIDC_RESOURCE``), ``HF_TOKEN``, or the stored one.

    Raises:
        PrerequisiteError: the short-lived token was asked for and cannot be had.
    """
    from huggingface_hub import get_token
    from huggingface_hub.errors import OIDCError

    try:
        token = get_token()
    except OIDCError as error:
        raise PrerequisiteError(
            f"no short-lived token: {error}",
            where="HF_OIDC_RESOURCE",
            remedy="let the job mint identity tokens (in GitHub Actions: permissions: id-token: write), "
            "or set HF_OIDC_ID_TOKEN",
        ) from None
    if token:
        _SECRETS.add(token)
    return token


def redacted(text: str) -> str:
    """``text`` without the tokens this process knows or has used."""
    from huggingface_hub import constants

    known = {os.environ.get(name, "") for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_ID_TOKEN")}
    known |= _SECRETS
    try:
        with open(constants.HF_TOKEN_PATH, encoding="utf-8") as file:
            known.add(file.read())
    except (OSError, UnicodeDecodeError):
        pass
    for secret in {item.strip() for item in known} - {""}:
        text = text.replace(secret, "[token]")
    return text


def _http_client() -> Any:
    """The client library's own HTTP client, which it exports under this one name across major versions."""
    return importlib.import_module("huggingface_hub.utils").httpx


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _answer(error: BaseException) -> tuple[int | None, Mapping[str, str]]:
    """Status and headers of the Hub's answer that ``error`` stems from; None where there was no answer."""
    httpx = _http_client()
    for link in _chain(error):
        response = getattr(link, "response", None)
        if isinstance(link, httpx.HTTPError) and isinstance(response, httpx.Response):
            return response.status_code, response.headers
    return None, {}


def _connection_failed(error: BaseException) -> bool:
    httpx = _http_client()
    # an answer that breaks off, or a proxy's page instead of JSON, is trouble of the same kind
    passing = (httpx.TransportError, ConnectionError, TimeoutError, json.JSONDecodeError)
    return any(isinstance(link, passing) for link in _chain(error))


def _brief(error: BaseException) -> str:
    status, _headers = _answer(error)
    return f"the Hub answered {status}" if status else "the connection failed"


def _explained(what: str, error: Exception) -> BenchwrightError:
    status, headers = _answer(error)
    where = _address(error)
    if status is None and not _connection_failed(error):
        said = error.strerror if isinstance(error, OSError) and error.strerror else f"{type(error).__name__}: {error}"
        return InfrastructureError(
            f"{what}: {redacted(said)[:500]}", remedy="if that can be mended, run the same command again: it continues"
        )
    if status is None or status in TRANSIENT:
        hint = hinted_wait(headers)
        when = f"in {hint:.0f} s" if hint and hint > LONGEST_WAIT_S else "later"
        return InfrastructureError(
            f"{what}: {_brief(error)}, and waiting did not help",
            where=where,
            remedy=f"run the same command again {when}: it continues where it stood",
        )
    given = str(error) if isinstance(error, ValueError) else getattr(error, "server_message", None)
    said = redacted(str(given or headers.get("X-Error-Message", ""))).strip()
    message = f"{what}: the Hub answered {status}" + (f": {said[:500]}" if said else "")
    if status in (401, 403):
        return PrerequisiteError(
            message,
            where=where,
            remedy="use a token with write access to this dataset: hf auth login, or HF_TOKEN",
        )
    return BenchwrightError(message, where=where)


def _address(error: BaseException) -> str | None:
    """Where the request went, without its query (which may be signed)."""
    for link in _chain(error):
        try:
            url = urlsplit(str(link.request.url))  # type: ignore[attr-defined]
        except (AttributeError, RuntimeError):
            continue
        return f"{url.scheme}://{url.hostname}{f':{url.port}' if url.port else ''}{url.path}"
    return None

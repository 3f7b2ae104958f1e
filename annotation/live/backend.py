"""The four calls of a Label Studio ML backend over HTTP: health, setup, predict, webhook.

Every call must bring the project's name and secret (HTTP basic authentication). Nothing of a request is logged: the
server's ``setup`` carries its owner's token in clear.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ...core.errors import BenchwrightError
from ..interface import live_item
from .drafts import Draft, drafts_of

__all__ = ["MODEL_VERSION", "Backend"]

MODEL_VERSION = "benchwright live"
LONGEST_BODY = 16 * 1024 * 1024
SLOWEST_S = 30.0
"""A caller that sends nothing for so long is let go."""

Answer = Callable[[str, Draft], str]
"""Project name and draft -> the text to show."""


class Backend:
    """Listens on ``host`` and ``port`` (0: a free one) and gives ``answer(project, draft)`` to whoever has a secret."""

    def __init__(self, host: str, port: int, answer: Answer) -> None:
        """Raises:
        BenchwrightError: the address cannot be had.
        """
        self._answer = answer
        self._secrets: dict[str, str] = {}
        handler = type("Handler", (_Handler,), {"backend": self})
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._server = type("Server", (_Server,), {"address_family": family})((host, port), handler)
        except OSError as error:
            raise BenchwrightError(
                f"the address cannot be had: {error.strerror}",
                where=f"{host}:{port}",
                remedy="name a free one: benchwright annotate live --port N",
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, name="benchwright-live", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def secret_of(self, project: str) -> str:
        """The secret that calls for ``project`` must bring; made up at the first question, kept in memory only."""
        return self._secrets.setdefault(project, secrets.token_urlsafe(32))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def project_of(self, authorization: str | None) -> str | None:
        """The project whose name and secret a header brings; None where it brings neither or a wrong one."""
        scheme, _, encoded = (authorization or "").partition(" ")
        if scheme.lower() != "basic":
            return None
        try:
            name, _, secret = base64.b64decode(encoded, validate=True).decode("utf-8").partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        known = self._secrets.get(name)
        return name if known is not None and hmac.compare_digest(known.encode(), secret.encode()) else None

    def reply(self, call: str, project: str, request: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The answer to one call; None where there is no such call.

        Raises:
            BenchwrightError: the request has not the shape that Label Studio sends.
        """
        if call == "/setup":
            return {"model_version": MODEL_VERSION}
        if call == "/webhook":
            return {}
        if call != "/predict":
            return None
        return {"results": [self._prediction(project, draft) for draft in drafts_of(request)]}

    def _prediction(self, project: str, draft: Draft | None) -> dict[str, Any]:
        items = [] if draft is None else [live_item(self._answer(project, draft))]
        return {"result": items, "score": 0.0, "model_version": MODEL_VERSION}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that goes away in the middle is no error of ours, and its request must not be printed."""


class _Handler(BaseHTTPRequestHandler):
    backend: Backend
    protocol_version = "HTTP/1.1"
    timeout = SLOWEST_S

    def log_message(self, *_: object) -> None:
        """Nothing: not even an address line, which might one day carry what it must not."""

    def do_GET(self) -> None:
        if self.backend.project_of(self.headers.get("Authorization")) is None:
            self._refuse()
        elif self._call() == "/health":
            self._send(HTTPStatus.OK, {"status": "UP", "model_class": MODEL_VERSION})
        else:
            self._send(HTTPStatus.NOT_FOUND, {"detail": "no such call"})

    def do_POST(self) -> None:
        project = self.backend.project_of(self.headers.get("Authorization"))
        if project is None:
            self._refuse()
            return
        length = self.headers.get("Content-Length") or ""
        if not length.isdecimal() or int(length) > LONGEST_BODY:
            self.close_connection = True
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"detail": "a body of known, moderate length is needed"})
            return
        try:
            request = json.loads(self.rfile.read(int(length)) or b"{}")
            if not isinstance(request, dict):
                raise BenchwrightError("the request is no JSON object")
            answer = self.backend.reply(self._call(), project, request)
        except (BenchwrightError, ValueError, RecursionError) as error:
            said = error.message if isinstance(error, BenchwrightError) else "the request is no JSON"
            self._send(HTTPStatus.BAD_REQUEST, {"detail": said})
            return
        if answer is None:
            self._send(HTTPStatus.NOT_FOUND, {"detail": "no such call"})
        else:
            self._send(HTTPStatus.OK, answer)

    def _call(self) -> str:
        return self.path.partition("?")[0].rstrip("/")

    def _refuse(self) -> None:
        self.close_connection = True  # the body stays unread
        self._send(HTTPStatus.UNAUTHORIZED, {"detail": "the project's name and secret are needed"})

    def _send(self, status: HTTPStatus, answer: Mapping[str, Any]) -> None:
        body = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
        self.send_response(status)
        if status == HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", 'Basic realm="benchwright"')
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

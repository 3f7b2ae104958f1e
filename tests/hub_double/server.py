"""The double itself: a server on 127.0.0.1 that the real client libraries publish to and load from.

It speaks the part of the Hub's protocol that huggingface_hub 2 and datasets 5 use for datasets, with large files by
LFS or by the real Xet library on a local chunk store. Anything can go wrong at any request: ``double.trouble`` is
asked before each one and may answer with a status, drop the connection, or end the client.

    with HubDouble(folder) as double:            # HF_ENDPOINT=double.url HF_TOKEN=hf_writer
        ...
"""

from __future__ import annotations

import json
import re
import threading
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .state import Dataset, LargeFiles


@dataclass(frozen=True)
class Trouble:
    """What befalls one request."""

    status: int | None = None
    """Answered instead of doing it."""
    headers: dict[str, str] = field(default_factory=dict)
    before: Callable[[], None] | None = None
    """Called instead of doing it; then the connection is dropped."""
    after: Callable[[], None] | None = None
    """Called when it is done; then the connection is dropped, so the answer is lost."""


class Answer(Exception):  # noqa: N818
    """Ends a request with this status."""

    def __init__(self, status: int, message: str = "", code: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.headers = {**(headers or {}), **({"X-Error-Code": code} if code else {})}
        if message:
            self.headers["X-Error-Message"] = message.encode("ascii", "replace").decode()


class HubDouble:
    """State and server."""

    def __init__(self, root: Path, *, xet: bool = False) -> None:
        self.large = LargeFiles(root)
        self.xet = xet
        self.datasets: dict[str, Dataset] = {}
        self.accounts: dict[str, dict[str, Any]] = {
            "hf_writer": {"name": "tester", "role": "write", "orgs": {"lab": "write"}},
            "hf_reader": {"name": "tester", "role": "read", "orgs": {}},
            "hf_stranger": {"name": "stranger", "role": "write", "orgs": {}},
        }
        self.identity_tokens: dict[str, str] = {}
        """Continuous integration's identity token -> the short-lived token it is exchanged for."""
        self.trouble: Callable[[int, str, str], Trouble | None] = lambda _number, _method, _path: None
        self.log: list[tuple[str, str, int | str]] = []
        self.lock = threading.RLock()
        self._count = 0
        from . import routes

        handler = type("BoundHandler", (Handler,), {"double": self, "routes": routes.ROUTES})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> HubDouble:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def next_number(self) -> int:
        with self.lock:
            self._count += 1
            return self._count

    def forget_requests(self) -> None:
        """Count and log from the beginning again."""
        with self.lock:
            self._count = 0
            self.log.clear()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    double: HubDouble
    routes: list[tuple[tuple[str, ...], re.Pattern[str], Callable[..., None]]]

    def log_message(self, *_: object) -> None:
        """Nothing: ``double.log`` has it."""

    def body(self) -> bytes:
        if self._body is None:
            if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
                chunks = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    chunks.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                self._body = b"".join(chunks)
            else:
                self._body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return self._body

    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.body() or b"{}")
        return value

    def send(
        self, status: int, body: object = b"", headers: dict[str, str] | None = None, kind: str = "application/json"
    ) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.status = status
        self._waiting = (status, data, {"Content-Type": kind, **(headers or {})})

    def flag(self, name: str) -> bool:
        return (self.query.get(name) or ["false"])[0].lower() in ("true", "1")

    def _serve(self) -> None:
        self._body: bytes | None = None
        self._waiting: tuple[int, bytes, dict[str, str]] | None = None
        self.status: int | str = "none"
        split = urllib.parse.urlsplit(self.path)
        self.query = urllib.parse.parse_qs(split.query, keep_blank_values=True)
        number = self.double.next_number()
        trouble = self.double.trouble(number, self.command, split.path)
        try:
            self.body()
            if trouble and trouble.before:
                trouble.before()
                self._drop()
                return
            try:
                if trouble and trouble.status:
                    raise Answer(trouble.status, "trouble on purpose", headers=trouble.headers)
                self._route(split.path)
            except Answer as answer:
                self.send(answer.status, {"error": answer.message}, answer.headers)
            if trouble and trouble.after:
                trouble.after()
                self._drop()
                return
            self._flush()
        except (BrokenPipeError, ConnectionResetError):
            self.status = "broken"
            self.close_connection = True
        finally:
            self.double.log.append((self.command, self.path, self.status))

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _serve  # noqa: N815

    def _drop(self) -> None:
        import socket

        self.status = "dropped"
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _route(self, path: str) -> None:
        self.account = self._account()
        for methods, pattern, answer in self.routes:
            match = pattern.fullmatch(path)
            if match and self.command in methods:
                parts = {
                    name: urllib.parse.unquote(text) for name, text in match.groupdict().items() if text is not None
                }
                with self.double.lock:
                    answer(self, **parts)
                return
        raise Answer(404, f"the double has no route {self.command} {path}")

    def _account(self) -> dict[str, Any] | None:
        authorization = self.headers.get("Authorization", "")
        if not authorization.startswith("Bearer "):
            return None
        account = self.double.accounts.get(authorization.removeprefix("Bearer "))
        if account is None:
            raise Answer(401, "Invalid credentials in Authorization header")
        return account

    def _flush(self) -> None:
        assert self._waiting is not None
        status, data, headers = self._waiting
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    # what the routes share ---------------------------------------------------------------------------------

    def dataset(self, repository: str, *, write: bool = False) -> Dataset:
        found = self.double.datasets.get(repository)
        if found is None or (found.private and not self.member(repository)):
            raise Answer(404 if self.account else 401, "Repository not found", "RepoNotFound")
        if write:
            self.require_writer(repository)
        return found

    def member(self, repository: str) -> bool:
        owner = repository.split("/")[0]
        return self.account is not None and (owner == self.account["name"] or owner in self.account["orgs"])

    def require_writer(self, repository: str) -> None:
        if self.account is None:
            raise Answer(401, "Invalid username or password.")
        if not self.member(repository) or self.account["role"] == "read":
            raise Answer(403, f"You don't have the rights to write to {repository}")

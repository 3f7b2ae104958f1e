"""A real Label Studio server for the tests, and a proxy before it that does what a bad network or a kill does."""

from __future__ import annotations

import http.client
import http.server
import os
import socket
import threading
import urllib.parse
from collections.abc import Callable, Iterator

import pytest

from benchwright.annotation import server as label_studio_server
from benchwright.annotation.client import Server
from benchwright.annotation.install import VERSION
from benchwright.core.progress import Reporter
from benchwright.core.workspace import Workspace, cache_dir


@pytest.fixture(scope="session")
def label_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Label Studio server of its own, with the installation the user already has (with CI=true: made if missing)."""
    require_label_studio()
    home = Workspace.create(tmp_path_factory.mktemp("label-studio") / "server")
    try:
        yield label_studio_server.up(home, free_port(), Reporter())
    finally:
        label_studio_server.down(home)


def require_label_studio() -> None:
    program = cache_dir() / "label-studio" / "venv" / "bin" / "label-studio"
    if not program.exists() and os.environ.get("CI") != "true":
        pytest.skip(f"Label Studio {VERSION} is not installed; `benchwright annotate up` installs it")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class FaultyProxy:
    """Stands before the real server and does at chosen requests what it is told.

    ``at(number, moment, action)``: at the ``number``-th request that changes something (1 is the first), ``before`` or
    ``after`` the real server has done it, ``action()`` is called; what it returns (a status) is answered instead.
    """

    def __init__(self, target: str) -> None:
        self.changes = 0
        self.log: list[str] = []
        self._target = urllib.parse.urlsplit(target).netloc
        self._actions: dict[tuple[int, str], Callable[[], int | None]] = {}
        self._lock = threading.Lock()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def _pass_on(self) -> None:
                proxy._handle(self)

            do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _pass_on  # noqa: N815 (names http.server looks for)

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def at(self, number: int, moment: str, action: Callable[[], int | None]) -> None:
        self._actions[number, moment] = action

    def reset(self) -> None:
        self.changes = 0
        self._actions.clear()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handle(self, request: http.server.BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        number = 0
        if request.command != "GET" and "token/refresh" not in request.path:
            with self._lock:
                self.changes += 1
                number = self.changes
                self.log.append(f"{request.command} {request.path}")
        status = self._act(number, "before")
        headers, answer = [("Content-Type", "application/json")], b"{}"
        if status is None:
            status, headers, answer = self._forward(request, body)
            status = self._act(number, "after") or status
        try:
            request.send_response(status)
            for name, value in headers:
                if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                    request.send_header(name, value)
            request.send_header("Content-Length", str(len(answer)))
            request.end_headers()
            request.wfile.write(answer)
        except OSError:
            request.close_connection = True  # whoever asked was killed

    def _act(self, number: int, moment: str) -> int | None:
        action = self._actions.get((number, moment))
        return action() if action else None

    def _forward(
        self, request: http.server.BaseHTTPRequestHandler, body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(self._target, timeout=120)
        kept = {k: v for k, v in request.headers.items() if k.lower() not in ("host", "connection")}
        try:
            connection.request(request.command, request.path, body, kept)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        except OSError:
            return 502, [], b"{}"
        finally:
            connection.close()


@pytest.fixture
def proxy(label_studio: Server) -> Iterator[FaultyProxy]:
    made = FaultyProxy(label_studio.url)
    yield made
    made.close()

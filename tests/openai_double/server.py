"""The double itself: every answer differs from every other, and anything can befall a request.

``double.trouble`` is asked before each request with its number (from 1) and body, and gives what befalls it; by
default nothing does. What was asked and what was answered whole is counted for each question.

    with ChatDouble() as double:            # OPENAI_BASE_URL=double.url
        ...
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Trouble:
    """What befalls one request."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Sent instead of the answer."""
    delay_s: float = 0.0
    drop: bool = False
    """The connection ends without a word."""
    cut: bool = False
    """The connection ends in the middle of the answer."""
    chunked: bool = False
    """The answer comes in chunks, without its length being told."""
    message: dict[str, Any] | None = None
    """Stands in the answer's choice instead of the usual message."""
    finish_reason: str | None = "stop"
    usage: bool = True


NOTHING = Trouble()


class ChatDouble:
    """State and server."""

    Trouble = Trouble

    def __init__(self) -> None:
        self.trouble: Callable[[int, dict[str, Any]], Trouble] = lambda _number, _body: NOTHING
        self.asked: Counter[str] = Counter()
        """The last message of a request -> how often it was asked."""
        self.answered: Counter[str] = Counter()
        """The same -> how often it was answered whole."""
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str | None] = set()
        self.starts: list[float] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.lock = threading.Lock()
        handler = type("BoundHandler", (Handler,), {"double": self})
        self._server = Server(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ChatDouble:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: Any) -> None:
        """Nothing: clients are killed on purpose."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    double: ChatDouble

    def log_message(self, *_: Any) -> None:
        """Nothing: the double counts."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        double = self.double
        question = body["messages"][-1]["content"]
        with double.lock:
            double.bodies.append(body)
            double.starts.append(time.monotonic())
            number = len(double.bodies)
            double.asked[question] += 1
            double.keys.add(self.headers.get("Authorization"))
            double.in_flight += 1
            double.most_in_flight = max(double.most_in_flight, double.in_flight)
        try:
            trouble = double.trouble(number, body)
            time.sleep(trouble.delay_s)
        finally:
            with double.lock:
                double.in_flight -= 1
        self._answer(number, question, trouble)

    def _answer(self, number: int, question: str, trouble: Trouble) -> None:
        if self.path != "/v1/chat/completions":
            trouble = Trouble(404, body=b'{"error": {"message": "no such page"}}')
        data = _completion(number, trouble) if trouble.body is None else trouble.body
        if trouble.drop:
            self.close_connection = True
            return
        self.send_response(trouble.status)
        for name, value in trouble.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        if trouble.chunked:
            self.send_header("Transfer-Encoding", "chunked")
            data = b"".join(b"%x\r\n%b\r\n" % (1, data[i : i + 1]) for i in range(len(data))) + b"0\r\n\r\n"
        else:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if trouble.cut else data)
        self.wfile.flush()
        if trouble.cut:
            self.close_connection = True
        elif trouble.status == 200 and trouble.body is None and trouble.finish_reason:
            with self.double.lock:
                self.double.answered[question] += 1


def _completion(number: int, trouble: Trouble) -> bytes:
    message = trouble.message or {"role": "assistant", "content": f"```bash\necho answer {number}\n```"}
    value = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": trouble.finish_reason}],
    }
    if trouble.usage:
        value["usage"] = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    return json.dumps(value).encode()

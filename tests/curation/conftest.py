"""Real git repositories made by the tests, and a real git server on loopback."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

GIT_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z",
}


def git(folder: Path, *arguments: str) -> str:
    """Run git in ``folder`` as the tests' author; its standard output without the last line feed."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=GIT_ENVIRONMENT, check=True, capture_output=True, text=True
    )
    return done.stdout.rstrip("\n")


def commit_files(folder: Path, files: Mapping[str, str | bytes], message: str = "change") -> str:
    """Write files, commit them, and give the commit's id."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "-q", "-b", "main")
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def make_repository(tmp_path: Path) -> Callable[..., tuple[Path, str]]:
    """``make_repository(name, files)`` gives the folder of a real repository below ``origins/own/`` and its commit."""

    def make(name: str, files: Mapping[str, str | bytes]) -> tuple[Path, str]:
        folder = tmp_path / "origins" / "own" / name
        return folder, commit_files(folder, files)

    return make


class GitServer(ThreadingHTTPServer):
    """git's own http-backend below ``root``; ``behaviour`` makes it stall, refuse or talk nonsense instead."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.root = root
        self.behaviour = "serve"
        self.requests: list[str] = []

    @property
    def template(self) -> str:
        """A mirror template for it."""
        return f"http://127.0.0.1:{self.server_port}/{{owner}}/{{name}}"


class _Handler(BaseHTTPRequestHandler):
    server: GitServer

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _answer(self) -> None:
        self.server.requests.append(self.path)
        match self.server.behaviour:
            case "stall":
                time.sleep(30)
            case "401":
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="private"')
                self.end_headers()
            case "broken":
                self.send_response(200)
                self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
                self.end_headers()
                self.wfile.write(b"this is no packet line\n" * 3)
            case _:
                self._backend()

    def _backend(self) -> None:
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline().strip() or b"0", 16):
                body += self.rfile.read(size)
                self.rfile.readline()
        environment = GIT_ENVIRONMENT | {
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(["git", "http-backend"], env=environment, input=body, capture_output=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def git_server(tmp_path: Path) -> Iterator[GitServer]:
    """A git server for the repositories that ``make_repository`` makes."""
    (tmp_path / "origins").mkdir(exist_ok=True)
    server = GitServer(tmp_path / "origins")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()

"""Addresses and pins as users write them, judged before any process is started.

Only ``https`` and ``ssh`` addresses are taken (``file`` where the caller allows it); everything is matched against
what is known to be safe, so options, remote helpers (``ext::``), commands and paths upwards never reach git.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from ..core.errors import BenchwrightError

__all__ = ["Address", "parse_address", "parse_pin"]

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_SEGMENT = re.compile(r"[A-Za-z0-9_~][A-Za-z0-9._~+-]*|\.[A-Za-z0-9_][A-Za-z0-9._~+-]*")
_SCP = re.compile(r"(?P<user>[A-Za-z0-9_][A-Za-z0-9._-]*)@(?P<host>[^:/@]+):(?P<path>[^:]+)")
_FILE_PATH = re.compile(r"/[A-Za-z0-9._~+@=, /-]*")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+/-]*")
_ID = re.compile(r"[0-9a-f]{4,64}")
_TWO_SEGMENT_HOSTS = ("github.com", "www.github.com")


@dataclass(frozen=True)
class Address:
    """A repository's address in one canonical spelling, without user and password."""

    scheme: str
    host: str
    owner: str
    """Everything between the host and the name; may hold slashes (groups)."""
    name: str
    url: str

    @property
    def key(self) -> str:
        """Equal for every spelling of the same repository."""
        return f"{self.host}/{self.owner}/{self.name}".casefold()


def _refuse(url: str, why: str) -> BenchwrightError:
    shown = re.sub(r"//[^/@]*@", "//", url)  # a password must not reach a terminal or a log
    return BenchwrightError(
        f"this address is refused: {why}",
        where=repr(shown[:200]),
        remedy="give https://HOST/OWNER/NAME or git@HOST:OWNER/NAME.git",
    )


def parse_address(url: str, *, allow_file: bool = False) -> Address:
    """Check an address and bring it into its canonical spelling.

    Raises:
        BenchwrightError: it is empty, an option, a remote helper, of another scheme, or holds anything unusual.
    """
    if not url.strip():
        raise _refuse(url, "it is empty")
    if re.search(r"[\x00-\x20\x7f]", url) and not (allow_file and url.startswith("file://")):
        raise _refuse(url, "it holds blanks or control characters")
    if url.startswith("-") or "::" in url:
        raise _refuse(url, "it is an option or a remote helper")
    scp = _SCP.fullmatch(url)
    if scp and "//" not in url:
        return _address(url, "ssh", scp["host"], scp["user"], None, scp["path"])
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _refuse(url, str(error)) from error
    scheme = parts.scheme.lower()
    if scheme == "file" and allow_file:
        return _file_address(url, parts.netloc, parts.path)
    if scheme not in ("https", "ssh"):
        raise _refuse(url, f"scheme {scheme or 'none'}; only https and ssh are taken")
    if parts.query or parts.fragment:
        raise _refuse(url, "it has a query or a fragment")
    user = parts.username if scheme == "ssh" else None
    return _address(url, scheme, parts.hostname or "", user, port, parts.path)


def _address(url: str, scheme: str, host: str, user: str | None, port: int | None, path: str) -> Address:
    if not _HOST.fullmatch(host):
        raise _refuse(url, "the host is not a host name")
    if user is not None and not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", user):
        raise _refuse(url, "the user is not a plain name")
    host = host.lower()
    segments = path.strip("/").removesuffix(".git").split("/")
    if len(segments) < 2 or not all(_SEGMENT.fullmatch(part) for part in segments):
        raise _refuse(url, "it does not name an owner and a repository in plain letters, digits, '.', '_' and '-'")
    if host in _TWO_SEGMENT_HOSTS and len(segments) != 2:
        raise _refuse(url, "it names something inside a repository")
    owner, name = "/".join(segments[:-1]), segments[-1]
    login = f"{user}@" if user else ""
    at_port = f":{port}" if port else ""
    return Address(scheme, host, owner, name, f"{scheme}://{login}{host}{at_port}/{owner}/{name}")


def _file_address(url: str, host: str, path: str) -> Address:
    path = unquote(path)
    segments = [part for part in path.split("/") if part]
    if host not in ("", "localhost") or ".." in segments or not segments or not _FILE_PATH.fullmatch(path):
        raise _refuse(url, "a file address is file:///an/absolute/path of plain characters")
    names = [part for part in segments if part != ".git"] or segments
    return Address("file", "", "/".join(names[:-1]), names[-1].removesuffix(".git"), f"file://{path}")


def parse_pin(pin: str) -> str:
    """Check what names a commit: its id (4 to 64 hex digits), or a plain branch or tag name.

    Raises:
        BenchwrightError: it could be read by git as an option, a range or an expression.
    """
    plain = (
        _REF.fullmatch(pin)
        and ".." not in pin
        and "//" not in pin
        and "/." not in pin
        and not pin.endswith(("/", ".", ".lock"))
    )
    if not plain:
        raise BenchwrightError(
            "this does not name a commit: give its id, a branch or a tag in plain characters",
            where=repr(pin[:200]),
            remedy="git ls-remote URL shows branches and tags with their commits",
        )
    return pin


def looks_like_id(pin: str) -> bool:
    """Whether ``pin`` could be a full or short commit id."""
    return _ID.fullmatch(pin) is not None

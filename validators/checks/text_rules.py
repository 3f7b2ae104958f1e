"""Rules about the text of an example: encoding, invisible characters, secrets, prompts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .subject import TEXTS, Context, Finding, Subject

__all__ = ["check_text"]

CODE = ("output", "prefix_code")
_SECRETS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("an access token of the Hugging Face Hub", re.compile(r"\bhf_[A-Za-z0-9]{30,}\b")),
    ("an access token of GitHub", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})\b")),
    ("an access token of GitLab", re.compile(r"\bglpat-[A-Za-z0-9_-]{20,}\b")),
    ("an API key", re.compile(r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}\b")),
    ("a key of AWS", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a key of Google", re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b")),
    ("a token of Slack", re.compile(r"\bxox[abprs]-[0-9A-Za-z-]{10,}")),
    ("a private key", re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----")),
    ("a password in an address", re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s/:@<>{}$]+:[^\s/@<>{}$]{6,}@[\w.-]+")),
    (
        "a key of Weights & Biases or the like",
        re.compile(r"(?i)\b(?:api[_-]?key|secret|token|passwd|password)\b\s*[=:]\s*[\"']?[0-9a-f]{32,64}\b"),
    ),
)
_BROKEN = re.compile("[\ufffd\ud800-\udfff]|[ÃÂ][\u0080-\u00bf]|â(?:\u0080|€)[\u0080-\u00bf™œ\u009d\u0153\u2122]")
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u00a0\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]"
)
_SPACES = "\u00a0"
_PROMPT = re.compile(r"^(\s*)(?:\([\w.-]+\)\s*)?(?:[\w.-]+@[\w.-]+[:~/\w.-]*)?\$[ \t]+(?=[A-Za-z./~])", re.MULTILINE)
_NEWLINE = re.compile(r"(?:\\n|/n)(?=(?:pip|cd|python\d?|bash|sh|export|wget|git|mkdir|conda|apt)\b)")


def check_text(subject: Subject, context: Context) -> Iterator[Finding]:
    """Every text rule on one example."""
    yield from _secrets(subject)
    yield from _encoding(subject)
    yield from _code(subject)


def _secrets(subject: Subject) -> Iterator[Finding]:
    for column in TEXTS:
        for what, pattern in _SECRETS:
            match = pattern.search(subject.text(column))
            if match:
                line = subject.text(column).count("\n", 0, match.start()) + 1
                yield subject.finding("BW601", f"{column}, line {line}: it looks like {what}")


def _encoding(subject: Subject) -> Iterator[Finding]:
    for column in TEXTS:
        text = subject.text(column)
        match = _BROKEN.search(text)
        if match:
            around = text[max(0, match.start() - 12) : match.end() + 12].encode("ascii", "backslashreplace").decode()
            yield subject.finding("BW602", f"{column}: {around!r}")
    for column in ("output", "prefix_code", "instruction"):
        found = sorted({f"U+{ord(char):04X}" for char in _INVISIBLE.findall(subject.text(column))})
        if found:
            mended = _INVISIBLE.sub(lambda match: " " if match[0] in _SPACES else "", subject.text(column))
            yield subject.finding("BW603", f"{column} holds {', '.join(found)}", {column: mended})


def _code(subject: Subject) -> Iterator[Finding]:
    for column in CODE:
        text = subject.text(column)
        if "\r" in text:
            yield subject.finding("BW604", column, {column: text.replace("\r\n", "\n").replace("\r", "\n")})
        if column == "output" and subject.is_python:
            continue
        prompt = _PROMPT.search(text)
        if prompt:
            line = text[prompt.start() :].strip().split("\n")[0]
            yield subject.finding("BW104", f"{column}: {line[:80]!r}", {column: _PROMPT.sub(r"\1", text)})
        if _NEWLINE.search(text):
            yield subject.finding("BW105", f"{column}: {text[:80]!r}")

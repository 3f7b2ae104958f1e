"""A call: what a script really starts, with the words that reach it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...curation.commands import invocation_of

__all__ = ["MARK", "Call", "Trace", "after_preparation", "call_of"]

MARK = "benchwright-code-begins"
"""Stands for a program that is started between the prefix code and the script."""

_NO_PROGRAMS = """
    . : [ [[ activate alias apt apt-get awk bg brew break cat cd chmod chown cmake code conda continue cp curl cut date
    deactivate declare dirs disown docker echo exit export expr false fg find gdown git grep gunzip gzip hash head hf
    hostname huggingface-cli jobs kill less let ln local ls make mamba mkdir module more mv nano nvidia-smi pip pip3
    popd printf pushd pwd read readonly return rm rsync scp sed seq set shift shopt sleep sort source sudo tail tar tee
    test touch tr trap true type typeset ulimit umask unset unzip vi vim wait wc wget which
"""
_NO_CALL = frozenset(_NO_PROGRAMS.split())
"""Programs that are never what a task is about; what they print or move is no call."""


@dataclass(frozen=True)
class Call:
    """One program start, launchers and interpreters taken away."""

    kind: Literal["file", "module", "program", "code"]
    target: str
    """As written: a path relative to ``folder``, a dotted module, a program's name."""
    argv: tuple[str, ...]
    """The target's own words, as the shell hands them over."""
    folder: str = ""
    """Where it runs, relative to the repository's root; ``?`` begins it where that is unknown."""
    launcher: tuple[str, ...] = ()
    """The words before the target: interpreter and launcher with their options."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables set for it; the last of equal names counts."""
    prepared: frozenset[str] = frozenset()
    """Those of them that the prefix code set and the script left so: they are none of its doing."""

    def shown(self) -> str:
        """The call on one line, for a message."""
        import shlex

        return shlex.join((*self.launcher, self.target, *self.argv))


def after_preparation(calls: Sequence[Call], mark: str) -> tuple[Call, ...]:
    """The calls that follow the one of the program ``mark``, which stands between prefix code and script."""
    at = next((at for at, call in enumerate(calls) if call.target == mark), None)
    if at is None:
        return ()
    before = dict(calls[at].env)
    return tuple(
        replace(call, prepared=frozenset(name for name, value in dict(call.env).items() if before.get(name) == value))
        for call in calls[at + 1 :]
    )


@dataclass(frozen=True)
class Trace:
    """Every call a script makes, in order."""

    calls: tuple[Call, ...]
    doubts: tuple[str, ...] = ()
    """Why the calls may not be exactly these; empty where they are exact."""

    @property
    def exact(self) -> bool:
        return not self.doubts


def call_of(argv: Sequence[str], folder: str, env: Sequence[tuple[str, str]] = ()) -> Call | None:
    """The call that the words of one command make; None where they start nothing of interest."""
    found = invocation_of(argv)
    if found is None or (found.kind == "program" and (found.target in _NO_CALL or not found.target)):
        return None
    return Call(found.kind, found.target, found.args, folder, found.launcher, (*env, *found.env))

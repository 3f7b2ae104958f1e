"""``outcomes.jsonl`` of a run: each execution once, keyed by everything it depends on, so that a run resumes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from ...core.files import digest_of
from ...core.models import Outcome, OutcomeKind, Output
from .causes import Cause, cause_of_crash
from .settings import Setting

__all__ = ["EvidenceFile", "job_key"]


def job_key(
    code: str, task_type: str, path: str, prefix_code: str, setting: Setting, environment_digest: str, sandbox: str
) -> str:
    """SHA-256 over everything that an execution depends on."""
    return digest_of(
        {
            "code": code,
            "type": task_type,
            "path": path,
            "prefix_code": prefix_code,
            "repository": [setting.repository.url.casefold(), setting.repository.commit],
            "environment": environment_digest,
            "limits": setting.limits.model_dump(mode="json"),
            "network": setting.network,
            "sandbox": sandbox,
        }
    )


class EvidenceFile:
    """The outcomes recorded so far. What scripts wrote stays on disk; memory holds only the verdicts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: dict[str, Outcome] = {}
        self.crashes: dict[str, Cause] = {}
        """What the output of a failed execution says of the cause."""
        self._file: BinaryIO | None = None
        if path.exists():
            self._read()

    def _read(self) -> None:
        with open(self.path, "rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break  # torn by a kill: that execution is repeated
                try:
                    fields: Mapping[str, Any] = json.loads(line)
                    key, outcome = str(fields["key"]), fields["outcome"]
                except (ValueError, KeyError, TypeError, RecursionError):
                    continue  # torn by a kill and ended since
                self._keep(key, Outcome.load(outcome, f"{self.path}:{number}"))

    def add(self, key: str, outcome: Outcome) -> None:
        """Record one execution at once; a kill of this process loses nothing of it, a power cut might."""
        line = json.dumps({"key": key, "outcome": outcome.model_dump(mode="json")}, ensure_ascii=True)
        if self._file is None:
            self._file = self._open()
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        self._keep(key, outcome)

    def _open(self) -> BinaryIO:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = open(self.path, "ab+")  # noqa: SIM115 - closed by close()
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        return file

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _keep(self, key: str, outcome: Outcome) -> None:
        self.crashes.pop(key, None)
        if (crash := cause_of_crash(outcome)) is not None:
            self.crashes[key] = crash
        self.outcomes[key] = outcome.model_copy(update={"output": Output(bytes=outcome.output.bytes)})

    def settled(self, key: str) -> bool:
        """Whether the execution stands: what the machine spoilt is done again."""
        return key in self.outcomes and self.outcomes[key].outcome is not OutcomeKind.INFRASTRUCTURE

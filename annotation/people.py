"""Pseudonyms: the archive, which is kept in git, never names a person; ``.benchwright/people.toml`` alone does."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import tomlkit

from ..core.config import read_toml
from ..core.errors import BenchwrightError
from ..core.files import atomic_write
from ..core.workspace import Workspace

__all__ = ["People"]

NUMBERED = re.compile(r"annotator-(\d+)")


class People:
    """Pseudonym <-> account (e-mail address), in the order of first appearance; saved when someone new appears.

    ``taken``: pseudonyms that stand in the archive; they are never given to another person.
    """

    def __init__(self, workspace: Workspace, taken: Iterable[str] = ()) -> None:
        self.path: Path = workspace.private_dir / "people.toml"
        self.is_new = not self.path.exists()
        self._accounts: dict[str, str] = {}
        if not self.is_new:
            table = read_toml(self.path).get("people", {})
            if not all(isinstance(account, str) for account in table.values()):
                raise BenchwrightError("[people] maps pseudonyms to e-mail addresses", where=str(self.path))
            self._accounts = {str(name): str(account) for name, account in table.items()}
        self._taken = set(taken) | set(self._accounts)

    def pseudonym(self, account: str) -> str:
        """The pseudonym of ``account``, given now if it has none."""
        for name, known in self._accounts.items():
            if known.casefold() == account.casefold():
                return name
        used = [int(match[1]) for name in self._taken if (match := NUMBERED.fullmatch(name))]
        name = f"annotator-{max(used, default=0) + 1}"
        self.recognise({name: account})
        return name

    def recognise(self, known: Mapping[str, str]) -> None:
        """Take over pseudonyms that the archive proves to be these accounts' (where people.toml was lost)."""
        new = {name: account for name, account in known.items() if name not in self._accounts}
        if not new:
            return
        self._accounts.update(new)
        self._taken.update(new)
        document = tomlkit.document()
        document.add(tomlkit.comment("Who is behind each pseudonym. This cannot be rebuilt: keep a copy."))
        document["people"] = self._accounts
        atomic_write(self.path, tomlkit.dumps(document), mode=0o600)
        os.chmod(self.path, 0o600)

    def account(self, pseudonym: str) -> str | None:
        return self._accounts.get(pseudonym)

    def accounts(self) -> dict[str, str]:
        """Pseudonym -> account, of everyone known."""
        return dict(self._accounts)

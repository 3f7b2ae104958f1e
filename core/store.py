"""``state.db``: what can be recomputed (candidates, outcomes, caches) and what was pushed where.

One SQLite file in WAL mode: readers never wait for the writer, writers wait for one another, and a process
killed in mid-transaction leaves the state before it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .errors import BenchwrightError, InfrastructureError
from .models import Candidate, Outcome

__all__ = ["Push", "Store"]

LAYOUT = 1
BUSY_WAIT_S = 60

SCHEMA = """
CREATE TABLE curated (repository TEXT PRIMARY KEY, key TEXT NOT NULL) STRICT;
CREATE TABLE candidates (
    id TEXT PRIMARY KEY, repository TEXT NOT NULL, rank INTEGER NOT NULL, digest TEXT NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE INDEX candidates_by_repository ON candidates (repository, rank);
CREATE TABLE cache (namespace TEXT, key TEXT, value BLOB NOT NULL, PRIMARY KEY (namespace, key)) STRICT, WITHOUT ROWID;
CREATE TABLE outcomes (key TEXT PRIMARY KEY, at TEXT NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE pushes (
    server TEXT, project INTEGER, candidate_id TEXT, task_id INTEGER NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (server, project, candidate_id)
) STRICT, WITHOUT ROWID;
"""

Push = tuple[int, str]
"""Task id on the server, digest of what it shows."""


MEND = (
    "free space or permit writing; where another process holds the state, end that one or try again; "
    "if the file is damaged, remove it and run the command again"
)


class _Cursor(sqlite3.Cursor):
    """Rows whose reading fails as asking for them does."""

    def __next__(self) -> Any:
        with _told(self.connection):
            return super().__next__()

    def fetchone(self) -> Any:
        with _told(self.connection):
            return super().fetchone()

    def fetchall(self) -> list[Any]:
        with _told(self.connection):
            return super().fetchall()


class _Connection(sqlite3.Connection):
    """SQLite's own errors (disk full, file damaged, lock held too long) become the user's, with the way out."""

    path: Path

    def execute(self, *asked: Any) -> sqlite3.Cursor:
        with _told(self):
            return self.cursor(_Cursor).execute(*asked)

    def executemany(self, *asked: Any) -> sqlite3.Cursor:
        with _told(self):
            return self.cursor(_Cursor).executemany(*asked)


@contextmanager
def _told(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        assert isinstance(connection, _Connection)
        raise InfrastructureError(f"the state fails: {error}", where=str(connection.path), remedy=MEND) from error


class Store:
    """A connection to the workspace's state. Not shared between threads: open one for each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=BUSY_WAIT_S, isolation_level=None, factory=_Connection)
            self._db.path = path
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            raise InfrastructureError(f"cannot open the state: {error}", where=str(path), remedy=MEND) from error

    def _prepare(self) -> None:
        with self.transaction():
            (layout,) = self._db.execute("PRAGMA user_version").fetchone()
            if layout == 0:
                for statement in SCHEMA.split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {LAYOUT}")
            elif layout != LAYOUT:
                raise BenchwrightError(
                    f"the state has layout {layout}, this benchwright knows {LAYOUT}",
                    where=str(self.path),
                    remedy="upgrade benchwright, or remove the file: all in it is recomputed or looked up again",
                )

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside is written together or not at all; nested calls join the outer one."""
        if self._db.in_transaction:
            yield
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk makes SQLite roll back by itself
                self._db.execute("ROLLBACK")
            raise

    # candidates --------------------------------------------------------------------------------------------

    def curated_key(self, repository: str) -> str | None:
        """Content key of the curation whose candidates are stored, None where there is none."""
        row = self._db.execute("SELECT key FROM curated WHERE repository = ?", (repository,)).fetchone()
        return row[0] if row else None

    def replace_candidates(self, repository: str, key: str, candidates: Sequence[Candidate]) -> None:
        """Store ``candidates`` (best first) as all there are of ``repository``, under the content key ``key``."""
        self.replace_candidate_bodies(repository, key, [(c.id, c.digest, c.model_dump_json()) for c in candidates])

    def replace_candidate_bodies(self, repository: str, key: str, rows: Sequence[tuple[str, str, str]]) -> None:
        """The same for candidates that are JSON text already: id, digest and text of each."""
        with self.transaction():
            self._db.execute("DELETE FROM candidates WHERE repository = ?", (repository,))
            self._db.executemany(
                "INSERT INTO candidates VALUES (?, ?, ?, ?, ?)",
                [(found, repository, rank, digest, body) for rank, (found, digest, body) in enumerate(rows)],
            )
            self._db.execute("INSERT OR REPLACE INTO curated VALUES (?, ?)", (repository, key))

    def count_candidates(self, repository: str) -> int:
        """How many candidates of ``repository`` are stored."""
        row = self._db.execute("SELECT count(*) FROM candidates WHERE repository = ?", (repository,)).fetchone()
        return int(row[0])

    def keep_only(self, repositories: Iterable[str]) -> None:
        """Forget the candidates of all repositories but these (the registered ones)."""
        known = {row[0] for row in self._db.execute("SELECT repository FROM curated")}
        gone = sorted(known - set(repositories))
        if gone:
            with self.transaction():
                self._db.executemany("DELETE FROM candidates WHERE repository = ?", [(name,) for name in gone])
                self._db.executemany("DELETE FROM curated WHERE repository = ?", [(name,) for name in gone])

    def candidates(self, repositories: Iterable[str] = ()) -> Iterator[Candidate]:
        """Candidates by repository name, best first; of all repositories where none is named."""
        for (body,) in self.candidate_bodies(repositories):
            yield Candidate.model_validate_json(body)

    def candidate_bodies(self, repositories: Iterable[str] = ()) -> Iterator[tuple[str]]:
        """The same as stored JSON text, for those who only pass it on."""
        names = list(repositories)
        where = f"WHERE repository IN ({', '.join('?' * len(names))})" if names else ""
        return iter(
            self._db.execute(f"SELECT body FROM candidates {where} ORDER BY repository, rank", names)  # noqa: S608
        )

    def candidate(self, candidate_id: str) -> Candidate:
        """The candidate with this id, or with the only id that begins so.

        Raises:
            BenchwrightError: none, or more than one begins so.
        """
        rows = self._db.execute(
            "SELECT id, body FROM candidates WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT 3",
            (len(candidate_id), candidate_id),
        ).fetchall()
        exact = [body for found, body in rows if found == candidate_id]
        if exact or len(rows) == 1:
            return Candidate.model_validate_json(exact[0] if exact else rows[0][1])
        raise BenchwrightError(
            f"{'more than one' if rows else 'no'} candidate begins with {candidate_id!r}",
            remedy="benchwright candidates list shows the ids",
        )

    # caches, keyed by content ------------------------------------------------------------------------------

    def cached(self, namespace: str, keys: Iterable[str]) -> dict[str, bytes]:
        """Those of ``keys`` that are there, with their values."""
        found: dict[str, bytes] = {}
        wanted = list(keys)
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            marks = ", ".join("?" * len(part))
            query = f"SELECT key, value FROM cache WHERE namespace = ? AND key IN ({marks})"  # noqa: S608
            found.update(self._db.execute(query, (namespace, *part)).fetchall())
        return found

    def remember(self, namespace: str, values: Mapping[str, bytes]) -> None:
        """Keep values under their content keys; an equal key is replaced."""
        with self.transaction():
            self._db.executemany(
                "INSERT OR REPLACE INTO cache VALUES (?, ?, ?)",
                [(namespace, k, v) for k, v in values.items()],
            )

    # outcomes, keyed by everything they depend on ----------------------------------------------------------

    def outcome(self, key: str) -> Outcome | None:
        row = self._db.execute("SELECT body FROM outcomes WHERE key = ?", (key,)).fetchone()
        return Outcome.model_validate_json(row[0]) if row else None

    def record_outcome(self, key: str, at: str, outcome: Outcome) -> None:
        """Keep ``outcome`` of the run that ``key`` names, as seen at ``at`` (UTC, ISO 8601)."""
        with self.transaction():
            self._db.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?)", (key, at, outcome.model_dump_json()))

    # what stands on an annotation server -------------------------------------------------------------------

    def pushes(self, server: str, project: int) -> dict[str, Push]:
        """Candidate id -> (task id, digest) of what was pushed to this project."""
        rows = self._db.execute(
            "SELECT candidate_id, task_id, digest FROM pushes WHERE server = ? AND project = ?",
            (server, project),
        )
        return {candidate: (task, digest) for candidate, task, digest in rows}

    def record_pushes(self, server: str, project: int, pushed: Mapping[str, Push]) -> None:
        with self.transaction():
            self._db.executemany(
                "INSERT OR REPLACE INTO pushes VALUES (?, ?, ?, ?, ?)",
                [(server, project, candidate, task, digest) for candidate, (task, digest) in pushed.items()],
            )

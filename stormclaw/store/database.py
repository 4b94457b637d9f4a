"""A SQLite file of ours: opened late, brought up to date, moved aside when damaged."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from stormclaw.errors import StoreError
from stormclaw.store.durable import make_folder, store_error

T = TypeVar("T")

Step = Sequence[str]
"""The statements that lead from one version of the schema to the next."""

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_WRONG_SCHEMA = re.compile(r"no such (table|column)|table .* (has no column|already exists)")
_PATIENCE_S = 10.0
_REINDEX = "Nothing is lost: `stormclaw memory reindex` builds it again from the transcripts"


class Damaged(StoreError):
    """The file was no usable database and has been moved aside; the next use makes a new one."""


class Database:
    """One file, one connection, used by any number of threads in turn.

    Attributes:
        path: The file, created at first use.
        full_text: Whether this SQLite can search words (FTS5); known after the first use.
        fresh: Whether the last opening found nothing and made everything; whoever fills it again
            resets it.
    """

    def __init__(
        self,
        path: Path,
        steps: Sequence[Step],
        words: Step,
        *,
        full_text: bool = True,
        called: str = "memory index",
        remedy: str = _REINDEX,
        newer: str = "set memory.path to another file",
        functions: Mapping[str, Callable[[str | None], str]] = MappingProxyType({}),
    ) -> None:
        """Remember what to do; nothing is opened yet.

        Args:
            path: The file.
            steps: Steps of the schema; its version is how many have been taken.
            words: Makes the full-text table `words` from what is there.
            full_text: False to go without, as on a SQLite that lacks it.
            called: What the file is, for messages.
            remedy: What brings it back once it has been moved aside.
            newer: What can be done, beside upgrading, when it is of a newer version.
            functions: Further functions of one text, for its SQL.
        """
        self.path = path
        self.full_text = full_text
        self.fresh = False
        self._steps = steps
        self._words = words
        self._called = called
        self._remedy = remedy
        self._newer = newer
        self._functions = {"casefold": _casefold, **functions}
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._inode = 0

    def run(self, work: Callable[[sqlite3.Connection], T], *, write: bool = False) -> T:
        """Do some work with the connection, nobody else meanwhile; a write is all or nothing.

        Raises:
            Damaged: The file is no usable database.
            StoreError: The file cannot be used; the message says why.
        """
        with self._lock:
            connection = None
            try:
                connection = self._current() or self._open()
                return _in_transaction(connection, work) if write else work(connection)
            except sqlite3.Error as error:
                raise self._explained(error, opening=connection is None) from error
            except OSError as error:
                raise store_error("open", self.path, error) from error

    def close(self) -> None:
        """Give the file back; it is opened again when needed."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                with contextlib.suppress(sqlite3.Error):
                    connection.close()

    def _current(self) -> sqlite3.Connection | None:
        """The open connection, unless its file has been moved away or removed."""
        if self._connection is not None:
            try:
                replaced = self.path.stat().st_ino != self._inode
            except FileNotFoundError:
                replaced = True
            if replaced:
                self.close()
        return self._connection

    def _open(self) -> sqlite3.Connection:
        make_folder(self.path.parent)
        # SQLite would create it readable for everybody.
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self._inode = self.path.stat().st_ino
        connection = sqlite3.connect(
            self.path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False
        )
        self._connection = connection
        try:
            connection.execute("PRAGMA secure_delete = ON")
            _write_ahead(connection)
            connection.execute("PRAGMA synchronous = FULL")
            for name, function in self._functions.items():
                connection.create_function(name, 1, function, deterministic=True)
            modules = "SELECT 1 FROM pragma_module_list WHERE name = 'fts5'"
            self.full_text = self.full_text and bool(connection.execute(modules).fetchone())
            self._migrate(connection)
        except BaseException:
            if self._connection is connection:
                self.close()
            raise
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        def up(inside: sqlite3.Connection) -> None:
            version = inside.execute("PRAGMA user_version").fetchone()[0]
            if version > len(self._steps):
                raise StoreError(
                    f"{self.path} was written by a newer StormClaw (version {version}, this one "
                    f"reads up to {len(self._steps)}): upgrade StormClaw, or {self._newer}"
                )
            for step in self._steps[version:]:
                for statement in step:
                    inside.execute(statement)
            inside.execute(f"PRAGMA user_version = {len(self._steps)}")
            if self.full_text and not _has_table(inside, "words"):
                for statement in self._words:
                    inside.execute(statement)

        version = connection.execute("PRAGMA user_version").fetchone()[0]
        ready = not self.full_text or _has_table(connection, "words")
        if version != len(self._steps) or not ready:
            _in_transaction(connection, up)
            self.fresh = self.fresh or not version

    def _explained(self, error: sqlite3.Error, *, opening: bool) -> StoreError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        # Somebody else's tables, or a part of ours, are as good as damaged.
        strange = opening or _WRONG_SCHEMA.match(str(error))
        if code not in _DAMAGED and not (code == sqlite3.SQLITE_ERROR and strange):
            return StoreError(f"cannot use the {self._called} {self.path}: {error}")
        self.close()
        return Damaged(
            f"the {self._called} {self.path} was damaged ({error}); {self._move_aside()}. "
            f"{self._remedy}"
        )

    def _move_aside(self) -> str:
        try:
            if self.path.stat().st_ino != self._inode:
                return "another process has replaced it meanwhile"
            aside = next(
                path
                for number in count(1)
                if not (path := Path(f"{self.path}.damaged-{number}")).exists()
            )
            self.path.rename(aside)
            for companion in ("-wal", "-shm"):
                Path(f"{self.path}{companion}").unlink(missing_ok=True)
        except OSError as error:
            return f"it could not be moved aside ({error.strerror}), move it yourself"
        return f"it was moved to {aside.name}"


def _in_transaction(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    connection.execute("BEGIN IMMEDIATE")
    try:
        done = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        raise
    return done


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to WAL; while another process does the same, SQLite says busy without waiting."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() >= deadline:
                raise
            time.sleep(0.01)


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE name = ?"
    return connection.execute(query, (name,)).fetchone() is not None


def _casefold(text: str | None) -> str:
    return (text or "").casefold()

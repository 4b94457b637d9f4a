"""Past conversations, searchable: an index over all sessions, rebuilt from the transcripts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from stormclaw.errors import StoreError
from stormclaw.protocol.messages import Node
from stormclaw.store import sessions, transcripts
from stormclaw.store.database import Damaged, Database
from stormclaw.store.entries import FEW, Entry, missing, plain
from stormclaw.store.finding import Hit, find
from stormclaw.store.memory_rows import (
    FIELDS,
    FORGET,
    STEPS,
    WORDS,
    around,
    entries_of,
    row_of,
    show,
)
from stormclaw.store.sessions import SessionInfo
from stormclaw.store.spelling import parts_of

if TYPE_CHECKING:
    import sqlite3

LOG = logging.getLogger(__name__)

T = TypeVar("T")

__all__ = ["Conversation", "Damaged", "Entry", "Hit", "Memory", "Reindexed"]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session as the index knows it; times in Unix seconds, `turns` counts its entries."""

    id: str
    workspace: Path
    title: str
    created: float
    updated: float
    provider: str
    model: str
    turns: int


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What a rebuild found, and a sentence for each session or line it had to leave out."""

    conversations: int
    entries: int
    problems: tuple[str, ...]


class Memory:
    """The index. Every method blocks and may be called from any thread.

    Every method raises StoreError when the file cannot be used: nothing is lost then, the
    transcripts are the record. A damaged file is moved aside; where `home` is known the index is
    then built anew at once, otherwise `Damaged` is raised.
    """

    def __init__(self, path: Path, *, full_text: bool = True, home: Path | None = None) -> None:
        """Use an index; nothing is opened yet.

        Args:
            path: The file, created at first use.
            full_text: False goes without FTS5.
            home: Where the sessions are that a lost or damaged index is built anew from.
        """
        functions = {"parts_of": parts_of}
        self._database = Database(path, STEPS, WORDS, full_text=full_text, functions=functions)
        self._home = home

    def _run(self, work: Callable[[sqlite3.Connection], T], *, write: bool = False) -> T:
        """Work with the index; one that was lost or damaged is built anew first."""
        if self._home is None:
            return self._database.run(work, write=write)
        try:
            self._database.run(lambda _: None)  # Opened by now: is there anything in it?
            if not self._database.fresh:
                return self._database.run(work, write=write)
        except Damaged as error:
            LOG.warning("%s", error)
        self.reindex(self._home)
        return self._database.run(work, write=write)

    def prepare(self) -> None:
        """Make sure the file is there and of this version; every other method does so too."""
        self._run(lambda inside: inside.execute("PRAGMA user_version").fetchone())

    def index(self, session: SessionInfo, node: Node) -> None:
        """Add a node; one that is there already is left as it is."""
        self.index_all(session, (node,))

    def index_all(self, session: SessionInfo, nodes: Iterable[Node]) -> None:
        """Add many nodes at once; those that are there already are left as they are."""
        fresh = tuple(nodes)
        if len(fresh) > FEW:
            fresh = self._run(lambda inside: missing(inside, session.id, fresh))
        entries = entries_of(session, fresh)
        self._run(lambda inside: self._add(inside, session, entries), write=True)

    def search(self, query: str, limit: int = 20, workspace: Path | None = None) -> tuple[Hit, ...]:
        """What was said about something, best first; any query is a good query.

        Entries with all words come first (the last word may be a beginning, "words in quotes" stand
        together), then those that hold the query as it stands, then those with any of the words;
        upper and lower case are one, `RetryBudget` and `retry_budget` too. Newer ones are lifted,
        tools' output is weighed less than what people and models said. A query that is a hit's
        `place` brings back that one, whole.

        Args:
            query: Words.
            limit: Most hits.
            workspace: Sessions of this folder only; None for all.
        """
        where = None if workspace is None else plain(str(workspace))
        return self._run(
            lambda inside: find(
                inside, plain(query), limit, full_text=self._database.full_text, workspace=where
            )
        )

    def around(self, hit: Hit, before: int = 3, after: int = 6) -> tuple[tuple[Entry, ...], int]:
        """What the same agent said and did before and after a hit, oldest first.

        Returns:
            The entries, and which of them is the hit; none and 0 when it is no longer there.
        """
        return self._run(lambda inside: around(inside, hit, before, after))

    def conversations(self) -> tuple[Conversation, ...]:
        """All conversations, last updated first."""
        query = """SELECT id, workspace, title, created, updated, provider, model,
            (SELECT count(*) FROM entries WHERE conversation_id = id)
            FROM conversations ORDER BY updated DESC, id DESC"""
        rows = self._run(lambda inside: inside.execute(query).fetchall())
        return tuple(Conversation(row[0], Path(row[1]), *row[2:]) for row in rows)

    def show(self, id_or_prefix: str) -> tuple[Entry, ...]:
        """A conversation's entries, in the order they were written.

        Raises:
            UsageError: No conversation fits, or several do; the message lists them.
        """
        return self._run(lambda inside: show(inside, plain(id_or_prefix)))

    def clear(self) -> int:
        """Forget everything, down to the bytes on the disk.

        The transcripts stay: `reindex` brings back what they hold.

        Returns:
            How many conversations there were.
        """

        def forget(inside: sqlite3.Connection) -> int:
            removed = inside.execute("DELETE FROM conversations").rowcount
            self._remove_entries(inside)
            return removed

        removed = self._database.run(forget, write=True)
        self._database.fresh = False
        self._database.run(lambda inside: inside.execute("VACUUM"))
        self._database.run(lambda inside: inside.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
        return removed

    def forget(self, session_id: str) -> None:
        """Take one conversation out, down to the bytes on the disk; its transcript stays."""

        def out(inside: sqlite3.Connection) -> None:
            for statement in FORGET[0 if self._database.full_text else 2 :]:
                inside.execute(statement, (session_id,) if "?" in statement else ())

        self._run(out, write=True)
        self._database.run(lambda inside: inside.execute("PRAGMA wal_checkpoint(TRUNCATE)"))

    def reindex(self, home: Path) -> Reindexed:
        """Build the index anew from the transcripts: the new one as a whole, or the old one stays.

        Raises:
            StoreError: The sessions or the index cannot be used.
        """
        try:
            done = self._database.run(lambda inside: self._rebuild(inside, home), write=True)
        except Damaged:  # Moved aside: start afresh.
            done = self._database.run(lambda inside: self._rebuild(inside, home), write=True)
        self._database.fresh = False
        return done

    def close(self) -> None:
        """Give the file back; safe to call twice."""
        self._database.close()

    def _rebuild(self, inside: sqlite3.Connection, home: Path) -> Reindexed:
        inside.execute("DELETE FROM conversations")
        self._remove_entries(inside)
        listing = sessions.survey(home)
        problems = list(listing.problems)
        added = 0
        for session in reversed(listing.sessions):
            try:
                reading = transcripts.read(sessions.folder(home, session.id))
            except StoreError as error:
                problems.append(str(error))
                continue
            problems += reading.problems
            added += self._add(inside, session, entries_of(session, reading.nodes))
        return Reindexed(len(listing.sessions), added, tuple(problems))

    def _remove_entries(self, inside: sqlite3.Connection) -> None:
        inside.execute("DELETE FROM entries")
        if self._database.full_text:
            inside.execute("INSERT INTO words (words) VALUES ('delete-all')")

    def _add(
        self, inside: sqlite3.Connection, session: SessionInfo, entries: Sequence[Entry]
    ) -> int:
        updated = max((entry.timestamp for entry in entries), default=session.updated)
        inside.execute(
            """INSERT INTO conversations VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET title = excluded.title,
                updated = max(updated, excluded.updated),
                provider = excluded.provider, model = excluded.model""",
            (
                session.id,
                plain(str(session.workspace)),
                plain(session.title),
                session.created,
                max(updated, session.updated),
                plain(session.provider),
                plain(session.model),
            ),
        )
        added = 0
        for entry in entries:
            cursor = inside.execute(
                f"INSERT OR IGNORE INTO entries ({FIELDS}, parts) "  # noqa: S608
                f"VALUES (?{', ?' * 10})",
                (*row_of(entry), parts := parts_of(content := plain(entry.content))),
            )
            if cursor.rowcount and self._database.full_text:
                inside.execute(
                    "INSERT INTO words (rowid, content, parts) VALUES (?, ?, ?)",
                    (cursor.lastrowid, content, parts),
                )
            added += cursor.rowcount
        return added

"""The tables of the memory index: how they came to be, and an entry as one of their rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from stormclaw.protocol.messages import Node
from stormclaw.store import sessions
from stormclaw.store.entries import Entry, entry_of, plain
from stormclaw.store.finding import Hit
from stormclaw.store.sessions import SessionInfo

if TYPE_CHECKING:
    import sqlite3

_VERSION_1 = (
    """CREATE TABLE conversations (
        id TEXT PRIMARY KEY, workspace TEXT NOT NULL, title TEXT NOT NULL,
        created REAL NOT NULL, updated REAL NOT NULL,
        provider TEXT NOT NULL, model TEXT NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE entries (
        number INTEGER PRIMARY KEY, conversation_id TEXT NOT NULL, turn_id TEXT NOT NULL,
        timestamp REAL NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL,
        tool_calls TEXT NOT NULL, tool_results TEXT NOT NULL,
        provider TEXT NOT NULL, model TEXT NOT NULL, metadata TEXT NOT NULL,
        UNIQUE (conversation_id, turn_id)
    )""",
)
_VERSION_2 = (
    "DROP TABLE IF EXISTS words",  # Made again, with another column.
    "ALTER TABLE entries ADD COLUMN parts TEXT NOT NULL DEFAULT ''",
    "UPDATE entries SET parts = parts_of(content)",
)
STEPS = (_VERSION_1, _VERSION_2)
WORDS = (
    """CREATE VIRTUAL TABLE words USING fts5 (
        content, parts, content = 'entries', content_rowid = 'number',
        tokenize = 'unicode61 remove_diacritics 2'
    )""",
    "INSERT INTO words (words) VALUES ('rebuild')",
)
FORGET = (
    """INSERT INTO words (words, rowid, content, parts)
    SELECT 'delete', number, content, parts FROM entries WHERE conversation_id = ?""",
    "INSERT INTO words (words) VALUES ('optimize')",
    "DELETE FROM entries WHERE conversation_id = ?",
    "DELETE FROM conversations WHERE id = ?",
)
FIELDS = (
    "conversation_id, turn_id, timestamp, role, content, "
    "tool_calls, tool_results, provider, model, metadata"
)


def entries_of(session: SessionInfo, nodes: Iterable[Node]) -> tuple[Entry, ...]:
    """What the index keeps of some nodes."""
    return tuple(entry for node in nodes if (entry := entry_of(session, node)) is not None)


def row_of(entry: Entry) -> tuple[str | float, ...]:
    """The values of `FIELDS`."""
    return (
        plain(entry.conversation_id),
        plain(entry.turn_id),
        entry.timestamp,
        entry.role,
        plain(entry.content),
        json.dumps(entry.tool_calls),
        json.dumps(entry.tool_results),
        plain(entry.provider),
        plain(entry.model),
        json.dumps(entry.metadata),
    )


def show(inside: sqlite3.Connection, wanted: str) -> tuple[Entry, ...]:
    """See `Memory.show`."""
    known = [row[0] for row in inside.execute("SELECT id FROM conversations ORDER BY id")]
    conversation_id = sessions.choose(known, wanted, "stormclaw memory list")
    rows = inside.execute(
        f"SELECT {FIELDS} FROM entries WHERE conversation_id = ? ORDER BY number",  # noqa: S608
        (conversation_id,),
    )
    return tuple(_entry(row) for row in rows)


def around(
    inside: sqlite3.Connection, hit: Hit, before: int, after: int
) -> tuple[tuple[Entry, ...], int]:
    """See `Memory.around`."""
    found = inside.execute(
        "SELECT number FROM entries WHERE conversation_id = ? AND turn_id = ?",
        (hit.conversation_id, hit.turn_id),
    ).fetchone()
    if found is None:
        return (), 0
    query = (
        f"SELECT {FIELDS} FROM entries WHERE conversation_id = ? AND number {{}} ? "  # noqa: S608
        "AND json_extract(metadata, '$.agent') = ? ORDER BY number {} LIMIT ?"
    )
    asked = (hit.conversation_id, found[0], hit.agent)
    earlier = inside.execute(query.format("<=", "DESC"), (*asked, before + 1)).fetchall()
    later = inside.execute(query.format(">", "ASC"), (*asked, after)).fetchall()
    entries = tuple(_entry(row) for row in (*reversed(earlier), *later))
    return entries, len(earlier) - 1


def _entry(row: tuple[Any, ...]) -> Entry:
    conversation_id, turn_id, at, role, content, calls, results, provider, model, metadata = row
    return Entry(
        conversation_id,
        turn_id,
        at,
        role,
        content,
        tuple(json.loads(calls)),
        tuple(json.loads(results)),
        provider,
        model,
        json.loads(metadata),
    )

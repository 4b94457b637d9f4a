"""How many receipts there are and where they end, kept beside the log so that a cut end shows."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from stormclaw.errors import StoreError
from stormclaw.store.database import Damaged, Database
from stormclaw.store.keys import Key
from stormclaw.store.replay import Known

if TYPE_CHECKING:
    import sqlite3

LOG = logging.getLogger(__name__)

_VERSION_1 = (
    """CREATE TABLE head (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        count INTEGER NOT NULL, hash TEXT NOT NULL, seal TEXT NOT NULL
    )""",
)
_REMEDY = "The log itself is whole; the next receipt begins a new index and says so"


class Heads:
    """The index beside a log of receipts: one row. Every method blocks, from any thread.

    The log is the record. An index that cannot be used is said, but keeps nobody from writing.

    Attributes:
        path: The SQLite file, `<log>.index`, created with the first receipt.
    """

    def __init__(self, log: Path, key: Key) -> None:
        self.path = log.with_name(f"{log.name}.index")
        self._key = key
        self._database = Database(
            self.path,
            (_VERSION_1,),
            (),
            full_text=False,
            called="receipts' index",
            remedy=_REMEDY,
            newer="move it away",
        )

    def known(self) -> Known | None:
        """What the index says; None if it says nothing yet.

        Raises:
            Damaged: It was no database, and has been moved aside.
            StoreError: It cannot be used.
        """
        if not self.path.exists():
            return None
        row = self._database.run(
            lambda inside: inside.execute("SELECT count, hash, seal FROM head").fetchone()
        )
        if row is None:
            return None
        count, head, seal = row
        return Known(count, head, sealed=seal == self._seal(count, head))

    def settle(self, count: int, head: str) -> None:
        """Remember the newest receipt; a failure is logged, the receipt stands all the same."""

        def keep(inside: sqlite3.Connection) -> None:
            row = (1, count, head, self._seal(count, head))
            inside.execute("INSERT OR REPLACE INTO head VALUES (?, ?, ?, ?)", row)

        try:
            try:
                self._database.run(keep, write=True)
            except Damaged:  # Moved aside: begin a new one.
                self._database.run(keep, write=True)
        except StoreError as error:
            LOG.warning("a receipt was written, but not its index: %s", error)

    def close(self) -> None:
        """Give the file back; it is opened again when needed."""
        self._database.close()

    def _seal(self, count: int, head: str) -> str:
        return self._key.digest(f"head {count} {head}".encode()) if self._key.secret else ""

"""The tamper-evident log of every attempted call, safe with several processes at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from stormclaw.protocol.effects import Risk
from stormclaw.store.chain import Chain, open_chain
from stormclaw.store.durable import finish, store_error
from stormclaw.store.heads import Heads
from stormclaw.store.intents import Intent, declare
from stormclaw.store.journal import Journal
from stormclaw.store.keys import NO_KEY, Key
from stormclaw.store.looking import find, read, unfinished, verify
from stormclaw.store.replay import Verification
from stormclaw.store.rotation import rotate
from stormclaw.store.sealing import (
    FIRST_PREVIOUS_HASH,
    Receipt,
    ReceiptDraft,
    Status,
    receipt_to_json,
    stamp,
)

__all__ = [
    "FIRST_PREVIOUS_HASH",
    "NO_KEY",
    "Intent",
    "Key",
    "Receipt",
    "ReceiptDraft",
    "ReceiptLog",
    "Status",
    "Verification",
    "find",
    "read",
    "receipt_to_json",
    "unfinished",
    "verify",
]

T = TypeVar("T")


def _utc_now() -> datetime:
    return datetime.now(UTC)


class ReceiptLog:
    """The log in one file; any number of these, in any number of processes, may share it.

    Beside it stand `<log>.index` (how many receipts there are, so that a cut end shows) and
    `<log>.intents/` (what is being done right now); see docs/adr/0009.

    Attributes:
        path: The file, created with the first receipt.
    """

    def __init__(
        self, path: Path, clock: Callable[[], datetime] = _utc_now, key: Key = NO_KEY
    ) -> None:
        """Remember where; nothing is opened yet.

        Args:
            path: The file.
            clock: The time, with its zone.
            key: What to seal with. One that is wanted and lacking lets nothing be written.
        """
        self.path = path
        self._clock = clock
        self._key = key
        self._heads = Heads(path, key)
        self._journal = Journal(path)
        self._since = ""

    async def intend(
        self,
        conversation_id: str,
        tool: str,
        arguments: str,
        risk: Risk,
        extra: Mapping[str, Any] | None = None,
    ) -> Intent:
        """Put on the disk that a call with side effects is about to be made.

        Hand the intent to `append` with the result. Should the program end before, the next one
        closes it with a receipt `failed`, outcome `unknown`. A cancelled `intend` leaves nothing:
        the call was not begun.

        Args:
            conversation_id: The session.
            tool: Canonical name.
            arguments: As `ReceiptDraft.arguments`.
            risk: As judged.
            extra: As `ReceiptDraft.extra`, for the receipt that closes it if nobody else does.

        Raises:
            StoreError: It could not be written, or no receipt could follow: do not make the call.
        """
        draft = ReceiptDraft(conversation_id, tool, arguments, "", "failed", risk, extra or {})
        task = asyncio.ensure_future(asyncio.to_thread(self._write, self._begin(draft)))
        try:
            return await finish(task)
        except asyncio.CancelledError:
            await finish(asyncio.to_thread(self._withdraw, task.result()))
            raise

    async def append(self, draft: ReceiptDraft, intent: Intent | None = None) -> Receipt:
        """Seal an attempt; the receipt is on the disk when this returns.

        A cancelled append has still been written before the cancellation is passed on.

        Args:
            draft: What is known of the attempt.
            intent: What `intend` gave for it; the receipt names it.

        Raises:
            StoreError: No receipt could be written; the log stands as before.
        """

        def work(chain: Chain) -> Receipt:
            if intent is None:
                return chain.write(draft)
            marks = {"intent": intent.intent_hash, "intended_at": intent.timestamp}
            receipt = chain.write(draft, **marks)
            self._journal.settle(intent.intent_hash)
            return receipt

        return await finish(asyncio.to_thread(self._write, work))

    async def recover(self) -> tuple[Receipt, ...]:
        """Close what programs that are gone left unfinished; the next receipt would do so too.

        Returns:
            The receipts that say so; none when nothing was left.

        Raises:
            StoreError: It could not be done.
        """
        if not await asyncio.to_thread(self.unfinished):
            return ()
        return await finish(asyncio.to_thread(self._write, attrgetter("closed")))

    async def rotate(self) -> tuple[Receipt, Path | None]:
        """See `rotate`."""
        work = asyncio.to_thread(rotate, self.path, self._key, self._heads, self._clock())
        return await finish(work)

    def read(self, limit: int | None = None, conversation_id: str = "") -> tuple[Receipt, ...]:
        """See `read`."""
        return read(self.path, limit, conversation_id)

    def find(self, number: int) -> Receipt | None:
        """The receipt with a number, None if there is none.

        Raises:
            StoreError: The log cannot be read.
        """
        return find(self.path, number)

    def verify(self) -> Verification:
        """See `verify`."""
        return verify(self.path, self._key)

    def unfinished(self) -> tuple[Intent, ...]:
        """See `unfinished`."""
        return unfinished(self.path)

    def close(self) -> None:
        """Give the files back; calls still running count as unfinished from here on."""
        self._journal.close()
        self._heads.close()

    def _begin(self, draft: ReceiptDraft) -> Callable[[Chain], Intent]:
        def work(chain: Chain) -> Intent:
            now = self._clock()
            self._since = self._since or stamp(now)
            intent = declare(draft, chain.last, now, self._since, self._key)
            self._journal.begin(intent)
            return intent

        return work

    def _withdraw(self, intent: Intent) -> None:
        try:
            self._journal.withdraw(intent.intent_hash)
        except OSError as error:
            raise store_error("withdraw an intent beside", self.path, error) from error

    def _write(self, work: Callable[[Chain], T]) -> T:
        try:
            with open_chain(self.path, self._key, self._heads, self._clock) as chain:
                return work(chain)
        except OSError as error:
            raise store_error("write a receipt to", self.path, error) from error

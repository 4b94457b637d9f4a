"""The log while it is ours: locked, mended, compared with its index, ready for the next receipt."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from stormclaw.errors import StoreError
from stormclaw.store.database import Damaged
from stormclaw.store.durable import (
    append_record,
    flocked,
    flush_folder,
    make_folder,
    still_named,
)
from stormclaw.store.heads import Heads
from stormclaw.store.intents import closing, unnamed
from stormclaw.store.journal import left_behind
from stormclaw.store.keys import Key
from stormclaw.store.replay import Known, continues, differs
from stormclaw.store.sealing import (
    FIRST_PREVIOUS_HASH,
    Receipt,
    ReceiptDraft,
    receipt_from_line,
    receipt_to_line,
    seal,
)
from stormclaw.store.tails import lines_backwards, mend_tail

LOG = logging.getLogger(__name__)

_AFRESH = "`stormclaw receipt rotate` keeps this log aside and begins a new one"


class Chain:
    """A log nobody else writes meanwhile; made by `open_chain`.

    Attributes:
        last: The newest receipt, None in an empty log.
        closed: Receipts of calls whose process ended before they were done, written on opening.
    """

    def __init__(
        self, fd: int, path: Path, key: Key, heads: Heads, clock: Callable[[], datetime]
    ) -> None:
        self._fd, self._path, self._key, self._heads = fd, path, key, heads
        self._clock = clock
        self.last = _last(fd, path)
        _check_key(self.last, path, key)
        self._marks = self._found()
        if gap := self._marks.get("gap"):
            LOG.warning("%s: %s; see `stormclaw receipt verify`", path, gap)
        self.closed = self._close_left()

    def write(self, draft: ReceiptDraft, **marks: Any) -> Receipt:
        """Seal an attempt; the receipt is on the disk when this returns.

        Raises:
            OSError: No receipt was written.
        """
        receipt = seal(draft, self.last, self._clock(), self._key, {**marks, **self._marks})
        append_record(self._fd, receipt_to_line(receipt))
        if self.last is None:
            flush_folder(self._path.parent)
        self._heads.settle(receipt.number, receipt.receipt_hash)
        self.last, self._marks = receipt, {}
        return receipt

    def _close_left(self) -> tuple[Receipt, ...]:
        """Give every call whose process ended before it was done a receipt that says so.

        Raises:
            StoreError: The intents cannot be read.
            OSError: A receipt could not be written; the rest is left to the next one.
        """
        written: list[Receipt] = []
        with left_behind(self._path) as all_left:
            for left in all_left:
                for intent in unnamed(left.intents, newest_first(self._fd)):
                    marks = {"intent": intent.intent_hash, "intended_at": intent.timestamp}
                    written.append(self.write(closing(intent, self._key), **marks))
                with contextlib.suppress(OSError):  # What it holds is found settled next time.
                    left.remove()
        return tuple(written)

    def _found(self) -> dict[str, str]:
        """What the next receipt has to say about the index, nothing if it fits."""
        count = self.last.number if self.last else 0
        try:
            known = self._heads.known()
        except Damaged as error:
            LOG.warning("%s", error)
            known = None
        except StoreError as error:
            LOG.warning("the receipts are not compared with their index: %s", error)
            return {}
        if known is None:
            return {"index": "begun anew: none was there"} if count else {}
        if known == Known(count, self.last.receipt_hash if self.last else FIRST_PREVIOUS_HASH):
            return {}
        if continues(self._first(), known, self._key):
            return {}
        ahead = count - known.count
        if ahead < 0:
            return {"gap": f"{-ahead} receipts are missing before it, the index knew {known.count}"}
        beside = next(itertools.islice(newest_first(self._fd), ahead, None), None)
        if known.count and (beside is None or differs(beside, known, self._key)):
            return {"gap": f"receipt {known.count} is not the one the index knew"}
        # A crash between the two explains one.
        behind = f"{ahead} receipts behind: they were written without it"
        return {"index": behind} if ahead > 1 else {}

    def _first(self) -> Receipt | None:
        with os.fdopen(os.dup(self._fd), "rb") as file, contextlib.suppress(ValueError):
            file.seek(0)
            return receipt_from_line(file.readline())
        return None


@contextlib.contextmanager
def open_chain(
    path: Path, key: Key, heads: Heads, clock: Callable[[], datetime]
) -> Iterator[Chain]:
    """The log, to be gone on with.

    Raises:
        StoreError: Nothing can be written after what stands there, or not with this key.
        OSError: It cannot be opened, locked or mended.
    """
    if key.lacking:
        raise StoreError(
            f"receipts.hmac_key_env names {key.variable}, which is not set: without the key no "
            "receipt can be sealed, and nothing is done without a receipt"
        )
    make_folder(path.parent)
    with locked(path) as fd:
        mended = mend_tail(fd, path)
        if mended:
            LOG.warning("%s", mended)
        yield Chain(fd, path, key, heads, clock)


@contextlib.contextmanager
def opened(path: Path, flags: int) -> Iterator[int]:
    """A file of this user's alone, open meanwhile."""
    fd = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[int]:
    """The log, open for appending and ours alone; the one that bears the name now."""
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        with opened(path, flags) as fd, flocked(fd):
            if still_named(path, fd):
                yield fd
                return


def newest_first(fd: int) -> Iterator[Receipt]:
    """The receipts of an open log, newest first; lines that are none are passed over."""
    for _, line in lines_backwards(fd):
        with contextlib.suppress(ValueError):
            yield receipt_from_line(line)


def _last(fd: int, path: Path) -> Receipt | None:
    """The newest receipt, None in an empty log.

    Raises:
        StoreError: The last line is no receipt: whoever wrote it, the chain cannot be continued.
    """
    for _, line in lines_backwards(fd):
        try:
            return receipt_from_line(line)
        except ValueError as error:
            raise StoreError(
                f"{path}: the last line is {error}; something else wrote there. Look at it with "
                f"`stormclaw receipt verify`; {_AFRESH}"
            ) from error
    return None


def _check_key(last: Receipt | None, path: Path, key: Key) -> None:
    """Raise StoreError where a receipt sealed with this key may not follow the last one."""
    if last is None or not last.keyed:
        return
    if not key.secret:
        raise StoreError(
            f"{path}: its receipts are sealed with a key: name the environment variable that holds "
            f"it in receipts.hmac_key_env, or {_AFRESH}"
        )
    if last.extra.get("key_id") != key.id:
        raise StoreError(
            f"{path}: its receipts are sealed with another key than the one in "
            f"{key.variable or 'use'}: set that one, or {_AFRESH}"
        )

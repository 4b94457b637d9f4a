"""Beginning a new log on purpose, so that this can be told from a log that was cut."""

from __future__ import annotations

import contextlib
import os
import tempfile
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from stormclaw.errors import StoreError
from stormclaw.store.chain import locked
from stormclaw.store.durable import flush, flush_folder, make_folder, store_error, write_all
from stormclaw.store.heads import Heads
from stormclaw.store.keys import Key
from stormclaw.store.replay import Known, Verification, verify_lines
from stormclaw.store.sealing import Receipt, ReceiptDraft, receipt_to_line, seal

TOOL = "receipt_rotate"
"""What the first receipt of a log that was begun anew calls itself."""


def rotate(path: Path, key: Key, heads: Heads, at: datetime) -> tuple[Receipt, Path | None]:
    """Keep the log aside and begin a new one, whose first receipt tells of the old one.

    Whatever state the old log is in is told too: a broken chain stays as it is, in its file.

    Returns:
        The first receipt, and where the old log is now; None if there was none.

    Raises:
        StoreError: It could not be done; the old log stands.
    """
    if key.lacking:
        raise StoreError(f"receipts.hmac_key_env names {key.variable}, which is not set")
    try:
        make_folder(path.parent)
        with locked(path) as fd:
            try:
                known = heads.known()
            except StoreError:
                known = None  # The new one says what the old one was found to be.
            with os.fdopen(os.dup(fd), "rb") as file:
                file.seek(0)
                verification = verify_lines(file, key, known)
            aside = _free_name(path, at) if os.fstat(fd).st_size else None
            receipt = _first(verification, known, aside, key, at)
            _replace(path, receipt_to_line(receipt), aside)
            heads.settle(1, receipt.receipt_hash)
            return receipt, aside
    except OSError as error:
        raise store_error("begin anew", path, error) from error


def _first(
    verification: Verification, known: Known | None, aside: Path | None, key: Key, at: datetime
) -> Receipt:
    index = known or Known(verification.count, verification.head)
    said = verification.reason or "its chain was unbroken"
    told = {
        "file": aside.name if aside else "",
        "count": verification.count,
        "head": verification.head,
        "index_count": index.count,
        "index_head": index.head,
        "said": said,
    }
    extra = {
        "agent": "by-hand",
        "object": f"begin a new log after {verification.count} receipts",
        "outcome": "done",
        "summary": said,
        "decided_by": "you",
    }
    draft = ReceiptDraft("by-hand", TOOL, "{}", "", "allowed", "low", extra)
    return seal(draft, None, at, key, {"continues": told})


def _replace(path: Path, line: bytes, aside: Path | None) -> None:
    """Put a log of one line in the old one's place: there is one or the other at any moment."""
    fd, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        try:
            write_all(fd, line)
            flush(fd)
        finally:
            os.close(fd)
        if aside is not None:
            aside.hardlink_to(path)
        Path(temporary).replace(path)
        flush_folder(path.parent)
    except OSError:
        with contextlib.suppress(OSError):
            Path(temporary).unlink(missing_ok=True)
            if aside is not None and path.samefile(aside):
                aside.unlink()
        raise


def _free_name(path: Path, at: datetime) -> Path:
    """`tool_receipts-20261122-014359.log`, or with a number behind it."""
    stem = f"{path.stem}-{at.astimezone(UTC):%Y%m%d-%H%M%S}"
    endings = ("" if number == 1 else f"-{number}" for number in count(1))
    places = (path.with_name(f"{stem}{ending}{path.suffix}") for ending in endings)
    return next(place for place in places if not place.exists())

"""The log looked at without changing it: its receipts, its chain, what was left unfinished."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from stormclaw.errors import StoreError
from stormclaw.store.chain import newest_first, opened
from stormclaw.store.durable import flocked, store_error
from stormclaw.store.heads import Heads
from stormclaw.store.intents import Intent, unnamed
from stormclaw.store.journal import left_behind
from stormclaw.store.keys import NO_KEY, Key
from stormclaw.store.replay import Known, Verification, verify_lines
from stormclaw.store.sealing import Receipt


def read(path: Path, limit: int | None = None, conversation_id: str = "") -> tuple[Receipt, ...]:
    """The last receipts (of one session, if given), newest last; reads no more than it must.

    Lines that are no receipts are passed over here: `verify` names them.

    Args:
        path: The log; none yet means no receipts.
        limit: At most so many; None for all, less than one for none.
        conversation_id: Only this session's; "" for all.

    Raises:
        StoreError: The log cannot be read.
    """
    try:
        with opened(path, os.O_RDONLY) as fd:
            fitting = (
                receipt
                for receipt in newest_first(fd)
                if not conversation_id or receipt.conversation_id == conversation_id
            )
            most = None if limit is None else max(0, limit)
            return tuple(itertools.islice(fitting, most))[::-1]
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise store_error("read", path, error) from error


def find(path: Path, number: int) -> Receipt | None:
    """The receipt with a number, None if there is none.

    Raises:
        StoreError: The log cannot be read.
    """
    try:
        with opened(path, os.O_RDONLY) as fd:
            return next((found for found in newest_first(fd) if found.number == number), None)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise store_error("read", path, error) from error


def verify(path: Path, key: Key = NO_KEY) -> Verification:
    """Replay the log, compare it with its index, and find the first broken link.

    No log yet is an unbroken chain of none. Receipts appended meanwhile are left for next time.

    Raises:
        StoreError: The log cannot be read.
    """
    try:
        with opened(path, os.O_RDONLY) as fd:
            with flocked(fd, exclusive=False):
                size = os.fstat(fd).st_size
                known, note = _known(path, key)
            verification = verify_lines(_lines(fd, size), key, known)
    except FileNotFoundError:
        known, note = _known(path, key)
        verification = verify_lines((), key, known)
    except OSError as error:
        raise store_error("read", path, error) from error
    notes = [*verification.notes, *((note,) if note and verification.count else ())]
    if left := len(unfinished(path)):
        were = "call was" if left == 1 else "calls were"
        notes.append(f"{left} {were} cut off when a program ended; the next receipt closes that")
    return replace(verification, notes=tuple(notes))


def unfinished(path: Path) -> tuple[Intent, ...]:
    """Calls that were begun by a program that is gone, and have no receipt yet.

    Raises:
        StoreError: They cannot be read.
    """
    with left_behind(path) as all_left:
        found: list[Intent] = []
        for left in all_left:
            try:
                with opened(path, os.O_RDONLY) as fd:
                    found += unnamed(left.intents, newest_first(fd))
            except FileNotFoundError:
                found += left.intents
            except OSError as error:
                raise store_error("read", path, error) from error
        return tuple(found)


def _known(path: Path, key: Key) -> tuple[Known | None, str]:
    """What the index says, and why it says nothing."""
    heads = Heads(path, key)
    try:
        known = heads.known()
    except StoreError as error:
        return None, f"not checked against the index: {error}"
    finally:
        heads.close()
    return known, "" if known else "not checked against the index: there is none yet"


def _lines(fd: int, size: int) -> Iterator[bytes]:
    """The lines in the first `size` bytes."""
    left = size
    with os.fdopen(os.dup(fd), "rb") as file:
        file.seek(0)
        while left > 0 and (line := file.readline(left)):
            left -= len(line)
            yield line

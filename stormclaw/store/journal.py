"""What is being done, on the disk before it is done: a crash leaves no deed without a trace.

A process keeps the intents of its running calls in a file of its own, `<log>.intents/<pid>-...`,
locked as long as it lives. The result's receipt names the intent by its hash. When a process is
gone, whoever comes next finds its lock free and closes what it left (see `Chain`).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import threading
import weakref
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import rfc8785

from stormclaw.store.durable import (
    append_record,
    flush_folder,
    make_folder,
    still_named,
    store_error,
)
from stormclaw.store.intents import Intent, intent_from_json


class Journal:
    """The running calls of one process, in a file nobody else writes."""

    def __init__(self, log: Path) -> None:
        """Remember where; the file is made with the first intent."""
        self._folder = folder_of(log)
        self._open: dict[str, Intent] = {}
        self._lock = threading.Lock()
        self._path: Path | None = None
        self._fd = -1
        self._finalizer: weakref.finalize[[int], Journal] | None = None

    def begin(self, intent: Intent) -> None:
        """Put an intent on the disk.

        Raises:
            OSError: It could not be written; nothing of it will be read back.
        """
        with self._lock:
            if self._path is None or not still_named(self._path, self._fd):
                self._make()
                for running in self._open.values():
                    append_record(self._fd, _line(running))
            append_record(self._fd, _line(intent))
            self._open[intent.intent_hash] = intent

    def settle(self, intent_hash: str) -> None:
        """Its receipt is on the disk: once none is open, the file is emptied.

        That it may stay behind does no harm: the receipts say which are settled.
        """
        with self._lock, contextlib.suppress(OSError):
            if self._open.pop(intent_hash, None) is None:
                return
            if self._open:
                os.write(self._fd, _over(intent_hash))
            else:
                os.ftruncate(self._fd, 0)

    def withdraw(self, intent_hash: str) -> None:
        """The call was not begun after all; this is on the disk when it returns.

        Raises:
            OSError: It could not be written.
        """
        with self._lock:
            append_record(self._fd, _over(intent_hash))
            self._open.pop(intent_hash, None)

    def close(self) -> None:
        """Give the file back; open intents are left to whoever comes next. Safe to call twice."""
        with self._lock:
            if self._finalizer is not None and self._path is not None:
                if not self._open:
                    self._path.unlink(missing_ok=True)
                self._finalizer()
            self._path, self._fd, self._open = None, -1, {}

    def _make(self) -> None:
        make_folder(self._folder)
        while True:
            path = self._folder / f"{os.getpid()}-{secrets.token_hex(4)}"
            fd = os.open(
                path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600
            )
            fcntl.flock(fd, fcntl.LOCK_EX)
            if still_named(path, fd):
                break
            os.close(fd)  # Somebody took it for a dead one between its making and its locking.
        flush_folder(self._folder)
        if self._finalizer is not None:
            self._finalizer()
        self._path, self._fd = path, fd
        self._finalizer = weakref.finalize(self, os.close, fd)


def folder_of(log: Path) -> Path:
    """Where the intents beside a log are."""
    return log.with_name(f"{log.name}.intents")


@dataclass(frozen=True, slots=True)
class Left:
    """What a process that is gone left behind; nobody else takes it while this is held.

    Attributes:
        path: Its file.
        intents: Those it had not withdrawn, oldest first; some may have their receipt.
        unreadable: How many lines say nothing.
    """

    path: Path
    intents: tuple[Intent, ...]
    unreadable: int

    def remove(self) -> None:
        """All of it stands in receipts now. What could not be read is kept aside.

        Raises:
            OSError: The file cannot be removed.
        """
        if self.unreadable:
            self.path.rename(self.path.with_suffix(".unreadable"))
        else:
            self.path.unlink(missing_ok=True)


@contextlib.contextmanager
def left_behind(log: Path) -> Iterator[tuple[Left, ...]]:
    """The intents of processes that are gone.

    Raises:
        StoreError: They cannot be read.
    """
    with contextlib.ExitStack() as held:
        found: list[Left] = []
        try:
            names = sorted(path for path in folder_of(log).iterdir() if not path.suffix)
        except FileNotFoundError:
            names = []
        except OSError as error:
            raise store_error("list", folder_of(log), error) from error
        for path in names:
            try:
                fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise store_error("read", path, error) from error
            held.callback(os.close, fd)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # Its process lives.
            if still_named(path, fd):
                found.append(_read(path, fd))
        yield tuple(found)


def _read(path: Path, fd: int) -> Left:
    with os.fdopen(os.dup(fd), "rb") as file:
        lines = file.readlines()
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()  # Torn: it was never confirmed, so the call was never begun.
    intents: dict[str, Intent] = {}
    unreadable = 0
    for line in lines:
        try:
            stored = json.loads(line)
            if over := stored.get("over"):
                intents.pop(over, None)
            else:
                intent = intent_from_json(stored)
                intents[intent.intent_hash] = intent
        except (ValueError, AttributeError, TypeError, RecursionError):
            unreadable += 1
    return Left(path, tuple(intents.values()), unreadable)


def _line(intent: Intent) -> bytes:
    return rfc8785.dumps(asdict(intent)) + b"\n"


def _over(intent_hash: str) -> bytes:
    return rfc8785.dumps({"over": intent_hash}) + b"\n"

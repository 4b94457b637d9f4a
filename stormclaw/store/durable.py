"""Bytes that stay: saved whole or not at all, appended whole or taken back, locked while in use."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from stormclaw.errors import StoreError

T = TypeVar("T")

_ADVICE: Mapping[int, str] = {
    errno.ENOSPC: "the disk is full, free some space and try again",
    errno.EDQUOT: "your quota is used up, free some space and try again",
    errno.EFBIG: "the file has reached the size this system allows, start a new session",
    errno.EIO: "the disk reports an error, check it before you go on",
    errno.EROFS: "it lies on a read-only file system, set STORMCLAW_HOME to a writable folder",
    errno.EACCES: "check who owns it and its permissions",
    errno.EPERM: "check who owns it and its permissions",
    errno.ENOENT: "its folder is gone, was the session removed?",
    errno.ENOTDIR: "a file stands where a folder is needed, move it away",
    errno.EISDIR: "a folder stands where a file is needed, move it away",
    errno.EMFILE: "too many files are open, raise `ulimit -n`",
    errno.ENFILE: "too many files are open on this machine",
    errno.ENOLCK: "this file system cannot lock files, set STORMCLAW_HOME to a local folder",
    errno.EOPNOTSUPP: "this file system cannot lock files, set STORMCLAW_HOME to a local folder",
}


class TornWrite(OSError):
    """A record was written in part and could not be taken back."""


def store_error(doing: str, path: Path, error: OSError) -> StoreError:
    """The error a person can act on: `cannot write <path>: No space left on device; the ...`."""
    reason = error.strerror or str(error)
    advice = _ADVICE.get(error.errno or 0, "")
    return StoreError(f"cannot {doing} {path}: {reason}" + (f"; {advice}" if advice else ""))


def flush(fd: int) -> None:
    """Wait until what was written to `fd` is on the disk."""
    if sys.platform == "linux":
        os.fdatasync(fd)  # The size is flushed with the bytes, only the time stamps are not.
    else:
        os.fsync(fd)


def flush_folder(folder: Path) -> None:
    """Wait until the names in `folder` are on the disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_folder(folder: Path) -> None:
    """Create `folder` and what is missing above it, for this user alone.

    Raises:
        OSError: It cannot be created.
    """
    if folder.is_dir():
        return
    make_folder(folder.parent)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    flush_folder(folder.parent)


def save_atomically(path: Path, payload: bytes) -> None:
    """Replace the file: readers and a crash see the old bytes or the new ones, nothing between.

    Raises:
        StoreError: It could not be saved; the old file stands untouched.
    """
    temporary = ""
    try:
        fd, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        try:
            write_all(fd, payload)
            flush(fd)
        finally:
            os.close(fd)
        Path(temporary).replace(path)
        flush_folder(path.parent)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise store_error("save", path, error) from error


def write_all(fd: int, payload: bytes) -> None:
    """Write everything: one `write` unless the system takes less, which it does before it fails."""
    rest = memoryview(payload)
    while rest:
        rest = rest[os.write(fd, rest) :]


def append_record(fd: int, record: bytes) -> None:
    """Append to a file opened with O_APPEND and wait for the disk; on failure take it back.

    Raises:
        TornWrite: A part of the record stands in the file and could not be cut off.
        OSError: Nothing of the record stands in the file.
    """
    start = os.fstat(fd).st_size
    try:
        write_all(fd, record)
        flush(fd)
    except OSError as error:
        try:
            os.ftruncate(fd, start)
        except OSError:
            raise TornWrite(error.errno, error.strerror) from error
        raise


@contextlib.contextmanager
def flocked(fd: int, *, exclusive: bool = True, patience_s: float = 10.0) -> Iterator[None]:
    """Hold the file's lock, waiting for other processes up to `patience_s` seconds.

    Raises:
        TimeoutError: Somebody else holds it all the while.
        OSError: The file system cannot lock.
    """
    kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    deadline = time.monotonic() + patience_s
    pause_s = 0.0005
    while True:
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
            break
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                reason = f"another process has held its lock for {patience_s:g} s"
                raise TimeoutError(errno.ETIMEDOUT, reason) from error
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, 0.02)
    try:
        yield
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)


def still_named(path: Path, fd: int) -> bool:
    """Whether `path` still names this file: it may have been moved while we waited for it."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except OSError:
        return False


async def finish(work: Awaitable[T]) -> T:
    """Await work that goes on in a thread; a cancellation is passed on once the work is over.

    An error of the work outranks the cancellation: that a record was lost must be heard.
    """
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled and not task.cancelled() and task.exception() is None:
        raise asyncio.CancelledError
    return task.result()

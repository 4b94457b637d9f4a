"""A session's append-only transcript: the record, from which everything else can be rebuilt."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import io
import itertools
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from stormclaw.errors import StoreError
from stormclaw.protocol.messages import Node
from stormclaw.store.codec import NewerVersion, node_from_line, node_to_line
from stormclaw.store.durable import (
    TornWrite,
    append_record,
    finish,
    flush_folder,
    make_folder,
    store_error,
)
from stormclaw.store.tails import is_torn, lines_backwards, mend_tail

FILE_NAME = "transcript.jsonl"
_LOCK_NAME = "lock"
_RECORD = b'{"v":'
"""How every record begins."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a transcript says.

    Attributes:
        nodes: Every readable node, in the order written.
        problems: One sentence for each line that was left out, with file and line number.
    """

    nodes: tuple[Node, ...]
    problems: tuple[str, ...] = ()


def read(folder: Path) -> Reading:
    """Read a session's transcript without changing it; no file yet is an empty one.

    Raises:
        NewerVersion: A line was written by a later StormClaw.
        StoreError: The file cannot be read.
    """
    path = folder / FILE_NAME
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Reading(())
    except OSError as error:
        raise store_error("read", path, error) from error
    nodes: list[Node] = []
    problems: list[str] = []
    lines = list(io.BytesIO(content))  # Cut at newlines alone, unlike `bytes.splitlines`.
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            nodes.append(node_from_line(line))
        except NewerVersion as error:
            raise NewerVersion(f"{path} line {number}: {error}") from error
        except StoreError as error:
            torn = number == len(lines) and is_torn(line)
            reason = "torn by a crash, never confirmed" if torn else f"unreadable ({error})"
            rest = _glued(line)
            nodes += rest
            what = "the beginning was left out" if rest else "left out"
            problems.append(f"{path} line {number}: {reason}; {what} here, kept in the file")
    return Reading(tuple(nodes), tuple(problems))


def _glued(line: bytes) -> tuple[Node, ...]:
    """A whole record behind a torn one on the same line: some writers forget to look."""
    start = line.rfind(_RECORD)  # In a text the quotes would be escaped.
    if start <= 0:
        return ()
    try:
        return (node_from_line(line[start:]),)
    except NewerVersion:
        raise
    except StoreError:
        return ()


class Transcript:
    """A session's transcript, open for writing: nobody else writes it meanwhile.

    Attributes:
        path: The file.
        problems: What had to be mended on opening, one sentence each.
    """

    def __init__(self, folder: Path) -> None:
        """Open the transcript in a session's folder, creating it if there is none. Blocks.

        Raises:
            NewerVersion: Its last record was written by a later StormClaw; nothing was touched.
            StoreError: It cannot be opened, or it is open in another process.
        """
        self.path = folder / FILE_NAME
        self._turn = asyncio.Lock()
        self._writing = threading.Lock()
        self._glued = False
        self._lock_fd = take(folder)
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(self.path, flags, 0o600)
        except OSError as error:
            os.close(self._lock_fd)
            raise store_error("open", self.path, error) from error
        self._closed = False
        try:
            _refuse_newer(self._fd, self.path)
            mended = mend_tail(self._fd, self.path)
            flush_folder(folder)
        except StoreError:
            self.close()
            raise
        except OSError as error:
            self.close()
            raise store_error("mend", self.path, error) from error
        self.problems: tuple[str, ...] = (mended,) if mended else ()

    async def append(self, node: Node) -> None:
        """Put a node on the disk; it is there when this returns.

        A cancelled append has still been written before the cancellation is passed on, unless it
        was still waiting for its turn: later nodes never overtake it.

        Raises:
            StoreError: Nothing of the node will be read back; the file stands as before.
        """
        record = node_to_line(node)
        async with self._turn:
            await finish(asyncio.to_thread(self._append, record))

    def close(self) -> None:
        """Let others write; safe to call twice. Waits for an append in progress."""
        with self._writing:
            if not self._closed:
                self._closed = True
                os.close(self._fd)
                os.close(self._lock_fd)

    def _append(self, record: bytes) -> None:
        with self._writing:
            if self._closed:
                raise StoreError(f"cannot write {self.path}: the session has been closed")
            try:
                append_record(self._fd, b"\n" + record if self._glued else record)
            except OSError as error:
                # What could not be taken back must not swallow the next record.
                self._glued = self._glued or isinstance(error, TornWrite)
                raise store_error("write", self.path, error) from error
            self._glued = False


def _refuse_newer(fd: int, path: Path) -> None:
    """Raise NewerVersion where the last whole records are of a version this program cannot read.

    A torn line may be a newer program's too, so this comes before anything is mended.
    """
    for _, line in itertools.islice(lines_backwards(fd), 2):
        try:
            node_from_line(line)
        except NewerVersion as error:
            raise NewerVersion(f"{path}: {error}") from error
        except StoreError:
            continue


def take(folder: Path) -> int:
    """Take the session for this process; the file holds the owner's process id.

    Returns:
        The descriptor that holds the lock until it is closed.

    Raises:
        StoreError: It is open elsewhere, in this program or another one.
    """
    path = folder / _LOCK_NAME
    try:
        make_folder(folder)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise store_error("open", path, error) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        owner = os.pread(fd, 20, 0).decode("ascii", "replace").strip()
        os.close(fd)
        where = "in this program" if owner == str(os.getpid()) else f"in another process ({owner})"
        raise StoreError(
            f"session {folder.name} is already open {where}: go on there, or close it first"
        ) from error
    except OSError as error:
        os.close(fd)
        raise store_error("lock", path, error) from error
    with contextlib.suppress(OSError):  # On a full disk the lock holds without the name tag.
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode("ascii"), 0)
    return fd


def owner(folder: Path) -> int:
    """Process id of who last took the session, 0 if nobody knows."""
    try:
        return int((folder / _LOCK_NAME).read_text("ascii"))
    except (OSError, ValueError):
        return 0

"""A session made as a whole: it is there with everything in it, or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from stormclaw.protocol.messages import Node
from stormclaw.store import sessions, transcripts
from stormclaw.store.codec import node_to_line
from stormclaw.store.durable import flush, flush_folder, make_folder, store_error
from stormclaw.store.sessions import SessionInfo

MAKING, REMOVED = ".making-", ".removed-"
"""How folders begin that are no session yet, or no session any more."""
_LEAST_AGE_S = 60.0
"""Younger ones may not have been locked by their owner yet."""


class Newborn:
    """A session that is being made; nobody sees it yet.

    Attributes:
        info: What it will be listed as; see `know`.
        count: How many nodes it has.
    """

    def __init__(self, info: SessionInfo, transcript: IO[bytes]) -> None:
        self.info = info
        self.count = 0
        self._transcript = transcript

    def add(self, node: Node) -> None:
        """The next node, in the order written."""
        self._transcript.write(node_to_line(node))
        self.count += 1

    def know(self, **changes: Any) -> None:
        """Change fields of `info`; its id and its times stay valid ones."""
        self.info = replace(self.info, **changes)


@contextlib.contextmanager
def being_made(
    home: Path, workspace: Path, model: str, provider: str, *, now: float | None = None
) -> Iterator[Newborn]:
    """Make a session: it appears when the block ends well, and nothing is left if it does not.

    Args:
        home: The user folder.
        workspace: Absolute folder the session works in.
        model: Model last used.
        provider: Our name of its provider.
        now: When it began, Unix seconds; the clock if None.

    Raises:
        StoreError: The disk does not keep it.
    """
    place = home / "sessions"
    try:
        make_folder(place)
        sweep(place)
        nursery = Path(tempfile.mkdtemp(prefix=MAKING, dir=place))
    except OSError as error:
        raise store_error("create a session in", place, error) from error
    hold = os.open(nursery, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(hold, fcntl.LOCK_EX | fcntl.LOCK_NB)
        info = sessions.create(nursery, workspace, model, provider, now=now)
        folder = sessions.folder(nursery, info.id)
        path = folder / transcripts.FILE_NAME
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as transcript:
            made = Newborn(info, transcript)
            yield made
            transcript.flush()
            flush(transcript.fileno())
        os.utime(path, (made.info.updated, made.info.updated))
        sessions.save(nursery, made.info)
        folder.rename(sessions.folder(home, info.id))
        flush_folder(place)
    except OSError as error:
        raise store_error("write a session in", place, error) from error
    finally:
        os.close(hold)
        shutil.rmtree(nursery, ignore_errors=True)


def sweep(place: Path) -> None:
    """Clear away what a crash left half made or half removed."""
    for path in place.glob(".*-*"):
        if path.name.startswith(REMOVED) or (path.name.startswith(MAKING) and _left(path)):
            shutil.rmtree(path, ignore_errors=True)


def _left(nursery: Path) -> bool:
    """Whether nobody is making anything here any more."""
    try:
        if time.time() - nursery.stat().st_mtime < _LEAST_AGE_S:
            return False
        fd = os.open(nursery, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def set_aside(home: Path, session_id: str) -> Path:
    """Take a session out of the list at once, so that a crash cannot leave half of it there.

    Returns:
        Where it is now, to be deleted.

    Raises:
        StoreError: It cannot be moved; it is as it was.
    """
    folder = sessions.folder(home, session_id)
    aside = folder.with_name(f"{REMOVED}{session_id}")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
        flush_folder(folder.parent)
    except OSError as error:
        raise store_error("remove", folder, error) from error
    return aside


def cleared(aside: Path) -> None:
    """Delete what was set aside.

    Raises:
        StoreError: Some of it stays on the disk; the message says where.
    """
    try:
        shutil.rmtree(aside)
    except OSError as error:
        raise store_error("delete", aside, error) from error

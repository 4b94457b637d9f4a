"""Places that must not come into being need something to mount over: harmless, and for a while.

A mount point has to exist. What is made for one is an empty folder (git and most programs do not
see it) or a file that means nothing, and it is removed as soon as no program needs it any more,
whichever StormClaw made it: they share a lock for each workspace.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

NOBODY_CAN = frozenset(
    {errno.EEXIST, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR}
)
"""Why making one may fail: it is there by now, or programs of the same user cannot make it."""


class Placeholders:
    """Makes and removes them for one workspace.

    Args:
        folder: StormClaw's own, where the lock and the list of what was made are kept.
        workspace: Whose they are.
    """

    def __init__(self, folder: Path, workspace: Path) -> None:
        name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]
        self._list = folder / "run" / f"placeholders-{name}"

    def hold(self, missing: Mapping[Path, str | None]) -> int:
        """Make what is missing, for as long as the descriptor that is returned is not released.

        Args:
            missing: Path -> what its file holds; None for a folder.

        Raises:
            OSError: Something can be made neither by us nor kept from being made by others.
        """
        self._list.parent.mkdir(0o700, parents=True, exist_ok=True)
        held = os.open(self._list, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_SH)
            for path, content in missing.items():
                _make(path, content, held)
        except BaseException:
            self.release(held)
            raise
        return held

    def release(self, held: int) -> None:
        """No longer needed here; the last one removes them."""
        try:
            with contextlib.suppress(OSError):
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._clear(held)
        finally:
            os.close(held)

    def _clear(self, held: int) -> None:
        size = os.fstat(held).st_size
        if not size:
            return
        for entry in set(os.pread(held, size, 0).splitlines()):
            with contextlib.suppress(ValueError):
                path, content = json.loads(entry)
                _unmake(Path(path), content)
        os.ftruncate(held, 0)


def _make(path: Path, content: str | None, held: int) -> None:
    if os.path.lexists(path):
        return
    # First the note, then the deed: whoever is killed between them leaves nothing behind.
    os.write(held, json.dumps([str(path), content]).encode() + b"\n")
    try:
        if content is None:
            path.mkdir(0o755)
        else:
            with path.open("x", encoding="utf-8") as file:
                file.write(content)
    except OSError as problem:
        if problem.errno not in NOBODY_CAN:
            raise


def _unmake(path: Path, content: str | None) -> None:
    """Remove a placeholder, unless somebody has made something of it."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if content is None:
            path.rmdir()
        elif path.read_text("utf-8") == content:
            path.unlink()

"""Files that the project's own git keeps although they are ignored: for git they are not ignored.

The project's index is read with the store's configuration, and never written.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from stormclaw.errors import StoreError
from stormclaw.store.snapshots.git import Deadline, Git, OutOfTime
from stormclaw.store.snapshots.objects import save
from stormclaw.store.snapshots.rules import git_folders
from stormclaw.store.snapshots.shelf import NOTE


class Tracked:
    """Remembers them for as long as the project's index stays as it is.

    Args:
        git: The store and the work tree.
    """

    def __init__(self, git: Git) -> None:
        self._git = git
        self._note = git.folder / NOTE

    def known(self) -> frozenset[bytes]:
        """Their paths as found last."""
        return self._read()[1]

    def stale(self) -> bool:
        """Whether the project's index has changed since."""
        return self._read()[0] != self._stamp()

    def renew(self, deadline: Deadline) -> frozenset[bytes]:
        """The same as `found`, and written down.

        Raises:
            OutOfTime: It took too long.
            OSError: They cannot be written down.
        """
        stamp = self._stamp()
        paths = self.found(deadline)
        save(self._note, b"\0".join([stamp, *sorted(paths)]))
        return paths

    def found(self, deadline: Deadline) -> frozenset[bytes]:
        """Their paths as things are now; none where the project's index cannot be read.

        Raises:
            OutOfTime: It took too long.
        """
        index = self._index()
        if index is not None and self._stamp():
            arguments = ("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
            told = {"GIT_INDEX_FILE": str(index)}
            try:
                answer = self._git.run(*arguments, deadline=deadline, environ=told)
                return frozenset(answer.split(b"\0")) - {b""}
            except OutOfTime:
                raise
            except StoreError:
                pass  # Split, sparse, or of another kind.
        return frozenset()

    def forget(self) -> None:
        """Look at the project's index again next time."""
        with contextlib.suppress(OSError):
            self._note.unlink(missing_ok=True)

    def _read(self) -> tuple[bytes, frozenset[bytes]]:
        try:
            stamp, *paths = self._note.read_bytes().split(b"\0")
        except OSError:
            return b"?", frozenset()
        return stamp, frozenset(paths)

    def _stamp(self) -> bytes:
        """Tells one state of the project's index from another one; empty if there is none."""
        index = self._index()
        if index is None:
            return b""
        try:
            status = index.stat()
        except (OSError, ValueError):
            return b""
        return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}".encode()

    def _index(self) -> Path | None:
        folders = git_folders(self._git.root)
        return folders[0] / "index" if folders else None

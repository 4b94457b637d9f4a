"""Files of the workspace, reached from its open folder part by part and never through a link."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from stormclaw.store.snapshots.objects import Put
from stormclaw.store.snapshots.values import State

PLAIN, PROGRAM, LINK = "100644", "100755", "120000"
_STEP = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_DIRECTORY | os.O_NOFOLLOW
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Skip:
    """A file that is there and cannot be kept, with the reason."""

    why: str


def forbidden(path: bytes) -> bool:
    """Whether a relative path leads into a `.git`, out of its folder, or nowhere."""
    parts = path.split(b"/")
    return not path or any(part in {b"", b".", b".."} or part.lower() == b".git" for part in parts)


class Ground:
    """An open folder, whose files are named by relative paths. Close it."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.fd = os.open(root, _STEP & ~os.O_NOFOLLOW | os.O_CLOEXEC)
        self._last: tuple[bytes, int] | None = None

    def __enter__(self) -> Ground:
        return self

    def __exit__(self, *_: object) -> None:
        self._forget()
        os.close(self.fd)

    def read(self, path: bytes, most: int, put: Put) -> State | Skip | None:
        """Keep one file and say how it stands; None if there is no file.

        Args:
            path: Relative to the folder.
            most: Bytes; a larger file is skipped.
            put: Where its content goes.
        """
        folder, _, name = path.rpartition(b"/")
        try:
            return _read(self._folder(folder), name, most, put)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                return None
            return Skip(f"cannot be read: {error.strerror or error}")

    def size(self, path: bytes) -> int:
        """Bytes of a file, 0 if there is none."""
        folder, _, name = path.rpartition(b"/")
        try:
            return os.stat(name, dir_fd=self._folder(folder), follow_symlinks=False).st_size
        except OSError:
            return 0

    def _folder(self, path: bytes) -> int:
        """Files come folder by folder, so the last one stays open."""
        if not path:
            return self.fd
        if self._last is None or self._last[0] != path:
            self._forget()
            self._last = (path, walk(self.fd, path))
        return self._last[1]

    def _forget(self) -> None:
        if self._last is not None:
            os.close(self._last[1])
            self._last = None


def walk(root: int, path: bytes, *, make: bool = False) -> int:
    """A new descriptor of a folder below another one.

    Args:
        root: Descriptor to begin at.
        path: Relative, may be empty.
        make: Make the folders that are missing.

    Raises:
        NotADirectoryError: A file or a link stands on the way.
        OSError: As `os.open`.
    """
    at = os.dup(root)
    try:
        for part in path.split(b"/") if path else ():
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=at)
            below = os.open(part, _STEP | os.O_CLOEXEC, dir_fd=at)
            os.close(at)
            at = below
    except OSError:
        os.close(at)
        raise
    return at


@contextlib.contextmanager
def folder_of(root: int, path: bytes, *, make: bool = False) -> Iterator[tuple[int, bytes]]:
    """The folder a path lies in, opened, and the path's last name. See `walk`."""
    folder, _, name = path.rpartition(b"/")
    at = walk(root, folder, make=make)
    try:
        yield at, name
    finally:
        os.close(at)


def _read(folder: int, name: bytes, most: int, put: Put) -> State | Skip | None:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        return LINK, put(os.readlink(name, dir_fd=folder))
    if stat.S_ISDIR(status.st_mode):
        return None
    if not stat.S_ISREG(status.st_mode):
        return Skip("neither a file nor a link")
    if status.st_size > most:
        return Skip(f"larger than {_size(most)}")
    fd = os.open(name, _READ, dir_fd=folder)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return Skip("neither a file nor a link")
        content = _content(fd, status.st_size, most)
    finally:
        os.close(fd)
    if content is None:
        return Skip(f"larger than {_size(most)}")
    return (PROGRAM if status.st_mode & stat.S_IXUSR else PLAIN), put(content)


def _content(fd: int, size: int, most: int) -> bytes | None:
    """All of a file that may be growing; None if it is larger than `most`."""
    content = os.read(fd, min(size, most) + 1)
    while len(content) <= most:
        more = os.read(fd, min(1 << 20, most + 1 - len(content)))
        if not more:
            return content
        content += more
    return None


def _size(count: int) -> str:
    return f"{count / 1e6:g} MB" if count >= 1_000_000 else f"{count} bytes"

"""Puts files of the workspace back, each as a whole or not at all, and never through a link."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from stormclaw.store.durable import write_all
from stormclaw.store.snapshots.diff import contents
from stormclaw.store.snapshots.files import LINK, PROGRAM, folder_of, walk
from stormclaw.store.snapshots.git import Deadline, Git
from stormclaw.store.snapshots.objects import save
from stormclaw.store.snapshots.rules import MARK
from stormclaw.store.snapshots.values import State

_TOGETHER = 100
_LIST = "restoring-"
_WORDS: Mapping[int, str] = {
    errno.ENOTDIR: "a file or a link stands where its folder was",
    errno.ELOOP: "a file or a link stands where its folder was",
    errno.ENOTEMPTY: "a folder stands in its place, with other things in it",
    errno.EISDIR: "a folder stands in its place",
}


class _Refused(Exception):
    """This file stays as it is, for the reason given."""


class Restore:
    """Puts files of one workspace back.

    Args:
        git: The store and the work tree.
        notes: Folder for the list of what is being written, so that nothing half stays behind.
        prefix: Path of the workspace in the work tree, ending in `/`, or empty.
        most: Bytes; a larger file could never come back, so it is neither replaced nor removed.
    """

    def __init__(self, git: Git, notes: Path, prefix: bytes, most: int) -> None:
        self._git = git
        self._notes = notes
        self._prefix = prefix
        self._most = most

    def put_back(
        self, wanted: Mapping[bytes, State | None], deadline: Deadline
    ) -> dict[bytes, str]:
        """Make files as they are wanted; nobody else puts files back meanwhile.

        Args:
            wanted: Path in the work tree -> how it is to stand, None for no file.
            deadline: For git; what takes longer is not put back.

        Returns:
            Path -> why it could not be put back.

        Raises:
            StoreError: git could not be asked; some may have been put back.
            OSError: The work tree or the notes cannot be reached.
        """
        self.clean()
        failed: dict[bytes, str] = {}
        root = os.open(self._git.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for path in sorted(
                (path for path, state in wanted.items() if state is None), reverse=True
            ):
                with _told(failed, path):
                    self._remove(root, path)
            there = {path: state for path, state in sorted(wanted.items()) if state is not None}
            if there:
                with self._listed(there) as temporary:
                    for path, state, content in self._loaded(there, failed, deadline):
                        with _told(failed, path):
                            self._write(root, path, state[0], content, temporary)
        finally:
            os.close(root)
        return failed

    def clean(self) -> None:
        """Remove what a killed program left half written in the workspace."""
        for note in self._notes.glob(f"{_LIST}*"):
            temporary = os.fsencode(MARK + note.name.removeprefix(_LIST))
            with contextlib.suppress(OSError):
                root = os.open(self._git.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    for folder in note.read_bytes().split(b"\0"):
                        with contextlib.suppress(OSError), _opened(root, folder) as at:
                            os.unlink(temporary, dir_fd=at)
                finally:
                    os.close(root)
                note.unlink()

    @contextlib.contextmanager
    def _listed(self, paths: Mapping[bytes, State]) -> Iterator[bytes]:
        """The name of the file that is written before it takes another one's place."""
        token = secrets.token_hex(8)
        note = self._notes / f"{_LIST}{token}"
        folders = {path.rpartition(b"/")[0] for path in paths}
        save(note, b"\0".join(sorted(folders)))
        yield os.fsencode(MARK + token)
        note.unlink(missing_ok=True)

    def _loaded(
        self, there: Mapping[bytes, State], failed: dict[bytes, str], deadline: Deadline
    ) -> Iterator[tuple[bytes, State, bytes]]:
        paths = list(there)
        for at in range(0, len(paths), _TOGETHER):
            part = paths[at : at + _TOGETHER]
            loaded = contents(self._git, {there[path][1] for path in part}, deadline)
            for path in part:
                content = loaded.get(there[path][1])
                if content is None or _name(content) != there[path][1]:
                    failed[path] = "its content in the snapshot is damaged or gone"
                else:
                    yield path, there[path], content

    def _remove(self, root: int, path: bytes) -> None:
        try:
            with folder_of(root, path) as (at, name):
                if not self._replaceable(at, name):
                    return
                os.unlink(name, dir_fd=at)
        except FileNotFoundError:
            return
        except NotADirectoryError:
            return  # There is no such file where a file or a link stands for its folder.
        self._remove_empty(root, path)

    def _remove_empty(self, root: int, path: bytes) -> None:
        """Remove the folders that a removed file leaves empty."""
        folder = path.rpartition(b"/")[0]
        while folder and len(folder) >= len(self._prefix):
            try:
                with folder_of(root, folder) as (at, name):
                    os.rmdir(name, dir_fd=at)
            except OSError:
                return
            folder = folder.rpartition(b"/")[0]

    def _replaceable(self, at: int, name: bytes) -> bool:
        """Whether a file or a link stands there.

        Raises:
            _Refused: What stands there must stay.
            FileNotFoundError: Nothing does.
        """
        status = os.stat(name, dir_fd=at, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            return False
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISLNK(status.st_mode):
            raise _Refused("what stands there now is neither a file nor a link")
        if stat.S_ISREG(status.st_mode) and status.st_size > self._most:
            raise _Refused(
                "what stands there now is too large to be kept, so it could not come back"
            )
        return True

    def _write(self, root: int, path: bytes, mode: str, content: bytes, temporary: bytes) -> None:
        with folder_of(root, path, make=True) as (at, name):
            status: os.stat_result | None = None
            with contextlib.suppress(FileNotFoundError):
                if self._replaceable(at, name):
                    status = os.stat(name, dir_fd=at, follow_symlinks=False)
                else:
                    os.rmdir(name, dir_fd=at)
            try:
                if mode == LINK:
                    os.symlink(content, temporary, dir_fd=at)
                else:
                    _fill(at, temporary, mode == PROGRAM, content, status)
                os.rename(temporary, name, src_dir_fd=at, dst_dir_fd=at)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=at)
                raise


def _fill(
    at: int, name: bytes, program: bool, content: bytes, status: os.stat_result | None
) -> None:
    """A new file with the mode and the owner of the one it will replace."""
    old = status if status is not None and stat.S_ISREG(status.st_mode) else None
    begin = 0o600 if old else 0o777 if program else 0o666
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, begin, dir_fd=at)
    try:
        write_all(fd, content)
        if old is not None:
            mine = os.fstat(fd)
            if (mine.st_uid, mine.st_gid) != (old.st_uid, old.st_gid):
                with contextlib.suppress(PermissionError):
                    os.fchown(fd, old.st_uid, old.st_gid)
            os.fchmod(fd, _mode(stat.S_IMODE(old.st_mode), program))
    finally:
        os.close(fd)


def _mode(mode: int, program: bool) -> int:
    if bool(mode & stat.S_IXUSR) == program:
        return mode
    return mode | (mode & 0o444) >> 2 | stat.S_IXUSR if program else mode & ~0o111


def _name(content: bytes) -> str:
    head = b"blob %d\0" % len(content)
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()


@contextlib.contextmanager
def _opened(root: int, folder: bytes) -> Iterator[int]:
    at = walk(root, folder)
    try:
        yield at
    finally:
        os.close(at)


@contextlib.contextmanager
def _told(failed: dict[bytes, str], path: bytes) -> Iterator[None]:
    try:
        yield
    except _Refused as refused:
        failed[path] = str(refused)
    except OSError as error:
        failed[path] = _WORDS.get(error.errno or 0, error.strerror or str(error))

"""Opens what a path led to when it was judged, and nothing that was put in its place since.

A path comes here with its links already resolved, so no link may be met on the way any more: the
kernel is asked to refuse them (`openat2`), and where it cannot, the path is walked part by part.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

WALK_ONLY = "STORMCLAW_NO_OPENAT2"
"""Set in the environment to walk as if the kernel had no `openat2`."""

MAX_PATH = 4096
"""Bytes of a path, its end included, that the kernel takes at once."""

_SYS_OPENAT2 = 437
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_LACKING = frozenset({errno.ENOSYS, errno.EPERM})
"""No such call, or a container's filter that does not know it; a real refusal comes up again."""

_O_PATH: int = getattr(os, "O_PATH", 0)
_ONLY_A_PLACE = _O_PATH or os.O_RDONLY | os.O_NONBLOCK
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK
"""Flags for a folder to list."""

FOLDER_ABOVE: int = _ONLY_A_PLACE | os.O_DIRECTORY
"""Flags for a folder to work in, which need not be readable."""


class Moved(OSError):
    """What stands at a place now is not what stood there when it was judged."""


def open_at(folder: int, below: str, flags: int, mode: int = 0) -> int:
    """A descriptor of something below an open folder, by a path without links.

    Args:
        folder: Descriptor of the folder.
        below: Relative path; `..` and links are refused wherever they stand.
        flags: As for `os.open`.
        mode: The same.

    Raises:
        Moved: There is a link on the way.
        OSError: As `os.open`.
    """
    # `openat2` knows no terminal for what is only a place, and refuses to be told about one.
    flags |= os.O_CLOEXEC | (0 if flags & _O_PATH else os.O_NOCTTY)
    try:
        if not os.environ.get(WALK_ONLY):
            with suppress(NotImplementedError):
                return _openat2(folder, below, flags, mode)
        return _walk(folder, below, flags, mode)
    except OSError as problem:
        if problem.errno in {errno.ELOOP, errno.EXDEV}:
            raise Moved(problem.errno, "changed while it was looked at") from problem
        raise


def open_place(place: Path, flags: int, root: Path = Path("/")) -> int:
    """A descriptor of a resolved place; it is checked that it really is there.

    Args:
        place: Absolute, links resolved.
        flags: As for `os.open`; no file is made.
        root: Folder above `place` that is not left, links resolved.

    Raises:
        Moved: There is a link on the way now, or the place is somewhere else.
        OSError: As `os.open`.
    """
    start = os.open(root, _ONLY_A_PLACE | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        descriptor = open_at(start, os.path.relpath(place, root), flags)
    finally:
        os.close(start)
    try:
        must_be(descriptor, place)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def closing(descriptor: int) -> Iterator[int]:
    """A descriptor for the length of a block."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def must_be(descriptor: int, place: Path) -> None:
    """Check where a descriptor really is, on systems that tell.

    Raises:
        Moved: Somewhere else.
    """
    there = real_place(descriptor)
    # Replaced by another file a moment ago: what is open was there all the same.
    if there is None or there in {str(place), f"{place} (deleted)"}:
        return
    # A file system that does not tell cases (or Unicode forms) apart says how it keeps the name.
    if _folded(there) != _folded(str(place)):
        raise Moved(errno.ELOOP, "changed while it was looked at")


def real_place(descriptor: int) -> str | None:
    """The path of an open file or folder, None where the system does not tell."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - text, not a path to use
    except OSError:
        return None


def look(place: Path, root: Path = Path("/")) -> os.stat_result:
    """What stands at a place, without touching it: no device is woken and no pipe is joined.

    Raises:
        Moved: As `open_place`.
        OSError: As `os.stat`.
    """
    if _O_PATH:
        with closing(open_place(place, _O_PATH, root)) as descriptor:
            return os.fstat(descriptor)
    status = place.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise Moved(errno.ELOOP, "changed while it was looked at")
    return status


def _openat2(folder: int, below: str, flags: int, mode: int) -> int:
    """The system call.

    Raises:
        NotImplementedError: The kernel or its filter lacks it.
    """
    call = _syscall()
    if call is None:
        raise NotImplementedError
    # The kernel refuses a mode where nothing is made, and bits it does not know.
    mode = mode & 0o7777 if flags & os.O_CREAT else 0
    how = struct.pack("=QQQ", flags, mode, _NO_MAGICLINKS | _NO_SYMLINKS | _BENEATH)
    return call(folder, os.fsencode(below), how)


@cache
def _syscall() -> Callable[[int, bytes, bytes], int] | None:
    """`openat2` through libc's `syscall`; None on systems whose numbers are others."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes  # not on the start-up path

    try:
        syscall = ctypes.CDLL(None, use_errno=True).syscall
    except (OSError, AttributeError):
        return None
    syscall.restype = ctypes.c_long
    syscall.argtypes = (
        ctypes.c_long, ctypes.c_long, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t,
    )  # fmt: skip

    def openat2(folder: int, below: bytes, how: bytes) -> int:
        while (descriptor := int(syscall(_SYS_OPENAT2, folder, below, how, len(how)))) < 0:
            problem = ctypes.get_errno()
            if problem in _LACKING:
                raise NotImplementedError
            if problem != errno.EINTR:
                raise OSError(problem, os.strerror(problem), os.fsdecode(below))
        return descriptor

    return openat2


def _walk(folder: int, below: str, flags: int, mode: int) -> int:
    """Part by part, each opened in the folder before it and never through a link."""
    if len(os.fsencode(below)) >= MAX_PATH:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), below)
    *parts, last = [part for part in below.split("/") if part not in {"", "."}] or ["."]
    if ".." in (*parts, last):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), below)
    at = os.dup(folder)
    try:
        for part in parts:
            at = _step(at, part)
        return _open_last(at, last, flags, mode)
    finally:
        os.close(at)


def _step(at: int, part: str) -> int:
    """The folder `part` of `at`, which is closed."""
    below = _open_last(at, part, _ONLY_A_PLACE | os.O_DIRECTORY | os.O_CLOEXEC, 0)
    os.close(at)
    return below


def _open_last(at: int, name: str, flags: int, mode: int) -> int:
    """`os.open` in a folder, that tells a link from a file where a folder should be."""
    try:
        descriptor = os.open(name, flags | os.O_NOFOLLOW, mode, dir_fd=at)
    except NotADirectoryError:
        if _is_link(at, name):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        raise
    if flags & _O_PATH and _is_open_link(descriptor):
        os.close(descriptor)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
    return descriptor


def _is_link(at: int, name: str) -> bool:
    with suppress(OSError):
        return stat.S_ISLNK(os.lstat(name, dir_fd=at).st_mode)
    return False


def _is_open_link(descriptor: int) -> bool:
    """`O_PATH | O_NOFOLLOW` opens the link itself."""
    return stat.S_ISLNK(os.fstat(descriptor).st_mode)


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()

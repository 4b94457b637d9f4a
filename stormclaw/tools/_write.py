"""Puts a file in place in one step: whoever looks sees the old content or the new, never half."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from stormclaw.errors import ToolFailure
from stormclaw.protocol.tool import SeenFiles, ToolContext
from stormclaw.tools._openat import (
    FOLDER,
    FOLDER_ABOVE,
    Moved,
    closing,
    must_be,
    open_at,
    open_place,
)
from stormclaw.tools._places import moved, really, reason, root_of

TEMPORARY = re.compile(r"\.stormclaw-[0-9a-f]{16}\.tmp")
"""Names of files that are being written; one that stays behind was left by a crash."""

_NO_LINKS_HERE = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


_OF_THE_CONTENT = frozenset({"security.capability", "security.ima", "security.evm"})
"""Attributes that vouch for the old bytes; writing in place would clear them too."""


@dataclass(frozen=True, slots=True)
class _Folder:
    """An open folder a file is written in, and the folders that were made for it, outermost first.

    Attributes:
        descriptor: Of the folder.
        made: (descriptor of the folder above, name) of each.
    """

    descriptor: int
    made: tuple[tuple[int, str], ...]


def write_atomically(
    path: Path, content: bytes, name: str, seen: SeenFiles, ctx: ToolContext | None = None
) -> str:
    """Replace or create a file; mode, owner and attributes stay, a link's target is written.

    Folders above a new file are made. What was written counts as read by the agent. A file with
    several names (hard links) becomes one of its own: what lies under the other names, which may be
    outside, is not touched.

    Args:
        path: As `resolve` gives it, or a place that was found already.
        content: All of it.
        name: For people and models.
        seen: What the agent knows.
        ctx: Whose call it is; None for a place that was found already.

    Returns:
        What the person and the model should know, "" if nothing is special.

    Raises:
        ToolFailure: The disk or the permissions do not allow it, or the path leads elsewhere than
            when it was judged; nothing has changed then.
    """
    target = really(path, name, ctx)
    try:
        status, names = _put(target, content, root_of(target, ctx))
    except Moved as problem:
        raise moved(name) from problem
    except (OSError, ValueError) as problem:
        words = reason(problem) if isinstance(problem, OSError) else str(problem)
        raise ToolFailure(
            f"{name} cannot be written: {words}; nothing changed", summary=words
        ) from problem
    digest = hashlib.sha256(content).hexdigest()
    seen.stamps[target] = (status.st_mtime_ns, len(content), digest)
    if names < 2:
        return ""
    others = "another name" if names == 2 else f"{names - 1} other names"
    return f"the file had {others} (hard links); there the old content stays"


def is_temporary(name: str) -> bool:
    """Whether a file is one of ours that is not in place yet."""
    return TEMPORARY.fullmatch(name) is not None


def _put(target: Path, content: bytes, root: Path) -> tuple[os.stat_result, int]:
    """Write; what the system knows of the new file, and how many names the old one had."""
    folder = _open_folder(target.parent, root)
    try:
        old = _writable(folder.descriptor, target.name)
        status = _replace(folder.descriptor, target.name, content, old)
    except BaseException:
        for above, made in reversed(folder.made):
            with contextlib.suppress(OSError):
                os.rmdir(made, dir_fd=above)
        raise
    finally:
        for descriptor in (folder.descriptor, *(above for above, _ in folder.made)):
            os.close(descriptor)
    return status, 0 if old is None else old.st_nlink


def _open_folder(place: Path, root: Path) -> _Folder:
    """The folder of a file; missing ones are made, each inside the open one above it.

    Raises:
        OSError: Also `Moved`; what was made is gone again then.
    """
    missing: list[str] = []
    there = place
    while True:
        try:
            descriptor = open_place(there, FOLDER_ABOVE, root)
            break
        except FileNotFoundError:
            if there == root:
                raise
            missing.append(there.name)
            there = there.parent
    made: list[tuple[int, str]] = []
    try:
        for part in reversed(missing):
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=descriptor)
            below = open_at(descriptor, part, FOLDER_ABOVE)
            made.append((descriptor, part))
            descriptor = below
        must_be(descriptor, place)
    except BaseException:
        os.close(descriptor)
        for above, name in reversed(made):
            with contextlib.suppress(OSError):
                os.rmdir(name, dir_fd=above)
            os.close(above)
        raise
    return _Folder(descriptor, tuple(made))


def _replace(folder: int, name: str, content: bytes, old: os.stat_result | None) -> os.stat_result:
    """The new content beside the old, made durable, then put in its place."""
    beside = f".stormclaw-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    # Nobody may look into a copy of a file that only its owner may read.
    mode = 0o666 if old is None else stat.S_IMODE(old.st_mode) & 0o600
    with closing(open_at(folder, beside, flags, mode)) as descriptor:
        try:
            _write_all(descriptor, content)
            if old is not None:
                _like_the_old(descriptor, folder, name, old)
            os.fsync(descriptor)
            _in_place(folder, beside, name, fresh=old is None)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside, dir_fd=folder)
            raise
        status = os.fstat(descriptor)
    with (
        contextlib.suppress(OSError),  # not every file system can
        closing(open_at(folder, ".", FOLDER)) as readable,
    ):
        os.fsync(readable)
    return status


def _in_place(folder: int, beside: str, name: str, *, fresh: bool) -> None:
    """Give the finished file its name; a new file never replaces one that came in between."""
    if fresh:
        try:
            os.link(beside, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            raise Moved(errno.EEXIST, "changed while it was looked at") from None
        except OSError as problem:
            if problem.errno not in _NO_LINKS_HERE:
                raise
        else:
            os.unlink(beside, dir_fd=folder)
            return
    os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def _writable(folder: int, name: str) -> os.stat_result | None:
    """The file that is there, None if none; renaming over it must not step around its mode."""
    try:
        old = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(old.st_mode):
        raise Moved(errno.ELOOP, "changed while it was looked at")
    if not stat.S_ISREG(old.st_mode):
        raise ValueError("it is not a regular file")
    if not os.access(name, os.W_OK, dir_fd=folder):
        raise ValueError(f"it is read-only (mode {stat.S_IMODE(old.st_mode):04o})")
    return old


def _like_the_old(descriptor: int, folder: int, name: str, old: os.stat_result) -> None:
    """Owner and mode, and the extended attributes (access lists among them) where that works."""
    with contextlib.suppress(OSError):  # only root may give files away; the mode still counts
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError), closing(open_at(folder, name, os.O_RDONLY)) as before:
        for attribute in set(os.listxattr(before)) - _OF_THE_CONTENT:
            with contextlib.suppress(OSError):
                os.setxattr(descriptor, attribute, os.getxattr(before, attribute))

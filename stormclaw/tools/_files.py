"""Finds, reads and remembers files for the tools: regular files only, and never one that hangs."""

from __future__ import annotations

import difflib
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from stormclaw.errors import ToolFailure
from stormclaw.protocol.tool import SeenFiles, ToolContext
from stormclaw.tools._openat import FOLDER, Moved, look, open_place
from stormclaw.tools._places import (
    is_kernel,
    moved,
    really,
    reason,
    resolve,
    root_of,
    shown,
    within,
)
from stormclaw.tools._text import Binary, Decoded, decode, printable, size_of

__all__ = [
    "MAX_BYTES",
    "OnDisk",
    "binary_failure",
    "is_folder",
    "load",
    "load_if_there",
    "must_be_seen",
    "open_folder",
    "open_regular",
    "reason",
    "regular",
    "resolve",
    "shown",
]

MAX_BYTES = 16 * 1024 * 1024
"""Largest file that is read as a whole; beyond it only windows are."""

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@dataclass(frozen=True, slots=True)
class OnDisk:
    """A text file as it is now.

    Attributes:
        path: Where it really is, links resolved.
        decoded: Its text and encoding.
        stamp: (mtime_ns, size, sha256), as in `SeenFiles`.
    """

    path: Path
    decoded: Decoded
    stamp: tuple[int, int, str]


def regular(path: Path, name: str, ctx: ToolContext | None = None) -> os.stat_result:
    """What the system knows about a regular file.

    Args:
        path: As `resolve` gives it.
        name: For people and models.
        ctx: Whose call it is; None for a place that was found already.

    Raises:
        ToolFailure: Missing (names what is near), a folder, a pipe, a device, or not readable; not
            the place that was judged.
    """
    return _regular(really(path, name, ctx), name, ctx)


def open_regular(path: Path, name: str, ctx: ToolContext | None = None) -> int:
    """A descriptor to read from; never blocks, also when the file is swapped for a pipe.

    Raises:
        ToolFailure: As `regular`.
    """
    return _open(really(path, name, ctx), name, ctx)


def _open(real: Path, name: str, ctx: ToolContext | None) -> int:
    """`open_regular` for a place."""
    _regular(real, name, ctx)
    try:
        flags = os.O_RDONLY | os.O_NONBLOCK
        descriptor = open_place(real, flags, root_of(real, ctx))
    except Moved as problem:
        raise moved(name) from problem
    except OSError as problem:
        raise ToolFailure(f"{name} cannot be read: {reason(problem)}") from problem
    now = os.fstat(descriptor)
    if not stat.S_ISREG(now.st_mode) or is_kernel(now):
        os.close(descriptor)
        raise moved(name)
    return descriptor


def _regular(real: Path, name: str, ctx: ToolContext | None) -> os.stat_result:
    """`regular` for a place."""
    try:
        status = look(real, root_of(real, ctx))
    except Moved as problem:
        raise moved(name) from problem
    except (FileNotFoundError, NotADirectoryError) as problem:
        near = _near(real) if ctx is None or not ctx.confined or within(real, ctx) else ""
        raise ToolFailure(f"{name} does not exist{near}", summary="no such file") from problem
    except OSError as problem:
        raise ToolFailure(f"{name} cannot be read: {reason(problem)}") from problem
    if stat.S_ISREG(status.st_mode) and not is_kernel(status):
        return status
    kind = next((words for test, words in _KINDS if test(status.st_mode)), "a kernel interface")
    hint = "; list_files shows what is in it" if stat.S_ISDIR(status.st_mode) else ""
    raise ToolFailure(f"{name} is {kind}, not a file{hint}", summary=kind)


def is_folder(path: Path, name: str, ctx: ToolContext) -> bool:
    """Whether a path leads to a folder; arguments as for `regular`.

    Raises:
        ToolFailure: It is not the place that was judged.
    """
    real = really(path, name, ctx)
    try:
        return stat.S_ISDIR(look(real, root_of(real, ctx)).st_mode)
    except Moved as problem:
        raise moved(name) from problem
    except OSError:
        return False


def open_folder(
    path: Path, name: str, ctx: ToolContext, hint: str = " to look into"
) -> tuple[int, Path]:
    """A descriptor of a folder, and where it really is; arguments as for `regular`.

    Raises:
        ToolFailure: As `regular`; a file (`hint` says what to do), or not permitted.
    """
    real = really(path, name, ctx)
    root = root_of(real, ctx)
    try:
        descriptor = open_place(real, FOLDER, root)
    except Moved as problem:
        raise moved(name) from problem
    except (FileNotFoundError, NotADirectoryError) as problem:
        _regular(real, name, ctx)
        raise ToolFailure(f"{name} is a file, not a folder{hint}", summary="a file") from problem
    except OSError as problem:
        raise ToolFailure(f"{name} cannot be listed: {reason(problem)}") from problem
    return descriptor, real


def load(path: Path, name: str, ctx: ToolContext | None = None) -> OnDisk:
    """The text file at `path`; arguments as for `regular`.

    Raises:
        ToolFailure: As `regular`, or too large, or binary.
    """
    real = really(path, name, ctx)
    descriptor = _open(real, name, ctx)
    try:
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            raw = file.read(MAX_BYTES + 1) or b""
    except OSError as problem:
        raise ToolFailure(f"{name} cannot be read: {reason(problem)}") from problem
    if len(raw) > MAX_BYTES:
        raise ToolFailure(
            f"{name} is too large for this ({size_of(status.st_size)}); work on it with shell_exec",
            summary="too large",
        )
    decoded = decode(raw)
    if isinstance(decoded, Binary):
        raise binary_failure(name, decoded.kind, len(raw))
    stamp = (status.st_mtime_ns, len(raw), hashlib.sha256(raw).hexdigest())
    return OnDisk(real, decoded, stamp)


def load_if_there(path: Path, name: str, ctx: ToolContext | None = None) -> OnDisk | None:
    """The text file at `path`, None if there is nothing (a dangling link is nothing).

    Raises:
        ToolFailure: Something is there, but no text file.
    """
    real = really(path, name, ctx)
    try:
        look(real, root_of(real, ctx))
    except Moved as problem:
        raise moved(name) from problem
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise ToolFailure(f"{name} cannot be read: {reason(problem)}") from problem
    return load(path, name, ctx)


def binary_failure(name: str, kind: str, size: int) -> ToolFailure:
    """The answer to whoever wants to read what is no text."""
    hints = {"PDF document": " (its text: shell_exec with `pdftotext FILE -`)"}
    return ToolFailure(
        f"{name} is no text file but {kind}, {size_of(size)}; look at it with a program made for "
        f"it through shell_exec{hints.get(kind, '')}",
        summary=f"{kind}, {size_of(size)}",
    )


def must_be_seen(on_disk: OnDisk, seen: SeenFiles, name: str) -> None:
    """Refuse to change what the agent does not know.

    Raises:
        ToolFailure: Never read by this agent, or changed since.
    """
    stamp = seen.stamps.get(on_disk.path) if seen.watched else on_disk.stamp
    if stamp is None:
        raise ToolFailure(
            f"{name} exists and you have not read it; nothing changed. Use read_file first",
            summary="not read yet",
        )
    if stamp[2] != on_disk.stamp[2]:
        raise ToolFailure(
            f"{name} changed since you read it; nothing changed now. Read it again first",
            summary="changed since read",
        )


def _near(path: Path) -> str:
    """What there is instead of a missing file, as the end of a sentence."""
    folder = path.parent
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - names, not paths
    except OSError:
        missing = next((up for up in folder.parents if up.is_dir()), None)
        return f"; the deepest folder that exists is {printable(str(missing))}" if missing else ""
    lowered = {name.lower(): name for name in names}
    close = difflib.get_close_matches(path.name.lower(), lowered, n=3, cutoff=0.5)
    if not close:
        return ""
    return "; near it: " + ", ".join(printable(lowered[name]) for name in close)

"""The project notes that every session of a project is told."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from stormclaw.errors import StoreError
from stormclaw.store.durable import store_error

FILE_NAME = "MEMORY.md"
MAX_BYTES = 16 * 1024
"""Most bytes a session is told; notes are added at the end, so the oldest are left out."""


def read_notes(folder: Path) -> str:
    """The text of `MEMORY.md` in a folder of notes, "" if there is none.

    A file over `MAX_BYTES` loses its oldest whole lines; a first line says how many bytes.

    Raises:
        StoreError: There is one, but it cannot be read, or it is a link or no regular file: a
            project must not be able to have some other file told to the model.
    """
    path = folder / FILE_NAME
    try:
        # Without O_NONBLOCK a FIFO of that name would hold us for ever.
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    except OSError as error:
        if path.is_symlink():
            raise _refusal(path) from error
        raise store_error("read", path, error) from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise _refusal(path)
        left_out = max(0, status.st_size - MAX_BYTES)
        content = os.pread(fd, MAX_BYTES, left_out)
    except OSError as error:
        raise store_error("read", path, error) from error
    finally:
        os.close(fd)
    if not left_out:
        return content.decode("utf-8-sig", "replace").strip()
    cut = content.find(b"\n") + 1  # No line end at all: keep the piece of the one long line.
    kept = content[cut:].decode("utf-8", "replace").strip()
    return f"[{left_out + cut} bytes of older notes left out]\n{kept}"


def _refusal(path: Path) -> StoreError:
    return StoreError(f"{path} is not read: it must be a plain file, not a link")

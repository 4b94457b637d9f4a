"""The end of a line-by-line file: found without reading the rest, mended after a crash."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from stormclaw.store.durable import append_record, flush, flush_folder, write_all

_BLOCK = 64 * 1024


def lines_backwards(fd: int, block_size: int = _BLOCK) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line with its end if it has one) from the last line to the first.

    Reads blocks of `block_size` bytes, no more of them than the lines taken need.
    """
    position = os.fstat(fd).st_size
    pending: list[bytes] = []  # Pieces of the line in work, last piece first.
    while position:
        size = min(block_size, position)
        position -= size
        block = os.pread(fd, size, position)
        end = len(block)
        while True:
            # The newline at the very end of a line belongs to it: look for the one before.
            limit = end if pending else end - 1
            cut = block.rfind(b"\n", 0, max(limit, 0))
            if cut < 0:
                break
            yield position + cut + 1, b"".join([block[cut + 1 : end], *reversed(pending)])
            pending = []
            end = cut + 1
        if end:
            pending.append(block[:end])
    if pending:
        yield 0, b"".join(reversed(pending))


def is_torn(line: bytes) -> bool:
    """Whether a crash left this last line: cut short, or with NULs where bytes never arrived."""
    if b"\0" in line:
        return True
    return not line.endswith(b"\n") and not _is_record(line)


def mend_tail(fd: int, path: Path) -> str:
    """Make the file (opened for reading and appending) end with a whole line.

    A torn line is copied to `<name>.torn-<n>` beside it, then cut off. A whole record that lacks
    only its line end gets it.

    Returns:
        What was done, for the person; "" if the file was whole.

    Raises:
        OSError: It could not be mended; nothing was lost.
    """
    offset, line = next(lines_backwards(fd), (0, b"\n"))
    if is_torn(line):
        kept = _keep_aside(path, line)
        os.ftruncate(fd, offset)
        flush(fd)
        return (
            f"{path}: the last line was torn by a crash; its {len(line)} bytes were moved to "
            f"{kept.name}, everything before it is whole"
        )
    if not line.endswith(b"\n"):
        append_record(fd, b"\n")
    return ""


def _keep_aside(path: Path, torn: bytes) -> Path:
    for number in count(1):
        kept = path.with_name(f"{path.stem}.torn-{number}")
        try:
            fd = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
        break
    try:
        write_all(fd, torn)
        flush(fd)
    except OSError:
        kept.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)
    flush_folder(path.parent)
    return kept


def _is_record(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False

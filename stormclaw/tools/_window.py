"""Reads a few lines out of a file too large to hold."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path

from stormclaw.errors import ToolFailure
from stormclaw.protocol.tool import ToolContext
from stormclaw.tools._files import binary_failure, open_regular, reason
from stormclaw.tools._text import HEAD_BYTES, binary_kind, cut_line, head_encoding


@dataclass(frozen=True, slots=True)
class Window:
    """Lines of a file; `more` when others follow, `found` False when the file ends before."""

    lines: tuple[str, ...]
    more: bool
    encoding: str
    found: bool = True


def read_window(
    path: Path, name: str, offset: int, limit: int, longest: int, ctx: ToolContext
) -> Window:
    """`limit` lines from the 1-based line `offset`; longer lines are cut at `longest`.

    Raises:
        ToolFailure: Not a regular file, binary, or not readable.
    """
    descriptor = open_regular(path, name, ctx)
    try:
        with os.fdopen(descriptor, "rb") as raw:
            head = raw.read(HEAD_BYTES)
            encoding = head_encoding(head)
            if encoding in {"utf-8", "latin-1"} and (kind := binary_kind(head)):
                raise binary_failure(name, kind, os.fstat(descriptor).st_size)
            raw.seek(0)
            # Opened with "\n" alone, a line ends where grep says it ends.
            with io.TextIOWrapper(raw, encoding, "replace", "\n") as text:
                return _cut_out(text, encoding, offset, limit, longest)
    except OSError as problem:
        raise ToolFailure(f"{name} cannot be read: {reason(problem)}") from problem


def _cut_out(
    text: io.TextIOWrapper, encoding: str, offset: int, limit: int, longest: int
) -> Window:
    for _ in range(offset - 1):
        if not _line(text, 0)[1]:
            return Window((), False, encoding, found=False)
    lines: list[str] = []
    while len(lines) < limit:
        line, size = _line(text, longest)
        if not size:
            break
        lines.append(line)
    return Window(tuple(lines), bool(text.read(1)), encoding, found=bool(lines))


def _line(text: io.TextIOWrapper, longest: int) -> tuple[str, int]:
    """The next line, cut with the number of characters left out, and its size; 0 at the end."""
    kept, size, end = "", 0, ""
    while not end and (piece := text.readline(HEAD_BYTES)):
        size += len(piece)
        if piece.endswith("\n"):
            end = "\r\n" if piece.endswith("\r\n") else "\n"
            piece = piece.removesuffix(end)
        kept += piece[: longest - len(kept)]
    return cut_line(kept, longest, size - len(end)), size

"""Reads JSON lines of somebody else: in bounded memory, with a place for each error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from stormclaw.errors import StoreError, UsageError
from stormclaw.store.durable import store_error

Row: TypeAlias = dict[str, Any]

LONGEST_LINE = 16 * 1024 * 1024
"""Longer lines are passed over and counted; pictures are what makes them long."""
TOO_LONG = "__too_long__"
"""Stands as the only key of a row that was passed over."""
_MOST = 2**53


def rows(path: Path) -> Iterator[tuple[int, Row]]:
    """The rows of a file of JSON lines, with their line numbers.

    A last line that was cut while it was written is left out: its writer may still be at work.

    Raises:
        UsageError: There is no such file.
        StoreError: It cannot be read, or a line is no JSON object; the message names the line.
    """
    try:
        if not path.is_file():
            raise UsageError(f"{path} {'is no plain file' if path.exists() else 'does not exist'}")
        with path.open("rb") as file:
            for number, line in enumerate(_lines(file), start=1):
                if line is None:
                    yield number, {TOO_LONG: True}
                elif line.strip():
                    row = _row(path, number, line)
                    if row is not None:
                        yield number, row
    except OSError as error:
        raise store_error("read", path, error) from error


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) <= LONGEST_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE)
        yield None


def _row(path: Path, number: int, line: bytes) -> Row | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        if not line.endswith(b"\n") and number > 1:
            return None
        raise StoreError(f"{path} line {number}: not JSON: {_why(error)}") from error
    if not isinstance(row, dict):
        raise StoreError(f"{path} line {number}: not a JSON object but {type(row).__name__}")
    return row


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} (column {error.colno})"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def text(row: Row, key: str) -> str:
    """The text under a key, "" if there is none."""
    value = row.get(key)
    return value if isinstance(value, str) else ""


def mapping(row: Row, key: str) -> Row:
    """The object under a key, an empty one if there is none."""
    value = row.get(key)
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[Row]:
    """The objects in a list; nothing if it is none."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def number(row: Row, key: str) -> int:
    """The count under a key, 0 if there is none that can be meant."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= _MOST else 0


def moment(row: Row, key: str = "timestamp") -> float:
    """The time under a key, Unix seconds; 0.0 if there is none."""
    value = row.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value / 1000 if value > 1e11 else float(value)
        return seconds if 0 <= seconds < 253_402_300_800 else 0.0
    if not isinstance(value, str):
        return 0.0
    try:
        read = datetime.fromisoformat(value)
        stamp = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    return max(0.0, stamp)

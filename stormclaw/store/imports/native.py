"""Our own JSON export, read back: the same nodes, whoever laid the file out anew meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stormclaw.errors import StoreError
from stormclaw.protocol.messages import Node
from stormclaw.store.codec import NewerVersion, node_from_json, node_from_line
from stormclaw.store.durable import store_error
from stormclaw.store.export.json_file import FORMAT, VERSION
from stormclaw.store.imports.rows import LONGEST_LINE, Row, mapping

LARGEST_WHOLE = 64 * 1024 * 1024
"""A file that was laid out anew must be read as a whole; this is the largest such one."""
_HEAD = f'{{"format":"{FORMAT}","version":{VERSION},'.encode("ascii")


def is_native(path: Path) -> bool:
    """Whether a file says it is one of ours.

    Raises:
        StoreError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            beginning = file.read(512)
    except OSError as error:
        raise store_error("read", path, error) from error
    return b'"format"' in beginning and f'"{FORMAT}"'.encode("ascii") in beginning


def session_of(path: Path) -> Row:
    """The `session` of an export, as it stands there.

    Raises:
        StoreError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            if file.readline(LONGEST_LINE).rstrip(b"\n") == _HEAD:
                line = file.readline(LONGEST_LINE).strip().rstrip(b",")
                return mapping(_object(path, 2, b"{" + line + b"}"), "session")
    except OSError as error:
        raise store_error("read", path, error) from error
    return mapping(_whole(path), "session")


def from_json(path: Path) -> Iterator[Node]:
    """The nodes of an export, exactly as they were.

    Raises:
        StoreError: It cannot be read, was cut short, or a record is none; the message says where.
    """
    seen: set[str] = set()
    for where, node in _nodes(path):
        if node.id in seen:
            raise StoreError(f"{path} {where}: a second node has the id {node.id!r}")
        seen.add(node.id)
        yield node


def _nodes(path: Path) -> Iterator[tuple[str, Node]]:
    try:
        with path.open("rb") as file:
            as_written = file.readline(LONGEST_LINE).rstrip(b"\n") == _HEAD
            if as_written:
                yield from _lines(path, file.readline(LONGEST_LINE), file)
                return
    except OSError as error:
        raise store_error("read", path, error) from error
    stored = _whole(path)
    records = stored.get("nodes")
    if stored.get("version") != VERSION or not isinstance(records, list):
        raise StoreError(f"{path}: not an export this StormClaw can read (version {VERSION})")
    for number, record in enumerate(records, start=1):
        try:
            yield f"node {number}", node_from_json(record)
        except StoreError as error:
            raise type(error)(f"{path} node {number}: {error}") from error


def _lines(path: Path, _session: bytes, file: Any) -> Iterator[tuple[str, Node]]:
    number, ended = 2, False
    for line in file:
        number += 1
        record = line.strip()
        if number == 3 and record == b'"nodes":[':
            continue
        if record == b"]}":
            ended = True
        elif record:
            try:
                yield f"line {number}", node_from_line(record.removesuffix(b","))
            except NewerVersion:
                raise
            except StoreError as error:
                raise StoreError(f"{path} line {number}: {error}") from error
    if not ended:
        raise StoreError(f"{path} line {number}: the file is cut short; its end is missing")


def _whole(path: Path) -> Row:
    try:
        size = path.stat().st_size
        if size > LARGEST_WHOLE:
            raise StoreError(
                f"{path} was laid out anew and is too large to be read that way ({size:,} bytes); "
                "import the file as it was exported"
            )
        return _object(path, 1, path.read_bytes())
    except OSError as error:
        raise store_error("read", path, error) from error


def _object(path: Path, line: int, content: bytes) -> Row:
    try:
        stored = json.loads(content)
    except json.JSONDecodeError as error:
        raise StoreError(f"{path} line {line - 1 + error.lineno}: not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} line {line}: not JSON: {error}") from error
    if not isinstance(stored, dict):
        raise StoreError(f"{path}: not a JSON object but {type(stored).__name__}")
    return stored

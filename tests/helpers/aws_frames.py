"""The binary frames of AWS's event stream, written as Bedrock writes them."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

from byte_server import End, Reply


def _header(name: str, value: str) -> bytes:
    """Name and string value, each behind its length."""
    return (
        struct.pack("!B", len(name))
        + name.encode()
        + struct.pack("!BH", 7, len(value))
        + value.encode()
    )


def frame(payload: bytes, **headers: str) -> bytes:
    """One frame: lengths, their checksum, headers, payload, checksum of all."""
    packed = b"".join(
        _header(":" + name.replace("_", "-"), value) for name, value in headers.items()
    )
    total = 12 + len(packed) + len(payload) + 4
    prelude = struct.pack("!II", total, len(packed))
    prelude += struct.pack("!I", zlib.crc32(prelude))
    whole = prelude + packed + payload
    return whole + struct.pack("!I", zlib.crc32(whole))


def chunk(event: Any) -> bytes:
    """An event of the Messages API in its frame."""
    payload = {"bytes": base64.b64encode(json.dumps(event).encode()).decode(), "p": "abcdefg"}
    return frame(
        json.dumps(payload).encode(),
        event_type="chunk",
        content_type="application/json",
        message_type="event",
    )


def exception(name: str, message: str) -> bytes:
    """An error in the middle of an answer."""
    return frame(
        json.dumps({"message": message}).encode(),
        exception_type=name,
        content_type="application/json",
        message_type="exception",
    )


def framed(*frames: bytes, end: End = "done") -> Reply:
    """An answer of these frames, one piece each."""
    headers = {"Content-Type": "application/vnd.amazon.eventstream"}
    return Reply(frames, headers=headers, end=end)

"""The binary frames in which Amazon Bedrock packs the events of an answer."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any

from stormclaw.errors import ProviderError
from stormclaw.providers._anthropic.aws import named
from stormclaw.providers._errors import error_in_band


class FrameReader:
    """Turns blocks of bytes into parsed events; botocore knows the framing and its checksums."""

    def __init__(self) -> None:
        from botocore.eventstream import EventStreamBuffer  # type: ignore[import-untyped]

        self._buffer = EventStreamBuffer()
        self._pending = 0

    @property
    def whole(self) -> bool:
        """Frames are always a stream."""
        return False

    def feed(self, block: bytes) -> Iterator[Any]:
        """Take the next bytes and yield what is complete.

        Raises:
            ProviderError: `protocol`: these are no frames, or no events in them; else the error
                that one of them tells of.
        """
        from botocore.eventstream import ParserError

        self._buffer.add_data(block)
        self._pending += len(block)
        try:
            for frame in self._buffer:
                self._pending -= frame.prelude.total_length
                if (event := _event(frame)) is not None:
                    yield event
        except (ParserError, ValueError, KeyError) as error:
            raise ProviderError("protocol", f"what Bedrock sent is no event: {error}") from None

    def close(self) -> Iterator[Any]:
        """The bytes have ended.

        Raises:
            ProviderError: `connection`: in the middle of a frame.
        """
        if self._pending:
            raise ProviderError("connection", "the connection ended in the middle of an event")
        return iter(())


def _event(frame: Any) -> Any | None:
    """The event in a frame, None if it holds none.

    Raises:
        ProviderError: It tells of an error, by AWS's name.
    """
    headers = frame.headers
    if headers.get(":message-type") == "event":
        packed = json.loads(frame.payload).get("bytes")
        if not isinstance(packed, str):
            return None
        try:
            return json.loads(base64.b64decode(packed))
        except binascii.Error as error:
            raise ValueError(str(error)) from None
    kind = str(headers.get(":exception-type") or headers.get(":error-code") or "error")
    said = str(headers.get(":error-message") or _message(frame.payload) or kind)
    complaint = {"error": {"type": kind, "message": said}}
    raise named(error_in_band(complaint, partial=""), kind)


def _message(payload: bytes) -> str:
    try:
        parsed = json.loads(payload)
    except ValueError:
        return payload.decode("utf-8", "replace")
    message = parsed.get("message") or parsed.get("Message") if isinstance(parsed, dict) else None
    return message if isinstance(message, str) else ""

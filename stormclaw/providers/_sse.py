"""Server-sent events from raw bytes: the tolerant, cheap splitter under every streamed answer.

The SDK's typed chunks cost 25 times as much; the specification's line rules are kept (CR, LF,
CRLF, one leading BOM, several `data:` lines to an event).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from stormclaw.errors import ProviderError

MAX_EVENT_BYTES: Final = 8 * 1024 * 1024
"""The most one event, or an answer that is not a stream, may hold."""

_BOM: Final = b"\xef\xbb\xbf"
_BLANKS: Final = b" \t\r\n"


class Done:
    """The `[DONE]` that ends a stream."""


DONE: Final = Done()


class EventReader:
    """Turns blocks of bytes into parsed chunks.

    A server that ignores `stream: true` answers with one JSON text: it comes out of `close`.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._event = b""
        self._started = False
        self._whole = False

    @property
    def whole(self) -> bool:
        """True when the answer is one JSON text and no stream."""
        return self._whole

    def feed(self, block: bytes) -> Iterator[Any]:
        """Take the next bytes and yield what is complete: parsed JSON, or `DONE`.

        Raises:
            ProviderError: `protocol`: this is no event stream, or an event is far too long.
        """
        block = self._rest + block if self._rest else block
        self._rest = b""
        if len(block) > MAX_EVENT_BYTES:
            raise ProviderError("protocol", "the server sent more than 8 MB in one piece")
        if not self._started:
            block = self._start(block)
        if self._started and not self._whole:
            yield from self._lines(block)
        else:
            self._rest = block

    def close(self) -> Iterator[Any]:
        """The stream has ended: yield what the last, unterminated line holds.

        Raises:
            ProviderError: `connection`: it ended in the middle; `protocol`: it is no JSON.
        """
        rest, self._rest = self._rest, b""
        if self._whole:
            yield _parse_whole(rest)
            return
        if rest:
            yield from self._line(rest.rstrip(b"\r"))
        yield from self._flush(final=True)

    def _start(self, block: bytes) -> bytes:
        """Look at the first bytes, once there are enough; without the byte order mark."""
        if _BOM.startswith(block[:3]) and len(block) < 3:
            return block
        block = block.removeprefix(_BOM)
        head = block.lstrip(_BLANKS)
        self._started = bool(head)
        self._whole = head[:1] in (b"{", b"[", b"<")
        return block

    def _lines(self, block: bytes) -> Iterator[Any]:
        if b"\r" in block:
            # A CR at the very end may be half of a CRLF: it waits for the next block.
            tail = b"\r" if block.endswith(b"\r") else b""
            block = block.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n") + tail
        *lines, self._rest = block.split(b"\n")
        for line in lines:
            yield from self._line(line)

    def _line(self, line: bytes) -> Iterator[Any]:
        if line.startswith(b"data:"):
            yield from self._take(line[6:] if line[5:6] == b" " else line[5:])
        elif not line:
            yield from self._flush()
        elif line.startswith(b"event:"):
            self._event = line[6:].strip()

    def _take(self, payload: bytes) -> Iterator[Any]:
        """One data line: parsed at once where it is whole, held where an event has several."""
        if payload[:1] == b"[" and payload.strip() == b"[DONE]":
            yield from self._flush()
            yield DONE
            return
        if not self._held and payload.rstrip().endswith(b"}"):
            # Whole on its own: no need to wait for the blank line, which some servers leave out.
            chunk = _parse(payload)
            if chunk is not None:
                yield self._named(chunk)
                return
        self._held.append(payload)
        self._held_bytes += len(payload)
        if self._held_bytes > MAX_EVENT_BYTES:
            raise ProviderError("protocol", "the server sent an event of more than 8 MB")

    def _flush(self, *, final: bool = False) -> Iterator[Any]:
        """The blank line after an event: what is held must be whole now."""
        if not self._held:
            self._event = b""
            return
        held = b"\n".join(self._held).strip()
        self._held.clear()
        self._held_bytes = 0
        if not held:
            return
        chunk = _parse(held)
        if chunk is None and final and held[:1] == b"{":
            raise ProviderError("connection", "the connection ended in the middle of an event")
        if chunk is None:
            raise ProviderError(
                "protocol", f"the server sent something that is no JSON: {_shown(held)}"
            )
        yield self._named(chunk)
        self._event = b""

    def _named(self, chunk: Any) -> Any:
        """An event called `error` is one even where its JSON does not say so."""
        if self._event == b"error" and isinstance(chunk, dict) and "error" not in chunk:
            return {"error": chunk}
        return chunk


def _parse(payload: bytes) -> Any | None:
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        return None


def _parse_whole(body: bytes) -> Any:
    if body.lstrip(_BLANKS).startswith(b"<"):
        raise ProviderError(
            "protocol",
            f"the server answered with a web page: {_shown(body)}",
            hint="check base_url: it usually ends in /v1",
        )
    answer = _parse(body)
    if answer is None:
        raise ProviderError("connection", f"the answer is no whole JSON: {_shown(body)}")
    return answer


def _shown(payload: bytes) -> str:
    text = " ".join(payload[:400].decode("utf-8", "replace").split())
    return text if len(text) <= 160 else f"{text[:159]}…"

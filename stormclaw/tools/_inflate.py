"""Unpacks a compressed answer piece by piece, never more of it than there is room for."""

from __future__ import annotations

import zlib

ACCEPTED = "gzip, deflate"

_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_RAW = -15
"""Deflate without its header, which some servers send."""


class Inflater:
    """Takes the bytes of an answer as they come and gives back those that were packed.

    Args:
        coding: The Content-Encoding.

    Raises:
        ValueError: A coding that was not asked for.
    """

    def __init__(self, coding: str) -> None:
        self._coding = coding.strip().lower()
        if self._coding not in {"", "identity", *_WINDOWS}:
            raise ValueError(f"packed as {coding.strip()[:40]!r}, which was not asked for")
        self._plain = self._coding not in _WINDOWS
        self._begun = False
        self._stream = None if self._plain else zlib.decompressobj(_WINDOWS[self._coding])

    @property
    def complete(self) -> bool:
        """Whether nothing is missing at the end of what was packed."""
        return self._stream is None or self._stream.eof or not self._begun

    def feed(self, raw: bytes, room: int) -> bytes:
        """What is in these bytes, at most `room` bytes of it; what is beyond is lost.

        Raises:
            ValueError: They are not packed as was said.
        """
        if self._stream is None:
            return raw[:room]
        out = bytearray()
        while raw and len(out) < room:
            try:
                out += self._stream.decompress(raw, room - len(out))
            except zlib.error as problem:
                if self._begun or self._coding != "deflate":
                    raise ValueError(f"said to be {self._coding}, but is not: {problem}") from None
                self._stream = zlib.decompressobj(_RAW)
                self._begun = True
                continue
            self._begun = True
            raw = self._stream.unconsumed_tail
            if self._stream.eof:
                raw = self._stream.unused_data
                if self._coding == "deflate" or not raw.startswith(b"\x1f\x8b"):
                    break  # Padding after the end is no part of it.
                self._stream = zlib.decompressobj(_WINDOWS[self._coding])
        return bytes(out)

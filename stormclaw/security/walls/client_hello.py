"""Which host a TLS connection is for: the one name that is said before everything is secret."""

from __future__ import annotations

from dataclasses import dataclass

HANDSHAKE, CLIENT_HELLO, SERVER_NAME, HOST_NAME = 22, 1, 0, 0
MAX_RECORD = 16_640
MAX_HELLO = 32_768
"""Bytes; a real one has a few hundred, with keys against quantum computers two thousand."""


def is_tls(sent: bytes | bytearray) -> bool:
    """Whether what a client sends first may be the beginning of TLS."""
    return sent[:1] == bytes((HANDSHAKE,))


class Greeting:
    """What a TLS client says first, as it comes; each byte is looked at once."""

    def __init__(self) -> None:
        self._sent = bytearray()
        self._at = 0
        self._said = bytearray()

    def hear(self, chunk: bytes) -> str | None:
        """The host it wants, in lower case, "" if it names none; None until all is said.

        What follows the greeting is not looked at.

        Raises:
            ValueError: This is no TLS greeting, or not one that can be read in one way only.
        """
        self._sent += chunk
        while not self._complete() and self._record():
            continue
        if len(self._sent) > 2 * MAX_HELLO and not self._complete():
            raise ValueError("a greeting without an end")
        return _name(_Bytes(bytes(self._said[4 : self._length()]))) if self._complete() else None

    def _record(self) -> bool:
        """Take the next record off; False if it is not all there."""
        head = self._sent[self._at : self._at + 5]
        if (head[:1] and head[0] != HANDSHAKE) or (len(head) > 1 and head[1] != 3):
            raise ValueError("not TLS")
        length = int.from_bytes(head[3:], "big")
        if len(head) < 5:
            return False
        if not 0 < length <= MAX_RECORD:
            raise ValueError("no TLS record")
        end = self._at + 5 + length
        if len(self._sent) < end:
            return False
        self._said += self._sent[self._at + 5 : end]
        self._at = end
        return True

    def _length(self) -> int:
        return 4 + int.from_bytes(self._said[1:4], "big")

    def _complete(self) -> bool:
        if len(self._said) < 4:
            return False
        if self._said[0] != CLIENT_HELLO or self._length() > MAX_HELLO:
            raise ValueError("no TLS greeting")
        return len(self._said) >= self._length()


@dataclass
class _Bytes:
    """What is left to read."""

    left: bytes

    def take(self, size: int) -> bytes:
        if len(self.left) < size:
            raise ValueError("a TLS greeting that ends too early")
        taken, self.left = self.left[:size], self.left[size:]
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def part(self, size: int) -> _Bytes:
        """A part with its length, of `size` bytes, before it."""
        return _Bytes(self.take(self.number(size)))


def _name(hello: _Bytes) -> str:
    hello.take(2 + 32)
    for size in (1, 2, 1):  # session, ciphers, compressions
        hello.part(size)
    if not hello.left:
        return ""
    extensions = hello.part(2)
    found: list[str] = []
    while extensions.left:
        kind, body = extensions.number(2), extensions.part(2)
        if kind == SERVER_NAME:
            names = body.part(2)
            if names.number(1) != HOST_NAME:
                raise ValueError("a server name that is no host")
            found.append(names.part(2).left.decode("ascii").lower().rstrip("."))
            if names.left:
                raise ValueError("more than one server name")
    if len(found) > 1:
        raise ValueError("more than one server name")
    return found[0] if found else ""

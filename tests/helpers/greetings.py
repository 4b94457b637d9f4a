"""What TLS clients send first: real ones, and ones made by hand."""

from __future__ import annotations

import ssl

import pytest


def hello(name: str | None) -> bytes:
    """What Python's own client sends first."""
    context = ssl.create_default_context()
    context.check_hostname = False
    outgoing = ssl.MemoryBIO()
    connection = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        connection.do_handshake()
    return outgoing.read()


def records(greeting: bytes, size: int) -> bytes:
    """The same handshake in records of so many bytes."""
    pieces = [greeting[at : at + size] for at in range(0, len(greeting), size)]
    return b"".join(b"\x16\x03\x01" + len(each).to_bytes(2, "big") + each for each in pieces)


def made(*names: bytes, kinds: tuple[int, ...] = (0,)) -> bytes:
    """A greeting by hand: one server name extension for each of `kinds`."""
    listed = b"".join(b"\0" + len(name).to_bytes(2, "big") + name for name in names)
    body = len(listed).to_bytes(2, "big") + listed
    extension = len(body).to_bytes(2, "big") + body
    extensions = b"".join(kind.to_bytes(2, "big") + extension for kind in kinds)
    content = b"\3\3" + bytes(32) + b"\0" + b"\0\2\x13\1" + b"\1\0"
    content += len(extensions).to_bytes(2, "big") + extensions
    return records(b"\1" + len(content).to_bytes(3, "big") + content, 16_000)

"""What goes to a stream: a terminal gets inert text, a file or a pipe gets every byte."""

from __future__ import annotations

from typing import IO

from stormclaw.protocol.inert import inert


def for_stream(text: str, stream: IO[str]) -> str:
    """The text as it may be written there.

    A program that reads a pipe wants what was said; a person's terminal would obey it.
    """
    return inert(text, prose=True) if stream.isatty() else _writable(text)


def _writable(text: str) -> str:
    """Without lone surrogates, which no encoding can write."""
    return text.encode("utf-8", "backslashreplace").decode()

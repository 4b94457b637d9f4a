"""Reads text without its dress, Unicode form and typographic signs, and finds the way back."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_SIGNS = str.maketrans(
    dict.fromkeys("‘’‚‛′", "'")
    | dict.fromkeys("“”„‟″", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("\u00a0\u202f\u205f\u3000", " ")
    | dict.fromkeys(map(chr, range(0x2000, 0x200B)), " ")
    | {"…": "..."}
)


def fold(text: str) -> str:
    """The text composed (NFC), with plain quotes, dashes, dots and spaces; line feeds stay."""
    return text if text.isascii() else unicodedata.normalize("NFC", text).translate(_SIGNS)


def columns(line: str) -> Sequence[int]:
    """For each place in `fold(line)`, its end included, the place in `line`; -1 inside a sign."""
    if line.isascii():
        return range(len(line) + 1)
    places: list[int] = []
    at = 0
    while at < len(line):
        stop = at + 1
        while stop < len(line) and _joins(line[stop]):
            stop += 1
        width = len(fold(line[at:stop]))
        places += [at, *[-1] * (width - 1)]
        at = stop
    return [*places, len(line)]


def dressed(written: str, wanted: str, there: str) -> str:
    """A new line that keeps the file's own signs where it begins and ends as the old one did.

    Args:
        written: The old line as the model wrote it; alike `there` when folded.
        wanted: What shall stand there, in the model's signs.
        there: The old line as it is in the file.
    """
    if fold(written) != fold(there):
        return wanted
    room = min(len(written), len(wanted))
    head = next((i for i in range(room) if written[i] != wanted[i]), room)
    room -= head
    tail = next((i for i in range(room) if written[-1 - i] != wanted[-1 - i]), room)
    mine, theirs = columns(written), columns(there)
    if len(mine) != len(theirs):
        return wanted
    way = {own: other for own, other in zip(mine, theirs, strict=True) if own >= 0 <= other}
    while head not in way:
        head -= 1
    while len(written) - tail not in way:
        tail -= 1
    return (
        there[: way[head]] + wanted[head : len(wanted) - tail] + there[way[len(written) - tail] :]
    )


def _joins(sign: str) -> bool:
    """Whether a character belongs to the one before it: accents, Hangul vowels and finals."""
    return unicodedata.category(sign)[0] == "M" or "\u1160" <= sign <= "\u11ff"

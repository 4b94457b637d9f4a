"""What one answer is made of while it comes: its blocks, and what of them was shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from stormclaw.protocol.provider import Delta, Text, Thinking
from stormclaw.providers._surrogates import Seam

_GAP: Final = "\n\n"


@dataclass(slots=True)
class Block:
    """A block as far as it has come.

    Attributes:
        kind: Its type.
        head: As it was opened.
        start: Where it begins in what was shown of its kind.
        pieces: Of its text, thinking or arguments.
        signature: Pieces of its signature.
    """

    kind: str
    head: Mapping[str, Any]
    start: int = 0
    pieces: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)

    @property
    def content(self) -> str:
        """All its pieces."""
        return "".join(self.pieces)


class Shown:
    """Everything said of one kind, as it was shown."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._seam = Seam()
        self.length = 0

    @property
    def whole(self) -> str:
        """All of it."""
        return "".join(self._pieces)

    def begin(self, *, gap: bool) -> str:
        """A new block; what follows on something else begins a paragraph."""
        if not gap or not self._pieces or self._pieces[-1].endswith("\n"):
            return ""
        return self.add(_GAP)

    def add(self, piece: str) -> str:
        """What of it can be shown now."""
        piece = self._seam.join(piece)
        if piece:
            self._pieces.append(piece)
            self.length += len(piece)
        return piece


def spoken(kind: str, piece: str) -> Sequence[Delta]:
    """The piece of text or thinking as a delta, none where there is nothing to show yet."""
    if not piece:
        return ()
    return (Text(piece) if kind == "text" else Thinking(piece),)


def shown_length(block: Block) -> int:
    """How much of the shown text is this block's: halves of a character were joined."""
    seam = Seam()
    return sum(len(seam.join(piece)) for piece in block.pieces)

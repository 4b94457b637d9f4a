"""The last look at a line before the terminal gets it: whoever drew it, it can only show.

What we draw ourselves is inert before it is measured (`strip_of`, `lay`); this is for the widgets
that draw text of their own, such as a text area with a paste in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from stormclaw.protocol.inert import escaped, inert, is_inert


class Harmless(LineFilter):
    """Replaces what could move the cursor, hide or turn text; a line keeps its width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments, their text inert."""
        if only_shows("".join(segment.text for segment in segments)):
            return segments
        return [
            Segment(kept_width(segment.text), segment.style, segment.control)
            for segment in segments
        ]


def kept_width(text: str) -> str:
    """The text with everything that does not only show as `?`, in as many cells as before."""
    return text if only_shows(text) else "".join(_same_width(text))


def _same_width(text: str) -> Iterable[str]:
    for character in text:
        shown = inert(character, prose=True)
        size = cell_len(character)
        if shown == character and character != "\n":
            yield character
        elif size:
            yield shown if cell_len(shown) == size else "?" * size


def only_shows(line: str) -> bool:
    """Whether a whole line may go to a terminal."""
    return is_inert(line) and "\n" not in line


def one_row(pieces: Sequence[str]) -> Sequence[str]:
    """The pieces of one line, inert; a newline in them shows as `^J`.

    They are looked at together: a piece may begin with the mark that belongs to the one before.
    """
    if only_shows("".join(pieces)):
        return pieces
    return [inert(piece, prose=True).replace("\n", escaped("\n")) for piece in pieces]

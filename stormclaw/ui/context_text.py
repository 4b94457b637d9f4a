"""Sections of foreign text laid out for reading: rows, where each section begins, and the search.

Everything here is pure and may run beside the event loop.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from stormclaw.ui.rows import BLANK, Row, Run, indented, spread, wrap
from stormclaw.ui.text import inert, one_line

INDENT = 2


@dataclass(frozen=True, slots=True)
class Section:
    """A head and what stands under it.

    Attributes:
        name: A role, or what the text is.
        text: Foreign text, exactly as it is.
        aside: Stands muted beside the name; foreign.
        right: Ends the head's line: tokens, a time.
        muted: The text is ours or old, not the thing itself.
        rows: Ready rows in place of `text`, of our own making.
    """

    name: str
    text: str = ""
    aside: str = ""
    right: str = ""
    muted: bool = False
    rows: tuple[Row, ...] = ()

    @property
    def plain(self) -> str:
        """For the clipboard."""
        head = " ".join(filter(None, (self.name, one_line(self.aside))))
        body = self.text or "\n".join(row.text.rstrip() for row in self.rows)
        return f"## {head}\n\n{body}".rstrip() + "\n"


@dataclass(frozen=True, slots=True)
class Paper:
    """Sections laid out in a width.

    Attributes:
        rows: Every line.
        heads: Line of each section's head.
        low: The lines' words in lower case, for searching.
        soft: Lines that go on in the next one: a search looks over that break.
    """

    rows: tuple[Row, ...] = ()
    heads: tuple[int, ...] = ()
    low: tuple[str, ...] = ()
    soft: frozenset[int] = frozenset()

    def section_at(self, line: int) -> int:
        """Number of the section a line belongs to."""
        return max(0, bisect_right(self.heads, line) - 1)

    def lines_with(self, words: str) -> tuple[int, ...]:
        """Lines that hold `words` in any case, or begin them where a line was broken."""
        sought = " ".join(words.lower().split()) or words.lower()
        return tuple(
            line
            for line, text in enumerate(self.low)
            if sought in text or (line in self.soft and self._over(line, sought))
        )

    def _over(self, line: int, sought: str) -> bool:
        head, tail = self.low[line], self.low[line + 1]
        joined = (f"{head} {tail}", head + tail)
        return any(sought in text for text in joined) and sought not in tail


NO_PAPER = Paper()


def lay_out(sections: Iterable[Section], width: int) -> Paper:
    """The sections in lines of at most `width` cells."""
    rows: list[Row] = []
    heads: list[int] = []
    soft: set[int] = set()
    for section in sections:
        if rows:
            rows.append(BLANK)
        heads.append(len(rows))
        aside = (Run(f"  {one_line(section.aside)}", "muted"),) if section.aside else ()
        right = (Run(section.right, "muted"),) if section.right else ()
        rows.append(spread((Run(section.name, "text", "b"), *aside), right, width))
        if section.rows:
            rows += indented(section.rows, INDENT)
            continue
        role = "muted" if section.muted else "text"
        for line in inert(section.text).removesuffix("\n").split("\n") if section.text else ():
            pieces = wrap(line, max(8, width - INDENT))
            soft.update(range(len(rows), len(rows) + len(pieces) - 1))
            rows += [Row((Run(" " * INDENT), Run(piece, role))) for piece in pieces]
    low = tuple(row.text.strip().lower() for row in rows)
    return Paper(tuple(rows), tuple(heads), low, frozenset(soft))

"""What of a block can be found: its words as a person reads them, folded away or not."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from stormclaw.protocol.display import Checklist, Diff, Patch, Plain, Table
from stormclaw.protocol.inert import inert
from stormclaw.protocol.query import Query
from stormclaw.ui.blocks import Answer, Card, Failure, Live, Reads, Remark, Source, Thought, Turn
from stormclaw.ui.markdown import Part
from stormclaw.ui.render.cards import has_body
from stormclaw.ui.render.diffs import drawn_texts
from stormclaw.ui.render.lines import Line
from stormclaw.ui.text import one_line

MARKS = re.compile(r"\*+|~~|(?<!`)`(?!``)")
"""Signs of Markdown that are not drawn."""
SOFT = re.compile(r"(?<![\n|])\n(?=[^\n\s|>#+*\-0-9])")
"""Ends of lines within a paragraph: drawn as spaces."""
MOST = sys.maxsize
FENCES = re.compile(r"^( {0,3}(?:```|~~~).*\n?)", re.M)


class Piece(NamedTuple):
    """Some of what a block says.

    Attributes:
        text: Inert.
        where: `head` its first line, `body` what folds away under it, `all` no such difference.
        member: Which read of several it belongs to, else -1.
    """

    text: str
    where: Literal["all", "head", "body"] = "all"
    member: int = -1


def pieces(source: Source) -> Iterator[Piece]:
    """All there is to find in a block, in the order it is drawn."""
    match source:
        case Card() as card:
            yield from _card(card, -1)
        case Reads(cards):
            for number, card in enumerate(cards):
                yield from _card(card, number)
        case Turn(text) | Thought(text):
            yield Piece(inert(text, prose=True))
        case Answer(text):
            yield Piece(readable(text))
        case Part(text):
            yield Piece(readable(text))
        case Remark(text):
            yield Piece(one_line(text))
        case Failure(title, detail, code):
            yield Piece(inert(f"{title}\n{code}\n{detail}", prose=True))
        case Live():
            return


def count(source: Source, query: Query) -> int:
    """How often the words stand in a block."""
    return sum(query.count(piece.text) for piece in pieces(source))


def readable(markdown: str) -> str:
    """Markdown much as it is drawn; code stays as it is. About right, and fast."""
    text = inert(markdown, prose=True)
    parts = FENCES.split(text)
    if len(parts) == 1:
        return SOFT.sub(" ", MARKS.sub("", text))
    plain: list[str] = []
    for number in range(0, len(parts), 2):
        prose = parts[number]
        coded = number % 4 == 2  # Behind an opening fence and before the closing one.
        plain.append(prose if coded else SOFT.sub(" ", MARKS.sub("", prose)))
    return "\n".join(plain)


def _card(card: Card, member: int) -> Iterator[Piece]:
    receipt = f"r{card.receipt}" if card.receipt else ""
    names = (card.headline.verb, card.headline.object, card.summary, receipt)
    yield Piece("\n".join(map(one_line, names)), "head", member)
    if has_body(card):
        yield Piece(_body(card), "body", member)


def _body(card: Card) -> str:
    match card.display:
        case Diff() as diff if card.state != "failed":
            return inert("\n".join(drawn_texts(diff, 0)), prose=True)
        case Patch(files) if card.state != "failed":
            lines = [line for diff in files for line in (diff.path, *drawn_texts(diff, 0))]
            return inert("\n".join(lines), prose=True)
        case Checklist(steps):
            return "\n".join(one_line(step.text) for step in steps)
        case Table(columns, rows):
            return "\n".join(one_line(cell) for row in (columns, *rows) for cell in row)
        case Plain(text):
            return inert(text, prose=True)
        case _:
            return inert(card.output, prose=True)


class Place(NamedTuple):
    """Some characters of a drawn line."""

    line: int
    start: int
    end: int


def places(lines: Sequence[Line], query: Query) -> list[tuple[Place, ...]]:
    """Where the words stand in what is drawn of a block; soft wraps do not part them."""
    text: list[str] = []
    starts: list[tuple[int, int, int]] = []  # of each line: in the text, in the line, its length
    size = 0
    for strip, joint, indent in lines:
        shown = strip.text[indent:].rstrip()
        starts.append((size, indent, len(shown)))
        text += (shown, joint)
        size += len(shown) + len(joint)
    return [tuple(_on_lines(starts, start, end)) for start, end in query.spans("".join(text))]


def _on_lines(starts: Sequence[tuple[int, int, int]], start: int, end: int) -> Iterator[Place]:
    """The characters `start` to `end` of the whole, line by line."""
    for number in range(bisect_right(starts, (start, MOST, MOST)) - 1, len(starts)):
        at, indent, length = starts[number]
        if at >= end:
            return
        first, last = max(start, at), min(end, at + length)
        if first < last:
            yield Place(number, indent + first - at, indent + last - at)

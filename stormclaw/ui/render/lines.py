"""Styled text to lines of an exact width: wrapping, slicing, padding. Everything is cut in cells.

A `Row` is text without its place; `lay` gives it a gutter and a width and makes it a `Line`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from stormclaw.ui.harmless import one_row
from stormclaw.ui.render.look import Look
from stormclaw.ui.text import cells, take

PLAIN = Style.null()

Run: TypeAlias = tuple[str, Style]
"""A piece of one line and its style."""


class Line(NamedTuple):
    """A drawn line.

    Attributes:
        strip: Exactly as many cells as were asked for.
        joint: What stands between this line and the next in the source: a newline, or what a
            soft wrap swallowed (a space, or nothing in the middle of a word).
        indent: Cells of decoration at the left that are not part of the text.
    """

    strip: Strip
    joint: str = "\n"
    indent: int = 0

    @property
    def continues(self) -> bool:
        """True when the next line goes on with the same line of the source."""
        return self.joint != "\n"


@dataclass(frozen=True, slots=True)
class Row:
    """A line still without gutter and padding; `fill` is the style of its padding."""

    runs: Sequence[Run] = field(default_factory=tuple)
    joint: str = "\n"
    indent: int = 0
    fill: Style = PLAIN


class Span(NamedTuple):
    """A wrapped piece of a text: `text[start:end]`, then `joint`."""

    start: int
    end: int
    joint: str


def wrap_spans(text: str, width: int, *, words: bool = True) -> list[Span]:
    """Where `text` breaks to fit `width` cells.

    Args:
        text: May hold newlines.
        width: Cells, at least 1.
        words: Break at spaces (and between wide characters) where possible.
    """
    width = max(1, width)
    spans: list[Span] = []
    start = 0
    for line in text.split("\n"):
        _wrap_line(text, start, start + len(line), width, words, spans)
        start += len(line) + 1
    return spans


def _wrap_line(text: str, start: int, end: int, width: int, words: bool, spans: list[Span]) -> None:
    ascii_only = text[start:end].isascii()
    while True:
        if ascii_only:
            limit = min(end, start + width)
        else:
            limit = start + max(1, len(take(text[start : min(end, start + width)], width)))
            while limit < end and not cells(text[limit]):
                limit += 1  # a combining mark stays with its character
        if limit >= end:
            spans.append(Span(start, end, "\n"))
            return
        stop = _break(text, start, limit, wide=not ascii_only) if words else limit
        after = stop
        while words and after < end and text[after] == " ":
            after += 1
        stop = start + len(text[start:stop].rstrip(" ")) if after > stop else stop
        spans.append(Span(start, stop, text[stop:after]))
        start = after


def _break(text: str, start: int, limit: int, *, wide: bool) -> int:
    """Where to break before `limit`: at a space, next to a wide character, else right there."""
    if text[limit] == " ":
        return limit
    space = text.rfind(" ", start, limit)
    if space <= start or not text[start:space].strip(" "):
        space = start
    if wide:
        for index in range(limit, space, -1):
            if cells(text[index]) == 2 or cells(text[index - 1]) == 2:
                return index
    return space if space > start else limit


def slice_runs(runs: Sequence[Run], start: int, end: int) -> list[Run]:
    """The runs of `text[start:end]`, where text is all runs joined."""
    piece: list[Run] = []
    position = 0
    for text, style in runs:
        following = position + len(text)
        if following > start and position < end:
            cut = text[max(0, start - position) : end - position]
            if cut:
                piece.append((cut, style))
        position = following
        if position >= end:
            break
    return piece


def wrap(runs: Sequence[Run], width: int, *, fill: Style = PLAIN, words: bool = True) -> list[Row]:
    """Runs, which may hold newlines, as rows of at most `width` cells."""
    text = "".join(piece for piece, _ in runs)
    spans = wrap_spans(text, width, words=words)
    if len(spans) == 1:
        return [Row(runs, fill=fill)]
    return [Row(slice_runs(runs, start, end), joint, 0, fill) for start, end, joint in spans]


def prefix(rows: Iterable[Row], first: Sequence[Run], rest: Sequence[Run]) -> list[Row]:
    """Rows with decoration before them: `first` before the first, `rest` before the others."""
    result: list[Row] = []
    lead = list(first)
    for row in rows:
        indent = sum(cells(text) for text, _ in lead)
        result.append(replace(row, runs=[*lead, *row.runs], indent=row.indent + indent))
        lead = list(rest)
    return result


def lay(rows: Iterable[Row], width: int, gutter: Sequence[Run] = ()) -> list[Line]:
    """Rows as lines of exactly `width` cells, each after `gutter`."""
    indent = sum(cells(text) for text, _ in gutter)
    lines: list[Line] = []
    for row in rows:
        segments = [Segment(text, style) for text, style in gutter]
        used = indent
        texts = one_row([text for text, _ in row.runs])
        for text, (_, style) in zip(texts, row.runs, strict=True):
            if text:
                segments.append(Segment(text, style))
                used += cells(text)
        if used < width:
            segments.append(Segment(" " * (width - used), row.fill))
        strip = Strip(segments, used) if used > width else Strip(segments, width)
        if used > width:
            strip = strip.adjust_cell_length(width, row.fill)
        lines.append(Line(strip, row.joint, min(width, row.indent + indent)))
    return lines


def spread(left: Sequence[Run], right: Sequence[Run], width: int, fill: Style = PLAIN) -> Row:
    """One row with `left` at the left and `right` ending at `width`; left is cut, never right."""
    right_cells = sum(cells(text) for text, _ in right)
    room = width - right_cells - (2 if right_cells else 0)
    kept: list[Run] = []
    for text, style in left:
        piece = take(text, room)
        if piece:
            kept.append((piece, style))
            room -= cells(piece)
        if piece != text:
            break
    if not right_cells:
        return Row(kept, fill=fill)
    gap = width - right_cells - sum(cells(text) for text, _ in kept)
    return Row([*kept, (" " * max(0, gap), fill), *right], fill=fill)


def place(lines: Iterable[Line], left: int, width: int, base: Style) -> list[Line]:
    """Lines on their ground, `left` cells before them and as many after as `width` leaves.

    Args:
        lines: Of the measure.
        left: Cells.
        width: Cells of the whole row.
        base: What a segment that says nothing else looks like.
    """
    before = [Segment(" " * left, base)] if left else []
    placed: list[Line] = []
    for strip, joint, indent in lines:
        segments = [
            Segment(text, base if style is None else base + style) for text, style, _ in strip
        ]
        after = width - left - strip.cell_length
        tail = [Segment(" " * after, base)] if after > 0 else []
        placed.append(Line(Strip([*before, *segments, *tail], width), joint, indent + left))
    return placed


def with_cursor(line: Line, look: Look, *, spaced: bool) -> Line:
    """The line with the stream cursor behind its text, where there is room for it.

    Args:
        line: The last line of what is being written.
        look: Colours and signs.
        spaced: The text ends in a space, which is not drawn.
    """
    text = line.strip.text.rstrip()
    width = line.strip.cell_length
    end = max(cells(text), line.indent)
    at = end + 1 if spaced and text and end + 1 < width else end
    if at >= width:
        return line
    ground = next(reversed(line.strip)).style or PLAIN
    segments = [
        *line.strip.crop(0, at),
        Segment(look.signs.cursor, ground + look.palette.text),
        *([Segment(" " * (width - at - 1), ground)] if at + 1 < width else []),
    ]
    return Line(Strip(segments, width), line.joint, line.indent)

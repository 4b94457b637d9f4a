"""Diffs: line numbers, sign, and in changed lines the words that changed. Blue and clay."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise, zip_longest
from typing import Literal, TypeAlias

from rich.style import Style

from stormclaw.protocol.display import Diff, DiffLine, Hunk
from stormclaw.ui.render.lines import PLAIN, Row, Run, prefix, wrap
from stormclaw.ui.render.look import Look
from stormclaw.ui.text import cells, count, inert

WORD = re.compile(r"\d+(?:\.\d+)?|\w+|\s+|[^\w\s]")
MAX_PAIRED = 400
"""Cells of a line above which words are not compared."""
ALIKE = 0.4
"""Share of common text below which two lines are simply different."""
NARROW = 70
"""Cells below which one column of numbers has to do."""
SMALL_GAP = 2
"""Unchanged lines between two changes that are shown rather than counted."""


Spans: TypeAlias = tuple[tuple[int, int], ...]
"""Character positions in a line, from and up to."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A diff line and the character spans of its text that changed; or a count of left-out ones."""

    line: DiffLine | None
    changed: Spans = ()
    skipped: int = 0


def diff_rows(
    diff: Diff,
    look: Look,
    width: int,
    *,
    columns: Literal[1, 2] = 1,
    context: int | None = None,
    hunks: Sequence[Hunk] | None = None,
) -> list[Row]:
    """A diff in rows of `width` cells.

    Args:
        diff: What changes.
        look: Colours and signs.
        width: Cells.
        columns: Of line numbers, old and new; one when `width` is under 70.
        context: Unchanged lines kept around a change; None keeps all there are.
        hunks: Some of the diff's hunks, as a sheet pages through them; None for all.
    """
    columns = 1 if width < NARROW else columns
    chosen = diff.hunks if hunks is None else hunks
    shown = _all_shown(chosen, context, _compared)
    digits = max((len(str(n)) for part in shown for n in _numbers(part.line)), default=1)
    painter = _Painter(look, width, columns, max(4, digits))
    rows = [row for part in shown for row in painter.rows(part)]
    if diff.cut:
        rows.append(painter.gap(f"{count(diff.cut, 'more changed line')} not shown"))
    return rows


def diff_height(diff: Diff, context: int | None = None) -> int:
    """Rows of the diff if no line wraps; cheap, words are not compared."""
    return len(_all_shown(diff.hunks, context, _uncompared)) + bool(diff.cut)


def drawn_texts(diff: Diff, context: int | None = None) -> list[str]:
    """The lines that are drawn, as they stand in the file."""
    shown = _all_shown(diff.hunks, context, _uncompared)
    return [part.line.text for part in shown if part.line is not None]


Compared: TypeAlias = Iterator[tuple[DiffLine, Spans]]


def _all_shown(
    hunks: Sequence[Hunk],
    context: int | None,
    compare: Callable[[Sequence[DiffLine]], Compared],
) -> list[Shown]:
    """What is drawn of all hunks; a count before the first line says nothing."""
    shown = [part for hunk in hunks for part in _shown(hunk, context, compare)]
    first = next((n for n, part in enumerate(shown) if part.line is not None), len(shown))
    return shown[first:]


def _uncompared(lines: Sequence[DiffLine]) -> Compared:
    return ((line, ()) for line in lines)


def _numbers(line: DiffLine | None) -> Iterator[int]:
    if line is not None:
        yield from (number for number in (line.old, line.new) if number is not None)


def _shown(
    hunk: Hunk, context: int | None, compare: Callable[[Sequence[DiffLine]], Compared]
) -> Iterator[Shown]:
    """The lines of a hunk to draw, changed words found, long unchanged stretches counted."""
    if hunk.skipped:
        yield Shown(None, skipped=hunk.skipped)
    keep = _kept(hunk.lines, context)
    gap = 0
    for position, (line, changed) in enumerate(compare(hunk.lines)):
        if keep is None or position in keep:
            if gap and position != gap:
                yield Shown(None, skipped=gap)
            gap = 0
            yield Shown(line, changed)
        else:
            gap += 1


def _kept(lines: Sequence[DiffLine], context: int | None) -> set[int] | None:
    """Positions within `context` of a change; a small gap between two is kept too."""
    if context is None:
        return None
    changes = [position for position, line in enumerate(lines) if line.sign != " "]
    keep = {near for at in changes for near in range(at - context, at + context + 1)}
    for before, after in pairwise(changes):
        if after - before - 1 - 2 * context <= SMALL_GAP:
            keep.update(range(before, after))
    return keep


def _compared(lines: Sequence[DiffLine]) -> Compared:
    """Each line with its changed spans: removed and added lines that face each other."""
    position = 0
    while position < len(lines):
        removed = _run_of(lines, position, "-")
        added = _run_of(lines, position + len(removed), "+")
        if not removed and not added:
            yield lines[position], ()
            position += 1
            continue
        pairs = [
            _changed_words(old.text, new.text) if old and new else ((), ())
            for old, new in zip_longest(removed, added)
        ]
        yield from ((line, pairs[n][0]) for n, line in enumerate(removed))
        yield from ((line, pairs[n][1]) for n, line in enumerate(added))
        position += len(removed) + len(added)


def _run_of(lines: Sequence[DiffLine], start: int, sign: str) -> Sequence[DiffLine]:
    end = start
    while end < len(lines) and lines[end].sign == sign:
        end += 1
    return lines[start:end]


def _changed_words(old: str, new: str) -> tuple[Spans, Spans]:
    """Spans of `old` and `new`, as drawn, that differ; none if the lines have little in common."""
    old, new = inert(old), inert(new)
    if len(old) > MAX_PAIRED or len(new) > MAX_PAIRED:
        return (), ()
    before, after = WORD.findall(old), WORD.findall(new)
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    matcher = SequenceMatcher(
        None, before[head : len(before) - tail], after[head : len(after) - tail], autojunk=False
    )
    left: list[tuple[int, int]] = []
    right: list[tuple[int, int]] = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            _add_span(left, before, head + a, head + b)
            _add_span(right, after, head + c, head + d)
    if _same_share(old, left) < ALIKE and _same_share(new, right) < ALIKE:
        return (), ()
    return tuple(left), tuple(right)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with."""
    same = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        same += 1
    return same


def _same_share(text: str, changed: Sequence[tuple[int, int]]) -> float:
    """Share of the visible characters that are not in a changed span."""
    visible = len("".join(text.split()))
    touched = sum(len("".join(text[start:end].split())) for start, end in changed)
    return 1 - touched / visible if visible else 0.0


def _add_span(spans: list[tuple[int, int]], words: Sequence[str], first: int, last: int) -> None:
    start = sum(map(len, words[:first]))
    end = start + sum(map(len, words[first:last]))
    if spans and start - spans[-1][1] <= 1 and end > start:
        spans[-1] = (spans[-1][0], end)
    elif end > start:
        spans.append((start, end))


class _Painter:
    """Draws single lines of one diff."""

    def __init__(self, look: Look, width: int, columns: int, digits: int) -> None:
        self._look = look
        self._width = width
        self._columns = columns
        self._digits = digits
        palette = look.palette
        self._styles = {
            " ": (palette.muted, PLAIN, PLAIN, " ", PLAIN),
            "+": (
                palette.text,
                palette.added_ground,
                palette.added_word,
                look.signs.added,
                palette.added,
            ),
            "-": (
                palette.text,
                palette.removed_ground,
                palette.removed_word,
                look.signs.removed,
                palette.removed,
            ),
        }

    def rows(self, part: Shown) -> list[Row]:
        if part.line is None:
            return [self.gap(count(part.skipped, "unchanged line"))]
        line = part.line
        text, ground, word, sign, colour = self._styles[line.sign]
        numbers = self._number_column(line)
        muted = ground + self._look.palette.muted
        first: list[Run] = [
            (f"{numbers} ", muted),
            (sign, ground + colour + Style(bold=True)),
            (" ", ground),
        ]
        lead = cells(numbers) + 3
        runs = _marked(inert(line.text).replace("\n", " "), part.changed, ground + text, word)
        body = wrap(runs, max(1, self._width - lead), fill=ground, words=False)
        return prefix(body, first, [(" " * lead, ground)])

    def gap(self, words: str) -> Row:
        lead = self._look.signs.elided.rjust(self._digits)
        blank = " " * (self._columns * (self._digits + 1) - self._digits + 2)
        return Row([(f"{lead}{blank}{words}", self._look.palette.muted)])

    def _number_column(self, line: DiffLine) -> str:
        old = "" if line.old is None else str(line.old)
        new = "" if line.new is None else str(line.new)
        if self._columns == 2:
            return f"{old:>{self._digits}} {new:>{self._digits}}"
        return f"{old if line.sign == '-' else new:>{self._digits}}"


def _marked(text: str, spans: Iterable[tuple[int, int]], base: Style, word: Style) -> list[Run]:
    runs: list[Run] = []
    position = 0
    for start, end in spans:
        runs += [(text[position:start], base), (text[start:end], base + word)]
        position = end
    runs.append((text[position:], base))
    return [run for run in runs if run[0]] or [("", base)]

"""Shows what a file was and would become, as data a person can judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from difflib import SequenceMatcher

from stormclaw.protocol.display import Diff, DiffLine, Hunk
from stormclaw.tools._text import Lines, split_lines

CONTEXT = 3
MAX_CHANGED = 400
"""Changed lines the record of a diff keeps; the rest is counted. The question shows them all."""
MAX_ALIGNED = 20_000_000
"""Most pairs of lines worth comparing; beyond it one block replaces the other."""
NO_NEWLINE = "\\ No newline at end of file"

Span = tuple[int, int, int, int]
"""Old lines [a, b) become new lines [c, d)."""


def make_diff(path: str, old: str | None, new: str) -> Diff:
    """The difference between two texts; `old` None for a file that does not exist yet."""
    before, after = split_lines(old or ""), split_lines(new)
    left, right = _keyed(before), _keyed(after)
    spans = list(_changes(left, right))
    added = sum(d - c for _, _, c, d in spans)
    removed = sum(b - a for a, b, _, _ in spans)
    return Diff(path, tuple(_hunks(spans, before, after)), added, removed, created=old is None)


def recorded(diff: Diff) -> Diff:
    """The diff as it is kept: at most `MAX_CHANGED` changed lines, the rest counted."""
    changed = diff.added + diff.removed
    if changed <= MAX_CHANGED:
        return diff
    kept: list[Hunk] = []
    room = MAX_CHANGED
    for hunk in diff.hunks:
        lines = _first_changes(hunk.lines, room)
        room -= sum(line.sign != " " for line in lines)
        kept.append(replace(hunk, lines=lines))
        if not room:
            break
    return replace(diff, hunks=tuple(kept), cut=changed - MAX_CHANGED)


def _first_changes(lines: tuple[DiffLine, ...], most: int) -> tuple[DiffLine, ...]:
    """The lines up to the last of `most` changed ones."""
    for at, line in enumerate(lines):
        most -= line.sign != " "
        if not most:
            return lines[: at + 1]
    return lines


def changes_of(diff: Diff) -> str:
    """`+24 −1`, as on the card of an edit."""
    return f"+{diff.added} −{diff.removed}"


def _keyed(lines: Lines) -> list[str]:
    """Lines with their endings: what is compared. A text that is empty has none."""
    keyed = list(map(str.__add__, lines.texts, [*lines.ends, ""]))
    return keyed[:-1] if keyed[-1] == "" else keyed


def _changes(left: list[str], right: list[str]) -> Iterator[Span]:
    """The changed spans; what is alike at both ends is set aside first, for speed."""
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    tail = 0
    while tail < min(len(left), len(right)) - start and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    old, new = left[start : len(left) - tail], right[start : len(right) - tail]
    if not old and not new:
        return
    if len(old) * len(new) > MAX_ALIGNED:
        yield start, start + len(old), start, start + len(new)
        return
    for tag, a, b, c, d in SequenceMatcher(None, old, new, len(old) > 1000).get_opcodes():
        if tag != "equal":
            yield start + a, start + b, start + c, start + d


def _hunks(spans: list[Span], before: Lines, after: Lines) -> Iterator[Hunk]:
    """Spans that share context are one hunk."""
    reached = 0
    group: list[Span] = []
    for span in spans:
        if group and span[0] - group[-1][1] > 2 * CONTEXT:
            hunk, reached = _hunk(group, before, after, reached)
            yield hunk
            group = []
        group.append(span)
    if group:
        yield _hunk(group, before, after, reached)[0]


def _hunk(group: list[Span], before: Lines, after: Lines, reached: int) -> tuple[Hunk, int]:
    """One hunk, and the old line it reaches to; `reached` is that of the hunk before it."""
    first = max(reached, group[0][0] - CONTEXT)
    position, shift = first, group[0][2] - group[0][0]
    lines: list[DiffLine] = []
    for a, b, c, d in group:
        lines += _context(before, position, a, shift)
        lines += _signed("-", before, a, b)
        lines += _signed("+", after, c, d)
        position, shift = b, d - b
    last = min(before.count, position + CONTEXT)
    lines += _context(before, position, last, shift)
    return Hunk(tuple(lines), first - reached), last


def _context(before: Lines, start: int, stop: int, shift: int) -> Iterator[DiffLine]:
    for at in range(start, stop):
        yield DiffLine(" ", before.texts[at], at + 1, at + 1 + shift)
        yield from _unended(before, at)


def _signed(sign: str, lines: Lines, start: int, stop: int) -> Iterator[DiffLine]:
    for at in range(start, stop):
        if sign == "-":
            yield DiffLine("-", lines.texts[at], at + 1, None)
        else:
            yield DiffLine("+", lines.texts[at], None, at + 1)
        yield from _unended(lines, at)


def _unended(lines: Lines, at: int) -> Iterator[DiffLine]:
    """The remark under a last line that has no line ending."""
    if at == len(lines.ends):
        yield DiffLine(" ", NO_NEWLINE, None, None)

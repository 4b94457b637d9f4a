"""Tells a model whose edit found nothing what stands in the file instead."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher

from stormclaw.tools._fold import fold
from stormclaw.tools._text import Lines, cut_line

MAX_COMPARED = 20_000
"""Lines of a file that are looked at for likeness; the same lines are found anywhere."""
MAX_SHOWN = 40
MAX_WIDTH = 300
"""Characters of a line that are shown."""
LEAST_LIKENESS = 0.5
MOST_RATIOS = 300
"""Lines that are compared sign by sign."""
MOST_ALIKE = 50
"""A line that stands more often than this says nothing about a place."""


def nearest(lines: Lines, old: str) -> str:
    """The part of a file most like `old`, with line numbers; "" if nothing is like it."""
    wanted = [fold(line).strip() for line in old.strip("\n").split("\n")]
    there = [fold(line).strip() for line in lines.texts]
    starts = _voted(there, wanted)
    if not starts:
        anchor = max(range(len(wanted)), key=lambda at: len(wanted[at]))
        starts = [max(0, at - anchor) for at in _like(there[:MAX_COMPARED], wanted[anchor])]
    best, likeness = 0, 0.0
    for start in starts:
        ratio = _likeness(there[start : start + len(wanted)], wanted)
        if ratio > likeness:
            best, likeness = start, ratio
    if likeness < LEAST_LIKENESS:
        return ""
    stop = min(lines.count, best + min(len(wanted), MAX_SHOWN))
    return numbered(lines, best, max(stop, best + 1))


def numbered(lines: Lines, start: int, stop: int) -> str:
    """Lines [start, stop) as read_file shows them, long ones cut."""
    return "\n".join(
        f"{at + 1}\t{cut_line(lines.texts[at], MAX_WIDTH)}" for at in range(start, stop)
    )


def _voted(there: list[str], wanted: list[str]) -> list[int]:
    """Where the text would begin if its telling lines are those of the file; the best first."""
    places: dict[str, list[int]] = {line: [] for line in wanted if len(line) > 2}
    for at, line in enumerate(there):
        found = places.get(line)
        if found is not None and len(found) <= MOST_ALIKE:
            found.append(at)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(wanted):
        if len(places.get(line, ())) <= MOST_ALIKE:
            votes.update(max(0, at - offset) for at in places.get(line, ()))
    return [start for start, _ in votes.most_common(5)]


def _like(there: list[str], line: str) -> list[int]:
    """Where the lines most like one line are, the best first."""
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(line[:500])
    scored: list[tuple[float, int]] = []
    floor, compared = 0.4, 0
    for candidate, at in {text: at for at, text in reversed([*enumerate(there)])}.items():
        if compared == MOST_RATIOS:
            break
        matcher.set_seq1(candidate[:500])
        if matcher.real_quick_ratio() > floor and matcher.quick_ratio() > floor:
            ratio = matcher.ratio()
            compared += 1
            if ratio > floor:
                scored.append((-ratio, at))
                if len(scored) > 20:
                    scored = sorted(scored)[:10]
                    floor = -scored[-1][0]
    return [at for _, at in sorted(scored)[:10]]


def _likeness(one: list[str], other: list[str]) -> float:
    """How alike two pieces of text are, 0 to 1; long ones are compared by their lines."""
    if len(other) > MAX_SHOWN:
        shared = sum((Counter(one) & Counter(other)).values())
        return 2 * shared / (len(one) + len(other))
    left, right = "\n".join(one)[:1500], "\n".join(other)[:1500]
    return SequenceMatcher(None, left, right, autojunk=False).ratio()

"""Finds where the hunks of a patch belong in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from stormclaw.errors import ToolFailure
from stormclaw.tools._fold import fold
from stormclaw.tools._near import nearest, numbered
from stormclaw.tools._patch import Part, Row
from stormclaw.tools._text import Lines

_ENDS = {"\n": "", "\r\n": "\r", "\r": "\r\r", "": "\0"}


def _bare(text: str) -> str:
    return text


def _plain(text: str) -> str:
    return fold(text).strip()


LADDER: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("", _bare),  # with the line endings of the patch
    ("", _bare),
    ("white space at the end of lines", str.rstrip),
    ("indentation", str.strip),
    ("typography", _plain),
)
"""What is overlooked in the lines of a hunk, from nothing on; the first that finds it decides."""
MOST_COMPARED = 200_000_000
"""Characters compared before a search for one hunk gives up on further places."""
INDENTATION = 3
"""From this step on the file may be indented differently."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A hunk and where it belongs: at line `at`, counted from 0, found on step `level`."""

    part: Part
    at: int
    level: int

    @property
    def old(self) -> tuple[Row, ...]:
        """Its lines as they were."""
        return self.part.side("-")

    @property
    def free(self) -> int:
        """The line after the last one it changes."""
        rows = self.part.rows
        last = max(at for at, row in enumerate(rows) if row.sign != " ")
        return self.at + sum(row.sign != "+" for row in rows[: last + 1])


class Seeker:
    """One file in which hunks are looked for."""

    def __init__(self, lines: Lines, name: str) -> None:
        self.lines, self.name = lines, name
        self.count = lines.count
        self._keyed: dict[int, str] = {}

    def place(self, parts: Sequence[Part]) -> list[Placed]:
        """Every hunk's place, in the order of the file.

        Raises:
            ToolFailure: One is found nowhere, or in several places, or two are in each other's way.
        """
        placed: list[Placed] = []
        for part in parts:
            # What is only added at the end of the file says nothing about the hunks after it.
            before = next((one for one in reversed(placed) if one.old or one.part.anchors), None)
            stated = part.start is not None
            found = self._near_stated(part, before) if stated else self._in_order(part, before)
            placed.append(found)
        self._must_be_sure(placed)
        ordered = sorted(placed, key=lambda one: (one.at, one.part.number))
        for one, other in pairwise(ordered):
            first = next(at for at, row in enumerate(other.part.rows) if row.sign != " ")
            if one.free > other.at + first:
                raise self._failure(
                    other.part,
                    f"it changes lines that hunk {one.part.number} changes too",
                    "hunks overlap",
                )
        return ordered

    def _in_order(self, part: Part, before: Placed | None) -> Placed:
        """By its lines, after the hunk before it."""
        floors = [0] if before is None else [before.at + len(before.old), before.free]
        floors = [self._after_anchors(part, floor) for floor in floors]
        if not part.side("-"):
            return Placed(part, floors[0] if part.anchors else self.count, 0)
        if part.anchors:
            floors.append(max(floors[-1] - 1, before.free if before else 0))  # the anchor, repeated
        for floor in floors:
            if found := self._first(part, floor):
                return found
        raise self._missed(part, floors[0])

    def _first(self, part: Part, floor: int) -> Placed | None:
        for kept in _shortenings(part):
            for level in range(len(LADDER)):
                places = [at for at in self._places(kept, level) if at >= floor]
                size = len(kept.side("-"))
                if part.at_end:
                    ends = [at for at in places if at + size == self.count]
                    places = ends or (places if len(places) == 1 else [])
                if places:
                    return Placed(kept, places[0], level)
        return None

    def _near_stated(self, part: Part, before: Placed | None) -> Placed:
        """By its lines, as near as can be to the line it says."""
        drift, floor = 0, 0
        start = part.start or 0
        if before is not None and before.part.start is not None and before.part.start <= start:
            drift, floor = before.at - (before.part.start - 1), before.free
        expected = max(0, start - 1) + drift
        if not part.side("-"):
            if expected > self.count or expected < floor:
                raise self._failure(
                    part,
                    f"it adds after line {expected}, but the file has {self.count}",
                    "no place",
                )
            return Placed(part, expected, 0)
        for kept in _shortenings(part):
            for level in range(len(LADDER)):
                places = [at for at in self._places(kept, level) if at >= floor]
                if places:
                    best = min(places, key=lambda at: (abs(at - expected), at < expected))
                    return Placed(kept, best, level)
        raise self._missed(part, floor)

    def _places(self, part: Part, level: int) -> list[int]:
        """Every line where the hunk's old lines stand; they may overlap."""
        key = LADDER[level][1]
        needle = "".join(f"{key(row.text)}{self._end(row.end, level)}\n" for row in part.side("-"))
        hay = self._hay(level)
        places: list[int] = []
        at, line, told = hay.find("\n" + needle), 0, 0
        while at >= 0 and len(places) * len(needle) < MOST_COMPARED:
            line += hay.count("\n", told, at)
            told = at
            places.append(line)
            at = hay.find("\n" + needle, at + 1)
        return places

    def _hay(self, level: int) -> str:
        if level not in self._keyed:
            key, ends = LADDER[level][1], [*self.lines.ends, ""]
            self._keyed[level] = "\n" + "".join(
                f"{key(self.lines.texts[at])}{self._end(ends[at], level)}\n"
                for at in range(self.count)
            )
        return self._keyed[level]

    @staticmethod
    def _end(end: str, level: int) -> str:
        return _ENDS[end] if level == 0 else ""

    def _after_anchors(self, part: Part, floor: int) -> int:
        """The line after the last of its anchors."""
        at = floor
        for anchor in part.anchors:
            found = self._anchor(anchor, at)
            if found is None:  # an outer one may stand above the hunk before
                found = self._anchor(anchor, 0)
            if found is None:
                near = nearest(self.lines, anchor)
                raise self._failure(
                    part,
                    f"its anchor `@@ {anchor}` was not found" + self._shown(near),
                    "anchor not found",
                )
            at = found + 1
        return max(at, floor)

    def _anchor(self, anchor: str, floor: int) -> int | None:
        texts = self.lines.texts
        for _, key in LADDER[1:]:
            wanted = key(anchor)
            for at in range(floor, self.count):
                if key(texts[at]) == wanted:
                    return at
        wanted = _plain(anchor)
        begins = (at for at in range(floor, self.count) if _plain(texts[at]).startswith(wanted))
        return next(begins, None)

    def _must_be_sure(self, placed: list[Placed]) -> None:
        """Refuse a hunk that could as well be put elsewhere in the same order."""
        ceiling = self.count
        for one in reversed(placed):
            size = len(one.old)
            free = one.part.start is None and not one.part.anchors and not one.part.at_end and size
            others = self._places(one.part, one.level) if free else [one.at]
            last = max(at for at in others if at + size <= ceiling or at == one.at)
            if last != one.at:
                places = [str(at + 1) for at in others if one.at <= at <= last]
                raise self._failure(
                    one.part,
                    f"its lines stand {len(places)} times, at lines {', '.join(places[:10])}; add "
                    "lines of context, or an `@@` line that names what they are in",
                    f"{len(places)} matches",
                )
            ceiling = one.at if size else ceiling

    def _missed(self, part: Part, floor: int) -> ToolFailure:
        old = "\n".join(row.text for row in part.side("-"))
        new = Part(part.number, part.line, tuple(Row(" ", r.text) for r in part.side("+")))
        words = "its lines were not found"
        if any(self._places(part, level) for level in range(1, len(LADDER))):
            words += f" after line {floor}; they stand above it (hunks must be in order)"
        elif new.rows and (there := self._places(new, 1)):
            words += f"; the file seems to have this change already, at line {there[0] + 1}"
        elif part.at_end:
            words += " at the end of the file"
        return self._failure(part, words + self._shown(nearest(self.lines, old)), "not found")

    def _shown(self, near: str) -> str:
        if near:
            return f". The nearest text, with line numbers, as it is now:\n{near}"
        if self.count <= 10:
            everything = numbered(self.lines, 0, self.count)
            return f". The file is\n{everything}" if everything else ". The file is empty"
        return ". Nothing in the file is like it; read the file again"

    def _failure(self, part: Part, words: str, summary: str) -> ToolFailure:
        return ToolFailure(
            f"{self.name}, hunk {part.number} (line {part.line} of the patch): nothing changed, "
            f"{words}",
            summary=f"hunk {part.number}: {summary}",
        )


def _shortenings(part: Part) -> list[Part]:
    """The hunk, and the same without a blank line at its end that may be none of it."""
    if len(part.rows) > 1 and part.rows[-1].sign == " " and not part.rows[-1].text:
        rest = part.rows[:-1]
        if any(row.sign != "+" for row in rest):
            return [
                part,
                Part(part.number, part.line, rest, part.anchors, part.start, part.at_end),
            ]
    return [part]

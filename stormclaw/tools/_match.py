"""Finds the place an edit means, from exact to tolerant; never guesses between two places."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from stormclaw.tools._fold import columns, dressed, fold
from stormclaw.tools._indent import indents, refitted, reindent
from stormclaw.tools._text import Lines, aligned

_NUMBERED = re.compile(r"^\s*\d+(?:[\t→|]|$)")
_SPACES = re.compile(r"[ \t]+")
MOST_PLACES = 200
"""Places counted where only one may be."""
MOST_COMPARED = 2_000_000
"""Lines compared before a search for indented text gives up."""


@dataclass(frozen=True, slots=True)
class Region:
    """A place in a file, and what is put there.

    Attributes:
        first: Index of its first line, and `column` where in that line it begins.
        last: Index of its last line, and `stop` where in that line it ends.
        written: The lines there as the model wrote them, already fitted to the file's style.
        wanted: The new lines, likewise.
    """

    first: int
    column: int
    last: int
    stop: int
    written: tuple[str, ...]
    wanted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """Places, in order and (with `every`) apart from each other; `tolerance` "" if exact."""

    regions: tuple[Region, ...] = ()
    tolerance: str = ""


@dataclass(frozen=True, slots=True)
class _Sought:
    """One reading of what the model sent.

    Attributes:
        old: Text to find, with line feeds.
        new: Text to put there.
        starts: It must begin where a line begins.
        stops: It must end where a line ends.
        every: All places are wanted, so they may not overlap.
    """

    old: str
    new: str
    starts: bool = False
    stops: bool = False
    every: bool = False


Places = Callable[[str], Sequence[int]]
Finder = Callable[[Lines, _Sought], Iterator[Region]]


def find(lines: Lines, old: str, new: str, every: bool = False) -> Found:
    """Every place where `old` stands, by the strictest way of looking that finds any.

    Args:
        lines: The file.
        old: What the model says is there, with line feeds; not empty.
        new: What is to be put there.
        every: All places are meant; without it places may overlap and only the first
            `MOST_PLACES` are told.
    """
    for tolerance, search in _LADDER:
        for reading, sought in _readings(old, new, every):
            if regions := tuple(search(lines, sought)):
                return Found(regions, ", ".join(filter(None, (reading, tolerance))))
    return Found()


def _readings(old: str, new: str, every: bool) -> Iterator[tuple[str, _Sought]]:
    """The texts as given; without the line numbers of read_file; without blank lines around."""
    yield "", _Sought(old, new, every=every)
    if "\r" in old:
        yield (
            "line endings",
            _Sought(old.replace("\r", "\n"), new.replace("\r", "\n"), every=every),
        )
    if old.strip() and all(map(_NUMBERED.match, old.strip("\n").split("\n"))):
        yield "line numbers", _Sought(_unnumbered(old), _unnumbered(new), starts=True, every=every)
        old, new = _unnumbered(old), _unnumbered(new)
    trimmed = _BLANK_AROUND.sub("", old)
    if trimmed != old and trimmed.strip():
        yield "blank lines around", _Sought(trimmed, _BLANK_AROUND.sub("", new), True, True, every)


_BLANK_AROUND = re.compile(r"\A(?:[ \t]*\n)+|(?:\n[ \t]*)+\Z")


def _unnumbered(text: str) -> str:
    return "\n".join(_NUMBERED.sub("", line) for line in text.split("\n"))


def _substrings(
    read: Callable[[str], str], by_line: Callable[[str], str], lines: Lines, sought: _Sought
) -> Iterator[Region]:
    """Where `old` stands as text, in the middle of lines too.

    Args:
        read: Folds text in which line feeds stay; `str` for none.
        by_line: Then applied to each line: `str`, or one that cuts white space off its end.
        lines: The file.
        sought: What is looked for.
    """
    needle, hay = read(sought.old), read(lines.flat)
    plain = needle
    if by_line is not str:
        needle = "\n".join(map(by_line, needle.split("\n")))
        hay = "\n".join(map(by_line, hay.split("\n")))
    cut = len(plain.rpartition("\n")[2]) > len(needle.rpartition("\n")[2])
    stops = sought.stops or cut  # white space was cut off: no more text may follow there
    needle = "\n" * sought.starts + needle + "\n" * stops
    hay = "\n" * sought.starts + hay + "\n" * stops
    if not needle.strip() and needle != sought.old:
        return
    places = lru_cache(4)(lambda line: range(len(line) + 1) if read is str else columns(line))
    step = max(1, len(needle) - sought.starts - stops) if sought.every else 1
    for at in _positions(hay, needle, step, 0 if sought.every else MOST_PLACES):
        yield from _region(read, places, lines, sought, at, stops)


def _positions(hay: str, needle: str, step: int, most: int) -> Iterator[tuple[int, int]]:
    """Line and column of each place; `most` 0 for all."""
    at, line, start, told, found = hay.find(needle), 0, 0, 0, 0
    while at >= 0 and (not most or found < most):
        if passed := hay.count("\n", told, at):
            line, start = line + passed, hay.rfind("\n", told, at) + 1
        told = at
        yield line, at - start
        found += 1
        at = hay.find(needle, at + step)


def _region(
    read: Callable[[str], str],
    places: Places,
    lines: Lines,
    sought: _Sought,
    at: tuple[int, int],
    stops: bool,
) -> Iterator[Region]:
    """The place in the file itself; none where it would cut a sign in two."""
    written, wanted = sought.old.split("\n"), sought.new.split("\n")
    (first, column), last = at, at[0] + len(written) - 1
    column *= not sought.starts  # then it is that of the line feed before
    stop = len(read(written[-1])) + (column if last == first else 0)
    column = places(lines.texts[first])[column]
    stop = len(lines.texts[last]) if stops else places(lines.texts[last])[stop]
    if column >= 0 <= stop:
        region = Region(first, column, last, stop, tuple(written), tuple(wanted))
        yield region if read is str else _dressed(lines, region)


def there_now(lines: Lines, region: Region) -> list[str]:
    """What stands in a region, as lines."""
    if region.first == region.last:
        return [lines.texts[region.first][region.column : region.stop]]
    between = lines.texts[region.first + 1 : region.last]
    head, tail = lines.texts[region.first], lines.texts[region.last]
    return [head[region.column :], *between, tail[: region.stop]]


def _dressed(lines: Lines, region: Region) -> Region:
    """The same with the file's own signs kept in new lines that took an old one's place."""
    there = there_now(lines, region)
    wanted = list(region.wanted)
    for _, old_from, old_to, new_from, new_to in aligned(region.written, wanted):
        if old_to - old_from == new_to - new_from:
            for old, new in zip(range(old_from, old_to), range(new_from, new_to), strict=True):
                same = region.written[old] == wanted[new]
                wanted[new] = (
                    there[old] if same else dressed(region.written[old], wanted[new], there[old])
                )
    return Region(
        region.first, region.column, region.last, region.stop, tuple(there), tuple(wanted)
    )


def _by_lines(
    key: Callable[[str], str], lost: bool, lines: Lines, sought: _Sought
) -> Iterator[Region]:
    """Whole lines that are alike under `key`.

    With `lost` their indentation may differ in several ways, else in one only.
    """
    written, wanted = sought.old.split("\n"), sought.new.split("\n")
    open_end = len(written) > 1 and written[-1] == ""  # `old` ends with a line ending
    body = written[:-1] if open_end else written
    if not any(line.strip() for line in body):
        return
    hay = "\n".join(["", *map(key, lines.texts), ""])
    needle = "\n".join(["", *map(key, body), ""])
    size, free, checked = len(body), 0, 0
    for first, _ in _positions(hay, needle, 1, 0):
        last = first + size - 1 + open_end
        if last >= len(lines.texts) or (sought.every and first < free):
            continue
        checked += size
        if checked > MOST_COMPARED:
            return
        there = lines.texts[first : first + size]
        fitted = _fitted(body, wanted, there, lost)
        if fitted is not None:
            stop = 0 if open_end else len(lines.texts[last])
            ending = ("",) if open_end else ()
            free = first + size
            region = Region(first, 0, last, stop, (*fitted[0], *ending), fitted[1])
            yield region if key is str.strip or lost else _dressed(lines, region)


def _fitted(
    body: list[str], wanted: list[str], there: list[str], lost: bool
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The old and the new lines as they are indented here; None if that cannot be told."""
    known = indents(body, there)
    if known is not None:
        return (
            tuple(reindent(line, known) for line in body),
            tuple(reindent(line, known) for line in wanted),
        )
    fitted = refitted(body, wanted, there) if lost else None
    return None if fitted is None else (tuple(there), fitted)


def _plain_strip(line: str) -> str:
    return fold(line).strip()


def _loose(line: str) -> str:
    return _SPACES.sub(" ", _plain_strip(line))


_LADDER: tuple[tuple[str, Finder], ...] = (
    ("", partial(_substrings, str, str)),
    ("white space at the end of lines", partial(_substrings, str, str.rstrip)),
    ("indentation", partial(_by_lines, str.strip, False)),
    ("typography", partial(_substrings, fold, str)),
    ("typography and white space at the end of lines", partial(_substrings, fold, str.rstrip)),
    ("typography and indentation", partial(_by_lines, _plain_strip, False)),
    ("indentation that was lost", partial(_by_lines, _plain_strip, True)),
    ("spaces within lines", partial(_by_lines, _loose, False)),
)
"""From strict to tolerant; the first that finds anything decides."""

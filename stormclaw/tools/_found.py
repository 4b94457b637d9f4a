"""What a search found, bounded: lines up to a limit, and the count of all the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

LONGEST_LINE = 400
"""Characters of a line that are kept, around the match."""


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for.

    Attributes:
        pattern: A regular expression.
        ignore_case: Letters match in either case.
        context: Lines to show before and after.
        max_results: Lines (or files) to keep.
        files_only: Keep the names, not the lines.
        keep: Which files count, by path relative to the start; None for all.
        last_part: A glob over file names that every wanted file matches, "" if unknown.
    """

    pattern: str
    ignore_case: bool = False
    context: int = 0
    max_results: int = 100
    files_only: bool = False
    keep: Callable[[str], bool] | None = None
    last_part: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file; `hit` False for context."""

    number: int
    text: str
    hit: bool


@dataclass(slots=True)
class FileHits:
    """The lines kept of one file; `matches` counts all of its matching lines."""

    path: str
    lines: list[Line] = field(default_factory=list)
    matches: int = 0


@dataclass(slots=True)
class Found:
    """All there is; `files` are those with something kept, the rest is counted."""

    files: list[FileHits] = field(default_factory=list)
    matches: int = 0
    matched_files: int = 0
    kept: int = 0
    binaries: int = 0
    """Files with matches that are no text and therefore left out."""
    unreadable: bool = False


class Collector:
    """Takes files and lines in order, as they are found."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._file: FileHits | None = None
        self._kept = 0
        self._last = 0
        self.found = Found()

    def begin(self, path: str) -> None:
        """A file with matches begins."""
        keep = self._query.keep
        self._file = FileHits(path) if keep is None or keep(path) else None
        self._kept, self._last = 0, 0

    def line(self, number: int, text: str, hit_at: int | None) -> None:
        """A line of it; `hit_at` is where the match begins, None for a line of context."""
        file = self._file
        if file is None:
            return
        file.matches += hit_at is not None
        full = self.found.kept + self._kept >= self._query.max_results
        if self._query.files_only or (hit_at is not None and full):
            return
        if hit_at is None and full and number > self._last + self._query.context:
            return
        if hit_at is not None:
            self._kept += 1
            self._last = number
        file.lines.append(Line(number, around(text, hit_at or 0), hit_at is not None))

    def end(self, *, binary: bool) -> None:
        """The file is over; one that turned out to be binary leaves only a count."""
        file, self._file = self._file, None
        if file is None or not file.matches:
            return
        if binary:
            self.found.binaries += 1
            return
        self.found.matches += file.matches
        self.found.matched_files += 1
        room = self.found.kept < self._query.max_results
        if self._query.files_only and room:
            self.found.kept += 1
            self.found.files.append(file)
        elif self._kept:
            self.found.kept += self._kept
            self.found.files.append(file)


def around(text: str, at: int) -> str:
    """A long line cut down to what lies around character `at`."""
    if len(text) <= LONGEST_LINE:
        return text
    start = max(0, min(at - LONGEST_LINE // 4, len(text) - LONGEST_LINE))
    stop = start + LONGEST_LINE
    before = f"({start:,} characters) …" if start else ""
    after = f"… (+{len(text) - stop:,} characters)" if stop < len(text) else ""
    return f"{before}{text[start:stop]}{after}"

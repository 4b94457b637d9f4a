"""What the popup above the composer offers: which candidates fit what is typed, best first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["file", "command", "history"]

MOST = 6
"""Rows of the popup."""

RANKED = 4000
"""Fits that are compared with each other; a query that leaves more is too short to rank."""

FILE_WORD = re.compile(r"(?:^|(?<=\s))@(\S*)\Z")
COMMAND_WORD = re.compile(r"\A/([\w:-]*)\Z")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the text before the cursor asks to complete.

    Attributes:
        start: Column where the word begins, its sign (`@`, `/`) included.
        query: The word without its sign.
    """

    kind: Kind
    start: int
    query: str


@dataclass(frozen=True, slots=True)
class Match:
    """A candidate that fits; `positions` are the matched characters of `text`."""

    text: str
    positions: tuple[int, ...] = ()
    detail: str = ""


def wanted(before: str, row: int) -> Wanted | None:
    """What to complete, from the line up to the cursor; commands only on the first line."""
    if row == 0 and (found := COMMAND_WORD.search(before)):
        return Wanted("command", 0, found[1])
    if found := FILE_WORD.search(before):
        return Wanted("file", found.start(), found[1])
    return None


class Finder:
    """Fuzzy search over one set of candidates; a longer query searches the last result only."""

    def __init__(self, candidates: Sequence[str]) -> None:
        self._candidates = candidates
        self._query = ""
        self._narrowed: Sequence[str] = candidates

    def find(self, query: str, most: int = MOST) -> list[Match]:
        """The best fits for `query`: its letters in order, whatever their case."""
        if not query:
            self._query, self._narrowed = "", self._candidates
            return [Match(text) for text in self._candidates[:most]]
        longer = self._query and query.startswith(self._query)
        pattern = re.compile(".*?".join(map(re.escape, query)), re.IGNORECASE | re.DOTALL)
        pool = self._narrowed if longer else self._candidates
        self._narrowed = [text for text in pool if pattern.search(text)]
        self._query = query
        ranked = nsmallest(most, self._narrowed[:RANKED], key=lambda text: rank(text, query))
        return [Match(text, positions(text, query)) for text in ranked]


def rank(text: str, query: str) -> tuple[int, int, int, str]:
    """Sort key: the query in one piece in the last part, then in the whole, then scattered."""
    low, sought = text.lower(), query.lower()
    name = low.rstrip("/").rpartition("/")[2]
    if name.startswith(sought):
        place = 0
    elif sought in name:
        place = 1
    elif sought in low:
        place = 2
    else:
        place = 3
    return place, _spread(low, sought) if place == 3 else 0, len(text), text


def positions(text: str, query: str) -> tuple[int, ...]:
    """Which characters of `text` to underline, () if the query is not in it."""
    low, sought = text.lower(), query.lower()
    if len(low) != len(text):
        return ()
    at = low.find(sought, low.rstrip("/").rfind("/") + 1)
    at = low.find(sought) if at < 0 else at
    if at >= 0:
        return tuple(range(at, at + len(sought)))
    return _scattered(low, sought)


def _scattered(text: str, query: str) -> tuple[int, ...]:
    """The tightest run of the query's letters that ends where the last letter is last found."""
    found: list[int] = []
    end = len(text)
    for letter in reversed(query):
        end = text.rfind(letter, 0, end)
        if end < 0:
            return ()
        found.append(end)
    return tuple(reversed(found))


def _spread(text: str, query: str) -> int:
    places = _scattered(text, query)
    return places[-1] - places[0] if places else len(text)


def contains(entries: Iterable[str], query: str, most: int = MOST) -> list[Match]:
    """History entries that hold `query` in one piece, in the order given."""
    sought = query.lower()
    fits: list[Match] = []
    for entry in entries:
        at = entry.lower().find(sought)
        if at >= 0:
            fits.append(Match(entry, tuple(range(at, at + len(query)))))
        if len(fits) == most:
            break
    return fits

"""What the memory screen draws: a hit on one line, a hit among its neighbours, notes, a change."""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from stormclaw.protocol.messages import ROOT
from stormclaw.ui.rows import BLANK, Row, Run, indented, wrap
from stormclaw.ui.text import MONTHS, clock_time, count, inert, one_line, shorten_path

if TYPE_CHECKING:
    from stormclaw.store.entries import Entry
    from stormclaw.store.finding import Hit

WHO: Final = {"user": "you", "assistant": "model", "tool": "tool"}
LEAD = 16
"""Characters a line of the list shows before the words that were found."""
NEIGHBOUR = 2
"""Lines of an entry beside the hit."""
SHORT = re.compile(r'["\s]+')


def words_of(query: str) -> tuple[str, ...]:
    """What is underlined for a query, longest first."""
    words = {word.casefold() for word in SHORT.split(query) if word}
    return tuple(sorted(words, key=len, reverse=True))


def picked_out(line: str, words: Sequence[str], role: str = "text") -> list[Run]:
    """A line with the words underlined."""
    if not words:
        return [Run(line, role)]
    found = re.split("(" + "|".join(map(re.escape, words)) + ")", line, flags=re.IGNORECASE)
    return [Run(piece, role, "u" if n % 2 else "") for n, piece in enumerate(found) if piece]


def hit_runs(hit: Hit, words: Sequence[str], lead: int = LEAD) -> list[Run]:
    """A hit on one line: who said it, and the words with at most `lead` cells before them."""
    lead = min(LEAD, lead)
    said = one_line(hit.snippet)
    places = [at for word in words if (at := said.casefold().find(word)) >= 0]
    start = max(0, min(places, default=0) - lead)
    if start:
        start = said.find(" ", start, start + lead) + 1 or start
        said = f"…{said[start:]}"
    who = WHO.get(hit.role, hit.role) if hit.agent == ROOT else hit.agent.rpartition("/")[2]
    return [Run(f"{one_line(who)[:6]:<7}", "muted"), *picked_out(said, words)]


def when(at: float) -> str:
    """`22 Nov 2026 14:03`, in local time; "" for a time nobody can write."""
    try:
        day = time.localtime(at)
    except (OverflowError, OSError, ValueError):
        return ""
    return f"{day.tm_mday} {MONTHS[day.tm_mon - 1]} {day.tm_year} {clock_time(at)}"


def hit_head(hit: Hit, width: int) -> list[Row]:
    """Whose session it is, when, and where."""
    title = one_line(hit.title) or "nothing said yet"
    agent = "" if hit.agent == ROOT else f"  {one_line(hit.agent)}"
    folder = shorten_path(one_line(str(hit.workspace)), max(10, width - 22))
    return [
        Row((Run(title, "text", "b"),)),
        Row((Run(f"{when(hit.timestamp)}{agent}", "muted"),)),
        Row((Run(folder, "muted"),)),
        Row((Run(one_line(hit.place), "muted"),)),
        BLANK,
    ]


def context_rows(
    entries: Sequence[Entry], at: int, words: Sequence[str], width: int, room: int
) -> list[Row]:
    """A hit among what was said before and after it, in at most `room` lines.

    Args:
        entries: Oldest first.
        at: Which of them is the hit.
        words: What is underlined.
        width: Cells.
        room: Lines; the hit has all it needs of them first.
    """
    if not entries:
        return [Row((Run("it is no longer in the index", "muted"),))][:room]
    least = min(2, at) * (NEIGHBOUR + 2)
    rows = _hit_rows(entries[at], words, width, max(3, room - least - NEIGHBOUR - 2))
    for entry in reversed(entries[:at]):
        above = [*_entry_rows(entry, width, NEIGHBOUR), BLANK]
        if len(above) > 1 and len(rows) + len(above) <= room - NEIGHBOUR - 2:
            rows = [*above, *rows]
    for entry in entries[at + 1 :]:
        below = [BLANK, *_entry_rows(entry, width, NEIGHBOUR)]
        if len(below) > 1 and len(rows) + len(below) <= room:
            rows += below
    return rows[:room]


def _entry_rows(entry: Entry, width: int, most: int) -> list[Row]:
    """The beginning of an entry; nothing where nothing was said."""
    lines = _lines(entry.content, width - 2, most + 1)
    if not lines:
        return []
    shown = [Row((Run(line, "muted"),)) for line in lines[:most]]
    return [_said_by(entry), *indented(shown, 2)]


def _hit_rows(entry: Entry, words: Sequence[str], width: int, most: int) -> list[Row]:
    """The entry that was found, around the first of its lines that holds a word."""
    lines = _lines(entry.content, width - 2, 2_000)
    folded = [line.casefold() for line in lines]
    found = (next((n for n, line in enumerate(folded) if word in line), None) for word in words)
    first = next((n for n in found if n is not None), 0)
    start = max(0, min(first - most // 3, len(lines) - most))
    shown = [
        Row((Run("  "), *picked_out(line, words)), "row") for line in lines[start : start + most]
    ]
    return [_said_by(entry, "accent"), *shown]


def _said_by(entry: Entry, role: str = "muted") -> Row:
    who = WHO.get(entry.role, entry.role)
    kind = "summary" if entry.metadata.get("kind") == "summary" else who
    return Row((Run(one_line(kind), role), Run(f"  {when(entry.timestamp)[-5:]}", "muted")))


def _lines(text: str, width: int, most: int) -> list[str]:
    """The first lines of a text that say anything, wrapped."""
    lines: list[str] = []
    for line in inert(text).split("\n"):
        if line.strip():
            lines += wrap(" ".join(line.split("\t")).rstrip(), max(8, width))
        if len(lines) >= most:
            break
    return lines[:most]


def cut(rows: Sequence[Row], room: int) -> Sequence[Row]:
    """The rows there is room for; a last one counts those below."""
    if len(rows) <= room:
        return rows
    below = len(rows) - room + 1
    return [*rows[: room - 1], Row((Run(f"… {count(below, 'line')} below, e shows all", "muted"),))]


def change_rows(before: str, after: str, width: int) -> list[Row]:
    """What an editor changed, removed and added lines with one line around them."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm="")
    return list(_change_rows(list(lines)[2:], width))


def _change_rows(lines: Iterable[str], width: int) -> Iterator[Row]:
    roles = {"+": ("add", "add-bg"), "-": ("del", "del-bg")}
    for line in lines:
        if line.startswith("@@"):
            yield Row((Run("…", "muted"),))
            continue
        role, ground = roles.get(line[:1], ("muted", ""))
        for number, piece in enumerate(wrap(inert(line[1:]), max(8, width - 2))):
            sign = line[:1] if number == 0 else " "
            yield Row((Run(f"{sign} ", role), Run(piece, role)), ground)

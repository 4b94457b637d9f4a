"""Words and numbers as the design wants them, and foreign text made harmless. Counts cells."""

from __future__ import annotations

import time

from rich.cells import cell_len, set_cell_size

from stormclaw.protocol.inert import inert as inert  # one of the words here too

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MINUTE, HOUR, DAY = 60, 3600, 86_400


def one_line(text: str) -> str:
    """`inert` text with every run of white space and newlines as one space."""
    return " ".join(inert(text).split())


def cells(text: str) -> int:
    """How many terminal cells `text` takes."""
    return cell_len(text)


def take(text: str, width: int) -> str:
    """The longest beginning of `text` that fits `width` cells."""
    if width <= 0:
        return ""
    if len(text) <= width and cell_len(text) <= width:
        return text
    if text.isascii():
        return text[:width]
    used = 0
    for index, character in enumerate(text):
        used += cell_len(character)
        if used > width:
            return text[:index]
    return text


def take_end(text: str, width: int) -> str:
    """The longest end of `text` that fits `width` cells."""
    used = 0
    for index in range(len(text) - 1, -1, -1):
        used += cell_len(text[index])
        if used > width:
            return text[index + 1 :]
    return text


def fit(text: str, width: int, *, elided: str = "…") -> str:
    """`text` in at most `width` cells, cut at the end if need be."""
    if cell_len(text) <= width:
        return text
    if width < cell_len(elided):
        return take(text, width)
    return take(text, width - cell_len(elided)).rstrip() + elided


def pad(text: str, width: int) -> str:
    """`text` in exactly `width` cells, cut or filled with spaces."""
    return set_cell_size(take(text, width), width)


def shorten_command(command: str, width: int, *, elided: str = "…") -> str:
    """A command in at most `width` cells, cut in the middle, two thirds kept from the start."""
    command = one_line(command)
    if cell_len(command) <= width:
        return command
    room = width - cell_len(elided)
    if room < 4:
        return fit(command, width, elided=elided)
    tail = take_end(command, room // 3)
    return take(command, room - cell_len(tail)) + elided + tail


def shorten_path(path: str, width: int, *, elided: str = "…") -> str:
    """A path in at most `width` cells: whole folders go first, the file name last."""
    path = inert(path).replace("\n", " ")
    if cell_len(path) <= width:
        return path
    folders, slash, name = path.rpartition("/")
    if not name:
        folders, slash, name = path.rstrip("/").rpartition("/")
        name += "/"
    parts = folders.split("/") if slash else []
    for kept in range(len(parts) - 1, -1, -1):
        head = "/".join(parts[:kept]) + "/" if kept else ""
        short = f"{head}{elided}/{name}"
        if cell_len(short) <= width:
            return short
    return shorten_command(name, width, elided=elided)


def tokens(count: int) -> str:
    """`412`, `6.0k`, `61.2k`, `152k`, `1.2M`."""
    if count < 1000:
        return str(count)
    if count < 99_950:
        return f"{count / 1000:.1f}k"
    if count < 999_500:
        return f"{count / 1000:.0f}k"
    return f"{count / 1_000_000:.1f}M"


def money(usd: float | None, estimated: bool = False) -> str:
    """`$0.03`, `$12.40`, `<$0.01`; `~` before an estimate, "" when unknown."""
    if usd is None:
        return ""
    amount = "<$0.01" if 0 < usd < 0.01 else f"${usd:.2f}"
    return f"~{amount}" if estimated else amount


def duration(seconds: float) -> str:
    """`12s`, `1m 20s`, `2h 05m`."""
    whole = max(0, int(seconds))
    if whole < MINUTE:
        return f"{whole}s"
    if whole < HOUR:
        return f"{whole // MINUTE}m {whole % MINUTE:02d}s"
    return f"{whole // HOUR}h {whole % HOUR // MINUTE:02d}m"


def age(seconds: float, now: float | None = None) -> str:
    """`20s ago`, `4d ago`, and from a week on the date, `12 Nov`.

    Args:
        seconds: How long ago.
        now: Unix time to count back from; the current time if None.
    """
    whole = max(0, int(seconds))
    for limit, unit, letter in ((MINUTE, 1, "s"), (HOUR, MINUTE, "m"), (DAY, HOUR, "h")):
        if whole < limit:
            return f"{whole // unit}{letter} ago"
    if whole < 7 * DAY:
        return f"{whole // DAY}d ago"
    today = time.time() if now is None else now
    then, current = time.localtime(today - whole), time.localtime(today)
    day = f"{then.tm_mday} {MONTHS[then.tm_mon - 1]}"
    return day if then.tm_year == current.tm_year else f"{day} {then.tm_year}"


def clock_time(at: float) -> str:
    """Local time of day, `14:03`."""
    moment = time.localtime(at)
    return f"{moment.tm_hour:02d}:{moment.tm_min:02d}"


def share(fraction: float) -> str:
    """`31%`."""
    return f"{fraction * 100:.0f}%"


def count(number: int, noun: str) -> str:
    """`1 line`, `41 lines`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

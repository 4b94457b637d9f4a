"""Times and sizes as the sessions screen says them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from stormclaw.ui.rows import Run
from stormclaw.ui.signs import Signs
from stormclaw.ui.text import DAY, HOUR, MONTHS, age, clock_time, one_line, shorten_path

if TYPE_CHECKING:
    from stormclaw.agent.history.values import Touched

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def last_used(at: float, now: float) -> str:
    """`20s ago`, `yesterday`, `Mon`, `12 Nov`: by days of the calendar, since people do so too."""
    if now - at < HOUR or same_day(at, now):
        return age(now - at, now)
    if same_day(at, now - DAY):
        return "yesterday"
    if now - at < 6 * DAY:
        return WEEKDAYS[time.localtime(at).tm_wday]
    return day(at, now)


def moment(at: float, now: float) -> str:
    """`14:09` today, `12 Nov` before."""
    return clock_time(at) if same_day(at, now) else day(at, now)


def full_moment(at: float, now: float) -> str:
    """`14:09` today, `12 Nov 14:09` before."""
    return clock_time(at) if same_day(at, now) else f"{day(at, now)} {clock_time(at)}"


def day(at: float, now: float) -> str:
    """`12 Nov`, with the year where it is another one."""
    then = time.localtime(at)
    words = f"{then.tm_mday} {MONTHS[then.tm_mon - 1]}"
    return words if then.tm_year == time.localtime(now).tm_year else f"{words} {then.tm_year}"


def same_day(one: float, other: float) -> bool:
    """Whether two moments lie on one local day."""
    return time.localtime(one)[:3] == time.localtime(other)[:3]


def changes(added: int, removed: int, signs: Signs) -> str:
    """`+24 −1`, "" for nothing."""
    if not added and not removed:
        return ""
    return f"{signs.added}{added} {signs.removed}{removed}"


def all_changes(files: Iterable[Touched], signs: Signs) -> str:
    """`+24 −1` over several files, `1 file` where no lines were counted, "" for no file."""
    known = list(files)
    sums = sum(file.added for file in known), sum(file.removed for file in known)
    some = "1 file" if len(known) == 1 else f"{len(known)} files" if known else ""
    return changes(*sums, signs) or some


def folder_words(folder: Path, width: int, signs: Signs) -> str:
    """A folder as its person writes it, `~/tidepool`, in at most `width` cells."""
    path, home = str(folder), os.environ.get("HOME", "")
    if home and f"{path}/".startswith(f"{home}/"):
        path = f"~{path[len(home) :]}"
    return shorten_path(one_line(path), width, elided=signs.elided)


def path_runs(path: str, width: int, signs: Signs, flags: str = "") -> tuple[Run, ...]:
    """A path in at most `width` cells, its folder muted."""
    short = shorten_path(one_line(path), width, elided=signs.elided)
    folder, slash, name = short.rpartition("/")
    return (Run(folder + slash, "muted"), Run(name, "text", flags))

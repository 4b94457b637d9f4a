"""What the kernel says: CPU time and memory of a process, and how busy the machine is besides."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


def cpu_s(pid: int) -> float:
    """CPU seconds of a process and all below it, those that have ended included."""
    return sum(_cpu_ticks(each) for each in _family(pid)) / _TICKS


class Bystanders:
    """How much of the machine everything else uses meanwhile; it spoils figures."""

    def __init__(self) -> None:
        self._at, self._busy, self._own = time.monotonic(), _busy_s(), cpu_s(os.getpid())

    @property
    def share(self) -> float:
        """The part of all cores, 0 to 1, that others used since this was made."""
        seconds = (time.monotonic() - self._at) * (os.cpu_count() or 1)
        others = _busy_s() - self._busy - (cpu_s(os.getpid()) - self._own)
        return max(0.0, others / seconds)


def _busy_s() -> float:
    """CPU seconds used on this machine since it was started, or taken from it by its host."""
    line = (_PROC / "stat").read_text().partition("\n")[0]
    user, nice, system, _idle, _wait, *rest = (int(field) for field in line.split()[1:])
    return (user + nice + system + sum(rest[:3])) / _TICKS


def rss_kb(pid: int) -> int:
    """Resident memory in kB, 0 if the process has gone."""
    try:
        lines = (_PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)


def _cpu_ticks(pid: int) -> int:
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return 0
    # After the name in parentheses: field 3 is first, utime stime cutime cstime are 14 to 17.
    fields = stat.rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15])


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:
        tasks = list((_PROC / str(pid) / "task").iterdir())
    except OSError:
        return
    for task in tasks:
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue
        for child in children:
            yield from _family(int(child))

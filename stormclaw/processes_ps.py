"""What `ps` tells of processes, where there is no /proc."""

from __future__ import annotations

import calendar
import subprocess
import time
from collections.abc import Sequence
from typing import TypeAlias

Row: TypeAlias = tuple[int, int, int, int, int, bool]
"""Process id, start in Unix seconds, parent, session, group, whether it is a zombie."""

PS = "/bin/ps"
PATIENCE_S = 5.0


def table(pid: int | None = None) -> list[Row]:
    """All processes, or one; nothing where `ps` does not do."""
    which = ["-ax"] if pid is None else ["-p", str(pid)]
    columns = ("pid", "ppid", "pgid", "stat", "lstart")
    there: list[Row] = []
    for line in _ps([*which, *(f"-o{name}=" for name in columns)]).splitlines():
        words = line.split()
        try:
            number, parent, group = map(int, words[:3])
            started = calendar.timegm(time.strptime(" ".join(words[4:9]), "%a %b %d %H:%M:%S %Y"))
        except ValueError:
            continue
        # The session is not told as a number everywhere; the group stands for it.
        there.append((number, started, parent, group, group, words[3].startswith("Z")))
    return there


def command(pid: int) -> str:
    """The command line of a process."""
    return _ps(["-ww", "-p", str(pid), "-ocommand="]).strip()


def environ_word(pid: int, name: str) -> str:
    """The value of a variable a process was started with, as far as its words can be told apart."""
    for word in _ps(["-Eww", "-p", str(pid), "-ocommand="]).split():
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return ""


def _ps(arguments: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            [PS, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_S,
            env={"LC_ALL": "C", "TZ": "UTC"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout

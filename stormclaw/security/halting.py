"""Ends every process that tools started, on all StormClaws of a home or on one, and no other.

A tool's process is one that carries this home's mark in its environment, descends from one that
does, or lives in a session that such a process leads. Who descends from whom is written down before
the first signal.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGCONT, SIGINT, SIGKILL, SIGTERM, Signals

from stormclaw.processes import (
    Proc,
    ancestors,
    argv_of,
    carries,
    is_alive,
    marks,
    name_of,
    processes,
    send,
    with_descendants,
)
from stormclaw.security import estop
from stormclaw.security.running import Card, home_mark, running

STEPS: tuple[tuple[float, Signals], ...] = ((0.0, SIGINT), (0.12, SIGTERM), (0.35, SIGKILL))
"""Seconds after the first signal, and what is sent then."""
KILL_AGAIN_S = 0.03
"""How often those that appeared meanwhile are looked for, once killing has begun."""
PATIENCE_S = 3.0
"""How long after the first signal a killed process may take to be gone: the kernel may be busy."""
POLL_S = 0.02

SHELLS = frozenset({"bash", "sh", "dash"})
UNMARKED_HANDS = frozenset({"rg"})
"""Programs that tools start as children of StormClaw itself, with next to no environment."""


@dataclass(frozen=True, slots=True)
class Found:
    """A process that a tool started.

    Attributes:
        proc: The process.
        command: What it runs, in one line.
        stormclaw: The process id of the StormClaw it belongs to, 0 if unknown.
        call: The mark of the call it was started for.
    """

    proc: Proc
    command: str
    stormclaw: int
    call: str


@dataclass(frozen=True, slots=True)
class Halted:
    """What an emergency stop came to.

    Attributes:
        killed: Gone.
        left: Still there, whatever was sent.
        seconds: From the first look to the last process's end.
    """

    killed: tuple[Found, ...] = ()
    left: tuple[Found, ...] = ()
    seconds: float = 0.0

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that were killed, without what they started."""
        return tuple(found.command for found in heads(self.killed))


@dataclass(slots=True)
class _Hunt:
    """All that was found so far, alive or not, by the identity of the process."""

    wanted: str
    spared: frozenset[int]
    homes: frozenset[int]
    found: dict[tuple[int, int], Found] = field(default_factory=dict)

    def add(self, fresh: Iterable[Found]) -> None:
        for found in fresh:
            if found.proc.pid not in self.spared:
                self.found.setdefault(found.proc.identity, found)

    def look(self) -> None:
        """Add what is there now."""
        there = processes()
        marked = {pid: mark for pid, mark in marks(there).items() if carries(mark, self.wanted)}
        for pid in _family(self, marked, there):
            proc = there[pid]
            if not proc.zombie and proc.identity not in self.found:
                mark = _mark(pid, marked, there)
                self.add([Found(proc, told(pid), _owner(mark), mark)])

    def alive(self) -> list[Found]:
        return [found for found in self.found.values() if is_alive(found.proc)]


def heads(family: Iterable[Found]) -> tuple[Found, ...]:
    """The oldest process of each call: its name stands for the command."""
    oldest: dict[str, Found] = {}
    for found in sorted(family, key=lambda one: (one.proc.started, one.proc.pid)):
        oldest.setdefault(found.call, found)
    return tuple(oldest.values())


def find(home: Path, only: str = "") -> tuple[Found, ...]:
    """What tools have started and what still runs of it.

    Args:
        home: StormClaw's own folder.
        only: The mark of one StormClaw; "" for all on this home.
    """
    return tuple(_hunt(home, only).found.values())


def halt_all(home: Path, by: str, then: Callable[[], object] = lambda: None) -> tuple[Halted, str]:
    """Set the emergency stop and end what all tools on this home have started. Blocks.

    Args:
        home: StormClaw's own folder.
        by: Who stops them.
        then: Called when the stop is set and nothing was signalled yet.

    Returns:
        What came of it, and why the stop itself could not be set ("" if it was).
    """
    found = find(home)
    problem = ""
    try:
        estop.set(home, by, [(one.stormclaw, one.command) for one in heads(found)])
    except OSError as error:
        problem = str(error)
    then()
    return halt(home, known=found), problem


def halt(home: Path, only: str = "", known: Iterable[Found] = ()) -> Halted:
    """Interrupt, end, kill what tools have started; all signals are sent within half a second.

    Blocks until all is gone, at most `PATIENCE_S`. This process and those it descends from are
    spared: an emergency stop that a tool's process calls must get to its end.

    Args:
        home: StormClaw's own folder.
        only: The mark of one StormClaw; "" for all on this home.
        known: What an earlier look has found.
    """
    began = time.monotonic()
    hunt = _hunt(home, only, known)
    for at, number in STEPS:
        while (left := hunt.alive()) and time.monotonic() - began < at:
            time.sleep(POLL_S)
        if not left:
            break
        if at:
            hunt.look()
        _signal(hunt.alive(), number)
    hunt.look()
    while (left := hunt.alive()) and time.monotonic() - began < PATIENCE_S:
        _signal(left, SIGKILL)
        time.sleep(KILL_AGAIN_S)
        hunt.look()
    stays = {found.proc.identity for found in left}
    killed = tuple(found for which, found in hunt.found.items() if which not in stays)
    return Halted(killed, tuple(left), time.monotonic() - began)


def _hunt(home: Path, only: str, known: Iterable[Found] = ()) -> _Hunt:
    there = processes()
    cards = running(home).here
    spared = frozenset(ancestors(os.getpid(), there) | {1})
    homes = frozenset(there[pid].session for pid in (*spared, *_pids(cards)) if pid in there)
    hunt = _Hunt(only or home_mark(home), spared, homes)
    hunt.add(known)
    hunt.add(_unmarked_hands(cards, only, there))
    hunt.look()
    return hunt


def _pids(cards: Iterable[Card]) -> Iterator[int]:
    return (card.pid for card in cards)


def _signal(family: Iterable[Found], number: Signals) -> None:
    for found in family:
        send(found.proc, number)
        if number == SIGTERM:
            send(found.proc, SIGCONT)  # one that was stopped could not even notice


def _family(hunt: _Hunt, marked: Mapping[int, str], there: Mapping[int, Proc]) -> list[int]:
    """Who is to go, parents before children: marked, known, their descendants and sessions."""
    known = {pid for pid, proc in there.items() if proc.identity in hunt.found}
    family = with_descendants(known | set(marked), there)
    led = {there[pid].session for pid in family}
    led = {one for one in led if one in family or (_dead(one, there) and one not in hunt.homes)}
    family |= with_descendants((pid for pid, proc in there.items() if proc.session in led), there)
    return sorted(family, key=lambda pid: (there[pid].started, pid))


def _dead(pid: int, there: Mapping[int, Proc]) -> bool:
    return pid not in there or there[pid].zombie


def _mark(pid: int, marked: Mapping[int, str], there: Mapping[int, Proc]) -> str:
    """Its own mark, else that of the nearest it descends from, else that of its session."""
    line = [pid]
    while (parent := there[line[-1]].parent) in there and parent not in line:
        line.append(parent)
    return next((marked[one] for one in (*line, there[pid].session) if one in marked), "")


def _owner(mark: str) -> int:
    parts = mark.split(".")
    return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else 0


def _unmarked_hands(cards: Iterable[Card], only: str, there: Mapping[int, Proc]) -> Iterator[Found]:
    pids = {card.pid for card in cards if not only or f".{card.pid}.{card.started}" in only}
    for proc in there.values():
        argv = argv_of(proc.pid) if proc.parent in pids and not proc.zombie else ()
        if argv and Path(argv[0]).name in UNMARKED_HANDS:
            yield Found(proc, told(proc.pid), proc.parent, f"{proc.parent}.{proc.pid}")


def told(pid: int) -> str:
    """What a process runs as a person knows it: the shell line inside its shell and its walls."""
    argv = argv_of(pid)
    for at, word in enumerate(argv[:-2]):
        if Path(word).name in SHELLS and argv[at + 1] == "-c":
            return " ".join(argv[at + 2].split())
    return " ".join(" ".join(argv).split()) or f"[{name_of(pid)}]"

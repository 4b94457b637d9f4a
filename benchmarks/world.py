"""What every measurement is given: the server, folders of its own, and how thorough to be."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.programs import Place, Program, make_place
from benchmarks.sessions import make_session
from benchmarks.standin import StandIn

Measured = TypeVar("Measured")

LONG = 500
"""Exchanges of a long session."""
LAST_WORD = "farewell"
"""The last word of a long session."""


@dataclass(frozen=True, slots=True)
class Long:
    """A place with a long session in it.

    Attributes:
        place: Where.
        session_id: To resume.
    """

    place: Place
    session_id: str


class World:
    """Makes places; all of them go when it is closed.

    Attributes:
        server: The scripted model server.
        quick: A third of the runs: enough to see whether everything works.
    """

    def __init__(self, server: StandIn, *, quick: bool = False) -> None:
        self.server = server
        self.quick = quick
        self._folder = tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True)
        self._places = 0
        self._long: Long | None = None

    def close(self) -> None:
        """Remove all places."""
        self._folder.cleanup()

    def runs(self, count: int) -> int:
        """How often to measure what deserves `count` runs."""
        return max(1, round(count / 3)) if self.quick else count

    def place(self) -> Place:
        """A new home and workspace."""
        self._places += 1
        folder = Path(self._folder.name) / f"{self._places:02}"
        return make_place(folder, self.server.base_url, self.server.port)

    def long(self) -> Long:
        """A place with a long session, made once."""
        if self._long is None:
            place = self.place()
            self._long = Long(place, make_session(place, LONG, LAST_WORD))
        return self._long


def by_turns(
    count: int, *programs: Program, measure: Callable[[Program], Measured]
) -> list[list[Measured]]:
    """Measure programs in turns, so that what else the machine does hits all alike.

    The first turn only warms the disk's caches and is not counted.

    Returns:
        A list of `count` results for each program.
    """
    results: list[list[Measured]] = [[] for _ in programs]
    for turn in range(count + 1):
        for program, found in zip(programs, results, strict=True):
            measured = measure(program)
            if turn:
                found.append(measured)
    return results

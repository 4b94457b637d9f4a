"""Lines up to a number of characters, and the count of those that did not fit."""

from __future__ import annotations


class Bounded:
    """Collects lines for an output of at most `room` characters."""

    def __init__(self, room: int) -> None:
        self._room = room
        self.lines: list[str] = []
        self.left_out = 0

    def add(self, line: str) -> bool:
        """One more line; False when it (and every later one) did not fit."""
        self._room -= len(line) + 1
        if self._room < 0 and self.lines:
            self.left_out += 1
            self._room = -1
            return False
        self.lines.append(line)
        return True

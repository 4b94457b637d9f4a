"""A program in a pseudo-terminal: types keys, and knows to the moment when something is seen."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

from benchmarks import process
from benchmarks.screen import Screen

COLUMNS: Final = 120
ROWS: Final = 40
PATIENCE_S: Final = 60.0
LEAVE_S: Final = 5.0
BLOCK: Final = 65536


class NotSeen(Exception):
    """Something did not become visible in time."""


class Terminal:
    """One program, from its start to its end; use it in a `with`.

    Attributes:
        began: Monotonic seconds just before the program was started.
        screen: What is to be seen.
        received: Bytes written by the program so far.
    """

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, rows: int = ROWS
    ) -> None:
        self.screen = Screen(COLUMNS, rows)
        self.received = 0
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, COLUMNS, 0, 0))
        self.began = time.monotonic()
        self._program = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )
        self._slave = slave

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def takes_keys(self) -> bool:
        """Whether the program has switched off the terminal's own echo."""
        return not termios.tcgetattr(self._slave)[3] & termios.ECHO

    @property
    def cpu_s(self) -> float:
        """CPU seconds used so far, by the program and everything it started."""
        return process.cpu_s(self._program.pid)

    @property
    def rss_kb(self) -> int:
        """Memory held by the program."""
        return process.rss_kb(self._program.pid)

    def send(self, keys: str) -> float:
        """Type; returns the moment."""
        at = time.monotonic()
        os.write(self._master, keys.encode())
        return at

    def pump(self, seconds: float) -> None:
        """Only read, for so long."""
        until = time.monotonic() + seconds
        while (rest := until - time.monotonic()) > 0:
            self._read(rest)

    def wait(
        self, seen: Callable[[Screen], bool], what: str, patience_s: float = PATIENCE_S
    ) -> float:
        """Read until `seen` holds between two frames; returns the moment its bytes arrived.

        Raises:
            NotSeen: Not within `patience_s`, or the program ended.
        """
        until = time.monotonic() + patience_s
        at = time.monotonic()
        while self.screen.in_frame or not seen(self.screen):
            rest = until - time.monotonic()
            if rest <= 0 or (moment := self._read(rest)) is None:
                raise NotSeen(f"{what}; the screen shows:\n{self.picture()}")
            at = moment
        return at

    def picture(self) -> str:
        """The screen as text, for messages."""
        return "\n".join(line.rstrip() for line in self.screen.lines()).strip("\n")

    def step(self, seconds: float) -> float:
        """Read once, waiting at most so long; returns the moment, now if nothing came."""
        return self._read(seconds) or time.monotonic()

    def _read(self, seconds: float) -> float | None:
        """The moment at which bytes arrived, or the time ran out; None at the program's end."""
        ready, _, _ = select.select([self._master], [], [], max(0.0, seconds))
        at = time.monotonic()
        if not ready:
            return at if self._program.poll() is None else None
        received = os.read(self._master, BLOCK)
        self.received += len(received)
        self.screen.feed(received)
        if self.screen.replies:
            os.write(self._master, "".join(self.screen.replies).encode())
            self.screen.replies.clear()
        return at

    def close(self) -> None:
        """End the program, gently if it lets us."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._program.poll() is None:
                os.killpg(self._program.pid, number)
                self._drain(LEAVE_S)
        os.close(self._slave)
        os.close(self._master)

    def _drain(self, seconds: float) -> None:
        """Read on until the program has gone, so that it does not wait for a reader."""
        until = time.monotonic() + seconds
        while self._program.poll() is None and time.monotonic() < until:
            self._read(0.05)

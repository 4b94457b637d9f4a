"""Looks for the emergency stop from a thread of its own, whatever else the program is doing."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from stormclaw.security import estop
from stormclaw.security.halting import Found, Halted, find, halt
from stormclaw.security.running import mark

LOG = logging.getLogger(__name__)

LOOK_S = 0.2
AGAIN_S, AFTERWARDS_S = 0.6, 2.0
"""How often, and for how long after a stop, what was let through just before is looked for."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """An emergency stop as this StormClaw lived through it.

    Attributes:
        by: Who set it.
        commands: The commands of its tools that were killed.
        left: What could not be killed.
    """

    by: str
    commands: tuple[str, ...]
    left: tuple[Found, ...] = ()

    def sentence(self, shown: int = 5) -> str:
        """What happened, in a line."""
        left = [f"{found.proc.pid} {found.command}" for found in self.left]
        complaint = f"; COULD NOT KILL {', '.join(left)}" if left else ""
        if not self.commands:
            return f"emergency stop: {self.by}; nothing was running{complaint}"
        what = "1 command" if len(self.commands) == 1 else f"{len(self.commands)} commands"
        names = ", ".join(map(_short, self.commands[:shown]))
        more = ", ..." if len(self.commands) > shown else ""
        return f"emergency stop: killed {what}: {names}{more}{complaint}"

    def detail(self, shown: int = 12) -> str:
        """Who stopped, every command that was killed, and what is left, a line each."""
        lines = [f"by      {self.by}"]
        lines += [f"killed  {_short(command)}" for command in self.commands[:shown]]
        if len(self.commands) > shown:
            lines.append(f"        and {len(self.commands) - shown} more")
        lines += [f"ALIVE   {found.proc.pid} {_short(found.command)}" for found in self.left]
        return "\n".join(lines)


@dataclass
class Lookout:
    """One `lstat` five times a second; at a stop it kills what this StormClaw's tools started.

    The callables are called in the thread of the lookout.

    Attributes:
        home: StormClaw's own folder.
        stop: Called at once: end what waits or runs inside this program.
        halted: Called when the processes are gone.
        clear: Called when tools may run again.
    """

    home: Path
    stop: Callable[[], None]
    halted: Callable[[Stopped], None]
    clear: Callable[[], None]
    _leave: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to look; what is set already is not news."""
        if self._thread is None:
            before = estop.signature(self.home)
            self._thread = threading.Thread(
                target=self._look, args=(before,), name="lookout", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._leave.set()

    def _look(self, before: tuple[int, int] | None) -> None:
        again_at = again_until = 0.0
        while not self._leave.wait(LOOK_S):
            try:
                now = estop.signature(self.home)
                if now != before:
                    before = now
                    again_until = time.monotonic() + AFTERWARDS_S if now else 0.0
                    self._change(stopped=now is not None)
                    again_at = time.monotonic() + AGAIN_S
                elif again_at <= time.monotonic() < again_until:
                    halt(self.home, mark(self.home))
                    again_at = time.monotonic() + AGAIN_S
            except Exception:
                # A thread that ended would be an emergency stop that stops nothing.
                LOG.exception("the lookout for the emergency stop stumbled")

    def _change(self, *, stopped: bool) -> None:
        if not stopped:
            self.clear()
            return
        ours = mark(self.home)
        found = find(self.home, ours)
        self.stop()
        halted = halt(self.home, ours, found)
        self.halted(_told(self.home, halted))


def _told(home: Path, halted: Halted) -> Stopped:
    """What this StormClaw lost; whoever set the stop looked before any signal, so knows best."""
    commands = estop.found(home, os.getpid()) or halted.commands
    return Stopped(estop.reason(home), commands, halted.left)


def _short(command: str, longest: int = 60) -> str:
    return command if len(command) <= longest else command[: longest - 1] + "…"

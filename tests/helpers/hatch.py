"""A program for tools to run: hatches processes of the kinds that are hard to get rid of."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path

from scripted import PATIENCE_S, Desk

from stormclaw.processes import look, processes
from stormclaw.protocol.effects import Grant
from stormclaw.security import grants

SCRIPT = r"""#!/bin/bash
# brood KIND... [leave]: each hatchling says its kind and process id into the fifo beside this file.
nest=$(cd "$(dirname "$0")" && pwd)
plain() { echo "plain $BASHPID" > "$nest/born"; exec sleep 600; }
stubborn() { trap '' INT TERM HUP; echo "stubborn $BASHPID" > "$nest/born"; exec sleep 600; }
cleared() { exec env -i /bin/bash -c 'echo "cleared $$" > "$1/born"; exec sleep 600' x "$nest"; }
frozen() { echo "frozen $BASHPID" > "$nest/born"; kill -STOP $BASHPID; exec sleep 600; }
daemon() { setsid /bin/bash -c 'echo "daemon $$" > "$1/born"; exec sleep 600' x "$nest" & }
orphan() { ( /bin/bash -c 'echo "orphan $$" > "$1/born"; exec sleep 600' x "$nest" & ) }
leave=
for kind in "$@"; do
  [ "$kind" = leave ] && leave=1 && continue
  if [ "$kind" = daemon ]; then (daemon); else $kind & fi
done
[ "$leave" ] || wait
"""


class Hatchery:
    """A `brood` on the PATH, without walls around it, and what it hatched.

    Args:
        desk: Gets the program and its folder on the PATH.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.nest = desk.root / "nest"
        self.nest.mkdir()
        program = self.nest / "brood"
        program.write_text(SCRIPT)
        program.chmod(0o755)
        os.mkfifo(self.nest / "born")
        # Both ends, so that neither a reader nor a writer ever waits for the other to come.
        self._born = os.open(self.nest / "born", os.O_RDWR)
        self._rest = b""
        desk.env["PATH"] = f"{self.nest}{os.pathsep}{desk.env['PATH']}"
        desk.configure({"security": {"sandbox": "off"}})

    def line(self, *kinds: str) -> str:
        """A command line that hatches these, and that the person has allowed for good."""
        text = " ".join(("brood", *kinds))
        grants.append(self._desk.home, self._desk.project.resolve(), Grant("command", text))
        return text

    def born(self, count: int) -> list[tuple[str, int]]:
        """The next so many hatchlings: kind and process id. Waits for them."""
        found: list[tuple[str, int]] = []
        while len(found) < count:
            line, newline, rest = self._rest.partition(b"\n")
            if not newline:
                ready, _, _ = select.select([self._born], [], [], PATIENCE_S)
                if not ready:
                    raise AssertionError(f"only {found} of {count} were born")
                self._rest += os.read(self._born, 4096)
                continue
            self._rest = rest
            kind, pid = line.decode().split()
            found.append((kind, int(pid)))
        return found

    def clear(self) -> None:
        """End whatever of it is left, and close."""
        for pid in list(processes()):
            if not is_gone(pid) and str(self.nest) in _environ_of(pid):
                os.kill(pid, signal.SIGKILL)
        self.close()

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._born)


def is_gone(pid: int) -> bool:
    """Whether a process has ended, reaped or not."""
    proc = look(pid)
    return proc is None or proc.zombie


def _environ_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""

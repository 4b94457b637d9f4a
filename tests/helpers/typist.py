"""A person at a terminal: runs a program in a pseudo-terminal, types, and reads what appears."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

PATIENCE_S = 60.0
ESCAPES = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|P[^\x1b]*\x1b\\|[()][A-Z0-9]|.)"
)
UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*|P[^\x1b]*|[()])?\Z")


class Typist:
    """One program in one terminal; use as a context manager."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        size: tuple[int, int] = (100, 30),
    ) -> None:
        self._master, slave = pty.openpty()
        self._resize(*size)
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**env, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._unread = b""

    def __enter__(self) -> Typist:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)

    def types(self, keys: str) -> None:
        """Type these characters."""
        os.write(self._master, keys.encode())

    def sees(self, *texts: str) -> str:
        """Wait until one of `texts` has appeared since the last thing seen -> which one.

        Styles do not matter, nor do spaces: a terminal program may move instead of printing them.
        """
        wanted = {text: text.replace(" ", "").encode() for text in texts}
        deadline = time.monotonic() + PATIENCE_S
        while True:
            cut = UNFINISHED.search(self._unread)
            whole = self._unread[: cut.start()] if cut else self._unread
            rest = self._unread[len(whole) :]
            plain = ESCAPES.sub(b"", whole).replace(b" ", b"")
            for text, sought in wanted.items():
                _, found, after = plain.partition(sought)
                if found:
                    self._unread = after + rest
                    return text
            self._unread = plain + rest
            ready, _, _ = select.select([self._master], [], [], max(0, deadline - time.monotonic()))
            piece = self._read() if ready else b""
            if not piece:
                raise AssertionError(f"never saw {texts}; the end was {plain[-600:]!r}")
            self._unread += piece

    def rests(self, quiet_s: float = 2.0) -> None:
        """Wait until nothing has been drawn for a while: what was dead for a moment is alive."""
        while select.select([self._master], [], [], quiet_s)[0]:
            if not self._read():
                return

    def resize(self, width: int, height: int) -> None:
        """Another size of the terminal."""
        self._resize(width, height)

    def ends(self) -> int:
        """Wait for the program to leave; its exit code."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < deadline:
            ready, _, _ = select.select([self._master], [], [], 0.2)
            if ready and not self._read():
                break
        return self.process.wait(PATIENCE_S)

    def _read(self) -> bytes:
        try:
            return os.read(self._master, 65_536)
        except OSError:
            return b""

    def _resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

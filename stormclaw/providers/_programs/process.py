"""A program that talks in lines: started with a clean environment, watched, stopped whole.

CLIs run their tools in sessions of their own, so that no signal to a process group ends them, and
their orphans keep pipes open: `stop` records every descendant before the first signal, and the end
is judged by processes, never by the end of a stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
from asyncio.subprocess import SubprocessStreamProtocol
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, Self, TypeAlias

from stormclaw.errors import ProviderError
from stormclaw.log import mask_secrets
from stormclaw.processes import (
    MARK,
    Proc,
    alive,
    carries,
    is_alive,
    look,
    marked_call,
    marks,
    processes,
    send,
    with_descendants,
)

LONGEST_LINE: Final = 64 * 1024 * 1024
"""Bytes: pictures and whole files travel in one line."""
COLOURS: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
STDERR_TAIL: Final = 8_192
GRACE_S: Final = 2.0
"""What a program gets to end after SIGINT, and again after SIGTERM."""
LEFTOVER_S: Final = 0.3
"""What its descendants get when it has ended itself."""
POLL_S: Final = 0.02
DRAIN_S: Final = 0.3
"""How long lines are waited for that were on the way when the program ended."""

Reach: TypeAlias = Literal["program", "group", "family"]

STEPS: Final[tuple[tuple[signal.Signals, Reach], ...]] = (
    (signal.SIGINT, "program"),
    (signal.SIGTERM, "group"),
    (signal.SIGKILL, "family"),
)
"""Measured: on SIGINT the CLIs end their tools themselves, on anything else they leave them."""


class Silence(Exception):
    """Not a line came for as long as was to be waited."""


def scrubbed(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The environment without these names; one that ends in `*` stands for all that begin so."""
    wanted = tuple(names)
    whole = frozenset(name for name in wanted if not name.endswith("*"))
    heads = tuple(name[:-1] for name in wanted if name.endswith("*"))
    return {
        name: value
        for name, value in environ.items()
        if name not in whole and not name.startswith(heads)
    }


class Pipes(SubprocessStreamProtocol):
    """The pipes of a program; `exited` is set when it ends, whoever holds the pipes open then.

    `Process.wait` of some Pythons waits for the pipes too.
    """

    def __init__(self) -> None:
        super().__init__(LONGEST_LINE, asyncio.get_running_loop())
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        """The process itself has ended."""
        super().process_exited()
        self.exited.set()

    async def readline(self) -> bytes:
        """The next line of its output."""
        return await self.stdout.readline() if self.stdout is not None else b""


class Program:
    """A running program and everything it starts; made by `start`, ended by `stop`."""

    def __init__(self, transport: asyncio.SubprocessTransport, pipes: Pipes, mark: str) -> None:
        self._transport = transport
        self._pipes = pipes
        self._mark = mark
        self._leader = look(transport.get_pid())
        self._stderr = bytearray()
        self._listening = asyncio.create_task(self._listen())
        self._ending = asyncio.create_task(pipes.exited.wait())
        self._reading: asyncio.Task[bytes] | None = None

    @classmethod
    async def start(cls, argv: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> Self:
        """Start it in a session of its own, with pipes.

        Args:
            argv: The program and its arguments; others on this machine can read them.
            cwd: Where it works.
            environ: All of its environment; a mark in it gets a part for this program.

        Raises:
            ProviderError: It cannot be started.
        """
        marked = marked_call(environ)
        try:
            transport, pipes = await asyncio.get_running_loop().subprocess_exec(
                Pipes,
                *argv,
                cwd=cwd,
                env=marked,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as problem:
            said = problem.strerror or str(problem)
            raise ProviderError(
                "not_found", f"{argv[0]} could not be started in {cwd}: {said.lower()}"
            ) from problem
        return cls(transport, pipes, marked.get(MARK, ""))

    @property
    def pid(self) -> int:
        """Its process id, also its session's and group's."""
        return self._transport.get_pid()

    @property
    def running(self) -> bool:
        """Whether it still runs itself."""
        return self.code is None

    @property
    def code(self) -> int | None:
        """Its exit code, a signal as its negative; None while it runs."""
        return self._transport.get_returncode()

    @property
    def stderr(self) -> str:
        """The end of what it wrote to stderr: foreign text, without colours and keys."""
        return mask_secrets(COLOURS.sub("", self._stderr.decode("utf-8", "replace"))).strip()

    async def write(self, line: bytes) -> None:
        """Send it a line; nothing happens when it is gone (the next `line` tells)."""
        stdin = self._pipes.stdin
        with contextlib.suppress(ConnectionError, RuntimeError):
            if stdin is not None:
                stdin.write(line if line.endswith(b"\n") else line + b"\n")
                await stdin.drain()

    def end_input(self) -> None:
        """Tell it that nothing more will come."""
        if self._pipes.stdin is not None:
            self._pipes.stdin.close()

    async def line(self, limit_s: float | None) -> bytes | None:
        """The next line without its end; None once it has ended and all lines are read.

        A cancelled or silent wait loses no line: the next call gets it.

        Args:
            limit_s: Seconds to wait; None waits for ever.

        Raises:
            Silence: Nothing came in that time.
            ProviderError: A line is longer than any sensible one.
        """
        if self._reading is None:
            self._reading = asyncio.create_task(self._pipes.readline())
        waited_for = {self._reading, self._ending}
        await asyncio.wait(waited_for, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        if not self._reading.done() and self._ending.done():
            # An orphan may hold the pipe open for ever.
            await asyncio.wait({self._reading}, timeout=DRAIN_S)
            if not self._reading.done():
                return None
        if not self._reading.done():
            raise Silence
        reading, self._reading = self._reading, None
        try:
            raw = reading.result()
        except ValueError as problem:
            raise ProviderError(
                "protocol", f"the program sent a line of more than {LONGEST_LINE:,} bytes"
            ) from problem
        return raw.rstrip(b"\r\n") if raw else None

    async def ended(self, limit_s: float) -> int | None:
        """Wait for it to end by itself; its exit code, None if it still runs after `limit_s`."""
        await asyncio.wait({self._ending}, timeout=limit_s)
        if self._ending.done():
            await asyncio.wait({self._listening}, timeout=DRAIN_S)
        return self.code

    async def stop(self) -> None:
        """End it and all it has started; returns when none of them runs. Safe to call twice.

        A cancelled stop kills the rest at once.
        """
        family: dict[tuple[int, int], Proc] = {}
        try:
            for number, reach in STEPS:
                self._record(family)
                self._signal(number, reach, family.values())
                if await self._gone(family.values(), patient=reach != "family"):
                    break
            # Closing its transport before its end is known would take the exit code from asyncio.
            await asyncio.wait({self._ending}, timeout=DRAIN_S)
        except asyncio.CancelledError:
            self._record(family)
            self._signal(signal.SIGKILL, "family", family.values())
            raise
        finally:
            self._let_go()

    def _record(self, family: dict[tuple[int, int], Proc]) -> None:
        """Add who belongs to it now: its descendants, its session, and whoever carries its mark."""
        there = processes()
        leader = self._leader
        known = {proc.pid for proc in family.values() if is_same(there.get(proc.pid), proc)}
        if leader is not None and (leader.pid not in there or is_same(there[leader.pid], leader)):
            # The number of a session is not given away while anybody is in it.
            known.update(pid for pid, proc in there.items() if proc.session == leader.pid)
        if self._mark:
            found = marks(there)
            known.update(pid for pid, mark in found.items() if carries(mark, self._mark))
        for pid in with_descendants(known, there):
            family[there[pid].identity] = there[pid]

    def _signal(self, number: signal.Signals, reach: Reach, family: Iterable[Proc]) -> None:
        for proc in family:
            match reach:
                case "program":
                    meant = proc.pid == self.pid
                case "group":
                    meant = proc.group == self.pid
                case "family":
                    meant = True
            if meant:
                send(proc, number)

    async def _gone(self, family: Iterable[Proc], *, patient: bool) -> bool:
        """Wait for all of them; those who outlive the program itself are not waited for long."""
        clock = asyncio.get_running_loop().time
        start = clock()
        orphaned = 0.0
        while any(alive(family)):
            now = clock()
            if self._leader is None or not is_alive(self._leader):
                orphaned = orphaned or now
            if now - start >= GRACE_S or (patient and orphaned and now - orphaned >= LEFTOVER_S):
                return False
            await asyncio.sleep(POLL_S)
        return True

    def _let_go(self) -> None:
        """Give back the pipes and the tasks."""
        self.end_input()
        for task in (self._reading, self._listening):
            if task is not None:
                task.cancel()
        self._reading = None
        self._transport.close()

    async def _listen(self) -> None:
        stream = self._pipes.stderr
        while stream is not None and (raw := await stream.read(STDERR_TAIL)):
            self._stderr += raw
            del self._stderr[:-STDERR_TAIL]


def is_same(now: Proc | None, then: Proc) -> bool:
    """Whether a process there now is the one recorded then."""
    return now is not None and now.identity == then.identity

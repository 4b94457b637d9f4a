"""The one way out of a sandbox without a network: a proxy in this process, to listed hosts only.

A program in a network namespace of its own cannot reach it by any address. Before the command
begins, `proxy_launch` opens a port inside and hands the listening socket over to us; we accept
there and connect here. Nobody else can knock. See docs/adr/0011-network-by-host.md.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from stormclaw.security.walls.proxy_head import MAX_HEAD
from stormclaw.security.walls.proxy_relay import Resolve, Terms, Wire, attend, look_up

LOG = logging.getLogger(__name__)

PORT = 3128
"""Where programs find the proxy, on the loopback of their own namespace."""
MOST_CONNECTIONS = 100
MOST_OF_ALL = 200
"""At once, for one command and for all; more wait. Each takes two of the process's descriptors."""
MOST_REMEMBERED = 8
"""Refused hosts of one command."""
CLOSE_S = 2.0
PAUSE_S = 0.2


class Door:
    """One command's way out.

    Attributes:
        descriptor: For the command's launcher, which hands a listening socket over through it.
            Whoever starts the command closes it afterwards.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._refused: dict[str, None] = {}
        self._ended = threading.Event()
        self._cancel: Callable[[], object] = self._ended.set

    @property
    def closed(self) -> bool:
        """Whether nobody listens behind it any more."""
        return self._ended.is_set()

    def refused(self) -> tuple[str, ...]:
        """Public hosts it asked for in vain, each once: what the person could list."""
        return tuple(self._refused)

    def close(self) -> None:
        """Cut all its connections and let none in any more."""
        if self._ended.is_set():
            return
        with suppress(RuntimeError):  # it may end this very moment, with all others
            self._cancel()
        if not self._ended.wait(CLOSE_S):
            LOG.warning("a way out of the sandbox is slow to close")

    def refuse(self, place: str) -> None:
        """Remember a host that it was not let to."""
        if len(self._refused) < MOST_REMEMBERED:
            self._refused[place] = None

    def attended(self, cancel: Callable[[], object]) -> None:
        """Somebody listens; `cancel` ends that."""
        self._cancel = cancel

    def done(self) -> None:
        """Nobody listens any more."""
        self._ended.set()


class Proxy:
    """Opens doors; costs nothing until the first. Safe to use from threads.

    Args:
        resolve: Looks addresses up.
    """

    def __init__(self, resolve: Resolve = look_up) -> None:
        self._resolve = resolve
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._doors: set[Door] = set()

    def open(self, hosts: tuple[str, ...]) -> Door:
        """A way out to these hosts and to no others.

        Raises:
            OSError: The system has no sockets left.
        """
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        door = Door(theirs.detach())
        self._doors.add(door)
        terms = Terms(hosts, self._resolve, door.refuse)
        loop = self._running()
        tasks: list[asyncio.Task[None]] = []

        def begin() -> None:
            tasks.append(loop.create_task(self._serve(ours, terms)))
            tasks[0].add_done_callback(over)

        def over(_: asyncio.Task[None]) -> None:
            # Here and not in the task: one that is cut before it begins never runs at all.
            ours.close()
            self._doors.discard(door)
            door.done()

        door.attended(lambda: loop.call_soon_threadsafe(lambda: tasks[0].cancel()))
        loop.call_soon_threadsafe(begin)
        return door

    def close(self) -> None:
        """Close all doors and stop."""
        for door in tuple(self._doors):
            door.close()
        with self._starting:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._loop = None

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._free = asyncio.Semaphore(MOST_OF_ALL)
                # A loop of its own: a busy screen does not hold downloads up, nor they the screen.
                target, name = self._loop, "stormclaw-proxy"
                threading.Thread(target=_run, args=(target,), name=name, daemon=True).start()
            return self._loop

    async def _serve(self, handed: socket.socket, terms: Terms) -> None:
        try:
            with handed:
                listener = await _received(handed)
            if listener is not None:
                with listener:
                    await self._accept(listener, terms)
        except OSError as problem:
            LOG.warning("the way out of the sandbox broke: %s", problem)

    async def _accept(self, listener: socket.socket, terms: Terms) -> None:
        """Serve every connection, so many at once; cancelled, all end."""
        loop = asyncio.get_running_loop()
        free = asyncio.Semaphore(MOST_CONNECTIONS)
        tasks: set[asyncio.Task[None]] = set()

        async def one(connection: socket.socket) -> None:
            with connection:
                async with self._free:
                    await _attended(connection, terms)

        def ended(task: asyncio.Task[None]) -> None:
            tasks.discard(task)
            free.release()

        try:
            while True:
                await free.acquire()
                try:
                    connection, _ = await loop.sock_accept(listener)
                except OSError:
                    free.release()
                    await asyncio.sleep(PAUSE_S)  # no descriptors left: later there may be
                    continue
                task = asyncio.create_task(one(connection))
                tasks.add(task)
                task.add_done_callback(ended)
        finally:
            for task in tuple(tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


async def _received(handed: socket.socket) -> socket.socket | None:
    """The listening socket, once the command's launcher has made it; None if it never does."""
    loop = asyncio.get_running_loop()
    there = loop.create_future()

    def arrived() -> None:
        if not there.done():
            there.set_result(None)

    loop.add_reader(handed, arrived)
    try:
        await there
    finally:
        loop.remove_reader(handed)
    flags = socket.MSG_CMSG_CLOEXEC | socket.MSG_DONTWAIT
    _, descriptors, _, _ = socket.recv_fds(handed, 1, 1, flags)
    if not descriptors:
        return None
    listener = socket.socket(fileno=descriptors[0])
    # What comes out of a sandbox is looked at, whoever should have sent it.
    if not _listens_inside(listener):
        listener.close()
        raise OSError("not a listening socket")
    listener.setblocking(False)
    return listener


def _listens_inside(listener: socket.socket) -> bool:
    return (
        listener.family == socket.AF_INET
        and listener.type == socket.SOCK_STREAM
        and bool(listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
        and listener.getsockname() == ("127.0.0.1", PORT)
    )


async def _attended(connection: socket.socket, terms: Terms) -> None:
    try:
        wire = Wire(*await asyncio.open_connection(sock=connection, limit=MAX_HEAD))
        await attend(wire, terms)
    except OSError as problem:
        LOG.debug("a connection broke: %s", problem)
    except Exception:
        LOG.exception("the proxy failed in a way it should not")

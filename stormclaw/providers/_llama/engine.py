"""A model loaded once, asked by many, one request after the other.

The model lives in a thread of its own, which loads it, answers what is in the queue in the order it
came, and gives the memory back. Nobody else touches it.
"""

from __future__ import annotations

import asyncio
import atexit
import queue
import threading
from collections.abc import AsyncGenerator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from stormclaw.errors import ProviderError
from stormclaw.providers._llama.gguf import Head
from stormclaw.providers._llama.load import Spec, load

Chunk: TypeAlias = Mapping[str, Any]


@dataclass(slots=True)
class _Job:
    body: dict[str, Any]
    loop: asyncio.AbstractEventLoop
    chunks: asyncio.Queue[Chunk | BaseException | None] = field(default_factory=asyncio.Queue)
    left: threading.Event = field(default_factory=threading.Event)

    def tell(self, item: Chunk | BaseException | None) -> None:
        """Hand one item to whoever waits; from the model's thread."""
        try:
            self.loop.call_soon_threadsafe(self.chunks.put_nowait, item)
        except RuntimeError:  # the loop is closed: nobody waits any more
            self.left.set()


class Engine:
    """One loaded model."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._loaded: Future[Head] = Future()
        self._leaving = threading.Event()
        self._door, self._gone = threading.Lock(), False
        self._thread = threading.Thread(target=self._live, name="llama", daemon=True)
        self._thread.start()

    @property
    def is_loaded(self) -> bool:
        """Whether requests need not wait for the model any more."""
        return self._loaded.done()

    async def ready(self) -> Head:
        """Wait until it is loaded; whoever stops waiting does not stop the loading.

        Raises:
            ProviderError: It cannot be loaded.
        """
        return await asyncio.shield(asyncio.wrap_future(self._loaded))

    @property
    def failed(self) -> bool:
        """Whether it could not be loaded; another one must be made to try again."""
        return self._loaded.done() and self._loaded.exception() is not None

    async def ask(self, body: dict[str, Any]) -> AsyncGenerator[Chunk, None]:
        """The chunks of one streamed chat completion; closing it stops the model at the next token.

        Raises:
            ProviderError: The model's thread ended.
        """
        job = _Job(body, asyncio.get_running_loop())
        with self._door:
            if self._gone:
                raise _stopped()
            self._jobs.put(job)
        try:
            while (item := await job.chunks.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            job.left.set()

    def leave(self) -> None:
        """Stop what runs and give the memory back; returns at once."""
        self._leaving.set()
        self._jobs.put(None)

    def join(self) -> None:
        """Wait until the memory is given back."""
        self._thread.join()

    def _live(self) -> None:
        try:
            head, server = load(self.spec)
        except BaseException as error:  # noqa: BLE001 (whoever asked is told)
            self._loaded.set_exception(error)
            return
        self._loaded.set_result(head)
        while not self._leaving.is_set():
            job = self._jobs.get()
            if job is not None and not job.left.is_set():
                self._run(server, job)
        del server
        self._turn_away()

    def _run(self, server: Any, job: _Job) -> None:
        def take(chunk: Any) -> bool:
            """True stops the model."""
            for one in chunk if isinstance(chunk, list) else (chunk,):
                job.tell(one)
            return job.left.is_set() or self._leaving.is_set()

        try:
            server.handle_chat_completions(job.body, take)
        except Exception as error:  # noqa: BLE001 (the library raises what it likes)
            said = str(error).partition("\n")[0]
            job.tell(ProviderError("bad_request", f"llama.cpp refused the request: {said}"))
        job.tell(_stopped() if self._leaving.is_set() else None)

    def _turn_away(self) -> None:
        with self._door:
            self._gone = True
        while not self._jobs.empty():
            if job := self._jobs.get():
                job.tell(_stopped())


class Shelf:
    """The models loaded in this process, each with the number of those who use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engines: dict[tuple[Path, int], Engine] = {}
        self._users: dict[Engine, int] = {}
        # A thread inside llama.cpp while the interpreter goes away would abort the process.
        atexit.register(self._clear)

    def lease(self, spec: Spec) -> Engine:
        """The engine for `spec`, begun to load if nobody uses it yet; `give_back` it."""
        with self._lock:
            engine = self._engines.get(spec.key)
            if engine is None or engine.failed:
                engine = self._engines[spec.key] = Engine(spec)
            self._users[engine] = self._users.get(engine, 0) + 1
            return engine

    def give_back(self, engine: Engine) -> None:
        """One user less; the last one unloads it. Blocks until that is done."""
        with self._lock:
            self._users[engine] -= 1
            if self._users[engine]:
                return
            del self._users[engine]
            if self._engines.get(engine.spec.key) is engine:
                del self._engines[engine.spec.key]
        engine.leave()
        engine.join()

    def _clear(self) -> None:
        with self._lock:
            engines = list(self._users)
            self._users.clear()
            self._engines.clear()
        for engine in engines:
            engine.leave()
        for engine in engines:
            engine.join()


@cache
def shelf() -> Shelf:
    """The one shelf of this process: a model is too large to be held twice."""
    return Shelf()


def _stopped() -> ProviderError:
    return ProviderError("connection", "the local model was unloaded while it answered")

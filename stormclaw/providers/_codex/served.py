"""One answer over `codex app-server`: live text, and every call through our gate."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from stormclaw.errors import ProviderError
from stormclaw.protocol.provider import ChatResponse, Delta, Remark
from stormclaw.providers._codex.asks import Asks, Ruled
from stormclaw.providers._codex.gate import Hooked, listening
from stormclaw.providers._codex.items import Items
from stormclaw.providers._codex.job import Job
from stormclaw.providers._codex.opening import Opened, Opening
from stormclaw.providers._codex.record import Record
from stormclaw.providers._codex.rpc import AppServer, Gone, Refused, Told, ended
from stormclaw.providers._codex.trust import flags
from stormclaw.providers._codex.turn import Turn
from stormclaw.providers._programs.process import Program

INTERRUPT_S: Final = 1.0
"""What codex gets to take note of an interruption before it is stopped."""
AFTER_CALLS: Final = frozenset({"thread/tokenUsage/updated", "turn/completed"})
"""Told when the calls of an answer are over, and all their items have been told before."""


Incoming: TypeAlias = Told | Hooked | Ruled | Gone | BaseException
"""What a turn waits for; an exception is one of a question that could not be put."""


async def served(job: Job) -> AsyncGenerator[Delta | ChatResponse, None]:
    """The answer.

    Raises:
        NoServer: There is no app-server to talk to; nothing was yielded but remarks.
        ProviderError: The turn failed.
    """
    inbox: asyncio.Queue[Any] = asyncio.Queue()
    async with listening(inbox) as hooks:
        untrusted = await asyncio.to_thread(flags, job.environ, job.workspace)
        argv = (job.program, "app-server", *untrusted, *job.args, *hooks.flags)
        program = await Program.start(argv, cwd=job.workspace, environ=job.environ)
        server = AppServer(program, inbox)
        try:
            opening = Opening(server, hooks, job)
            opened = await opening.run()
            for text in filter(job.remark, opening.remarks):
                yield Remark(text)
            async with contextlib.aclosing(_turn(server, inbox, opened, job)) as items:
                async for item in items:
                    yield item
        finally:
            await server.close()


async def _turn(
    server: AppServer, inbox: asyncio.Queue[Any], opened: Opened, job: Job
) -> AsyncGenerator[Delta | ChatResponse, None]:
    """Say it, and pass on what comes of it."""
    items = Items(opened.thread_id, resumed=opened.resumed)
    record = Record(opened.path, job.observed)
    await record.skip()
    params: dict[str, Any] = {
        "threadId": opened.thread_id,
        "input": [{"type": "text", "text": opened.text}],
    }
    if job.effort:
        params["effort"] = job.effort
    try:
        answer = await server.request("turn/start", params)
    except Refused as problem:
        raise ProviderError("bad_request", f"codex: {problem}") from problem
    begun = answer.get("turn")
    items.turn_id = str(begun.get("id")) if isinstance(begun, Mapping) else ""

    def echo(whole: bool) -> str:
        place = job.thread(opened.thread_id, items.turn_id)
        return replace(place, whole=whole, total=items.total).echo(job.provider, opened.model)

    turn = Turn(opened.model, job.call_of, job.observed, echo)
    work = Work(server, inbox, items, turn, job, record)
    over = False
    try:
        async for item in work.run():
            over = isinstance(item, ChatResponse)
            yield item
    except ProviderError:
        over = True
        raise
    finally:
        work.close()
        if not over:
            with contextlib.suppress(Refused, ProviderError):
                named = {"threadId": opened.thread_id, "turnId": items.turn_id}
                await server.request("turn/interrupt", named, INTERRUPT_S)


class Work:
    """A turn that runs: what codex tells, and what it asks.

    Args:
        server: Runs it.
        inbox: Of everything that comes in.
        items: Reads notifications.
        turn: Puts it together.
        job: What for.
        record: Tells what the notifications leave out.
    """

    def __init__(
        self,
        server: AppServer,
        inbox: asyncio.Queue[Any],
        items: Items,
        turn: Turn,
        job: Job,
        record: Record,
    ) -> None:
        self._server = server
        self._inbox = inbox
        self._items = items
        self._turn = turn
        self._job = job
        self._record = record
        self._asks = Asks(server, inbox, turn, job)

    def close(self) -> None:
        """Nobody is asked any more."""
        self._asks.close()

    async def run(self) -> AsyncGenerator[Delta | ChatResponse, None]:
        """Until the turn is over."""
        while True:
            match await self._next():
                case Told(method, params, None):
                    if method in AFTER_CALLS and (lost := self._turn.lost):
                        for outcome in await self._record.ends(lost):
                            for delta in self._turn.end(outcome):
                                yield delta
                    for item in self._read(method, params):
                        yield item
                        if isinstance(item, ChatResponse):
                            return
                case Told() as request:
                    async for delta in self._asks.approve(request):
                        yield delta
                case Hooked() as hooked:
                    for delta in self._asks.hooked(hooked):
                        yield delta
                case Ruled() as ruled:
                    async for delta in self._asks.settle(ruled):
                        yield delta
                case Gone():
                    error = ended(self._server.program)
                    error.partial = self._turn.partial
                    raise error
                case BaseException() as problem:
                    raise problem

    def _read(self, method: str, params: Mapping[str, Any]) -> Iterator[Delta | ChatResponse]:
        for event in self._items.read(method, params):
            for item in self._turn.take(event):
                if isinstance(item, ChatResponse):
                    self._job.said(self._items.window)
                    if self._items.unknown:
                        text = f"codex told {self._items.unknown} things StormClaw does not know"
                        yield Remark(text, "info")
                if not isinstance(item, Remark) or self._job.remark(item.text):
                    yield item

    async def _next(self) -> Incoming:
        limit_s: float | None = self._job.tool_s if self._turn.open else self._job.idle_s
        if self._asks.waiting:
            limit_s = None
        try:
            async with asyncio.timeout(limit_s):
                incoming: Incoming = await self._inbox.get()
                return incoming
        except TimeoutError:
            doing = "while a tool of its ran" if self._turn.open else "while its model worked"
            raise ProviderError(
                "timeout",
                f"codex said nothing for {limit_s:g} s {doing}",
                hint="send it again; providers.models.NAME.idle_timeout_s waits longer",
                partial=self._turn.partial,
            ) from None

"""One answer over `codex app-server`: live text, and every call through our gate."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import stormclaw
from stormclaw.errors import ProviderError
from stormclaw.protocol.provider import ChatResponse, Delta, Remark
from stormclaw.providers._codex.asks import Asks, Ruled
from stormclaw.providers._codex.errors import NO_ROLLOUT
from stormclaw.providers._codex.gate import Hooked, Hooks, listening
from stormclaw.providers._codex.items import Items
from stormclaw.providers._codex.job import Job, NoServer
from stormclaw.providers._codex.record import Record
from stormclaw.providers._codex.rpc import AppServer, Gone, Refused, Told, ended
from stormclaw.providers._codex.trust import flags
from stormclaw.providers._codex.turn import Turn
from stormclaw.providers._programs.hands import MEANWHILE, retold
from stormclaw.providers._programs.process import Program

KNOWN: Final = re.compile(r"^0\.169\.")
"""The versions this was written against."""
VERSION: Final = re.compile(r"/(\d+\.\d+\.\d+\S*)")
NOT_SPOKEN: Final = frozenset({-32600, -32601, -32602})
INTERRUPT_S: Final = 1.0
"""What codex gets to take note of an interruption before it is stopped."""
AFTER_CALLS: Final = frozenset({"thread/tokenUsage/updated", "turn/completed"})
"""Told when the calls of an answer are over, and all their items have been told before."""

LOST: Final = (
    "codex no longer has this conversation; it goes on in a new one with what was said as text"
)
FREE: Final = (
    "autonomy is full: codex works without its sandbox; its calls still pass StormClaw's gate"
)
NO_HOOK: Final = (
    "codex does not run StormClaw's hook: only its commands and file changes pass the gate"
)


Incoming: TypeAlias = Told | Hooked | Ruled | Gone | BaseException
"""What a turn waits for; an exception is one of a question that could not be put."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A thread that is ready for a turn.

    Attributes:
        thread_id: Codex' id of it.
        model: Who will answer.
        text: What is to be said.
        resumed: Whether something was said in it before.
        path: The file codex keeps it in, None if it keeps none.
    """

    thread_id: str
    model: str
    text: str
    resumed: bool
    path: Path | None


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


class Opening:
    """The way to a thread.

    Args:
        server: Just started.
        hooks: What it is to ask before its calls.
        job: What for.

    Attributes:
        remarks: What the person should know.
    """

    def __init__(self, server: AppServer, hooks: Hooks, job: Job) -> None:
        self._server = server
        self._hooks = hooks
        self._job = job
        self.remarks: list[str] = []

    async def run(self) -> Opened:
        """Shake hands, then take up the conversation or begin one."""
        await self._greet()
        params = await self._params()
        try:
            return await self._resumed(params) or await self._new(params)
        except Refused as problem:
            if problem.code in NOT_SPOKEN and "method" in str(problem).lower():
                raise NoServer(str(problem)) from problem
            raise ProviderError("bad_request", f"codex: {problem}") from problem

    async def _greet(self) -> None:
        version = getattr(stormclaw, "__version__", "0")
        client = {"name": "stormclaw", "title": "StormClaw", "version": version}
        try:
            answer = await self._server.request(
                "initialize", {"clientInfo": client, "capabilities": {"experimentalApi": True}}
            )
        except (Refused, ProviderError) as problem:
            raise NoServer(str(problem)) from problem
        await self._server.notify("initialized")
        found = VERSION.search(str(answer.get("userAgent") or ""))
        if found is None or not KNOWN.match(found.group(1)):
            named = found.group(1) if found else "of an unknown version"
            self.remarks.append(
                f"this codex is {named}; StormClaw knows 0.169, and may miss something"
            )

    async def _params(self) -> dict[str, Any]:
        job = self._job
        config = job.config()
        if hook := await self._hooks.trusted(self._server, job.workspace):
            config["hooks"] = hook
        elif job.request.hands is not None:
            self.remarks.append(NO_HOOK)
        if job.free:
            self.remarks.append(FREE)
        params = {
            "cwd": str(job.workspace),
            "approvalPolicy": _policy(job, hooked="hooks" in config),
            "sandbox": job.sandbox,
            "developerInstructions": job.request.system_prompt,
            "config": config,
        }
        return params | ({"model": job.model} if job.model else {})

    async def _new(self, params: Mapping[str, Any]) -> Opened:
        fleeting = {"ephemeral": True} if self._job.request.hands is None else {}
        answer = await self._server.request("thread/start", {**params, **fleeting})
        return _opened(answer, retold(self._job.request.messages), resumed=False)

    async def _resumed(self, params: Mapping[str, Any]) -> Opened | None:
        """The thread the conversation was in, or one that ends where the conversation does."""
        place = self._job.place()
        if place is None:
            return None
        thread, covered = place
        text = retold(self._job.request.messages[covered:], MEANWHILE)
        named = {**params, "threadId": thread.thread_id, "excludeTurns": True}
        try:
            answer = await self._server.request("thread/resume", named)
            turn_id, over = await self._last_turn(thread.thread_id)
            if turn_id == thread.turn_id and over == thread.whole:
                return _opened(answer, text, resumed=True)
            if not thread.whole:
                return None
            # More was said there than the conversation still has.
            named["lastTurnId"] = thread.turn_id
            answer = await self._server.request("thread/fork", named)
            return _opened(answer, text, resumed=True)
        except Refused as problem:
            if not NO_ROLLOUT.search(str(problem)) and "turn" not in str(problem):
                raise
            self.remarks.append(LOST)
            return None

    async def _last_turn(self, thread_id: str) -> tuple[str, bool]:
        """Id of the newest turn, and whether it came to its end."""
        params = {"threadId": thread_id, "limit": 1, "sortDirection": "desc"}
        answer = await self._server.request("thread/turns/list", params)
        data = answer.get("data")
        newest = data[0] if isinstance(data, list) and data else {}
        return str(newest.get("id") or ""), newest.get("status") == "completed"


def _policy(job: Job, *, hooked: bool) -> str:
    """When codex asks besides.

    Where the hook sees every call it need not, but for more rights than a call has. A call it asked
    about and that its walls then stop, it makes once more without them and asks nobody: so
    `untrusted` is for a codex that has no hook of ours.
    """
    if not hooked:
        return "untrusted"
    return "never" if job.free else "on-request"


def _opened(answer: Mapping[str, Any], text: str, *, resumed: bool) -> Opened:
    thread = answer.get("thread")
    thread_id = thread.get("id") if isinstance(thread, Mapping) else None
    if not isinstance(thread_id, str):
        raise NoServer("codex started no thread")
    path = thread.get("path") if isinstance(thread, Mapping) else None
    file = Path(path) if isinstance(path, str) and path else None
    return Opened(thread_id, str(answer.get("model") or ""), text, resumed, file)


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

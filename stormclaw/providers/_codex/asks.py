"""What codex asks before it acts, and what our gate says to it.

Two ways lead here: the hook, which sees every call before it is made, and codex' own questions,
which follow for commands and file changes. A call the gate has let pass is not asked about twice;
a call no hook told of is asked about here, and so is every wish for more than that.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from stormclaw.errors import ProviderError
from stormclaw.protocol.messages import ToolCall
from stormclaw.protocol.provider import Delta, Hands, Observed, Ruling
from stormclaw.providers._codex.gate import Hooked
from stormclaw.providers._codex.job import Job
from stormclaw.providers._codex.rpc import AppServer, Told
from stormclaw.providers._codex.tools import (
    PROGRAM,
    changed_input,
    hooked_call,
    in_folder,
    outside_call,
    unwrapped,
)
from stormclaw.providers._codex.turn import Turn

NO_HANDS: Final = "nothing may be done here, only said: answer in words"
TWICE: Final = "codex' server gave two calls the same id; codex was stopped"
PERMITTED: Final = "permitted; codex makes the call now"
NOT_PASSED_ON: Final = "the person changed this call in a way codex cannot be told; not made"

Reply = Callable[[Ruling], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Ruled:
    """The gate has ruled on a call.

    Attributes:
        call: Which.
        ruling: Its word.
        reply: Passes it on to codex.
        hook: Codex tells of no end of the call if this is a no.
    """

    call: ToolCall
    ruling: Ruling
    reply: Reply
    hook: bool


class Asks:
    """The questions of one turn.

    Args:
        server: Waits for answers.
        inbox: Gets a `Ruled` for each question.
        turn: Its calls.
        job: Whose hands decide; without hands nothing is permitted.
    """

    def __init__(self, server: AppServer, inbox: asyncio.Queue[Any], turn: Turn, job: Job) -> None:
        self._server = server
        self._inbox = inbox
        self._turn = turn
        self._job = job
        self._permitted: dict[str, str] = {}
        """The arguments that were let pass, by call."""
        self._refused: set[str] = set()
        self._hooked: set[str] = set()
        self._open: set[asyncio.Task[None]] = set()
        self._more = itertools.count(1)

    @property
    def waiting(self) -> bool:
        """Whether somebody is being asked."""
        return bool(self._open)

    def close(self) -> None:
        """Leave the open questions."""
        for task in self._open:
            task.cancel()

    def hooked(self, asked: Hooked) -> Iterator[Delta]:
        """Codex is about to make a call."""
        hands = self._job.request.hands
        if hands is None:
            asked.answer(Ruling(False, NO_HANDS))
            return
        workspace = self._job.workspace
        call = hooked_call(asked.id, asked.tool, asked.input, asked.cwd, workspace)
        self._is_new(call)
        told = not call.name.startswith(f"{PROGRAM}:") or "mcp__" in call.name
        yield from self._turn.begin(call, quiet=not told)

        async def reply(ruling: Ruling) -> None:
            changed = None
            if ruling.allowed and ruling.arguments is not None:
                changed = changed_input(asked.tool, ruling.arguments, asked.cwd, workspace)
                if changed is None:
                    ruling = Ruling(False, NOT_PASSED_ON)
                elif "command" in changed:
                    line = in_folder(str(changed["command"]), asked.cwd, workspace)
                    self._permitted[call.id] = json.dumps({"command": line})
            asked.answer(ruling, changed)

        self._ask(hands, call, reply, hook=True)

    def _is_new(self, call: ToolCall) -> None:
        """Servers give ids out again: what was said of a call that is over is no word on this one.

        Raises:
            ProviderError: The other one is not over; their ends could not be told apart.
        """
        if call.id in self._hooked and call.id in self._turn.open:
            raise ProviderError("protocol", TWICE, partial=self._turn.partial)
        if call.id in self._hooked:
            self._turn.forget(call.id)
            self._permitted.pop(call.id, None)
            self._refused.discard(call.id)
        self._hooked.add(call.id)

    async def approve(self, asked: Told) -> AsyncGenerator[Delta, None]:
        """A question of codex itself."""
        number, params = asked.id, asked.params
        question = QUESTIONS.get(asked.method)
        if number is None:
            return
        if question is None:
            await self._server.answer(number, OTHERS.get(asked.method))
            return

        async def reply(ruling: Ruling) -> None:
            await self._server.answer(number, question.answer(params, ruling.allowed))

        item_id = str(params.get("itemId") or "")
        hands = self._job.request.hands
        if hands is None or item_id in self._refused:
            await reply(Ruling(False))
            return
        known = self._permitted.get(item_id)
        wish = question.wish(params)
        if known is not None and not wish and self._is_same(known, params):
            await reply(Ruling(True))
            return
        call = self._call(item_id, params, wish)
        for delta in self._turn.begin(call, quiet=call.id != item_id):
            yield delta
        self._ask(hands, call, reply, hook=False)

    async def settle(self, ruled: Ruled) -> AsyncGenerator[Delta, None]:
        """Pass a ruling on; what was refused at the hook is over with that."""
        call, ruling = ruled.call, ruled.ruling
        if ruling.allowed:
            self._permitted[call.id] = ruling.arguments or call.arguments
            if not ruled.hook and call.name.startswith(f"{PROGRAM}:"):
                for delta in self._turn.end(Observed(call.id, "done", PERMITTED, "permitted")):
                    yield delta
        else:
            self._refused.add(call.id)
            if ruled.hook or call.name.startswith(f"{PROGRAM}:"):
                for delta in self._turn.end(Observed(call.id, "denied", ruling.message)):
                    yield delta
        await ruled.reply(ruling)

    def _call(self, item_id: str, params: Mapping[str, Any], wish: str) -> ToolCall:
        """The call that is asked about: the one the item tells of, or a wish for more."""
        call = self._turn.open.get(item_id)
        if call is not None and item_id not in self._permitted and not wish:
            return call
        command = unwrapped(str(params.get("command") or ""))
        line = in_folder(command, str(params.get("cwd") or ""), self._job.workspace)
        return outside_call(f"{item_id}.{next(self._more)}", line, wish)

    def _is_same(self, known: str, params: Mapping[str, Any]) -> bool:
        """Whether the question is about the very call that was let pass."""
        command = params.get("command")
        if not isinstance(command, str):
            return True
        line = in_folder(unwrapped(command), str(params.get("cwd") or ""), self._job.workspace)
        try:
            given = json.loads(known)
        except ValueError:
            return False
        return isinstance(given, Mapping) and given.get("command") == line

    def _ask(self, hands: Hands, call: ToolCall, reply: Reply, *, hook: bool) -> None:
        async def permit() -> None:
            ruling = await hands.permit(call)
            self._inbox.put_nowait(Ruled(call, ruling, reply, hook))

        task = asyncio.create_task(permit())
        self._open.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._open.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._inbox.put_nowait(problem)


@dataclass(frozen=True, slots=True)
class Question:
    """A kind of question codex asks.

    Attributes:
        wish: What it wants beyond the call itself, "" for nothing.
        answer: The answer, given the parameters and whether it is a yes.
    """

    wish: Callable[[Mapping[str, Any]], str]
    answer: Callable[[Mapping[str, Any], bool], Mapping[str, Any]]


def _decision(_params: Mapping[str, Any], allowed: bool) -> Mapping[str, Any]:
    return {"decision": "accept" if allowed else "decline"}


def _grant(params: Mapping[str, Any], allowed: bool) -> Mapping[str, Any]:
    return {"permissions": params.get("permissions") if allowed else {}, "scope": "turn"}


def _command_wish(params: Mapping[str, Any]) -> str:
    wanted = [str(params.get("reason") or "")]
    for name in ("networkApprovalContext", "additionalPermissions"):
        if params.get(name):
            wanted.append(json.dumps(params[name]))
    return "; ".join(filter(None, wanted))


def _file_wish(params: Mapping[str, Any]) -> str:
    root = params.get("grantRoot")
    return f"to write anywhere in {root}" if root else ""


def _rights_wish(params: Mapping[str, Any]) -> str:
    wanted = (str(params.get("reason") or ""), json.dumps(params.get("permissions")))
    return "; ".join(filter(None, wanted))


QUESTIONS: Final[Mapping[str, Question]] = {
    "item/commandExecution/requestApproval": Question(_command_wish, _decision),
    "item/fileChange/requestApproval": Question(_file_wish, _decision),
    "item/permissions/requestApproval": Question(_rights_wish, _grant),
}
OTHERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "item/tool/requestUserInput": {"answers": {}},
    "mcpServer/elicitation/request": {"action": "decline"},
}
"""Questions nobody is asked about; all others get an error for an answer."""

"""What claude asks before each of its calls, put through our gate; each call is asked for once.

Claude asks by its hook (`PreToolUse`), before every call, and for some a second time as a host
would be asked (`can_use_tool`). What goes wrong here means no.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from stormclaw.protocol.messages import ToolCall
from stormclaw.protocol.provider import Ruling
from stormclaw.providers._claude.lines import Line
from stormclaw.providers._claude.talk import Talk
from stormclaw.providers._claude.tools import given_back, translated

LOG = logging.getLogger(__name__)

TWICE: Final = "its id stands for another call that is not over; the call was not made"
UNTOLD: Final = "what the person put in its place cannot be told to claude; the call was not made"
BROKEN: Final = "the call could not be judged, so it was not made"
NO_HANDS: Final = "nothing may be done here, only said"

Permit = Callable[[ToolCall], Awaitable[Ruling]]


class Gate:
    """The questions of one turn.

    Args:
        talk: Who asks.
        permit: Judges a call; None refuses all.
        workspace: Where paths are told from.

    Attributes:
        denied: Ids of the calls that were not permitted.
        changed: The input of calls that the person changed, by id.
    """

    def __init__(self, talk: Talk, permit: Permit | None, workspace: Path) -> None:
        self._talk = talk
        self._permit = permit
        self._workspace = workspace
        self._rulings: dict[str, asyncio.Task[Ruling]] = {}
        self._ruled_on: dict[str, ToolCall] = {}
        self._answers: set[asyncio.Task[None]] = set()
        self.denied: set[str] = set()
        self.changed: dict[str, dict[str, Any]] = {}

    @property
    def waiting(self) -> bool:
        """Whether a question is open."""
        return bool(self._answers)

    def asked(self, line: Line) -> None:
        """Take a control request; its answer is sent when there is one."""
        task = asyncio.create_task(self._answer(line))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    def over(self, call_id: str) -> None:
        """A call is over: the next one under its id is another one."""
        self._rulings.pop(call_id, None)
        self._ruled_on.pop(call_id, None)
        self.denied.discard(call_id)
        self.changed.pop(call_id, None)

    async def close(self) -> None:
        """Drop all questions: the turn is over."""
        tasks = [*self._answers, *self._rulings.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, line: Line) -> None:
        request_id = str(line.get("request_id") or "")
        request = line.get("request")
        request = request if isinstance(request, Mapping) else {}
        match request:
            case {"subtype": "hook_callback", "input": {"tool_name": str(name), **told}}:
                call_id = str(request.get("tool_use_id") or told.get("tool_use_id") or request_id)
                ruling = await self._ruled(
                    call_id, name, _mapping(told.get("tool_input")), hook=True
                )
                await self._talk.answer(request_id, self._as_hook(call_id, ruling))
            case {"subtype": "can_use_tool", "tool_name": str(name), **told}:
                call_id = str(told.get("tool_use_id") or request_id)
                given = _mapping(told.get("input"))
                ruling = await self._ruled(call_id, name, given, hook=False)
                await self._talk.answer(request_id, self._as_host(call_id, ruling, given))
            case _:
                await self._talk.decline(request_id, "this host does not answer that")

    async def _ruled(
        self, call_id: str, name: str, given: Mapping[str, Any], *, hook: bool
    ) -> Ruling:
        """The word on a call: by the hook it is asked for once, then perhaps as by a host.

        Servers give ids out again, even at once: what was let pass is a call, not an id.
        """
        call = translated(call_id, name, given, self._workspace)
        if hook and call_id in self._rulings:
            return Ruling(False, TWICE)
        if call_id not in self._rulings:
            self._ruled_on[call_id] = call
            self._rulings[call_id] = asyncio.create_task(self._judged(call, name, given))
        ruling = await asyncio.shield(self._rulings[call_id])
        known = [self._ruled_on.get(call_id)]
        if call_id in self.changed:
            known.append(translated(call_id, name, self.changed[call_id], self._workspace))
        return ruling if call in known or not ruling.allowed else Ruling(False, TWICE)

    async def _judged(self, call: ToolCall, name: str, given: Mapping[str, Any]) -> Ruling:
        call_id = call.id
        ruling = await self._permitted(call)
        if ruling.allowed and ruling.arguments is not None:
            changed = given_back(name, given, ruling.arguments, self._workspace)
            if changed is None:
                ruling = Ruling(False, UNTOLD)
            else:
                self.changed[call_id] = changed
        if not ruling.allowed:
            self.denied.add(call_id)
        return ruling

    async def _permitted(self, call: ToolCall) -> Ruling:
        if self._permit is None:
            return Ruling(False, NO_HANDS)
        try:
            return await self._permit(call)
        except Exception:  # A fault of ours must not let a call pass.
            LOG.exception("a call of claude could not be judged")
            return Ruling(False, BROKEN)

    def _as_hook(self, call_id: str, ruling: Ruling) -> Mapping[str, Any]:
        told: dict[str, Any] = {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow" if ruling.allowed else "deny",
            "permissionDecisionReason": ruling.message or "permitted",
        }
        if call_id in self.changed:
            told["updatedInput"] = self.changed[call_id]
        return {"hookSpecificOutput": told}

    def _as_host(self, call_id: str, ruling: Ruling, given: Mapping[str, Any]) -> Mapping[str, Any]:
        if not ruling.allowed:
            return {"behavior": "deny", "message": ruling.message or BROKEN}
        return {"behavior": "allow", "updatedInput": self.changed.get(call_id, given)}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}

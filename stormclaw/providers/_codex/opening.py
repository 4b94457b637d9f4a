"""The way to a thread of codex: shake hands, then take up the conversation or begin one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import stormclaw
from stormclaw.errors import ProviderError
from stormclaw.providers._codex.errors import NO_ROLLOUT
from stormclaw.providers._codex.gate import Hooks
from stormclaw.providers._codex.job import Job, NoServer
from stormclaw.providers._codex.rpc import AppServer, Refused
from stormclaw.providers._programs.hands import MEANWHILE, retold

KNOWN: Final = re.compile(r"^0\.169\.")
"""The versions this was written against."""
VERSION: Final = re.compile(r"/(\d+\.\d+\.\d+\S*)")
NOT_SPOKEN: Final = frozenset({-32600, -32601, -32602})
LOST: Final = (
    "codex no longer has this conversation; it goes on in a new one with what was said as text"
)
FREE: Final = (
    "autonomy is full: codex works without its sandbox; its calls still pass StormClaw's gate"
)
NO_HOOK: Final = (
    "codex does not run StormClaw's hook: only its commands and file changes pass the gate"
)


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

"""Sub-agents: the same loop with an own conversation and a narrower kit, under a parent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from stormclaw.agent.context.window import last_text
from stormclaw.agent.context.working import kept
from stormclaw.agent.conversation import Conversation
from stormclaw.agent.inbox import Inbox
from stormclaw.agent.kit import Kit
from stormclaw.agent.loop import take_turn
from stormclaw.errors import ToolFailure
from stormclaw.protocol.events import ChildEnded, ChildStarted
from stormclaw.protocol.messages import TurnReason
from stormclaw.protocol.tool import ChildReport, SeenFiles, SpawnRequest
from stormclaw.security.tool_policy import Layer


@dataclass(frozen=True)
class Running:
    """A child at work."""

    task: asyncio.Task[TurnReason]
    inbox: Inbox


class Family:
    """All agents below the root of one session: who runs, who ever ran.

    Args:
        converse: Makes the conversation of a new agent.
    """

    def __init__(self, converse: Callable[[str], Conversation]) -> None:
        self._converse = converse
        self._running: dict[str, Running] = {}
        self._conversations: dict[str, Conversation] = {}

    @property
    def conversations(self) -> Mapping[str, Conversation]:
        """Every child's conversation by path, finished ones included."""
        return self._conversations

    @property
    def running(self) -> Mapping[str, Running]:
        """The children at work, by path."""
        return self._running

    def adopt(self, conversations: Mapping[str, Conversation]) -> None:
        """Children of a resumed session, to be looked at."""
        self._conversations.update(conversations)

    def equipped(self, kit: Kit, conversation: Conversation) -> Kit:
        """The kit, able to start sub-agents under its own agent and to recall what it did."""

        async def spawn(request: SpawnRequest) -> ChildReport:
            return await self.spawn(kit, request)

        return replace(kit, spawn=spawn, kept=lambda wanted: kept(conversation.nodes, wanted))

    async def spawn(self, parent: Kit, request: SpawnRequest) -> ChildReport:
        """Run a sub-agent to its end.

        Raises:
            ToolFailure: A limit (depth, number, budget) forbids it, or a tool or an executor is
                unknown.
            asyncio.CancelledError: The parent was interrupted; the child is stopped first.
        """
        self._check(parent, request)
        path = next(self._free_paths(parent.agent, request.name))
        conversation = self._conversations[path] = self._converse(path)
        try:
            kit = self.equipped(await parent.narrow(parent, request, path), conversation)
        except BaseException:
            del self._conversations[path]
            raise
        inbox = Inbox()
        parent.hub.publish(
            ChildStarted(
                parent.agent,
                path,
                request.task,
                kit.model or kit.provider_name,
                tuple(kit.tools),
                kit.purse.limit_usd,
                kit.purse.limit_tokens,
            )
        )
        task = asyncio.create_task(take_turn(kit, conversation, inbox, request.task), name=path)
        self._running[path] = Running(task, inbox)
        reason: TurnReason = "failed"
        try:
            reason = await task
        finally:
            del self._running[path]
            parent.hub.publish(ChildEnded(parent.agent, path, reason, kit.purse.usage))
        _pass_on_a_cancel()
        text = last_text(conversation.nodes) or "(no answer)"
        return ChildReport(path, request.task, reason, text, kit.purse.usage)

    def stop(self, path: str) -> bool:
        """Interrupt one child (and so its own children); False when it is not running."""
        running = self._running.get(path)
        return running is not None and running.task.cancel()

    def _check(self, parent: Kit, request: SpawnRequest) -> None:
        depth = parent.agent.count("/") + 1
        limits = parent.family
        if depth > limits.max_depth:
            raise ToolFailure(
                f"sub-agents may be nested {limits.max_depth} deep and {parent.agent} is the "
                "deepest: do it yourself",
                summary="too deep",
            )
        if len(self._running) >= limits.max_children:
            raise ToolFailure(
                f"{limits.max_children} sub-agents run already: wait for one to end",
                summary="too many at once",
            )
        if reason := parent.purse.exhausted():
            raise ToolFailure(f"no sub-agent: {reason}", summary="budget spent")
        if unknown := [name for name in request.tools if parent.resolve(name) is None]:
            raise ToolFailure(
                f"you have no tool {', '.join(unknown)}; a sub-agent may only get of yours: "
                f"{', '.join(sorted(parent.tools))}",
                summary="unknown tool",
            )

    def _free_paths(self, parent: str, name: str) -> Iterator[str]:
        stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:24] or "agent"
        candidates = (f"{parent}/{stem}" + (f"-{n}" if n > 1 else "") for n in range(1, 10_000))
        return (path for path in candidates if path not in self._conversations)


def _pass_on_a_cancel() -> None:
    """A child that was stopped ends well; if we were cancelled meanwhile, that must not be lost."""
    me = asyncio.current_task()
    if me is not None and me.cancelling():
        raise asyncio.CancelledError


def narrowed(kit: Kit, path: str, layers: Iterable[Layer]) -> Kit:
    """A child's kit: at most the parent's tools, an own purse, nothing read yet."""
    tools = kit.toolset.narrowed(layers)
    return replace(
        kit,
        agent=path,
        toolset=tools,
        specs=tools.specs(),
        purse=kit.purse.child(path, kit.family.child_share),
        seen=SeenFiles(),
    )

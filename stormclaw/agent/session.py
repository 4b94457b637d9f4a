"""What a front end may touch: say something, steer, answer, interrupt, listen, leave."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from json import dumps
from typing import Any, Literal, TypeVar

from stormclaw.agent.calls import perform
from stormclaw.agent.children import Family
from stormclaw.agent.context.desk import ContextDesk
from stormclaw.agent.conversation import Conversation
from stormclaw.agent.history.history import History
from stormclaw.agent.history.tree import turns_on
from stormclaw.agent.hub import Subscription
from stormclaw.agent.inbox import Inbox
from stormclaw.agent.journal import Journal
from stormclaw.agent.kit import Kit
from stormclaw.agent.loop import take_turn
from stormclaw.agent.mending import mend
from stormclaw.agent.sealing import Outcomes
from stormclaw.errors import StoreError, UsageError
from stormclaw.protocol.asks import Ask, Reply
from stormclaw.protocol.events import Notice
from stormclaw.protocol.messages import ROOT, Node, ToolCall, Usage
from stormclaw.security.redact import redact
from stormclaw.store.sessions import SessionInfo, titled

T = TypeVar("T")
LOG = logging.getLogger(__name__)

SHELL_TOOL = "shell_exec"


class Session:
    """One conversation with a person, its sub-agents and its record on disk.

    Args:
        info: Identity and title; `save` is called with every new value.
        kit: The root agent's things.
        conversation: The root agent's conversation.
        family: Its sub-agents.
        journal: Where all nodes go.
        save: Writes the session's card (session.json).
        problems: What was wrong with the record when it was opened, a sentence each.

    Attributes:
        desk: What the model sees of the conversation, to be looked at and changed.
        history: The conversation's tree, to go back in.
    """

    def __init__(
        self,
        info: SessionInfo,
        kit: Kit,
        conversation: Conversation,
        family: Family,
        journal: Journal,
        save: Callable[[SessionInfo], None],
        problems: tuple[str, ...] = (),
    ) -> None:
        self.info = info
        self.kit = family.equipped(kit, conversation)
        self.problems = problems
        self._conversation = conversation
        self._family = family
        self._journal = journal
        self._save = save
        self._inbox = Inbox()
        self._queue: deque[str] = deque()
        self._work: asyncio.Task[None] | None = None
        self._whole = False
        self.desk = ContextDesk(lambda: self.kit, conversation)
        self.history = History(
            conversation, kit.snapshots, info.id, kit.workspace, partial(self.occupied, whole=True)
        )

    @property
    def id(self) -> str:
        """The session's id, also the name of its folder."""
        return self.info.id

    @property
    def title(self) -> str:
        """The first thing that was said, or what the person calls it; "" before that."""
        return self.info.title

    @property
    def busy(self) -> bool:
        """Whether the root agent is at work."""
        return self._work is not None and not self._work.done()

    @property
    def queued(self) -> tuple[str, ...]:
        """What waits for the running turn to end, oldest first."""
        return tuple(self._queue)

    @property
    def usage(self) -> Usage:
        """Everything used since the session began."""
        return self.kit.purse.usage

    @property
    def open_asks(self) -> tuple[Ask, ...]:
        """Questions that wait for the person."""
        return self.kit.asks.open

    @property
    def running_children(self) -> tuple[str, ...]:
        """Paths of the sub-agents at work."""
        return tuple(self._family.running)

    def children(self) -> tuple[str, ...]:
        """Paths of all sub-agents this session ever had."""
        return tuple(self._family.conversations)

    def nodes(self, agent: str = ROOT) -> tuple[Node, ...]:
        """The branch of an agent that goes on, oldest first; empty for an unknown agent."""
        if agent == ROOT:
            return self._conversation.nodes
        child = self._family.conversations.get(agent)
        return child.nodes if child else ()

    def events(self) -> Subscription:
        """Everything that happens from now on."""
        return self.kit.hub.subscribe()

    def prompt(self, text: str) -> Literal["started", "queued"]:
        """Say something: it starts a turn, or waits for the running one. `!cmd` runs a command."""
        self._queue.append(text)
        if self.busy:
            return "queued"
        self._work = asyncio.create_task(self._work_off(), name="turn")
        return "started"

    def shell(self, command: str) -> Literal["started", "queued"]:
        """Run a command of the person's through the gate; the model reads it next turn."""
        return self.prompt(f"!{command}")

    def unqueue(self) -> str | None:
        """Take back what was queued last."""
        return self._queue.pop() if self._queue else None

    def steer(self, text: str, agent: str = ROOT) -> bool:
        """Put words in after the running batch of tools; False when that agent is not at work."""
        if agent == ROOT:
            if self.busy:
                self._inbox.put(text)
            return self.busy
        running = self._family.running.get(agent)
        if running is not None:
            running.inbox.put(text)
        return running is not None

    def answer(self, ask_id: str, reply: Reply) -> bool:
        """Answer a question; False when it is not open any more."""
        return self.kit.asks.answer(ask_id, reply)

    def interrupt(self, agent: str = ROOT) -> bool:
        """Stop an agent and everything below it; what is queued stays queued."""
        if agent != ROOT:
            return self._family.stop(agent)
        if self._work is None or self._work.done() or self._whole:
            return False
        return self._work.cancel()

    def known_as(self, info: SessionInfo) -> None:
        """Its card was written by somebody else: another title."""
        self.info = info

    def use(self, kit: Kit, info: SessionInfo) -> None:
        """Go on with another kit (another model); the running turn keeps the one it began with."""
        self.kit = self._family.equipped(kit, self._conversation)
        self._remember(info)

    async def occupied(self, work: Coroutine[Any, Any, T], *, whole: bool = False) -> T:
        """Do something as a turn is done: prompts wait for its end, `interrupt` stops it.

        Args:
            work: What to do.
            whole: Nothing stops it halfway.

        Raises:
            UsageError: A turn is running.
            asyncio.CancelledError: It was stopped, or whoever waits here.
        """
        if self.busy:
            work.close()
            raise UsageError("a turn is running: stop it with Esc or wait for its end")
        task = asyncio.create_task(work)
        self._whole = whole
        then = self._then_the_queue(task, len(self._queue))
        self._work = asyncio.create_task(then, name="occupied")
        try:
            await asyncio.wait({self._work})
        except asyncio.CancelledError:
            if not whole:
                task.cancel()
            raise
        return task.result()

    async def idle(self) -> None:
        """Return when nothing is being worked on."""
        while self.busy and self._work is not None:
            await asyncio.wait({self._work})

    async def start(self) -> None:
        """Mend what a crash left: calls without an end, nodes that are not in the index."""
        self._journal.catch_up(self._conversation.nodes)
        await mend(self.kit, self._conversation)

    async def close(self) -> None:
        """Interrupt, deny what is asked, wait until everything is on disk."""
        self._queue.clear()
        self.interrupt()
        self.kit.asks.deny_all()
        await self.idle()
        await self.kit.snapshots.settled()
        await self._journal.close()
        self.kit.hub.close()

    async def _then_the_queue(self, task: asyncio.Task[Any], waiting: int) -> None:
        """What is said meanwhile begins when `task` is over; not when it was stopped."""
        try:
            await task
        except Exception:
            LOG.debug("whoever waits for it hears of it", exc_info=True)
        finally:
            self._whole = False
        if len(self._queue) > waiting:
            self._work = asyncio.create_task(self._work_off(), name="turn")

    async def _work_off(self) -> None:
        """Work through the queue; a turn that did not end well leaves the rest to the person."""
        try:
            while self._queue:
                text = self._queue.popleft()
                self._name(text)
                if text.startswith("!"):
                    await self._run(text[1:].strip())
                elif await take_turn(self.kit, self._conversation, self._inbox, text) != "done":
                    self._give_back()
                    return
        except StoreError as error:
            self.kit.hub.publish(Notice(ROOT, "error", f"stopped: {error}"))
        except Exception:
            LOG.exception("a turn failed in a way it should not")
            self.kit.hub.publish(Notice(ROOT, "error", "stopped by a fault; it is in the log"))
        finally:
            self._remember(
                replace(
                    self.info,
                    updated=time.time(),
                    cost_usd=self.usage.cost_usd,
                    cost_estimated=self.usage.cost_estimated,
                    turns=len(turns_on(self._conversation.nodes)),
                )
            )

    def _give_back(self) -> None:
        """Steering that came too late is not lost: it waits in the queue."""
        self._queue.extendleft(reversed(self._inbox.drain()))

    async def _run(self, command: str) -> None:
        if not command:
            return
        call = ToolCall(f"person-{secrets.token_hex(4)}", SHELL_TOOL, dumps({"command": command}))
        outcomes: Outcomes = {}
        try:
            await perform(call, self.kit, outcomes, author="person")
        except asyncio.CancelledError:
            LOG.debug("the person interrupted their own command")
        await self._conversation.commit(outcomes[call.id])

    def _name(self, text: str) -> None:
        named = titled(self.info, redact(text))
        if named is not self.info:
            self._remember(named)

    def _remember(self, info: SessionInfo) -> None:
        self.info = info
        try:
            self._save(info)
        except StoreError as error:
            self.kit.hub.publish(Notice(ROOT, "warning", str(error)))

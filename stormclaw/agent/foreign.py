"""What a foreign program does with its own hands while it answers: gated, receipted, on record.

A CLI back end runs its own loop. We see its answers (`Step`), are asked before each of its calls
(`Hands.permit`) and told of their ends (`Observed`); each becomes the same node, card and receipt
as a call of ours, with `foreign` as its author.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace

from stormclaw.agent.attempt import Attempt
from stormclaw.agent.conversation import Conversation
from stormclaw.agent.kit import Kit
from stormclaw.agent.permission import obtain
from stormclaw.agent.sealing import Outcomes, intended, receipted, sealed
from stormclaw.agent.weigh import Refused, Weighed, only_looks, weigh
from stormclaw.errors import StoreError, ToolFailure
from stormclaw.log import event
from stormclaw.protocol.effects import Foreign
from stormclaw.protocol.events import ToolProgress, ToolStarted
from stormclaw.protocol.messages import ToolCall
from stormclaw.protocol.provider import Hands, Observed, Progress, Ruling
from stormclaw.protocol.tool import SeenFiles
from stormclaw.security.secrets import screen

LOG = logging.getLogger(__name__)

STEP_S = 5.0
"""How long a question waits for the answer it belongs to: programs ask and tell on two ways."""
TWICE = "its id stands for another call that is not over; it was not judged, so it was not made"
UNSEEN = "the program ended before this call did; what it had done by then is not known"


@dataclass(slots=True)
class _Open:
    """A call that is not over yet."""

    attempt: Attempt
    weighed: Weighed | None
    asked: bool = False
    told: asyncio.Event = field(default_factory=asyncio.Event)
    after: AsyncExitStack = field(default_factory=AsyncExitStack)


class ForeignWork:
    """The calls of one answer of a program that acts by itself.

    Args:
        kit: Of the agent it works for.
        conversation: Gets an outcome for each call.
    """

    def __init__(self, kit: Kit, conversation: Conversation) -> None:
        self._kit = replace(kit, foreign=True, seen=SeenFiles(watched=False))
        self._conversation = conversation
        self._open: dict[str, _Open] = {}
        self._order: list[str] = []
        self._outcomes: Outcomes = {}
        self._twice: list[Attempt] = []
        self._broken: StoreError | None = None

    @property
    def hands(self) -> Hands:
        """What the program is given to act with."""
        kit = self._kit
        return Hands(kit.workspace, kit.environ, kit.rules.autonomy, self._permit)

    def begin(self, calls: tuple[ToolCall, ...]) -> None:
        """An answer with these calls is on record; the program is about to make them."""
        for call in calls:
            if call.id in self._order:
                self._refuse_twice(call)
                continue
            self._order.append(call.id)
            entry = self._entry(call)
            entry.told.set()
            attempt = entry.attempt
            started = ToolStarted(
                self._kit.agent, call, attempt.tool, attempt.headline, "low", None
            )
            if not entry.asked:
                self._kit.hub.publish(started)

    def progress(self, item: Progress) -> None:
        """Live output of a call."""
        shown = screen(item.text).text
        self._kit.hub.publish(ToolProgress(self._kit.agent, item.call_id, shown))

    async def observed(self, item: Observed) -> None:
        """A call is over: its receipt, then its outcome, in the order the calls were made.

        Raises:
            StoreError: Something could not be written down.
        """
        entry = self._open.pop(item.call_id, None)
        if entry is None:
            LOG.warning("a foreign program tells of a call it never made")
            return
        attempt = entry.attempt
        if not entry.asked:
            await self._unasked(entry)
        if attempt.permit.refusal:
            attempt.close("denied", attempt.permit.refusal, attempt.permit.refusal_summary)
        else:
            seen = screen(item.output)
            attempt.close(item.status, seen.text, item.summary)
            attempt.display, attempt.masked = item.display, seen.found
        await self._seal(entry)

    async def close(self) -> None:
        """The answer is over: what has no end yet was interrupted.

        Raises:
            StoreError: Something could not be written down, now or when the program asked.
        """
        for attempt in self._twice:
            await receipted(attempt, self._kit)
        self._twice.clear()
        for call_id in [*self._order, *(set(self._open) - set(self._order))]:
            if entry := self._open.pop(call_id, None):
                if entry.attempt.permit.refusal:
                    permit = entry.attempt.permit
                    entry.attempt.close("denied", permit.refusal, permit.refusal_summary)
                else:
                    entry.attempt.close("interrupted", UNSEEN, "interrupted")
                await self._seal(entry)
        if self._broken is not None:
            raise self._broken

    async def _permit(self, call: ToolCall) -> Ruling:
        """The gate's and the person's word on a call, before the program makes it."""
        entry = self._entry(call)
        if entry.asked:
            return self._refuse_twice(call)
        entry.asked = True
        if entry.attempt.call != call:
            # Judged is what will be made, whatever the answer said it would be.
            self._weigh(entry, call)
        with suppress(TimeoutError):
            await asyncio.wait_for(entry.told.wait(), STEP_S)
        event(LOG, "tool_requested", tool=call.name, agent=self._kit.agent)
        try:
            return await self._ruled(entry)
        except StoreError as error:
            self._broken = error
            return self._refuse(entry, f"stopped: {error}", "not recorded")

    async def _ruled(self, entry: _Open) -> Ruling:
        attempt, kit = entry.attempt, self._kit
        if reason := kit.purse.exhausted():
            return self._refuse(entry, f"no more calls: {reason}", "budget spent")
        if entry.weighed is None:
            return self._refuse(entry, attempt.output, attempt.summary)
        try:
            weighed = await obtain(entry.weighed, attempt.permit, kit, "foreign")
        except ToolFailure as failure:
            return self._refuse(entry, str(failure), failure.summary)
        attempt.headline = weighed.headline
        if not attempt.permit.granted:
            event(LOG, "tool_denied", tool=attempt.tool, rule=attempt.permit.verdict.rule)
            return Ruling(allowed=False, message=attempt.permit.refusal)
        if not only_looks(weighed):
            await intended(attempt, kit)
            # It says which files it writes, but nothing holds it to that: all of them are kept.
            anything = (Foreign(kit.provider_name, attempt.tool),)
            await entry.after.enter_async_context(kit.snapshots.around(attempt.call.id, anything))
        event(LOG, "tool_approved", tool=attempt.tool, by=attempt.permit.decided_by)
        attempt.began = time.monotonic()
        return Ruling(allowed=True, arguments=attempt.permit.arguments)

    def _refuse(self, entry: _Open, message: str, summary: str) -> Ruling:
        permit = entry.attempt.permit
        permit.granted, permit.refusal, permit.refusal_summary = False, message, summary
        return Ruling(allowed=False, message=message)

    def _entry(self, call: ToolCall) -> _Open:
        """What is known of a call, whoever speaks of it first."""
        entry = self._open.get(call.id)
        if entry is not None:
            return entry
        entry = self._open[call.id] = _Open(Attempt.of(call, "foreign"), None)
        self._weigh(entry, call)
        return entry

    def _weigh(self, entry: _Open, call: ToolCall) -> None:
        attempt = entry.attempt = Attempt.of(call, "foreign")
        try:
            entry.weighed = weighed = weigh(call, self._kit)
            attempt.tool, attempt.headline = weighed.tool.name, weighed.headline
        except Refused as refusal:
            entry.weighed = None
            attempt.tool, attempt.headline = refusal.tool, refusal.headline
            attempt.close("failed", str(refusal), refusal.summary)

    def _refuse_twice(self, call: ToolCall) -> Ruling:
        """A call under the id of one that is not over: nobody could tell their ends apart."""
        attempt = Attempt.of(call, "foreign")
        attempt.close("denied", TWICE, "its id is taken")
        if all(known.call != call for known in self._twice):
            self._twice.append(attempt)
        return Ruling(allowed=False, message=TWICE)

    async def _unasked(self, entry: _Open) -> None:
        """The program made the call without a question: on record is how it would be judged."""
        if entry.weighed is not None:
            judge = self._kit.rules.judge
            entry.attempt.permit.verdict = await asyncio.to_thread(judge, entry.weighed.effects)
        entry.attempt.permit.decided_by = f"{self._kit.provider_name}, unasked"

    async def _seal(self, entry: _Open) -> None:
        await entry.after.aclose()
        await sealed(entry.attempt, self._kit, self._outcomes)
        if entry.attempt.call.id not in self._order:
            return  # No answer on record asks for it: the receipt alone tells of it.
        while self._order and (outcome := self._outcomes.get(self._order[0])) is not None:
            await self._conversation.commit(outcome)
            del self._outcomes[self._order.pop(0)]

"""Asks one member of a group after the other until one answers: what keys and providers share.

Nothing is said twice: what a member had shown is withdrawn before another one begins, and once a
program among them has acted with its own hands nobody else is asked.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from stormclaw.errors import ErrorClass, ProviderError
from stormclaw.log import event
from stormclaw.protocol.messages import ToolCall
from stormclaw.protocol.provider import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    Delta,
    Observed,
    Progress,
    Provider,
    Remark,
    Retrying,
    Ruling,
    Step,
    Text,
    Thinking,
    Withdrawn,
)
from stormclaw.providers._fallback.cooldowns import Cooldowns, Rest
from stormclaw.providers._fallback.excuses import BROKE_OFF, SAID, Excuse, complaint, plain
from stormclaw.providers._retry_after import wait_before_retry
from stormclaw.providers.recovery import with_hint

LOG = logging.getLogger(__name__)

BACKOFF_S: Final = 0.5


class Part(NamedTuple):
    """What a provider is made of: `provider/model` as configured, and connected."""

    target: str
    provider: Provider


@dataclass(frozen=True, slots=True)
class Member:
    """One of those who can be asked.

    Attributes:
        label: For the person: a provider's or a key's name.
        who: Its name among the cooldowns.
        provider: Connected, and not trying anything again by itself.
        secret: Its key, so that a cooldown ends with it.
    """

    label: str
    who: str
    provider: Provider
    secret: str = field(default="", repr=False)


@dataclass(slots=True)
class _Attempt:
    """One member's try, as far as it went.

    Attributes:
        member: Who was asked.
        shown: The person has seen text of it.
        acted: It has acted with its own hands.
        error: Why it ended; None for an answer.
    """

    member: Member
    shown: bool = False
    acted: bool = False
    error: ProviderError | None = None

    def note(self, item: Delta | ChatResponse) -> None:
        match item:
            case Text() | Thinking():
                self.shown = True
            case Withdrawn():
                self.shown = False
            case Step() | Progress() | Observed():
                self.shown, self.acted = False, True
            case _:
                pass

    def watched(self, request: ChatRequest) -> ChatRequest:
        """The request; once a call is let pass it has acted, though no answer tells of it yet."""
        hands = request.hands
        if hands is None:
            return request

        async def permit(call: ToolCall) -> Ruling:
            ruling = await hands.permit(call)
            self.acted = self.acted or ruling.allowed
            return ruling

        return replace(request, hands=replace(hands, permit=permit))


class Failover(Provider):
    """A provider made of others, of which the first that can answers.

    Args:
        name: Our name for it.
        members: Who is asked, first to last.
        cooldowns: Who is passed over; shared by all that ask the same.
        max_retries: How often all are asked once more when none could answer.
        backoff_s: First wait before that.
    """

    words: Mapping[ErrorClass, str] = SAID
    lasting = False
    """Whether a refusal counts after a restart, too."""

    def __init__(
        self,
        name: str,
        members: Sequence[Member],
        cooldowns: Cooldowns,
        *,
        max_retries: int,
        backoff_s: float = BACKOFF_S,
    ) -> None:
        self.name = name
        self.members = tuple(members)
        self.model = self.members[0].provider.model
        self.cooldowns = cooldowns
        self._max_retries = max_retries
        self._backoff_s = backoff_s
        self._missed: set[str] = set()

    def capabilities(self) -> Capabilities:
        """Those of who would be asked now."""
        member = self._next(self.members, {}) or self.members[0]
        return member.provider.capabilities()

    async def warm_up(self) -> None:
        """Load what the one needs who would be asked now."""
        member = self._next(self.members, {}) or self.members[0]
        await member.provider.warm_up()

    async def close(self) -> None:
        """Give back everybody's connections."""
        for member in self.members:
            await member.provider.close()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        """The answer of the first member that gives one.

        Raises:
            ProviderError: Nobody could; says of each why, and when it may be asked again.
        """
        order = self._order(request)
        failed: dict[str, ProviderError] = {}
        tries, shown, partial = 0, False, ""
        while True:
            member = await self._asked_next(order, failed)
            if member is None:
                excuses = [self._excuse(one, failed.get(one.who)) for one in order]
                error = self._nobody(excuses, partial)
            else:
                if shown:
                    yield Withdrawn("it broke off; the answer begins anew")
                attempt = _Attempt(member)
                async with aclosing(self._attempt(attempt, request)) as items:
                    async for item in items:
                        yield item
                if attempt.error is None:
                    return
                error, shown, partial = attempt.error, attempt.shown, attempt.error.partial
                if attempt.acted:
                    raise with_hint(error)
                if self._moves_on(member, error, order):
                    failed[member.who] = error
                    if remark := await self._passed_on(member, error, order, failed):
                        yield remark
                    continue
            wait_s = wait_before_retry(error, tries, self._max_retries, self._backoff_s)
            if wait_s is None:
                raise with_hint(error)
            # Of all of them at once only the beginning: each was named when it failed.
            reason = str(error) if member is not None else str(error).partition(": ")[0]
            yield Retrying(reason, wait_s)
            await asyncio.sleep(wait_s)
            tries += 1
            failed.clear()

    async def _attempt(
        self, attempt: _Attempt, request: ChatRequest
    ) -> AsyncGenerator[Delta | ChatResponse, None]:
        """What one member says; how it ended is noted, not raised."""
        stream = self._ask(attempt.member, attempt.watched(request))
        try:
            async with aclosing(stream) as items:  # type: ignore[type-var]
                async for item in items:
                    attempt.note(item)
                    if isinstance(item, ChatResponse):
                        if remark := await self._answered(attempt.member):
                            yield remark
                        name = item.provider or attempt.member.provider.name
                        item = replace(item, provider=name)
                    yield item
        except ProviderError as error:
            attempt.error = error

    async def _answered(self, member: Member) -> Remark | None:
        """It may be asked from now on; told where it had been passed over."""
        self.cooldowns.clear(member.who)
        await self.cooldowns.keep()
        if member.who not in self._missed:
            return None
        self._missed.remove(member.who)
        return Remark(self._back(member), "info")

    async def _asked_next(
        self, order: Sequence[Member], failed: Mapping[str, ProviderError]
    ) -> Member | None:
        """Who is asked; where nobody is left, perhaps a key was mended meanwhile."""
        member = self._next(order, failed)
        if member is None:
            await self.cooldowns.look_again()
            member = self._next(order, failed)
        return member

    def _next(self, order: Sequence[Member], failed: Mapping[str, ProviderError]) -> Member | None:
        """The first that does not rest, else the first that could be asked all the same."""
        left = [(member, self._rest(member)) for member in order if member.who not in failed]
        ready = (member for member, rest in left if rest is None)
        at_a_pinch = (member for member, rest in left if rest is not None and not rest.firm)
        return next(ready, None) or next(at_a_pinch, None)

    async def _passed_on(
        self,
        member: Member,
        error: ProviderError,
        order: Sequence[Member],
        failed: Mapping[str, ProviderError],
    ) -> Remark | None:
        """It rests now, which is logged and said; None where nobody is there to answer instead."""
        rest = self.cooldowns.rest(member.who, error, member.secret, lasting=self.lasting)
        await self.cooldowns.keep()
        self._missed.add(member.who)
        following = self._next(order, failed)
        event(
            LOG,
            "provider_fallback",
            provider=self.name,
            failed=member.who,
            error=error.kind,
            reason=plain(error),
            rests_s=round(self.cooldowns.left_s(rest)) if rest else 0,
            next=following.who if following else "",
        )
        if following is None:
            return None
        words = BROKE_OFF if error.partial else self.words
        said = complaint(member.label, error.kind, plain(error), words)
        return Remark(self._switch(said, following))

    def _rest(self, member: Member) -> Rest | None:
        return self.cooldowns.of(member.who, member.secret)

    def _excuse(self, member: Member, error: ProviderError | None) -> Excuse:
        """Why it does not answer: what it said just now, or before."""
        rest = self._rest(member)
        wait_s = self.cooldowns.left_s(rest) if rest is not None and rest.firm else 0.0
        if error is not None:
            kind, reason = error.kind, plain(error)
        elif rest is not None:
            kind, reason = rest.kind, rest.reason
        else:
            return Excuse("provider", f"{member.label} was not asked")
        return Excuse(kind, complaint(member.label, kind, reason, self.words), wait_s)

    def _order(self, request: ChatRequest) -> Sequence[Member]:
        """Who is asked for this request, first to last."""
        return self.members

    def _ask(self, member: Member, request: ChatRequest) -> AsyncIterator[Delta | ChatResponse]:
        return member.provider.stream(request)

    @abstractmethod
    def _moves_on(self, member: Member, error: ProviderError, order: Sequence[Member]) -> bool:
        """Whether after this error somebody else is to be asked."""

    def _back(self, member: Member) -> str:
        """That a member that had been passed over answers again, for the person."""
        return f"{member.label} answers again"

    @abstractmethod
    def _switch(self, said: str, following: Member) -> str:
        """After a complaint: that `following` is asked instead, for the person."""

    @abstractmethod
    def _nobody(self, excuses: Sequence[Excuse], partial: str) -> ProviderError:
        """The error where all have an excuse."""

"""A provider made of others, in order of preference: the first that can answers.

    providers:
      models:
        steady:
          kind: reliable
          providers: [openrouter/anthropic/claude-sonnet-4.5, anthropic, local]

What an error is worth (another provider, or none) and how long who failed is passed over stands in
`recovery.RECOVERY`. `max_retries` says how often all are asked once more when none could answer;
the members do not try again by themselves, since somebody else is there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.protocol.provider import ChatRequest, ChatResponse, Delta
from stormclaw.providers._fallback.cooldowns import Cooldowns
from stormclaw.providers._fallback.excuses import Excuse, nobody
from stormclaw.providers._fallback.failover import Failover, Member, Part
from stormclaw.providers.recovery import RECOVERY


class Reliable(Failover):
    """Providers that stand in for each other; a model asked for is asked of the first."""

    def _order(self, request: ChatRequest) -> Sequence[Member]:
        """The members; one that is asked for by name, or by its model, comes first."""
        wanted = request.model
        if wanted in ("", self.model):
            return self.members
        meant = [one for one in self.members if wanted in (one.label, one.provider.model)]
        return (*meant[:1], *(one for one in self.members if one not in meant[:1]))

    def _ask(self, member: Member, request: ChatRequest) -> AsyncIterator[Delta | ChatResponse]:
        """Each is asked for its own model; a model nobody here has by that name, of the first."""
        names = {"", self.model}
        for one in self.members:
            names |= {one.label, one.provider.model}
        strange = request.model not in names and member is self.members[0]
        model = request.model if strange else member.provider.model
        return member.provider.stream(replace(request, model=model))

    def _moves_on(self, member: Member, error: ProviderError, order: Sequence[Member]) -> bool:
        """As the table says; too long a conversation is worth another only if it takes more."""
        if not RECOVERY[error.kind].compact:
            return RECOVERY[error.kind].next_provider
        own = member.provider.capabilities().context_window
        later = order[order.index(member) + 1 :]
        windows = (one.provider.capabilities().context_window for one in later)
        return 0 < own < max(windows, default=0)

    def _switch(self, said: str, following: Member) -> str:
        return f"{said}; {following.label} answers instead"

    def _nobody(self, excuses: Sequence[Excuse], partial: str) -> ProviderError:
        return nobody(f"none of the providers of {self.name} answers", excuses, partial=partial)


def compose(
    name: str, settings: ModelSettings, parts: Sequence[Part], cooldowns: Cooldowns
) -> Reliable:
    """The provider called `name`.

    Args:
        name: Our name for it.
        settings: As configured; of it `max_retries` counts.
        parts: Who is asked, first to last; at least one.
        cooldowns: Shared by all that may ask the same providers.
    """
    names = [part.provider.name for part in parts]
    members = [
        Member(own if names.count(own) == 1 else part.target, part.target, part.provider)
        for part, own in zip(parts, names, strict=True)
    ]
    return Reliable(name, members, cooldowns, max_retries=settings.max_retries)

"""A provider made of others, of which what is to be done chooses one.

    providers:
      models:
        split:
          kind: router
          routes:
            work: openrouter/anthropic/claude-sonnet-4.5
            subagent: openrouter/anthropic/claude-haiku-4.5
            compaction: local
            title: local

The agent says in `request.metadata` what a request is for; what a sub-agent asks is for `subagent`
unless it says more. What no route is named for goes to `default`, else `work`, else the first.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final

from stormclaw.config.settings import ModelSettings
from stormclaw.log import event
from stormclaw.protocol.messages import ROOT
from stormclaw.protocol.provider import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    Delta,
    Provider,
)
from stormclaw.providers._fallback.cooldowns import Cooldowns
from stormclaw.providers._fallback.failover import Part

LOG = logging.getLogger(__name__)

DEFAULT: Final = "default"
WORK: Final = "work"
SUBAGENT: Final = "subagent"


class Router(Provider):
    """Providers by purpose.

    Args:
        name: Our name for it.
        routes: Purpose -> who answers; at least one. Two purposes may share a provider.
    """

    def __init__(self, name: str, routes: Mapping[str, Provider]) -> None:
        self.name = name
        self.routes = dict(routes)
        self._usual = self._route(WORK)
        self.model = self._usual.model

    def capabilities(self) -> Capabilities:
        """Those of the one that does the work."""
        return self._usual.capabilities()

    async def warm_up(self) -> None:
        """Load what the one needs that does the work."""
        await self._usual.warm_up()

    async def close(self) -> None:
        """Give back everybody's connections."""
        for provider in {id(one): one for one in self.routes.values()}.values():
            await provider.close()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        """The answer of the one whose purpose it is.

        Raises:
            ProviderError: It has none.
        """
        purpose = purpose_of(request)
        chosen = self._route(purpose)
        named = request.model not in ("", self.model)
        event(
            LOG,
            "provider_selected",
            level=logging.DEBUG,
            provider=chosen.name,
            model=request.model if named else chosen.model,
            purpose=purpose,
            router=self.name,
        )
        stream = chosen.stream(request if named else replace(request, model=chosen.model))
        async with aclosing(stream) as items:  # type: ignore[type-var]
            async for item in items:
                if isinstance(item, ChatResponse):
                    item = replace(item, provider=item.provider or chosen.name)
                yield item

    def _route(self, purpose: str) -> Provider:
        for wanted in (purpose, DEFAULT, WORK):
            if wanted in self.routes:
                return self.routes[wanted]
        return next(iter(self.routes.values()))


def purpose_of(request: ChatRequest) -> str:
    """What a request is for: as it says, else `subagent` or `work` by whose it is."""
    said = request.metadata.get("purpose", "")
    return said or (WORK if request.metadata.get("agent", ROOT) == ROOT else SUBAGENT)


def compose(
    name: str, settings: ModelSettings, parts: Sequence[Part], _cooldowns: Cooldowns
) -> Router:
    """The provider called `name`.

    Args:
        name: Our name for it.
        settings: As configured; of it `routes` counts.
        parts: Everybody a route leads to, connected.
    """
    by_target = {part.target: part.provider for part in parts}
    return Router(name, {purpose: by_target[to] for purpose, to in settings.routes.items()})


def usual_target(routes: Mapping[str, str]) -> str:
    """Where the work goes."""
    return routes.get(WORK) or routes.get(DEFAULT) or next(iter(routes.values()))

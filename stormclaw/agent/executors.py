"""Who can do a task, chosen by name: the same loop around another way to a model.

An executor is a provider and what an agent needs to work on it. Our own loop on any provider, the
claude and codex programs and a model on this machine are the same thing here, since programs that
act by themselves are providers too (docs/adr/0013). Each is connected once, when it is first named,
and shared by all agents of a run.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from stormclaw.agent.context.tokens import Gauge
from stormclaw.agent.conversation import Conversation
from stormclaw.agent.inbox import Inbox
from stormclaw.agent.kit import Kit
from stormclaw.agent.loop import take_turn
from stormclaw.config.place import Place
from stormclaw.errors import ConfigError, Problem, ToolFailure
from stormclaw.protocol.messages import TurnReason
from stormclaw.protocol.provider import Provider
from stormclaw.providers._fallback.cooldowns import Cooldowns
from stormclaw.providers.choose import known_names, named
from stormclaw.providers.ways import Way, find_way

ExecutorType: TypeAlias = Literal["stormclaw", "claude-code", "codex", "llama-agent"]

TYPES: Final[dict[str, ExecutorType]] = {
    "claude-cli": "claude-code",
    "codex-cli": "codex",
    "llama": "llama-agent",
}
"""Provider kind -> what runs the tools; every other kind is our own loop."""


@dataclass(frozen=True)
class AgentExecutor:
    """Somebody who can do a task.

    Attributes:
        way: The way to the model.
        provider: The same, connected.
    """

    way: Way
    provider: Provider

    @property
    def name(self) -> str:
        """What it is chosen by."""
        return self.way.name

    @property
    def type(self) -> ExecutorType:
        """Who runs the tools."""
        return TYPES.get(self.way.settings.kind.replace("_", "-"), "stormclaw")

    @property
    def model(self) -> str:
        """The model it asks for, "" for its own default."""
        return self.way.model

    async def initialize(self) -> None:
        """Load what the first task needs; may be left out.

        Raises:
            ProviderError: It cannot work.
        """
        await self.provider.warm_up()

    def equipped(self, kit: Kit) -> Kit:
        """The kit, with this executor at the place of who answered before."""
        return replace(
            kit,
            provider=self.provider,
            provider_name=self.name,
            model=self.model,
            gauge=Gauge(),
        )

    async def execute(
        self, kit: Kit, conversation: Conversation, prompt: str, timeout_s: float | None = None
    ) -> TurnReason:
        """Do a task in a conversation of its own, which afterwards holds all of it.

        Args:
            kit: Of the agent that works; its provider is replaced.
            conversation: Gets the task and everything that comes of it.
            prompt: The task.
            timeout_s: Seconds until it is interrupted; None for no limit.

        Raises:
            TimeoutError: It took too long; what it had begun is closed and on record.
            StoreError: The record cannot be written.
        """
        turn = asyncio.ensure_future(take_turn(self.equipped(kit), conversation, Inbox(), prompt))
        try:
            done, _ = await asyncio.wait({turn}, timeout=timeout_s)
            if not done:
                raise TimeoutError
            return turn.result()
        finally:
            turn.cancel()
            await asyncio.gather(turn, return_exceptions=True)

    async def shutdown(self) -> None:
        """Give back processes and connections; safe to call twice."""
        await self.provider.close()


class Executors:
    """All executors of a run.

    Args:
        cooldowns: What is known of keys and providers that are to be passed over, for all alike.
    """

    def __init__(self, cooldowns: Cooldowns) -> None:
        self._cooldowns = cooldowns
        self._connected: list[AgentExecutor] = []

    async def get(
        self, place: Place, name: str, model: str = "", current: str = ""
    ) -> AgentExecutor:
        """The executor a person or a model means, by the settings of now.

        Args:
            place: With the settings.
            name: A provider by our name; "" leaves it to `model`.
            model: One of its models, or `provider/model[:effort]`; "" for its own.
            current: Whose model it is where neither names a provider.

        Raises:
            ToolFailure: There is no such way; the message says which there are.
        """
        try:
            way = await self._way(place, name, model, current)
            known = next((each for each in self._connected if each.way == way), None)
            if known is None:
                known = AgentExecutor(way, way.connect())
                self._connected.append(known)
        except ConfigError as error:
            why = error.problems[0].message
            message = f"no executor {name or model!r}: {why}"
            raise ToolFailure(message, summary="no such executor") from None
        return known

    async def close(self) -> None:
        """Shut all of them down, also those of settings that have changed since."""
        connected, self._connected = self._connected, []
        for executor in connected:
            await executor.shutdown()

    async def _way(self, place: Place, name: str, model: str, current: str) -> Way:
        settings = place.settings
        if name and named(name, settings) is None:
            there = ", ".join((*settings.providers.models, *known_names()))
            problem = Problem("executor", "", name, f"no such provider; there are: {there}")
            raise ConfigError([problem])
        return await find_way(
            settings,
            place.env,
            place.home,
            target="/".join(filter(None, (name, model))),
            current=current,
            cooldowns=self._cooldowns,
        )

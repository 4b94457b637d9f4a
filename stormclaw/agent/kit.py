"""Everything an agent works with, as one frozen value. A child gets a narrower copy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stormclaw.agent.asks import Asks
from stormclaw.agent.budget import Purse
from stormclaw.agent.context.tokens import Gauge
from stormclaw.agent.history.snapshots import Snapshots
from stormclaw.agent.hub import Hub
from stormclaw.agent.leash import Leash
from stormclaw.agent.rules import Rules
from stormclaw.agent.toolset import Toolset
from stormclaw.agent.walls import Walls
from stormclaw.config.settings import AgentsSettings, ContextSettings, LimitsSettings
from stormclaw.protocol.messages import ROOT, Usage
from stormclaw.protocol.provider import ChatResponse, Provider, ToolSpec
from stormclaw.protocol.tool import (
    AnyTool,
    ChildReport,
    Kept,
    Recalled,
    SeenFiles,
    SpawnRequest,
)
from stormclaw.providers.models import ModelBook
from stormclaw.security.sandbox import Sandbox
from stormclaw.store.receipts import ReceiptLog


@dataclass(frozen=True)
class Kit:
    """An agent's things.

    Attributes:
        agent: Path of the agent that holds this kit.
        session_id: The session it works in.
        provider: Who answers, and `model` which of its models.
        provider_name: Our name for it in records.
        toolset: What it may use, and what took away the rest.
        specs: The same tools as they are advertised.
        rules: The live policy.
        purse: What it may still spend.
        asks: How it reaches a person.
        hub: Where it publishes.
        receipts: The chain, None when receipts are off.
        system_prompt: Builds the system prompt anew (instructions may have changed).
        spawn: Starts a sub-agent under this agent.
        narrow: Gives a sub-agent's kit its own tools, prompt and executor: (kit, request, path) ->
            kit, by the settings this kit was made with; ToolFailure where there is no such
            executor.
        stopped: Why no tool may run now, "" if they may (the emergency stop).
        leash: Holds the tools that run, for the emergency stop.
        seen: What this agent has read.
        environ: The environment tools give to programs.
        workspace: Absolute, links resolved.
        notes: Folder of the project notes.
        snapshots: Of the workspace, around what can write.
        walls: Around shell commands; ready before a turn or a call begins.
        recall: Searches earlier conversations: (query, most hits) -> best first.
        kept: What of its own conversation need not be on the wire, see `ToolContext.kept`.
        gauge: Counts tokens for its model.
        context: What it is sent of a long conversation.
        key: A key the person gave for a service, by its environment name; "" if none.
        secrets: What happens to an output that holds something shaped like a key.
        limits: What stops a turn, a tool, an answer.
        family: Limits for sub-agents.
        book: What is known of models: windows, prices.
        foreign: True where the provider makes the calls itself, outside our walls.
    """

    agent: str
    session_id: str
    provider: Provider
    provider_name: str
    model: str
    toolset: Toolset
    specs: tuple[ToolSpec, ...]
    rules: Rules
    purse: Purse
    asks: Asks
    hub: Hub
    receipts: ReceiptLog | None
    system_prompt: Callable[[], str]
    spawn: Callable[[SpawnRequest], Awaitable[ChildReport]]
    narrow: Callable[[Kit, SpawnRequest, str], Awaitable[Kit]]
    stopped: Callable[[], str]
    leash: Leash
    seen: SeenFiles
    environ: Mapping[str, str]
    workspace: Path
    notes: Path
    snapshots: Snapshots
    walls: Walls
    recall: Callable[[str, int], Awaitable[tuple[Recalled, ...]]]
    kept: Callable[[str], tuple[Kept, ...]]
    gauge: Gauge
    context: ContextSettings
    key: Callable[[str], str]
    secrets: Literal["mask", "ask", "allow"]
    limits: LimitsSettings
    family: AgentsSettings
    book: ModelBook
    foreign: bool = False

    @property
    def tools(self) -> Mapping[str, AnyTool]:
        """What it may use, by canonical name."""
        return self.toolset.tools

    def resolve(self, name: str) -> AnyTool | None:
        """From any name or alias to a tool of this kit, None if there is none."""
        return self.toolset.resolve(name)

    async def priced(self, response: ChatResponse) -> Usage:
        """What an answer took, with its cost by the list of prices where nobody told it."""
        await self.book.load()
        provider, model = response.provider or self.provider_name, response.model or self.model
        return self.book.priced(provider, model, response.usage)

    @property
    def context_window(self) -> int:
        """What its model takes, in tokens; 0 if unknown."""
        told = self.provider.capabilities().context_window
        return told or self.book.known_window(self.provider_name, self.model)

    @property
    def sandbox(self) -> Sandbox:
        """The walls as they are now."""
        return self.walls.sandbox

    @property
    def is_root(self) -> bool:
        """True for the agent the person talks to."""
        return self.agent == ROOT

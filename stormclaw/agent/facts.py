"""What a run is: where it works, with which model, policy and record; read by every front end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stormclaw.agent.instructions import Instructions
from stormclaw.agent.rules import Rules
from stormclaw.agent.toolset import Channel
from stormclaw.agent.workshop import Workshop
from stormclaw.config.place import Place, branch_of
from stormclaw.config.settings import Settings
from stormclaw.protocol.effects import Autonomy
from stormclaw.protocol.tool import AnyTool
from stormclaw.providers.ways import Way
from stormclaw.security import estop
from stormclaw.security.sandbox import Sandbox
from stormclaw.store.memory import Memory
from stormclaw.store.receipts import ReceiptLog


class Facts:
    """Looked up in the workshop each time: what changed while it runs is seen at once."""

    _shop: Workshop

    @property
    def place(self) -> Place:
        """Where and with which settings it runs."""
        return self._shop.place

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.place.settings

    @property
    def home(self) -> Path:
        """StormClaw's own folder."""
        return self.place.home

    @property
    def workspace(self) -> Path:
        """The folder worked in."""
        return self.place.workspace

    @property
    def branch(self) -> str:
        """The git branch checked out now, "" outside git."""
        return branch_of(self.workspace)

    @property
    def channel(self) -> Channel:
        """The front end it works for."""
        return self._shop.channel

    @property
    def way(self) -> Way:
        """The way to the model in use."""
        return self._shop.way

    @property
    def model_label(self) -> str:
        """The model's name without its vendor: `sonnet-4.5`."""
        return self.way.model.rpartition("/")[2] or "its own model"

    @property
    def provider_label(self) -> str:
        """Our name of the provider."""
        return self.way.name

    @property
    def scripted(self) -> bool:
        """Whether the answers are a script's, not a model's."""
        return self._shop.provider.capabilities().scripted

    @property
    def sandbox(self) -> Sandbox:
        """The walls around shell commands."""
        return self._shop.walls.sandbox

    @property
    def rules(self) -> Rules:
        """The live policy."""
        return self._shop.rules

    @property
    def autonomy(self) -> Autonomy:
        """How much may happen without asking."""
        return self.rules.autonomy

    @property
    def receipts(self) -> ReceiptLog | None:
        """The chain, None when receipts are off."""
        return self._shop.receipts

    @property
    def memory(self) -> Memory:
        """The index over all sessions."""
        return self._shop.memory

    @property
    def tools(self) -> Mapping[str, AnyTool]:
        """The tools this front end has, by canonical name."""
        return self._shop.toolset.tools

    @property
    def instructions(self) -> tuple[Instructions, ...]:
        """The instruction files that count now."""
        return self._shop.reader.current()

    @property
    def estopped(self) -> bool:
        """Whether the emergency stop is set."""
        return estop.is_stopped(self.home)

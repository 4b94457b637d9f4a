"""What all sessions of a run share, and how a session is put together from it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from stormclaw.agent import prompt, small_prompt
from stormclaw.agent.asks import Asks
from stormclaw.agent.budget import Purse
from stormclaw.agent.children import Family, narrowed
from stormclaw.agent.context.tokens import Gauge
from stormclaw.agent.conversation import Conversation
from stormclaw.agent.executors import AgentExecutor, Executors
from stormclaw.agent.history.snapshots import Snapshots
from stormclaw.agent.hub import Hub
from stormclaw.agent.instructions import InstructionReader
from stormclaw.agent.journal import Journal
from stormclaw.agent.kit import Kit
from stormclaw.agent.leash import Leash
from stormclaw.agent.rules import Rules
from stormclaw.agent.session import Session
from stormclaw.agent.toolset import Channel, Toolset, canonical, toolset
from stormclaw.agent.walls import Walls
from stormclaw.config.place import Place, branch_of
from stormclaw.errors import StoreError, ToolFailure
from stormclaw.protocol.events import Notice
from stormclaw.protocol.messages import (
    NO_USAGE,
    ROOT,
    AssistantTurn,
    ContextEdit,
    Node,
    Summary,
    Usage,
)
from stormclaw.protocol.provider import Provider
from stormclaw.protocol.tool import ChildReport, Recalled, SeenFiles, SpawnRequest
from stormclaw.providers.models import ModelBook
from stormclaw.providers.ways import Way
from stormclaw.security import estop
from stormclaw.security.tool_policy import child_layers_of
from stormclaw.store import sessions, transcripts
from stormclaw.store.checkpoints import Checkpoints
from stormclaw.store.memory import Memory
from stormclaw.store.notes import read_notes
from stormclaw.store.receipts import ReceiptLog
from stormclaw.store.sessions import SessionInfo

LOG = logging.getLogger(__name__)

NOTES = Path(".stormclaw") / "memory"


@dataclass(frozen=True)
class Workshop:
    """The shared things.

    Attributes:
        place: Where and with which settings.
        channel: The front end.
        way: The way to the model.
        provider: The same, connected.
        toolset: The tools of the agent a person talks to.
        rules: The live policy.
        receipts: The chain, None when receipts are off.
        memory: The index over all sessions.
        reader: Reads the instruction files.
        environ: What tools give to programs.
        walls: Around shell commands.
        checkpoints: Snapshots of the workspace, None when they are switched off.
        attended: Whether a person can answer.
        executors: Who else can do a task.
        book: What is known of models.
        leash: Holds the tools that run.
    """

    place: Place
    channel: Channel
    way: Way
    provider: Provider
    toolset: Toolset
    rules: Rules
    receipts: ReceiptLog | None
    memory: Memory
    reader: InstructionReader
    environ: Mapping[str, str]
    walls: Walls
    checkpoints: Checkpoints | None
    attended: bool
    executors: Executors
    book: ModelBook
    leash: Leash = field(default_factory=Leash)

    def open(self, session_id: str = "") -> Session:
        """A session: a new one, or an earlier one by id or its beginning. Blocks.

        Raises:
            UsageError: No such session.
            StoreError: It cannot be made, read, or is open elsewhere.
        """
        place, way = self.place, self.way
        if session_id:
            info = sessions.load(place.home, session_id)
        else:
            info = sessions.create(place.home, place.workspace, way.model, way.name)
        folder = sessions.folder(place.home, info.id)
        transcript = transcripts.Transcript(folder)
        try:
            reading = transcripts.read(folder)
        except StoreError:
            transcript.close()
            raise
        return self._assemble(info, transcript, reading)

    def kit(self, session_id: str, hub: Hub, usage: Usage = NO_USAGE) -> Kit:
        """The root agent's kit; sub-agents can be started once a session has equipped it."""
        settings, home = self.place.settings, self.place.home
        limits = settings.agents
        return Kit(
            agent=ROOT,
            session_id=session_id,
            provider=self.provider,
            provider_name=self.way.name,
            model=self.way.model,
            toolset=self.toolset,
            specs=self.toolset.specs(),
            rules=self.rules,
            purse=Purse(
                ROOT, limit_usd=limits.budget_usd, limit_tokens=limits.budget_tokens, usage=usage
            ),
            asks=Asks(hub, attended=self.attended),
            hub=hub,
            receipts=self.receipts,
            system_prompt=lambda: self.prompt(ROOT, self.way.model, self.provider),
            spawn=_nobody,
            narrow=self._narrow,
            stopped=lambda: estop.reason(home),
            leash=self.leash,
            seen=SeenFiles(),
            environ=self.environ,
            workspace=self.place.workspace,
            notes=self.place.workspace / NOTES,
            snapshots=Snapshots(
                self.checkpoints,
                session_id,
                lambda text: hub.publish(Notice(ROOT, "warning", text)),
            ),
            walls=self.walls,
            recall=self._recall,
            kept=lambda wanted: (),
            gauge=Gauge(),
            context=settings.context,
            key=lambda name: self.place.env.get(name, ""),
            secrets=settings.security.secrets,
            limits=settings.limits,
            family=limits,
            book=self.book,
        )

    def loose_kit(self, hub: Hub) -> Kit:
        """A kit outside any session, where nothing could be taken back."""
        kit = self.kit("by-hand", hub)
        return replace(kit, snapshots=Snapshots(None, kit.session_id, LOG.warning))

    def refitted(self, place: Place, way: Way, provider: Provider) -> Workshop:
        """The same workshop after the settings or the way to the model changed."""
        tools = toolset(place, self.toolset.registry, way.name, self.channel)
        book = self.book
        if place.settings.providers != self.place.settings.providers:
            book = ModelBook(place.settings.providers.models, place.home)
        return replace(self, place=place, way=way, provider=provider, toolset=tools, book=book)

    def refit(self, kit: Kit) -> Kit:
        """A root kit of before, with what this workshop now has."""
        settings = self.place.settings
        return replace(
            kit,
            provider=self.provider,
            provider_name=self.way.name,
            model=self.way.model,
            toolset=self.toolset,
            specs=self.toolset.specs(),
            system_prompt=lambda: self.prompt(ROOT, self.way.model, self.provider),
            secrets=settings.security.secrets,
            narrow=self._narrow,
            book=self.book,
            gauge=Gauge() if kit.model != self.way.model else kit.gauge,
            context=settings.context,
            limits=settings.limits,
            family=settings.agents,
        )

    def prompt(self, agent: str, model: str, provider: Provider) -> str:
        """The system prompt of an agent that works with this provider, as of now."""
        workspace, can = self.place.workspace, provider.capabilities()
        brief = prompt.Brief(
            agent=agent,
            model=model or provider.name,
            acts=can.acts,
            workspace=workspace,
            branch=branch_of(workspace),
            today=datetime.now().astimezone().date(),
            walled=self.walls.sandbox.level != "none",
            instructions=self.reader.current(),
            notes=_notes(workspace / NOTES),
        )
        build = small_prompt.build if can.small else prompt.build
        return build(brief)

    def _assemble(
        self, info: SessionInfo, transcript: transcripts.Transcript, reading: transcripts.Reading
    ) -> Session:
        hub = Hub()
        journal = Journal(
            transcript,
            self.memory,
            lambda: session.info,
            lambda text: hub.publish(Notice(ROOT, "warning", text)),
        )
        talks: dict[str, list[Node]] = {ROOT: []}
        for node in reading.nodes:
            talks.setdefault(node.agent, []).append(node)
        conversations = {
            agent: Conversation(agent, journal, hub, nodes) for agent, nodes in talks.items()
        }
        root = conversations.pop(ROOT)
        family = Family(lambda agent: Conversation(agent, journal, hub))
        family.adopt(conversations)
        session = Session(
            info,
            self.kit(info.id, hub, _spent(reading.nodes)),
            root,
            family,
            journal,
            lambda changed: sessions.save(self.place.home, changed),
            problems=(*transcript.problems, *reading.problems, *self._remarks()),
        )
        return session

    def close(self) -> None:
        """Give the files back. Blocks."""
        if self.checkpoints is not None:
            self.checkpoints.close()
        self.memory.close()
        if self.receipts is not None:
            self.receipts.close()

    def _remarks(self) -> tuple[str, ...]:
        """What a person should know about this workshop before work begins."""
        receipts = self.place.settings.receipts
        lacking = receipts.enabled and receipts.hmac_key_env not in ("", *self.place.env)
        key = f"{receipts.hmac_key_env} is not set: no receipt can be sealed, so no tool can run"
        return (*self.toolset.warnings, *((key,) if lacking else ()))

    async def _narrow(self, parent: Kit, request: SpawnRequest, path: str) -> Kit:
        registry = self.toolset.registry
        executor = await self._executor(parent, request)
        layers = child_layers_of(
            self.place.settings,
            self.place.loaded.origins,
            lambda name: canonical(registry, name),
            wanted=request.tools,
            provider=executor.name if executor else "",
        )
        child = narrowed(parent, path, layers)
        child = executor.equipped(child) if executor else child
        return replace(child, system_prompt=lambda: self.prompt(path, child.model, child.provider))

    async def _executor(self, parent: Kit, request: SpawnRequest) -> AgentExecutor | None:
        """Who does a sub-agent's work, None for whoever works for its parent."""
        if not request.executor and request.model in ("", parent.model):
            return None
        return await self.executors.get(
            self.place, request.executor, request.model, parent.provider_name
        )

    async def _recall(self, query: str, most: int) -> tuple[Recalled, ...]:
        hits = await asyncio.to_thread(self.memory.search, query, most)
        return tuple(
            Recalled(
                hit.conversation_id,
                hit.title,
                hit.timestamp,
                hit.role,
                hit.snippet,
                hit.agent,
                hit.place,
            )
            for hit in hits
        )


def _notes(folder: Path) -> str:
    try:
        return read_notes(folder)
    except StoreError as error:
        LOG.warning("project notes left out: %s", error)
        return ""


def _spent(nodes: tuple[Node, ...]) -> Usage:
    total = NO_USAGE
    for node in nodes:
        if isinstance(node.body, AssistantTurn | Summary | ContextEdit):
            total = total + node.body.usage
    return total


async def _nobody(request: SpawnRequest) -> ChildReport:
    raise ToolFailure(f"no session to start {request.name or 'a sub-agent'} in")

"""A stage for the terminal app: a session that says what a test tells it to, on the real app."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from still import came
from textual.pilot import Pilot

from stormclaw.agent.history.values import Leaf, Preview, Returned
from stormclaw.agent.hub import Hub, Subscription
from stormclaw.config.settings import ModelSettings, Settings, UiSettings
from stormclaw.protocol.asks import Ask, Reply
from stormclaw.protocol.effects import Autonomy
from stormclaw.protocol.events import Answered, Asked, Event, Notice
from stormclaw.protocol.messages import NO_USAGE, ROOT, Node
from stormclaw.providers.ways import Way
from stormclaw.security.sandbox import Sandbox
from stormclaw.store import session_ops
from stormclaw.store.memory import Memory
from stormclaw.store.receipts import ReceiptLog
from stormclaw.store.sessions import SessionInfo
from stormclaw.ui.app import StormApp
from stormclaw.ui.start import Start

NOON = 1_792_000_000.0
"""The wall clock of every test, Unix seconds."""


class Clock:
    """Seconds that go on when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def go(self, seconds: float) -> None:
        self.now += seconds


class StageHistory:
    """A tree a test made up; what is asked of it is written down in `done`."""

    def __init__(self) -> None:
        self.leaves: tuple[Leaf, ...] = ()
        self.previews: dict[str, Preview | Exception] = {}
        self.back: Returned | Exception | None = Returned()
        self.done: list[tuple[Any, ...]] = []
        self.gate: asyncio.Event | None = None
        """While unset no preview is ready."""

    def tree(self) -> tuple[Leaf, ...]:
        return self.leaves

    async def learn(self) -> None:
        return None

    async def preview(self, leaf_id: str) -> Preview:
        self.done.append(("preview", leaf_id))
        if self.gate is not None:
            await self.gate.wait()
        found = self.previews.get(leaf_id, Preview(leaf_id, NOON, 1))
        if isinstance(found, Exception):
            raise found
        return found

    async def rewind(
        self, leaf_id: str, *, conversation: bool, files: bool, force: bool = False
    ) -> Returned:
        return self._back("rewind", leaf_id, conversation, files, force) or Returned()

    async def go(self, leaf_id: str) -> Returned:
        return self._back("go", leaf_id) or Returned()

    async def undo(self) -> Returned | None:
        return self._back("undo")

    async def redo(self) -> Returned | None:
        return self._back("redo")

    async def label(self, node_id: str, text: str) -> None:
        self.done.append(("label", node_id, text))

    async def mark(self, text: str) -> bool:
        self.done.append(("mark", text))
        return bool(self.leaves)

    def _back(self, *what: Any) -> Returned | None:
        self.done.append(what)
        if isinstance(self.back, Exception):
            raise self.back
        return self.back


class StageSession:
    """The six things a front end may do to a session, written down."""

    def __init__(self, nodes: Mapping[str, tuple[Node, ...]] | None = None) -> None:
        self.id = "20261122-120000-test"
        self.title = ""
        self.busy = False
        self.waiting: list[str] = []
        self.said: list[str] = []
        self.steered: list[tuple[str, str]] = []
        self.replies: list[tuple[str, Reply]] = []
        self.interrupted: list[str] = []
        self.hub = Hub()
        self._nodes = dict(nodes or {})
        self.asks: list[Ask] = []
        self.steerable = True
        self.problems: tuple[str, ...] = ()
        self.history = StageHistory()
        self.workspace = Path("/tidepool")
        self.usage = NO_USAGE

    @property
    def info(self) -> SessionInfo:
        began, name = NOON - 900, "openrouter"
        return SessionInfo(self.id, self.workspace, self.title, began, NOON, "sonnet-4.5", name)

    @property
    def queued(self) -> tuple[str, ...]:
        return tuple(self.waiting)

    @property
    def open_asks(self) -> tuple[Ask, ...]:
        return tuple(self.asks)

    def events(self) -> Subscription:
        return self.hub.subscribe()

    def nodes(self, agent: str = ROOT) -> tuple[Node, ...]:
        return self._nodes.get(agent, ())

    def children(self) -> tuple[str, ...]:
        return tuple(agent for agent in self._nodes if agent != ROOT)

    def prompt(self, text: str) -> str:
        self.said.append(text)
        if self.busy:
            self.waiting.append(text)
            return "queued"
        return "started"

    def unqueue(self) -> str | None:
        return self.waiting.pop() if self.waiting else None

    def steer(self, text: str, agent: str = ROOT) -> bool:
        if self.steerable and (self.busy or agent != ROOT):
            self.steered.append((agent, text))
            return True
        return False

    def answer(self, ask_id: str, reply: Reply) -> bool:
        self.replies.append((ask_id, reply))
        asked = [ask for ask in self.asks if ask.id == ask_id]
        self.asks = [ask for ask in self.asks if ask.id != ask_id]
        for ask in asked:
            self.hub.publish(Answered(ask.agent, ask.id, reply))
        return bool(asked)

    def interrupt(self, agent: str = ROOT) -> bool:
        if agent == ROOT and not self.busy:
            return False
        self.interrupted.append(agent)
        return True


class StageRuntime:
    """What the app reads off a runtime; the receipts are a real log in a temporary folder."""

    def __init__(self, home: Path, workspace: Path, session: StageSession) -> None:
        self.home, self.workspace, self.session = home, workspace, session
        self.receipts: ReceiptLog | None = ReceiptLog(home / "receipts.log")
        self.branch, self.model_label, self.provider_label = "main", "sonnet-4.5", "openrouter"
        self.way = Way(
            "openrouter", ModelSettings("openai-compatible", "anthropic/sonnet-4.5"), None, ""
        )
        self.scripted, self.estopped = False, False
        self.autonomy: Autonomy = "supervised"
        self.sandbox = Sandbox("bwrap")
        self.settings = Settings()
        self.instructions: tuple[Any, ...] = ()
        loaded = SimpleNamespace(warnings=())
        self.place = SimpleNamespace(
            env={}, trusted=True, home=home, workspace=workspace, loaded=loaded
        )
        self.opened: list[str] = []
        self.closed, self.reloaded = False, 0
        self._listeners: list[Callable[[], None]] = []

    def subscribe(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def reload(self) -> None:
        self.reloaded += 1

    def changed(self) -> None:
        for listener in self._listeners:
            listener()

    def set_autonomy(self, level: Autonomy) -> None:
        self.autonomy = level
        self.changed()

    @property
    def memory(self) -> Memory:
        return Memory(self.home / "memory.db")

    def tell(self, level: Any, text: str, detail: str = "") -> None:
        self.session.hub.publish(Notice(ROOT, level, text, detail))

    async def rename_session(self, title: str, session_id: str = "") -> str:
        if session_id in ("", self.session.id):
            self.session.title = title
            return title
        return session_ops.rename(self.home, session_id, title).title

    async def delete_session(self, session_id: str) -> None:
        session_ops.remove(self.home, session_id, self.memory)

    async def open_session(self, session_id: str = "") -> StageSession:
        self.opened.append(session_id)
        self.session.hub.close()
        self.session = StageSession()
        return self.session

    async def close(self) -> None:
        self.closed = True


@dataclass
class Stage:
    """An app on a stage: `emit` events, look at `session`, move the `clock`."""

    home: Path
    workspace: Path
    session: StageSession = field(default_factory=StageSession)
    ui: UiSettings = field(default_factory=lambda: UiSettings(motion="reduced"))
    start: Mapping[str, Any] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    gate: asyncio.Event | None = None
    """While unset the runtime stays closed."""

    def __post_init__(self) -> None:
        self.session.workspace = self.workspace
        self.runtime = StageRuntime(self.home, self.workspace, self.session)
        self.runtime.settings = Settings(ui=self.ui)

    def app(self) -> StormApp:
        facts: dict[str, Any] = {"branch": "main", "model_label": "sonnet-4.5"}
        facts |= {"provider_label": "openrouter", **self.start}
        start = Start(self.home, self.workspace, ui=self.ui, **facts)
        app = StormApp(start, cast(Any, self._open), clock=self.clock, wall=lambda: NOON)
        app.heart.pace_s = 0.0
        self.storm = app
        return app

    async def _open(self) -> StageRuntime:
        if self.gate is not None:
            await self.gate.wait()
        return self.runtime

    async def ready(self, pilot: Pilot[Any]) -> None:
        """Return when the session is on the screen and everything has been drawn."""
        await self.until(
            pilot, lambda: self.storm.session is not None and self.storm.chain is not None
        )
        await pilot.pause()

    async def until(self, pilot: Pilot[Any], holds: Callable[[], object]) -> None:
        """Return when `holds()` is true; fail when it never gets so."""
        assert await came(pilot, holds), "it never came to that"

    def emit(self, *events: Event) -> None:
        for event in events:
            if isinstance(event, Asked):
                self.session.asks.append(event.ask)
            self.session.hub.publish(event)

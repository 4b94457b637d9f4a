"""A StormClaw of one's own for a test: own home, own project, the mock provider playing a script.

Nothing in here replaces a part of the program: it is composed by `open_runtime` as always.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml

from stormclaw.agent.hub import Subscription
from stormclaw.agent.session import Session
from stormclaw.config.place import Place, find_place
from stormclaw.protocol.asks import Ask, Permission, Reply
from stormclaw.protocol.events import Asked, Event, TurnEnded
from stormclaw.protocol.messages import ROOT, Body, ToolOutcome, outcome_of
from stormclaw.providers.choose import DEMO
from stormclaw.providers.presets import PRESETS
from stormclaw.providers.registry import kinds
from stormclaw.runtime import Runtime, open_runtime

E = TypeVar("E")
PATIENCE_S = 60.0
"""How long a test waits for an event before it fails; never reached when all is well."""

Turns = Sequence[Mapping[str, Any]]


def call(name: str, call_id: str = "", /, **arguments: Any) -> dict[str, Any]:
    """A tool call for a scripted turn."""
    made: dict[str, Any] = {"name": name, "arguments": arguments}
    return {**made, "id": call_id} if call_id else made


def calls(*made: Mapping[str, Any], text: str = "") -> dict[str, Any]:
    """A scripted turn that calls tools."""
    return {"text": text, "calls": list(made)}


@dataclass
class Desk:
    """A home and a project in a temporary folder.

    Attributes:
        root: The temporary folder.
        home: StormClaw's folder.
        project: The workspace.
        env: The environment programs get.
    """

    root: Path
    home: Path = field(init=False)
    project: Path = field(init=False)
    env: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.home = self.root / "home" / ".stormclaw"
        self.project = self.root / "project"
        self.home.mkdir(parents=True)
        self.project.mkdir()
        self.env = {
            "HOME": str(self.root / "home"),
            "STORMCLAW_HOME": str(self.home),
            "PATH": _path(),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        }

    def script(self, turns: Turns, agents: Mapping[str, Turns] | None = None) -> None:
        """Configure the mock provider with these answers, keeping other settings."""
        script: dict[str, Any] = {"turns": [dict(turn) for turn in turns]}
        if agents:
            script["agents"] = {
                name: {"turns": [dict(turn) for turn in own]} for name, own in agents.items()
            }
        fixture = self.root / "fixture.yaml"
        fixture.write_text(yaml.safe_dump(script))
        local = {"kind": "mock", "model": "mock", "script": str(fixture)}
        self.configure({"default_provider": "local", "providers": {"models": {"local": local}}})

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Merge settings into the home's config.yaml, top level keys and one level below."""
        path = self.home / "config.yaml"
        current: dict[str, Any] = yaml.safe_load(path.read_text()) if path.exists() else {}
        for key, value in settings.items():
            both = isinstance(value, Mapping) and isinstance(current.get(key), Mapping)
            current[key] = {**current[key], **value} if both else value
        path.write_text(yaml.safe_dump(current))

    def write(self, name: str, text: str) -> Path:
        """A file in the project."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def place(self, **flags: object) -> Place:
        """Where a run in the project works."""
        return find_place(
            cwd=self.project,
            workspace=self.project,
            env=self.env,
            flags=flags,
            presets=(*(preset.name for preset in PRESETS), DEMO),
            kinds=kinds(),
        )

    async def open(self, *, attended: bool = True, session_id: str = "") -> Runtime:
        """A runtime on the project; close it."""
        return await open_runtime(self.place(), "cli", attended=attended, session_id=session_id)


class Ear:
    """Listens to a session, remembers everything, waits for what a test is after."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.heard: list[Event] = []
        self._events: Subscription = session.events()

    async def until(self, kind: type[E], matching: Callable[[E], bool] = lambda _: True) -> E:
        """The next event of a kind (that `matching` accepts)."""
        async with asyncio.timeout(PATIENCE_S):
            async for event in self._events:
                self.heard.append(event)
                if isinstance(event, kind) and matching(event):
                    return event
        raise AssertionError(f"the session ended before {kind.__name__}")

    async def ask(self) -> Ask:
        """The next question."""
        return (await self.until(Asked)).ask

    async def permission(self) -> Permission:
        """The next question, which must be a permission."""
        ask = await self.ask()
        assert isinstance(ask, Permission), ask
        return ask

    async def answer(self, reply: Reply) -> Permission:
        """Answer the next permission question."""
        ask = await self.permission()
        assert self.session.answer(ask.id, reply)
        return ask

    async def end(self, agent: str = ROOT) -> TurnEnded:
        """The end of the turn."""
        ended = await self.until(TurnEnded, lambda event: event.agent == agent)
        if agent == ROOT:
            await self.session.idle()
        self.heard += self._events.waiting()
        return ended

    def of(self, kind: type[E]) -> list[E]:
        """Everything of a kind heard so far."""
        return [event for event in self.heard if isinstance(event, kind)]


def bodies(session: Session, agent: str = ROOT) -> list[Body]:
    """What is in a conversation."""
    return [node.body for node in session.nodes(agent)]


def outcomes(session: Session, agent: str = ROOT) -> list[ToolOutcome]:
    """The tool outcomes in a conversation."""
    return [found for body in bodies(session, agent) if (found := outcome_of(body))]


def _path() -> str:
    import os
    import sys

    return os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))

"""Lives a scripted conversation through the whole program, and keeps every request it makes."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import yaml

from benchmarks.hundred import Script
from stormclaw.agent.context.tokens import Gauge
from stormclaw.config.place import Place, find_place
from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.events import TurnEnded
from stormclaw.protocol.messages import ContextEdit, Node, Summary
from stormclaw.protocol.provider import Capabilities, ChatRequest, ChatResponse, Delta, Provider
from stormclaw.providers._openai.wire import Wire
from stormclaw.providers.choose import DEMO
from stormclaw.providers.presets import PRESETS
from stormclaw.providers.quirks import Quirks
from stormclaw.providers.registry import kinds
from stormclaw.runtime import Runtime, open_runtime

ENDING = 64
"""Bytes that follow the last message of a request."""


class Recorder(Provider):
    """Asks another provider and keeps what the root agent's requests come to.

    Attributes:
        tokens: Of each request, as estimated before anything was learnt.
        sizes: Bytes of each request's messages, as they would go out.
        same: How many of them stood at the same place in the request before.
    """

    def __init__(self, inner: Provider) -> None:
        self.name, self.model = inner.name, inner.model
        self.tokens: list[int] = []
        self.sizes: list[int] = []
        self.same: list[int] = []
        self._inner = inner
        self._gauge = Gauge()
        self._wire = Wire("long-talk", ModelSettings("openai-compatible"))
        self._before = b""

    def capabilities(self) -> Capabilities:
        """As the other's."""
        return self._inner.capabilities()

    async def stream(self, request: ChatRequest) -> AsyncIterator[Delta | ChatResponse]:
        """Keep the request, pass it on."""
        if request.metadata.get("agent") == "root":
            self._keep(request)
        async for item in self._inner.stream(request):
            yield item

    def _keep(self, request: ChatRequest) -> None:
        tokens = self._gauge.request(request.system_prompt, request.tools, request.messages)
        self.tokens.append(tokens)
        content = self._wire.body(replace(request, tools=()), "m", Quirks()).content
        self.sizes.append(len(content))
        self.same.append(_same(self._before, content))
        self._before = content


def _same(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(frozen=True)
class Lived:
    """What came of it.

    Attributes:
        requests: Tokens of each request.
        sizes: Bytes of each request's messages.
        same: How many of them stood at the same place in the request before.
        nodes: The conversation in the end.
        reasons: How the turns ended.
    """

    requests: Sequence[int]
    sizes: Sequence[int]
    same: Sequence[int]
    nodes: Sequence[Node]
    reasons: Sequence[str]

    @property
    def cacheable(self) -> float:
        """The part of all bytes sent that a provider may have kept from the request before."""
        return sum(self.same) / sum(self.sizes)

    @property
    def moved(self) -> int:
        """How many requests did not begin with all of the one before."""
        pairs = zip(self.sizes, self.same[1:], strict=False)
        return sum(same < size - ENDING for size, same in pairs)

    @property
    def raw(self) -> int:
        """Tokens of all that was said and done."""
        gauge = Gauge()
        return sum(gauge.of(node.body) for node in self.nodes)

    @property
    def edits(self) -> int:
        """How often something was held back or summed up."""
        return sum(isinstance(node.body, ContextEdit | Summary) for node in self.nodes)


@dataclass
class Folder:
    """A home and a project below one folder."""

    root: Path
    home: Path = field(init=False)
    project: Path = field(init=False)

    def __post_init__(self) -> None:
        self.home, self.project = self.root / "home" / ".stormclaw", self.root / "project"
        self.home.mkdir(parents=True)
        self.project.mkdir()

    def lay_out(self, script: Script) -> None:
        """Write the project and the configuration."""
        for name, text in script.files.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        played = {"turns": script.turns, "agents": script.scouts}
        fixture = self.root / "script.yaml"
        fixture.write_text(yaml.dump(played, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)))
        local = {"kind": "mock", "model": "mock", "script": str(fixture)}
        settings = {
            "default_provider": "local",
            "providers": {"models": {"local": local}},
            "security": {"autonomy": "full", "sandbox": "off"},
            "checkpoints": {"enabled": False},
        }
        (self.home / "config.yaml").write_text(yaml.safe_dump(settings))

    def place(self) -> Place:
        """Where it is lived."""
        env = {
            "HOME": str(self.root / "home"),
            "STORMCLAW_HOME": str(self.home),
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "LANG": "C.UTF-8",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        }
        presets = (*(preset.name for preset in PRESETS), DEMO)
        return find_place(
            cwd=self.project,
            workspace=self.project,
            env=env,
            flags={},
            presets=presets,
            kinds=kinds(),
        )


async def live(folder: Path, script: Script) -> Lived:
    """Live a script from its first prompt to its last, with the settings as they are shipped."""
    place = Folder(folder)
    place.lay_out(script)
    runtime = await open_runtime(place.place(), "cli", attended=False)
    try:
        return await _talk(runtime, script)
    finally:
        await runtime.close()


async def _talk(runtime: Runtime, script: Script) -> Lived:
    session = runtime.session
    recorder = Recorder(session.kit.provider)
    session.use(replace(session.kit, provider=recorder), session.info)
    events = session.events()
    reasons: list[str] = []
    for prompt in script.prompts:
        session.prompt(prompt)
        async for event in events:
            if isinstance(event, TurnEnded) and event.agent == "root":
                reasons.append(event.reason)
                break
        await session.idle()
        if reasons[-1] != "done":
            break
    return Lived(recorder.tokens, recorder.sizes, recorder.same, session.nodes(), reasons)

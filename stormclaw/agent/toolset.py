"""Which tools an agent has: everything there is, less what each layer of lists takes away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from stormclaw.config.place import Place
from stormclaw.protocol.provider import ToolSpec
from stormclaw.protocol.tool import AnyTool
from stormclaw.security.tool_policy import Layer, layers_of, refusal, sift, unknown
from stormclaw.tools.registry import Registry
from stormclaw.tools.schema import spec_of

Channel: TypeAlias = Literal["cli", "tui"]


@dataclass(frozen=True)
class Toolset:
    """An agent's tools.

    Attributes:
        registry: Every tool there is, by all of its names.
        tools: Those the agent has, by canonical name.
        taken: Canonical name -> the list that took it away, with its place.
        warnings: Names in those lists that no tool has.
    """

    registry: Registry
    tools: Mapping[str, AnyTool]
    taken: Mapping[str, str]
    warnings: tuple[str, ...] = ()

    def resolve(self, name: str) -> AnyTool | None:
        """The tool of this agent that a name or alias means, None if it has none."""
        tool = self.registry.resolve(name)
        return tool if tool is not None and tool.name in self.tools else None

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as they are advertised."""
        return tuple(map(spec_of, self.tools.values()))

    def absent(self, name: str) -> str:
        """What a model is told that asks for a tool this agent does not have."""
        tool = self.registry.resolve(name)
        if tool is not None and (by := self.taken.get(tool.name)):
            return refusal(tool.name, by)
        return f"there is no tool {name!r} here; there are: {', '.join(sorted(self.tools))}"

    def narrowed(self, layers: Iterable[Layer]) -> Toolset:
        """The same less what further layers take away."""
        lists = tuple(layers)
        fate = sift(self.tools, lists)
        return Toolset(
            self.registry,
            {name: tool for name, tool in self.tools.items() if not fate[name]},
            {**self.taken, **{name: by for name, by in fate.items() if by}},
            (*self.warnings, *unknown(lists, self.registry.tools)),
        )


def canonical(registry: Registry, name: str) -> str:
    """The canonical name of a tool, "" if no tool is called so."""
    tool = registry.resolve(name)
    return tool.name if tool is not None else ""


def toolset(place: Place, registry: Registry, provider: str, channel: Channel) -> Toolset:
    """The tools of the agent a person talks to, with this provider, in this front end."""
    layers = layers_of(
        place.settings,
        place.loaded.origins,
        lambda name: canonical(registry, name),
        provider=provider,
        channel=channel,
    )
    return Toolset(registry, registry.tools, {}).narrowed(layers)

"""Which tools an agent has: layers of lists, each of which can only take away.

Widest first: everything, the provider, the front end, the agent, sub-agents, this sub-agent. Names
are canonical here, or patterns (`mcp__*`); what an alias means is told by whoever knows the tools.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stormclaw.config.settings import Settings
from stormclaw.config.shapes import Key, dotted

NO_PLACE = ("", "defaults")


@dataclass(frozen=True, slots=True)
class Layer:
    """One list that takes tools away.

    Attributes:
        key: The dotted setting, or what else asked for it: `agents.child_tools_deny`.
        names: Canonical tool names or patterns.
        keeps: True for a list of all that is left, False for a list of what goes.
        origin: Where the setting was made, `file:line`; "" where there is no such place.
        strange: What stands in the list and is no tool's name.
    """

    key: str
    names: tuple[str, ...]
    keeps: bool
    origin: str = ""
    strange: tuple[str, ...] = ()

    def lets(self, tool: str) -> bool:
        """Whether this list leaves a tool where it is."""
        listed = any(fnmatch.fnmatchcase(tool, name) for name in self.names)
        return listed if self.keeps else not listed

    def __str__(self) -> str:
        return self.key if self.origin in NO_PLACE else f"{self.key} ({self.origin})"


def layers_of(
    settings: Settings,
    origins: Mapping[str, str],
    resolve: Callable[[str], str],
    *,
    provider: str = "",
    channel: str = "",
) -> tuple[Layer, ...]:
    """The layers that count for the agent a person talks to.

    Args:
        settings: The settings in force.
        origins: Dotted key -> where it was set, as `config.layers` tells.
        resolve: Name or alias -> canonical name, "" for what no tool is called.
        provider: Name under `providers.models` of what answers; "" or a preset has no lists.
        channel: `cli`, `tui`; "" for none.
    """
    found: list[Layer] = []

    def add(key: Key, names: tuple[str, ...] | None, *, keeps: bool) -> None:
        if names is not None and (keeps or names):
            name = dotted(key)
            found.append(_layer(name, names, resolve, keeps=keeps, origin=origins.get(name, "")))

    security, agents = settings.security, settings.agents
    add(("security", "tools_allow"), security.tools_allow, keeps=True)
    add(("security", "tools_deny"), security.tools_deny, keeps=False)
    model = settings.providers.models.get(provider)
    if model is not None:
        own = ("providers", "models", provider)
        add((*own, "tools_allow"), model.tools_allow, keeps=True)
        add((*own, "tools_deny"), model.tools_deny, keeps=False)
    front_end = getattr(settings.channels, channel, None) if channel else None
    if front_end is not None:
        add(("channels", channel, "tools_allow"), front_end.tools_allow, keeps=True)
    add(("agents", "tools_allow"), agents.tools_allow, keeps=True)
    add(("agents", "tools_deny"), agents.tools_deny, keeps=False)
    return tuple(found)


def child_layers_of(
    settings: Settings,
    origins: Mapping[str, str],
    resolve: Callable[[str], str],
    *,
    wanted: Sequence[str] = (),
    provider: str = "",
) -> tuple[Layer, ...]:
    """What a sub-agent loses on top of what its parent lacks.

    Args:
        settings: The settings in force.
        origins: As above.
        resolve: As above.
        wanted: `SpawnRequest.tools`; empty asks for all that the parent has.
        provider: Name of what answers it where that is not what answers its parent.
    """
    agents, model = settings.agents, settings.providers.models.get(provider)
    own = f"providers.models.{provider}"
    lists = (
        (f"{own}.tools_allow", model.tools_allow if model else None, True),
        (f"{own}.tools_deny", (model.tools_deny or None) if model else None, False),
        ("agents.child_tools_allow", agents.child_tools_allow, True),
        ("agents.child_tools_deny", agents.child_tools_deny or None, False),
    )
    found = [
        _layer(key, names, resolve, keeps=keeps, origin=origins.get(key, ""))
        for key, names, keeps in lists
        if names is not None
    ]
    if wanted:
        found.append(_layer("the spawn_agent call", tuple(wanted), resolve, keeps=True))
    return tuple(found)


def sift(tools: Iterable[str], layers: Iterable[Layer]) -> Mapping[str, str]:
    """Tool -> "" where it is left, else the first list that took it away, with its place.

    Args:
        tools: Canonical names of what there is to begin with; nothing else ever comes out.
        layers: Widest first.
    """
    ordered = tuple(layers)
    return {
        tool: next((str(layer) for layer in ordered if not layer.lets(tool)), "") for tool in tools
    }


def left(tools: Iterable[str], layers: Iterable[Layer]) -> tuple[str, ...]:
    """The tools that all layers leave, in their order."""
    return tuple(tool for tool, taken in sift(tools, layers).items() if not taken)


def unknown(layers: Iterable[Layer], tools: Iterable[str]) -> tuple[str, ...]:
    """A warning for every name in a list that no tool has, and every pattern that fits none.

    Such a name takes nothing away in a list of what goes, and keeps nothing in one of what stays.
    """
    known = tuple(tools)
    return tuple(
        f"{layer}: no tool is called {name!r}"
        for layer in layers
        for name in (*layer.strange, *_idle(layer, known))
    )


def refusal(tool: str, taken_by: str) -> str:
    """What a model is told that calls a tool it no longer has."""
    return f"you have no {tool} here: taken away by {taken_by}"


def _layer(
    key: str,
    names: tuple[str, ...],
    resolve: Callable[[str], str],
    *,
    keeps: bool,
    origin: str = "",
) -> Layer:
    meant = {name: name.strip() if _is_pattern(name) else resolve(name) for name in names}
    strange = tuple(name for name, tool in meant.items() if not tool)
    return Layer(key, tuple(dict.fromkeys(filter(None, meant.values()))), keeps, origin, strange)


def _is_pattern(name: str) -> bool:
    return "*" in name or "?" in name


def _idle(layer: Layer, tools: tuple[str, ...]) -> Iterator[str]:
    """The patterns of a list that fit no tool."""
    for name in layer.names:
        if _is_pattern(name) and not any(fnmatch.fnmatchcase(tool, name) for tool in tools):
            yield name

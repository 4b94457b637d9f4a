"""Knows every tool by all of its names; a new tool is a new file and nothing else."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from stormclaw.discover import discover
from stormclaw.protocol.tool import AnyTool, Tool


@dataclass(frozen=True, slots=True)
class Registry:
    """The tools there are.

    Attributes:
        tools: Canonical name -> tool, sorted by name.
        names: Every name and alias in lower case -> canonical name.
    """

    tools: Mapping[str, AnyTool]
    names: Mapping[str, str]

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self.tools.values())

    def resolve(self, name: str) -> AnyTool | None:
        """The tool a model or a person means, by name or alias, in any case; None if unknown."""
        canonical = self.names.get(name.strip().lower())
        return None if canonical is None else self.tools[canonical]

    def nearest(self, name: str) -> str | None:
        """The canonical name most like an unknown one, None if nothing is like it."""
        close = difflib.get_close_matches(name.strip().lower(), self.names, n=1, cutoff=0.5)
        return self.names[close[0]] if close else None


def register(tools: Iterable[AnyTool]) -> Registry:
    """A registry of just these tools.

    Raises:
        ValueError: Two tools claim one name.
    """
    ordered = sorted(tools, key=lambda tool: tool.name)
    names: dict[str, str] = {}
    for tool in ordered:
        for name in (tool.name, *tool.aliases):
            owner = names.setdefault(name.lower(), tool.name)
            if owner != tool.name:
                raise ValueError(f"tools {owner} and {tool.name} both claim the name {name!r}")
    by_name = {tool.name: tool for tool in ordered}
    if len(by_name) != len(ordered):
        raise ValueError("two tools have the same name")
    return Registry(MappingProxyType(by_name), MappingProxyType(names))


def discover_tools() -> Registry:
    """Every tool in this package.

    Raises:
        TypeError: A module's `TOOL` is not a Tool.
        ValueError: Two tools claim one name.
    """
    found = discover("stormclaw.tools", "TOOL", required=False)
    tools: list[AnyTool] = []
    for module, tool in found.items():
        if not isinstance(tool, Tool):
            raise TypeError(f"stormclaw.tools.{module}.TOOL is not a Tool")
        tools.append(tool)
    return register(tools)

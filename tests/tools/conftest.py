"""A real workspace in a temporary folder, and a way to call a tool as an agent does."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from handy import context

from stormclaw.protocol.tool import ToolContext, ToolResult
from stormclaw.tools.registry import Registry, discover_tools
from stormclaw.tools.schema import parse

Call = Callable[..., Awaitable[ToolResult]]


@pytest.fixture(scope="session")
def registry() -> Registry:
    return discover_tools()


@pytest.fixture
def live() -> list[str]:
    """The pieces of live output, as they came."""
    return []


@pytest.fixture
def ctx(tmp_path: Path, live: list[str]) -> ToolContext:
    workspace = (tmp_path / "work").resolve()
    workspace.mkdir()

    return context(workspace, tmp_path / "home", progress=live.append)


@pytest.fixture
def call(ctx: ToolContext, registry: Registry) -> Call:
    """`await call("read_file", path="x")`; `ctx=` replaces the context."""
    ours = ctx

    async def run(tool: str, /, ctx: ToolContext | None = None, **arguments: Any) -> ToolResult:
        found = registry.resolve(tool)
        assert found is not None, f"no tool {tool}"
        args = parse(found, json.dumps(arguments))
        used = ctx or ours
        found.effects(args, used)
        return await found.run(args, used)

    return run


@pytest.fixture
def narrow(ctx: ToolContext) -> Callable[..., ToolContext]:
    """The same context with some fields changed."""

    def change(**fields: Any) -> ToolContext:
        return dataclasses.replace(ctx, **fields)

    return change

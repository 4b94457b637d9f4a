"""Tells the time."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct

from stormclaw.protocol.display import Headline
from stormclaw.protocol.effects import Effect
from stormclaw.protocol.tool import Tool, ToolContext, ToolResult


class Args(Struct, frozen=True):
    """Nothing."""


def _headline(args: Args) -> Headline:
    return Headline("time", "now")


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    return ()


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    utc = datetime.now(UTC).replace(microsecond=0)
    local = utc.astimezone()
    return ToolResult(
        f"local {local.isoformat()} ({local:%A}, {local.tzname()})\nutc   {utc.isoformat()}",
        summary=f"{local:%H:%M} {local.tzname()}",
        metadata={"local": local.isoformat(), "utc": utc.isoformat()},
    )


TOOL = Tool(
    name="time",
    description="The date and time now.",
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
)

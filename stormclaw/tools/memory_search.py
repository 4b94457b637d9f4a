"""Looks up what was said in earlier conversations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta, Struct

from stormclaw.errors import StoreError, ToolFailure
from stormclaw.protocol.display import Headline
from stormclaw.protocol.effects import Effect
from stormclaw.protocol.messages import ROOT
from stormclaw.protocol.tool import Recalled, Tool, ToolContext, ToolResult
from stormclaw.tools._bounded import Bounded
from stormclaw.tools._text import counted

USUAL = 10
MOST = 50


class Args(Struct, frozen=True):
    """What to look for."""

    query: Annotated[str, Meta(description="Words; or a hit's id, for all of it")]
    limit: Annotated[int, Meta(ge=1, le=MOST, description="Default 10")] | None = None


def _headline(args: Args) -> Headline:
    return Headline("recall", " ".join(args.query.split()) or "?")


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    return ()


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    query = " ".join(args.query.split())
    if not query:
        raise ToolFailure("`query` is empty: name a few words to look for", summary="no query")
    try:
        found = await ctx.recall(query, args.limit or USUAL)
    except StoreError as problem:
        # A broken index is no broken record: the turn goes on.
        raise ToolFailure(
            f"earlier conversations cannot be searched now: {problem}", summary="no index"
        ) from problem
    if not found:
        return ToolResult(
            f"No earlier conversation says anything about {query!r}; try other or fewer words",
            summary="nothing found",
        )
    lines = Bounded(ctx.max_output_chars)
    if query == found[0].place:
        return _whole(found[0], lines)
    for hit in found:
        lines.add(_entry(hit))
    if lines.left_out:
        lines.lines.append(f"… {lines.left_out} more; ask for fewer with `limit`")
    return ToolResult("\n".join(lines.lines), summary=counted(len(found), "hit"))


def _whole(hit: Recalled, lines: Bounded) -> ToolResult:
    """All of one hit, as far as there is room."""
    rest = iter(hit.text.split("\n"))
    lines.add(_head(hit))
    left_out = sum(not lines.add(line) for line in rest)
    if left_out:
        lines.lines.append(f"… {counted(left_out, 'line')} left out")
    return ToolResult("\n".join(lines.lines), summary=hit.place)


def _entry(hit: Recalled) -> str:
    """One hit on two lines: where, when and who, then what."""
    return f"{_head(hit)}\n  {' '.join(hit.text.split())}"


def _head(hit: Recalled) -> str:
    title = f"  {title}" if (title := " ".join(hit.title.split())) else ""
    who = hit.role if hit.agent == ROOT else f"{hit.role} of {hit.agent}"
    return f"{hit.place or hit.conversation}  {_date(hit.at)}  {who}{title}"


def _date(at: float) -> str:
    try:
        return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}Z"
    except (OverflowError, OSError, ValueError):
        return "date unknown"


TOOL = Tool(
    name="memory_search",
    description="Search earlier conversations with this person; a hit's id brings all of it.",
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
)

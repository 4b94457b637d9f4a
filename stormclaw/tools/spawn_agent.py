"""Hands a task to a sub-agent and brings its answer back."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Headline
from stormclaw.protocol.effects import Effect, Spawns
from stormclaw.protocol.messages import Usage
from stormclaw.protocol.tool import ChildReport, SpawnRequest, Tool, ToolContext, ToolResult


class Args(Struct, frozen=True):
    """What to do, and with what."""

    task: Annotated[str, Meta(description="All it must know: it does not see this conversation")]
    name: Annotated[str, Meta(description="One short word")] | None = None
    model: str | None = None
    tools: Annotated[tuple[str, ...], Meta(description="Only these")] | None = None
    executor: str | None = None


def _headline(args: Args) -> Headline:
    task = " ".join(args.task.split()) or "?"
    return Headline("agent", f"{args.name}: {task}" if args.name else task)


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    if not args.task.strip():
        raise ToolFailure("`task` is empty; nothing was started", summary="no task")
    return (Spawns(args.task),)


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    report = await ctx.spawn(
        SpawnRequest(
            args.task, args.name or "", args.model or "", args.tools or (), args.executor or ""
        )
    )
    return ToolResult(
        _output(report, ctx.max_output_chars),
        summary=f"{report.reason}, {_tokens(report.usage)}",
        ok=report.reason == "done",
        child=report,
    )


def _output(report: ChildReport, room: int) -> str:
    """The child's answer, and how its turn ended where that is no good news."""
    text = report.text.strip() or "(it gave no answer)"
    if len(text) > room:
        text = f"{text[:room]}\n… {len(text) - room:,} characters left out"
    if report.reason == "done":
        return text
    return f"[{report.child} did not finish: {report.reason}]\n{text}"


def _tokens(usage: Usage) -> str:
    """`412 tokens`, `~6.0k tokens`: with the sign of an estimate."""
    total = usage.input_tokens + usage.output_tokens
    sign = "" if usage.reported else "~"
    if total < 1000:
        return f"{sign}{total} tokens"
    scaled, unit = (total / 1000, "k") if total < 999_950 else (total / 1_000_000, "M")
    return f"{sign}{scaled:.1f}{unit} tokens"


TOOL = Tool(
    name="spawn_agent",
    description=(
        "Give a task to a sub-agent with its own conversation; returns its answer. Several "
        "at once work side by side."
    ),
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
    aliases=("Task",),
    own_time=True,
)

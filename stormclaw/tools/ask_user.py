"""Asks the person a question and waits for the answer."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Headline
from stormclaw.protocol.effects import Effect
from stormclaw.protocol.tool import Tool, ToolContext, ToolResult

MAX_SUMMARY = 60


class Args(Struct, frozen=True):
    """The question, and answers to choose from."""

    question: str
    options: Annotated[tuple[str, ...], Meta(description="Answers to choose from")] | None = None


def _headline(args: Args) -> Headline:
    return Headline("ask", " ".join(args.question.split()) or "?")


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    if not args.question.strip():
        raise ToolFailure("`question` is empty; nobody was asked", summary="no question")
    return ()


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    answer = await ctx.question(args.question, args.options or ())
    short = " ".join(answer.split())
    if len(short) > MAX_SUMMARY:
        short = f"{short[:MAX_SUMMARY]}…"
    return ToolResult(answer or "(no answer)", summary=short or "no answer")


TOOL = Tool(
    name="ask_user",
    description="Ask the person when only they can decide.",
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
    own_time=True,
)

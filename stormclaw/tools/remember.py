"""Keeps something in mind for this session, reachable also when it is no longer sent."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Headline, Plain
from stormclaw.protocol.effects import Effect
from stormclaw.protocol.tool import Tool, ToolContext, ToolResult
from stormclaw.tools._text import counted

LONGEST_KEY = 100
LONGEST_VALUE = 8_000
"""Characters; what is longer belongs into a file."""


class Args(Struct, frozen=True):
    """What to keep, and what to call it."""

    key: str
    value: Annotated[str, Meta(description="Empty forgets")]


def key_of(text: str) -> str:
    """The key a model means: on one line, without space around it."""
    return " ".join(text.split())


def _headline(args: Args) -> Headline:
    return Headline("keep", key_of(args.key) or "?")


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    return ()


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    key = key_of(args.key)
    if not key:
        raise ToolFailure("`key` is empty; nothing kept", summary="no key")
    if len(key) > LONGEST_KEY:
        raise ToolFailure(
            f"a key has at most {LONGEST_KEY} characters, not {len(key)}; nothing kept. Put the "
            "rest into `value`",
            summary="key too long",
        )
    if len(args.value) > LONGEST_VALUE:
        raise ToolFailure(
            f"a note has at most {LONGEST_VALUE:,} characters, not {len(args.value):,}; nothing "
            "kept. Keep what matters, or write a file",
            summary="too long",
        )
    if not args.value.strip():
        return ToolResult(f"Forgotten: {key}", summary="forgotten")
    size = counted(len(args.value), "character")
    return ToolResult(f"Kept: {key}", summary=size, display=Plain(args.value))


TOOL = Tool(
    name="remember",
    description="Keep a finding for this session under a key.",
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
    aliases=("memory.write", "memory_write_session", "working_memory_write"),
)

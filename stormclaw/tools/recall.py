"""Brings back what this session kept or held back: a note by its key, a result by its id."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Headline
from stormclaw.protocol.effects import Effect
from stormclaw.protocol.tool import Kept, Tool, ToolContext, ToolResult
from stormclaw.tools._bounded import Bounded
from stormclaw.tools._text import counted

USUAL = 300
"""Lines of one answer."""
MOST_CHARS = 12_000
"""Characters of one answer; the rest is read on with `offset`."""
LONGEST_LINE = 1_000
"""A longer line is broken, so that its rest can be read on too."""
NEAREST = 5


class Args(Struct, frozen=True):
    """What to bring back, and which part of it."""

    what: Annotated[str, Meta(description="Key, id or words; empty lists")] = ""
    offset: Annotated[int, Meta(ge=1, description="First line, from 1")] | None = None
    limit: Annotated[int, Meta(ge=1)] | None = None


def _headline(args: Args) -> Headline:
    return Headline("recall", " ".join(args.what.split()) or "what is kept")


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    return ()


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    what = args.what.strip()
    found = await asyncio.to_thread(ctx.kept, what)
    room = min(MOST_CHARS, ctx.max_output_chars)
    if what and not found:
        raise ToolFailure(await _nothing(what, ctx), summary="nothing kept")
    if what and len(found) == 1 and found[0].text:
        return _whole(found[0], args, room)
    if not found:
        return ToolResult("Nothing is kept and nothing is held back", summary="nothing")
    return _listing(found, args, room)


def _whole(kept: Kept, args: Args, room: int) -> ToolResult:
    """The lines asked for, as many as there is room for."""
    lines = list(_broken(kept.text.split("\n")))
    first = args.offset or 1
    if first > len(lines):
        raise ToolFailure(
            f"{kept.id} has {counted(len(lines), 'line')}; offset={first} is past its end",
            summary="past the end",
        )
    fitting = Bounded(room)
    for line in lines[first - 1 : first - 1 + (args.limit or USUAL)]:
        if not fitting.add(line):
            break
    last = first + len(fitting.lines) - 1
    whole = first == 1 and last == len(lines)
    shown = counted(len(lines), "line") if whole else f"lines {first}-{last} of {len(lines):,}"
    more = [f"… read on with offset={last + 1}"] if last < len(lines) else []
    head = f"[{kept.kind} {kept.id}: {kept.title}; {shown}]"
    return ToolResult("\n".join([head, *fitting.lines, *more]), summary=shown)


def _broken(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        starts = range(0, len(line), LONGEST_LINE) or (0,)
        yield from (line[start : start + LONGEST_LINE] for start in starts)


def _listing(found: Sequence[Kept], args: Args, room: int) -> ToolResult:
    first = args.offset or 1
    if first > len(found):
        raise ToolFailure(
            f"there are {len(found):,} entries; offset={first} is past the last", summary="no more"
        )
    fitting = Bounded(room)
    for kept in found[first - 1 : first - 1 + (args.limit or USUAL)]:
        if not fitting.add(_entry(kept)):
            break
    last = first + len(fitting.lines) - 1
    more = [f"… {len(found) - last:,} more; offset={last + 1}"] if last < len(found) else []
    notes = sum(kept.kind == "note" for kept in found)
    both = (counted(notes, "note"), counted(len(found) - notes, "result"))
    counts = ", ".join(words for words in both if not words.startswith("0 "))
    return ToolResult("\n".join([*fitting.lines, *more]), summary=counts)


def _entry(kept: Kept) -> str:
    return f"{kept.kind} {kept.id}  {kept.title}{' (held back)' if kept.held_back else ''}"


async def _nothing(what: str, ctx: ToolContext) -> str:
    """What a model is told that asked for something nobody kept: the keys nearest to it."""
    kept = await asyncio.to_thread(ctx.kept, "")
    keys = {note.id.lower(): note.id for note in kept if note.kind == "note"}
    near = difflib.get_close_matches(what.lower(), keys, n=NEAREST, cutoff=0.4) or list(keys)
    shown = "; ".join(keys[key] for key in near[:NEAREST])
    hint = f"The nearest notes: {shown}" if shown else "There are no notes"
    return f"nothing of this session is called, or says, {what[:100]!r}. {hint}"


TOOL = Tool(
    name="recall",
    description="Get back a note or a held-back result of this session.",
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
    aliases=("memory.read", "working_memory_read"),
)

"""Shows a text file with line numbers, whole or in parts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Headline
from stormclaw.protocol.effects import Effect, Reads
from stormclaw.protocol.tool import Tool, ToolContext, ToolResult
from stormclaw.tools._files import MAX_BYTES, load, regular, resolve, shown
from stormclaw.tools._text import Decoded, counted, cut_line, size_of, split_lines
from stormclaw.tools._window import read_window

DEFAULT_LIMIT = 2000
LONGEST_LINE = 2000
"""Characters of one line that are shown."""


class Args(Struct, frozen=True):
    """Which file, and which part of it."""

    path: str
    offset: Annotated[int, Meta(description="First line, from 1")] | None = None
    limit: Annotated[int, Meta(ge=1, description="Lines, default 2000")] | None = None


def _headline(args: Args) -> Headline:
    return Headline("read", args.path or "?", "path")


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    return (Reads(resolve(args.path, ctx)),)


def _read(args: Args, ctx: ToolContext) -> ToolResult:
    path = resolve(args.path, ctx)
    name = shown(path, ctx)
    size = regular(path, name, ctx).st_size
    if size > MAX_BYTES:
        return _read_part(args, ctx, path, name, size)
    on_disk = load(path, name, ctx)
    lines = split_lines(on_disk.decoded.text)
    ctx.seen.stamps[on_disk.path] = on_disk.stamp
    if not on_disk.decoded.text:
        return ToolResult(f"{name} is empty", summary="empty")
    first = _first(args)
    if first > lines.count:
        raise _past_the_end(name, first, f"has {counted(lines.count, 'line')}")
    texts = lines.texts[first - 1 : min(lines.count, first - 1 + _limit(args))]
    wanted = [cut_line(text, _longest(ctx)) for text in texts]
    body, used = _numbered(wanted, first, ctx.max_output_chars)
    last = first + used - 1
    notes = _style(on_disk.decoded, lines.usual_end, set(lines.ends))
    if last < lines.count:
        notes.append(f"… lines {last + 1}-{lines.count} not shown; read on with offset={last + 1}")
    whole = first == 1 and last == lines.count
    summary = counted(lines.count, "line") if whole else f"lines {first}-{last} of {lines.count:,}"
    return ToolResult("\n".join([*body, *notes]), summary=summary)


def _read_part(args: Args, ctx: ToolContext, path: Path, name: str, size: int) -> ToolResult:
    """A window of a file too large to hold; it does not count as read, so no edits follow."""
    first = _first(args)
    window = read_window(path, name, first, _limit(args), _longest(ctx), ctx)
    if not window.found:
        raise _past_the_end(name, first, "is shorter")
    body, used = _numbered(window.lines, first, ctx.max_output_chars)
    last = first + used - 1
    if window.more or used < len(window.lines):
        body.append(
            f"… the file goes on ({size_of(size)} in all); read on with offset={last + 1}, or "
            "find the place with grep"
        )
    return ToolResult("\n".join(body), summary=f"lines {first}-{last}, {size_of(size)}")


def _first(args: Args) -> int:
    return max(1, args.offset or 1)


def _limit(args: Args) -> int:
    return args.limit or DEFAULT_LIMIT


def _longest(ctx: ToolContext) -> int:
    return min(LONGEST_LINE, ctx.max_output_chars)


def _past_the_end(name: str, first: int, remark: str) -> ToolFailure:
    return ToolFailure(f"{name} {remark}; offset={first} is past its end", summary="past the end")


def _numbered(lines: Iterable[str], first: int, room: int) -> tuple[list[str], int]:
    """Numbered lines that fit into `room` characters (one at least), and how many they are."""
    body: list[str] = []
    for number, line in enumerate(lines, first):
        text = f"{number}\t{line}"
        room -= len(text) + 1
        if room < 0 and body:
            break
        body.append(text)
    return body, len(body)


def _style(decoded: Decoded, end: str, ends: set[str]) -> list[str]:
    """What is unusual about the file, for whoever is going to change it."""
    marks = []
    if decoded.encoding != "utf-8":
        marks.append(f"encoding {decoded.encoding}")
    if len(ends) > 1:
        marks.append("mixed line endings")
    elif end != "\n":
        marks.append({"\r\n": "CRLF line endings", "\r": "CR line endings"}[end])
    return [f"({', '.join(marks)}; edits keep that)"] if marks else []


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    return await asyncio.to_thread(_read, args, ctx)


TOOL = Tool(
    name="read_file",
    description="Read a text file; each line is shown as number, tab, text.",
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
    aliases=("Read", "file_read"),
)

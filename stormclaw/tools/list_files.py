"""Lists a folder, hidden files and empty folders included, ignored ones counted."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from threading import Event
from typing import Annotated

from msgspec import Meta, Struct

from stormclaw.protocol.display import Headline
from stormclaw.protocol.effects import Effect, Reads
from stormclaw.protocol.tool import Tool, ToolContext, ToolResult
from stormclaw.tools._bounded import Bounded
from stormclaw.tools._files import open_folder, resolve, shown
from stormclaw.tools._ignore import Entry, walk
from stormclaw.tools._openat import FOLDER, closing, open_at
from stormclaw.tools._text import counted, printable


class Args(Struct, frozen=True):
    """Which folder, and how deep."""

    path: str = "."
    depth: Annotated[int, Meta(ge=1, description="Levels, default 1")] | None = None


def _headline(args: Args) -> Headline:
    return Headline("list", args.path or ".", "path")


def _base(args: Args, ctx: ToolContext) -> Path:
    return resolve(args.path or ".", ctx)


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    return (Reads(_base(args, ctx)),)


def _list(args: Args, ctx: ToolContext, stop: Event) -> ToolResult:
    name = shown(_base(args, ctx), ctx)
    descriptor, base = open_folder(_base(args, ctx), name, ctx, "; use read_file")
    with closing(descriptor):
        return _told(args, ctx, stop, descriptor, base, name)


def _told(args: Args, ctx: ToolContext, stop: Event, top: int, base: Path, name: str) -> ToolResult:
    lines = Bounded(ctx.max_output_chars)
    counts = {"folder": 0, "file": 0, "ignored": 0}
    for entry in walk(base, depth=args.depth or 1, stop=stop, at=top):
        if entry.ignored:
            counts["ignored"] += 1
            continue
        counts["folder" if entry.kind == "folder" else "file"] += 1
        lines.add(_line(entry, top))
    summary = counted(counts["file"], "file")
    if counts["folder"]:
        summary = f"{counted(counts['folder'], 'folder')}, {summary}"
    remarks = []
    if lines.left_out:
        more = counted(lines.left_out, "entry").replace("entrys", "entries")
        remarks.append(f"… {more} not shown; list a folder below, or use glob")
    if counts["ignored"]:
        remarks.append(f"({counts['ignored']} ignored by .gitignore not shown)")
    body = lines.lines or [f"{name} has nothing to show"]
    return ToolResult("\n".join([*body, *remarks]), summary=summary)


def _line(entry: Entry, top: int) -> str:
    path = printable(entry.path)
    if entry.kind == "folder":
        return f"{path}/"
    if entry.kind == "link":
        try:
            above, _, last = entry.path.rpartition("/")
            with closing(open_at(top, above or ".", FOLDER)) as folder:
                target = os.readlink(last, dir_fd=folder)
            return f"{path} -> {printable(target)}"
        except OSError:
            return path
    return path


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    stop = Event()
    try:
        return await asyncio.to_thread(_list, args, ctx, stop)
    finally:
        stop.set()


TOOL = Tool(
    name="list_files",
    description="List a folder, hidden files included; ignored ones (.gitignore) left out.",
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
    aliases=("file_list", "LS"),
)

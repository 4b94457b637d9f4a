"""Keeps a note for later sessions in the project's MEMORY.md."""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Diff, Headline
from stormclaw.protocol.effects import Effect, Remembers
from stormclaw.protocol.tool import Tool, ToolContext, ToolResult
from stormclaw.tools._diff import make_diff, recorded
from stormclaw.tools._files import load_if_there, shown
from stormclaw.tools._text import Decoded, split_lines
from stormclaw.tools._write import write_atomically
from stormclaw.tools.edit_file import encoded

TITLE = "# Project notes"
TRIES, PAUSE_S = 250, 0.02
"""How often, and with which pauses, the notes are waited for while somebody else writes them."""


class Args(Struct, frozen=True):
    """The note, and where it goes."""

    note: str
    section: Annotated[str, Meta(description="Heading to put it under")] | None = None
    replace: Annotated[str, Meta(description="Old text this replaces, exact")] | None = None


def plan(args: Args, ctx: ToolContext) -> tuple[Path, bytes, Diff]:
    """What would be written: where, the bytes, the difference.

    Raises:
        ToolFailure: No note, it is there already, or what to replace is not there once.
    """
    path = _path(ctx)
    name = shown(path, ctx)
    note = args.note.strip().replace("\r\n", "\n")
    if not note:
        raise ToolFailure("`note` is empty; nothing written", summary="no note")
    on_disk = load_if_there(path, name, ctx)
    before = "" if on_disk is None else on_disk.decoded.text
    end = split_lines(before).usual_end
    flat = split_lines(before).flat
    bullet = "- " + note.removeprefix("- ").replace("\n", "\n  ")
    if args.replace:
        after = _replaced(flat, args.replace.replace("\r\n", "\n"), note, name)
    elif f"\n{bullet}\n" in f"\n{flat}\n":
        raise ToolFailure(f"{name} says so already; nothing written", summary="already there")
    else:
        after = _added(flat, bullet, (args.section or "").strip("# \t\n"))
    after = after.replace("\n", end)
    if on_disk is None:
        return path, Decoded("").encode(after), make_diff(name, None, after)
    return path, encoded(on_disk, after, name), make_diff(name, before, after)


def _replaced(flat: str, old: str, note: str, name: str) -> str:
    times = flat.count(old)
    if times != 1:
        there = f"{times} times" if times else "nowhere"
        raise ToolFailure(
            f"`replace` stands {there} in {name}; nothing written. It must stand there once",
            summary="text not found" if not times else f"{times} matches",
        )
    return flat.replace(old, note)


def _added(flat: str, bullet: str, section: str) -> str:
    """The notes with one more: at the end of its section, or of the file."""
    lines = flat.rstrip("\n").split("\n") if flat.strip() else [TITLE]
    heading = f"## {section}"
    if not section:
        at = next((i for i, line in enumerate(lines) if line.startswith("## ")), len(lines))
    elif heading in lines:
        start = lines.index(heading) + 1
        at = next((i for i in range(start, len(lines)) if lines[i].startswith("#")), len(lines))
    else:
        lines += ["", heading]
        at = len(lines)
    while at and not lines[at - 1].strip():
        at -= 1
    gap = [""] if lines[at - 1].startswith("#") else []
    return "\n".join([*lines[:at], *gap, bullet, *lines[at:]]) + "\n"


def _path(ctx: ToolContext) -> Path:
    return ctx.notes / "MEMORY.md"


def _headline(args: Args) -> Headline:
    return Headline("note", next(iter(args.note.strip().splitlines()), "?"))


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    return (Remembers(_path(ctx)),)


async def _preview(args: Args, ctx: ToolContext) -> Diff:
    return (await asyncio.to_thread(plan, args, ctx))[2]


def _write(args: Args, ctx: ToolContext) -> Diff:
    # Sub-agents and other sessions note things too: between look and write nobody else may.
    with _alone(ctx.workspace):
        path, content, diff = plan(args, ctx)
        write_atomically(path, content, diff.path, ctx.seen, ctx)
    return diff


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Nobody else who asks for the same is in here at the same time, in whatever process.

    Where that cannot be had (no locks on this disk, somebody holds it for seconds) it goes on.
    """
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        for _ in range(TRIES):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(PAUSE_S)
            except OSError:
                break
            else:
                break
        yield
    finally:
        os.close(fd)


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    diff = await asyncio.to_thread(_write, args, ctx)
    return ToolResult(f"Noted in {diff.path}", summary="noted", display=recorded(diff))


TOOL = Tool(
    name="memory_write",
    description="Keep a fact about this project for later sessions.",
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
    preview=_preview,
    editable="note",
)

"""Creates a file or replaces all of it, in the style of the file that was there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from stormclaw.protocol.display import Diff, Headline
from stormclaw.protocol.effects import Effect, Writes
from stormclaw.protocol.tool import Tool, ToolContext, ToolResult
from stormclaw.tools._diff import changes_of, make_diff, recorded
from stormclaw.tools._files import load_if_there, must_be_seen, resolve, shown
from stormclaw.tools._text import Decoded, split_lines, weave
from stormclaw.tools._write import write_atomically
from stormclaw.tools.edit_file import encoded


class Args(Struct, frozen=True):
    """The file, and all of its new text."""

    path: str
    content: Annotated[str, Meta(description="The whole file")]


def plan(args: Args, ctx: ToolContext) -> tuple[Path, bytes, Diff]:
    """What the write would do: where, the bytes, the difference.

    Raises:
        ToolFailure: A file is there that was not read or has changed, or is no text.
    """
    path = resolve(args.path, ctx)
    name = shown(path, ctx)
    on_disk = load_if_there(path, name, ctx)
    if on_disk is None:
        content = Decoded("").encode(args.content)
        return path, content, make_diff(name, None, args.content)
    must_be_seen(on_disk, ctx.seen, name)
    before = on_disk.decoded.text
    after = _like(before, args.content)
    return path, encoded(on_disk, after, name), make_diff(name, before, after)


def _like(before: str, content: str) -> str:
    """New content with the line endings of the old; lines that stay keep their own."""
    old = split_lines(before)
    new = split_lines(content.removeprefix("\ufeff").replace("\r\n", "\n"))
    if not old.ends:
        return content
    if len(set(old.ends)) == 1:
        return old.ends[0].join(new.texts)
    return weave(old.texts, old, new.texts, old.usual_end).join()


def _headline(args: Args) -> Headline:
    return Headline("write", args.path or "?", "path")


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    return (Writes(resolve(args.path, ctx)),)


async def _preview(args: Args, ctx: ToolContext) -> Diff:
    return (await asyncio.to_thread(plan, args, ctx))[2]


def _write(args: Args, ctx: ToolContext) -> tuple[Diff, str]:
    path, content, diff = plan(args, ctx)
    return diff, write_atomically(path, content, diff.path, ctx.seen, ctx)


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    diff, remark = await asyncio.to_thread(_write, args, ctx)
    did = "Created" if diff.created else "Wrote"
    output = f"{did} {diff.path}: {changes_of(diff)}" + (f"; {remark}" if remark else "")
    return ToolResult(output, summary=changes_of(diff), display=recorded(diff))


TOOL = Tool(
    name="write_file",
    description="Create a file, or replace all of one you have read. To change parts, edit_file.",
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
    preview=_preview,
    aliases=("Write", "file_write"),
    editable="content",
)

"""Finds files by name."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Headline
from stormclaw.protocol.effects import Effect, Reads
from stormclaw.protocol.tool import Tool, ToolContext, ToolResult
from stormclaw.tools._bounded import Bounded
from stormclaw.tools._files import open_folder, resolve, shown
from stormclaw.tools._globs import compile_glob, literal_prefix
from stormclaw.tools._openat import closing
from stormclaw.tools._search import list_all
from stormclaw.tools._text import counted


class Args(Struct, frozen=True):
    """Which names, below which folder."""

    pattern: Annotated[str, Meta(description="`src/**/*.py`; `*.py` means in any folder")]
    path: Annotated[str, Meta(description="Folder to start from")] = "."


def _place(args: Args, ctx: ToolContext) -> tuple[Path, str]:
    """Where to look, and the pattern from there: `/a/*.py` and `../*.py` move the start."""
    if not args.pattern:
        raise ToolFailure("`pattern` is empty", summary="no pattern")
    base = resolve(args.path or ".", ctx)
    prefix, rest = literal_prefix(args.pattern)
    if prefix.startswith(("/", "~")) or ".." in prefix.split("/"):
        return resolve(str(base / prefix) if prefix[0] != "~" else prefix, ctx), rest
    return base, args.pattern


def _headline(args: Args) -> Headline:
    return Headline("glob", args.pattern or "?", "text")


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    return (Reads(_place(args, ctx)[0]),)


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    base, pattern = _place(args, ctx)
    name = shown(base, ctx)
    regex = compile_glob(pattern)
    descriptor, real = await asyncio.to_thread(open_folder, base, name, ctx)
    with closing(descriptor):
        paths = await list_all(real, at=descriptor)
    found = await asyncio.to_thread(lambda: [path for path in paths if regex.fullmatch(path)])
    if not found:
        return ToolResult(f"no file below {name} matches {pattern}", summary="0 files")
    return ToolResult(_shown_all(found, base, ctx), summary=counted(len(found), "file"))


def _shown_all(found: list[str], base: Path, ctx: ToolContext) -> str:
    """The paths that fit, and the count of the others."""
    lines = Bounded(ctx.max_output_chars)
    for at, path in enumerate(found):
        if not lines.add(shown(base / path, ctx)):
            more = counted(len(found) - at, "file")
            return "\n".join([*lines.lines, f"… {more} not shown; narrow the pattern"])
    return "\n".join(lines.lines)


TOOL = Tool(
    name="glob",
    description="Find files by name; ignored ones (.gitignore) are left out.",
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
    aliases=("Glob",),
)

"""Finds text in files."""

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
from stormclaw.tools._files import is_folder, open_folder, open_regular, resolve, shown
from stormclaw.tools._found import FileHits, Found, Query
from stormclaw.tools._globs import compile_glob
from stormclaw.tools._openat import closing
from stormclaw.tools._search import search
from stormclaw.tools._text import counted

DEFAULT_RESULTS = 100


class Args(Struct, frozen=True):
    """What to find, where, and how much of it to show."""

    pattern: Annotated[str, Meta(description="Regular expression")]
    path: Annotated[str, Meta(description="File or folder")] = "."
    glob: Annotated[str, Meta(description="Only files like `*.py`")] | None = None
    ignore_case: bool = False
    context: Annotated[int, Meta(ge=0, le=50, description="Lines around a match")] = 0
    max_results: Annotated[int, Meta(ge=1, description="Default 100")] | None = None
    files_only: Annotated[bool, Meta(description="Names only")] = False


def _headline(args: Args) -> Headline:
    place = "" if args.path in {"", "."} else f" in {args.path}"
    return Headline("grep", f"{args.pattern or '?'}{place}", "text")


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    return (Reads(resolve(args.path or ".", ctx)),)


def _query(args: Args, *, folder: bool) -> Query:
    """What to look for.

    Raises:
        ToolFailure: The pattern is empty, or the glob is wrong.
    """
    if not args.pattern or "\0" in args.pattern or "\n" in args.pattern:
        raise ToolFailure(
            "`pattern` must be a regular expression for one line, not empty", summary="bad pattern"
        )
    regex = compile_glob(args.glob) if args.glob and folder else None
    last = (args.glob or "").rpartition("/")[2] if regex else ""
    return Query(
        pattern=args.pattern,
        ignore_case=args.ignore_case,
        context=args.context,
        max_results=args.max_results or DEFAULT_RESULTS,
        files_only=args.files_only,
        keep=None if regex is None else lambda path: regex.fullmatch(path) is not None,
        last_part="" if "**" in last or "}" in last else last,
    )


def _open(args: Args, ctx: ToolContext) -> tuple[int, Path, bool]:
    """A descriptor of the file or folder, where it really is, and whether it is a folder.

    Raises:
        ToolFailure: It is neither, or not what was judged.
    """
    base = resolve(args.path or ".", ctx)
    name = shown(base, ctx)
    if is_folder(base, name, ctx):
        return *open_folder(base, name, ctx), True
    descriptor = open_regular(base, name, ctx)
    return descriptor, base, False


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    base = resolve(args.path or ".", ctx)
    descriptor, real, whole = await asyncio.to_thread(_open, args, ctx)
    with closing(descriptor):
        found = await search(real, _query(args, folder=whole), descriptor)
    folder = base if whole else base.parent
    if not found.matched_files:
        where = shown(base, ctx) + (f", {args.glob}" if args.glob else "")
        return ToolResult("\n".join([f"no match in {where}", *_remarks(found, 0)]), "0 matches")
    lines = Bounded(ctx.max_output_chars)
    hits = 0
    for file in found.files:
        hits += _show(file, shown(folder / file.path, ctx), lines, files_only=args.files_only)
    files = counted(found.matched_files, "file")
    summary = files if args.files_only else f"{found.matches:,} in {files}"
    missing = (found.matched_files if args.files_only else found.matches) - hits
    return ToolResult("\n".join([*lines.lines, *_remarks(found, missing)]), summary=summary)


def _show(file: FileHits, name: str, lines: Bounded, *, files_only: bool) -> int:
    """Add a file to the output; how many of its results fitted."""
    if files_only or not lines.add(name):
        return int(files_only and lines.add(name))
    hits, previous = 0, 0
    for line in file.lines:
        if previous and line.number > previous + 1 and any(not each.hit for each in file.lines):
            lines.add("--")
        fitted = lines.add(f"{line.number}{':' if line.hit else '-'}{line.text}")
        hits += fitted and line.hit
        previous = line.number
    return hits


def _remarks(found: Found, missing: int) -> list[str]:
    """What is not in the output, and how to get it."""
    remarks = []
    if missing:
        remarks.append(
            f"… {missing:,} more not shown; narrow with path or glob, or raise max_results"
        )
    if found.binaries:
        remarks.append(f"({counted(found.binaries, 'binary file')} with matches left out)")
    if found.unreadable:
        remarks.append("(some files could not be read)")
    return remarks


TOOL = Tool(
    name="grep",
    description="Search file contents (ripgrep); ignored files (.gitignore) are left out.",
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
    aliases=("Grep", "file_search"),
)

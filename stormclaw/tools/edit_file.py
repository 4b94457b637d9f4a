"""Replaces a piece of text in a file; everything around it stays byte for byte."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Diff, Headline
from stormclaw.protocol.effects import Effect, Reads, Writes
from stormclaw.protocol.tool import Tool, ToolContext, ToolResult
from stormclaw.tools._diff import changes_of, make_diff, recorded
from stormclaw.tools._files import OnDisk, load, load_if_there, must_be_seen, resolve, shown
from stormclaw.tools._match import MOST_PLACES, Found, Region, find, there_now
from stormclaw.tools._near import nearest, numbered
from stormclaw.tools._text import Decoded, Lines, counted, split_everywhere, split_lines, weave
from stormclaw.tools._write import write_atomically

MOST_SHOWN = 5
"""Places shown where the text stands several times."""


class Args(Struct, frozen=True):
    """What to replace, and with what."""

    path: str
    old_string: Annotated[str, Meta(description="Text that is there now")]
    new_string: str
    replace_all: Annotated[bool, Meta(description="Wherever it stands")] = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What an edit would do.

    Attributes:
        path: The file, as `resolve` gives it.
        content: All of its new bytes.
        diff: The difference, for people.
        places: How many pieces of text are replaced.
        tolerance: What was overlooked to find them, "" if nothing.
    """

    path: Path
    content: bytes
    diff: Diff
    places: int
    tolerance: str = ""


def plan(args: Args, ctx: ToolContext) -> Plan:
    """What the edit would do.

    Raises:
        ToolFailure: Not read, changed since, text not found or not unique, or nothing to change.
    """
    path = resolve(args.path, ctx)
    name = shown(path, ctx)
    if args.old_string == args.new_string:
        raise ToolFailure(
            "old_string and new_string are the same; nothing to change", summary="no change"
        )
    if not args.old_string:
        return _filled(path, name, args.new_string, ctx)
    on_disk = load(path, name, ctx)
    _must_be_known(on_disk, args, ctx, name)
    before = on_disk.decoded.text
    lines, found = _find(before, args)
    if not found.regions:
        raise _missed(name, before, args)
    if len(found.regions) > 1 and not args.replace_all:
        raise _ambiguous(name, lines, found)
    after = apply(lines, found.regions)
    if after == before:
        raise ToolFailure(f"{name} already reads like that; nothing changed", summary="no change")
    content = encoded(on_disk, after, name)
    diff = make_diff(name, before, after)
    return Plan(path, content, diff, len(found.regions), found.tolerance)


def _filled(path: Path, name: str, text: str, ctx: ToolContext) -> Plan:
    """Without old text: a new file, or one that is there and empty."""
    on_disk = load_if_there(path, name, ctx)
    if on_disk is None:
        return Plan(path, Decoded("").encode(text), make_diff(name, None, text), 1)
    if on_disk.decoded.text:
        raise ToolFailure(
            f"old_string is empty and {name} is not; use write_file to replace the whole file, or "
            "give the text before or after which to insert",
            summary="empty old_string",
        )
    return Plan(path, encoded(on_disk, text, name), make_diff(name, "", text), 1)


def _must_be_known(on_disk: OnDisk, args: Args, ctx: ToolContext, name: str) -> None:
    """Refuse what the agent does not know; what changed is shown where the edit would be."""
    try:
        must_be_seen(on_disk, ctx.seen, name)
    except ToolFailure as refusal:
        known = on_disk.path in ctx.seen.stamps
        near = nearest(split_lines(on_disk.decoded.text), args.old_string) if known else ""
        if not near:
            raise
        raise ToolFailure(
            f"{refusal} The nearest text, with line numbers, as it is now:\n{near}",
            summary=refusal.summary,
        ) from None


def _find(before: str, args: Args) -> tuple[Lines, Found]:
    """The file in lines, and where the text stands in it."""
    usual = split_lines(before)
    cuts: list[tuple[str, Lines]] = [("", usual)]
    if "\n" in before and any("\r" in text for text in usual.texts):
        cuts.append(("line endings", split_everywhere(before)))
    for reading, lines in cuts:
        old, new = _newlines(args.old_string, lines), _newlines(args.new_string, lines)
        found = find(lines, old, new, args.replace_all)
        if found.regions:
            tolerance = ", ".join(filter(None, (reading, found.tolerance)))
            return lines, Found(found.regions, tolerance)
    return usual, Found()


def apply(lines: Lines, regions: tuple[Region, ...]) -> str:
    """The text with every region replaced; `regions` in order, not overlapping."""
    texts, ends, usual = lines.texts, [*lines.ends, ""], lines.usual_end
    pieces: list[str] = []
    line, column = 0, 0
    for region in regions:
        if region.first > line:
            pieces += (texts[line][column:], ends[line])
            pieces += chain.from_iterable(
                zip(texts[line + 1 : region.first], ends[line + 1 : region.first], strict=True)
            )
            line, column = region.first, 0
        pieces.append(texts[line][column : region.column])
        kept = Lines(there_now(lines, region), lines.ends[region.first : region.last])
        pieces.append(weave(region.written, kept, region.wanted, usual).join())
        line, column = region.last, region.stop
    pieces += (texts[line][column:], ends[line])
    pieces += chain.from_iterable(zip(texts[line + 1 :], ends[line + 1 :], strict=True))
    return "".join(pieces)


def encoded(on_disk: OnDisk, text: str, name: str) -> bytes:
    """New text in the encoding of the file.

    Raises:
        ToolFailure: The encoding lacks a character.
    """
    try:
        return on_disk.decoded.encode(text)
    except UnicodeEncodeError as problem:
        sign, encoding = problem.object[problem.start], on_disk.decoded.encoding
        raise ToolFailure(
            f"{name} is written in {encoding}, which has no {sign!a} "
            f"(U+{ord(sign):04X}); nothing changed. Use other characters",
            summary=f"not in {encoding}",
        ) from problem


def _newlines(text: str, lines: Lines) -> str:
    """A model's text with the line feeds that `Lines.flat` has."""
    text = text.replace("\r\n", "\n")
    return text.replace("\r", "\n") if lines.usual_end == "\r" else text


def _missed(name: str, before: str, args: Args) -> ToolFailure:
    lines = split_lines(before)
    old, new = _newlines(args.old_string, lines), _newlines(args.new_string, lines)
    parts = [f"old_string was not found in {name}; nothing changed."]
    there = find(lines, new, new).regions if new.strip() else ()
    if there:
        parts.append(f"new_string already stands there at {_places(there)}.")
    if near := nearest(lines, old):
        parts.append(f"The nearest text, with line numbers, as it is now:\n{near}")
    elif not there:
        parts.append("Nothing in it is like that text; read the file again.")
    return ToolFailure(" ".join(parts), summary="text not found")


def _ambiguous(name: str, lines: Lines, found: Found) -> ToolFailure:
    regions = found.regions
    count = f"{len(regions)}{' or more' * (len(regions) == MOST_PLACES)}"
    loosely = f" (apart from {found.tolerance})" if found.tolerance else ""
    shown_at = [
        numbered(
            lines, max(0, region.first - 1), min(lines.count, region.last + 2, region.first + 9)
        )
        for region in regions[:MOST_SHOWN]
    ]
    return ToolFailure(
        f"old_string stands {count} times in {name}{loosely}, at {_places(regions)}; nothing "
        "changed. Add lines around it to make it unique, or set replace_all. What is there:\n"
        + "\n...\n".join(shown_at),
        summary=f"{count} matches",
    )


def _places(regions: tuple[Region, ...]) -> str:
    numbers = [str(region.first + 1) for region in regions]
    more = f" and {len(numbers) - 10} more" if len(numbers) > 10 else ""
    return f"line{'s' * (len(numbers) > 1)} {', '.join(numbers[:10])}{more}"


def _headline(args: Args) -> Headline:
    return Headline("edit", args.path or "?", "path")


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    path = resolve(args.path, ctx)
    return Reads(path), Writes(path)


async def _preview(args: Args, ctx: ToolContext) -> Diff:
    return (await asyncio.to_thread(plan, args, ctx)).diff


def _edit(args: Args, ctx: ToolContext) -> tuple[Plan, str]:
    planned = plan(args, ctx)
    name = planned.diff.path
    return planned, write_atomically(planned.path, planned.content, name, ctx.seen, ctx)


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    planned, special = await asyncio.to_thread(_edit, args, ctx)
    diff, changes = planned.diff, changes_of(planned.diff)
    first = next((line.new for hunk in diff.hunks for line in hunk.lines if line.sign == "+"), None)
    at = (
        f" from line {first}"
        if planned.places == 1 and first
        else f" in {counted(planned.places, 'place')}"
    )
    did = "Created" if diff.created else "Edited"
    note = f" (found apart from {planned.tolerance})" if planned.tolerance else ""
    note += f"; {special}" if special else ""
    return ToolResult(
        f"{did} {diff.path}{'' if diff.created else at}: {changes}{note}",
        summary=changes,
        display=recorded(diff),
        metadata={"tolerance": planned.tolerance} if planned.tolerance else {},
    )


TOOL = Tool(
    name="edit_file",
    description=(
        "Replace a piece of text in a file you have read. Copy old_string from the file, without "
        "line numbers, with enough lines around it to be unique."
    ),
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
    preview=_preview,
    aliases=("Edit", "file_edit", "str_replace"),
    editable="new_string",
)

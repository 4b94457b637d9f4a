"""Changes several files at once, as a patch says; all of them or none."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated

from msgspec import Meta, Struct

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Diff, Headline, Patch
from stormclaw.protocol.effects import Effect, Reads, Writes
from stormclaw.protocol.tool import Tool, ToolContext, ToolResult
from stormclaw.tools._diff import make_diff, recorded
from stormclaw.tools._files import resolve
from stormclaw.tools._patch import Change, parse_patch
from stormclaw.tools._patch_commit import Commit
from stormclaw.tools._patch_tree import Entry, Tree
from stormclaw.tools._text import Binary, counted, decode


class Args(Struct, frozen=True):
    """What to change."""

    patch: Annotated[str, Meta(description="*** Begin Patch ... *** End Patch, or unified diff")]


def plan(args: Args, ctx: ToolContext) -> tuple[list[Entry], Patch, list[str]]:
    """What the patch would do: the files, the differences, and what had to be overlooked.

    Raises:
        ToolFailure: It cannot be read, or not be applied as a whole.
    """
    tree = Tree(ctx)
    entries = tree.run(parse_patch(args.patch))
    arrived = {entry.came_from for entry in entries if entry.came_from}
    shown = [entry for entry in entries if entry.after is not None or entry.name not in arrived]
    old = {entry.name: entry.before for entry in entries}
    return entries, Patch(tuple(_diff(entry, old) for entry in shown)), tree.notes


def _diff(entry: Entry, old: dict[str, bytes | None]) -> Diff:
    """One file's difference; a moved one's is to the file it was."""
    moved = entry.came_from and entry.before is None
    before = old.get(entry.came_from) if moved else entry.before
    path = f"{entry.came_from} → {entry.name}" if entry.came_from else entry.name
    one = None if before is None else decode(before)
    other = decode(entry.after or b"")
    if isinstance(one, Binary) or isinstance(other, Binary):
        return Diff(path, (), 0, 0, created=before is None)
    diff = make_diff(path, None if one is None else one.text, other.text)
    return replace(diff, created=before is None)


def _headline(args: Args) -> Headline:
    try:
        paths = _paths(parse_patch(args.patch))
    except ToolFailure:
        return Headline("patch", "?", "path")
    more = f" + {len(paths) - 1} more" if len(paths) > 1 else ""
    return Headline("patch", f"{paths[0]}{more}", "path")


def _paths(changes: tuple[Change, ...]) -> list[str]:
    """Every path a patch names, each once, in order."""
    named = (path for change in changes for path in (change.path, change.target) if path)
    return list(dict.fromkeys(named))


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    effects: dict[Effect, None] = {}
    for change in parse_patch(args.patch):
        path = resolve(change.path, ctx)
        if change.action != "add":
            effects[Reads(path)] = None
        if change.action != "copy":
            effects[Writes(path)] = None
        if change.target:
            effects[Writes(resolve(change.target, ctx))] = None
    return tuple(effects)


async def _preview(args: Args, ctx: ToolContext) -> Patch:
    return (await asyncio.to_thread(plan, args, ctx))[1]


def _apply(args: Args, ctx: ToolContext) -> tuple[list[Entry], Patch, list[str]]:
    entries, patch, notes = plan(args, ctx)
    return entries, patch, [*notes, *Commit(ctx).run(entries)]


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    entries, patch, notes = await asyncio.to_thread(_apply, args, ctx)
    gone = {entry.name for entry in entries if entry.after is None}
    rows = [
        f"{_letter(diff, gone)} {diff.path} +{diff.added} −{diff.removed}" for diff in patch.files
    ]
    count = counted(len(rows), "file")
    added, removed = (sum(getattr(diff, side) for diff in patch.files) for side in _SIDES)
    return ToolResult(
        "\n".join([f"Patched {count}:", *rows, *(f"Note: {note}" for note in notes)]),
        summary=f"{count}, +{added} −{removed}",
        display=Patch(tuple(map(recorded, patch.files))),
        metadata={"files": [diff.path for diff in patch.files], "notes": notes},
    )


_SIDES = ("added", "removed")


def _letter(diff: Diff, gone: set[str]) -> str:
    """What happened to a file, as git abbreviates it."""
    if diff.path in gone:
        return "D"
    return "A" if diff.created else "R" if " → " in diff.path else "M"


TOOL = Tool(
    name="apply_patch",
    description=(
        "Change, add, move or delete several files at once: all or none. Takes `*** Begin Patch` "
        "sections (`*** Add File: P` with + lines; `*** Update File: P`, perhaps `*** Move to: P`, "
        "with `@@ line above` and space, - and + lines; `*** Delete File: P`), or a unified diff."
    ),
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
    preview=_preview,
    aliases=("ApplyPatch", "apply_diff", "patch"),
    editable="patch",
)

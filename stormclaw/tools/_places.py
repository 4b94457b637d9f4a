"""Where the paths of a call lead, held against what the gate judged."""

from __future__ import annotations

import os
import re
from pathlib import Path

from stormclaw.errors import ToolFailure
from stormclaw.protocol.tool import ToolContext
from stormclaw.tools._text import printable

LOOP = "too many levels of symbolic links"
_SHOWN = re.compile(rb"\\x(0[1-9a-f]|1[0-9a-f]|7f|[89a-f][0-9a-f])")
"""How `printable` writes bytes of a name that are no text."""

_KERNEL = ("/proc", "/sys")
"""Mount points whose files are talks with the kernel, of any length or none."""


def resolve(path: str, ctx: ToolContext) -> Path:
    """An argument as an absolute path, links and `..` left in place: the gate judges them.

    Raises:
        ToolFailure: Empty, with a NUL in it, or no file name on any system.
    """
    if not path or "\0" in path:
        raise ToolFailure(f"`path` must name a file or folder, not {path!r}", summary="no path")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise ToolFailure(f"`path` is no name of a file: {path!a}", summary="no path") from None
    home = ctx.environ.get("HOME", "")
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    return ctx.workspace / _as_it_is(path, ctx.workspace)


def _as_it_is(path: str, workspace: Path) -> str:
    """A name as it was shown (`caf\\xe9`) as it is on disk, if there is such a file only there."""
    if "\\x" not in path or os.path.lexists(workspace / path):
        return path
    raw = _SHOWN.sub(lambda found: bytes.fromhex(found[1].decode()), os.fsencode(path))
    return os.fsdecode(raw) if os.path.lexists(workspace / os.fsdecode(raw)) else path


def shown(path: Path, ctx: ToolContext) -> str:
    """A path for people and models: relative to the workspace where it is inside."""
    plain = Path(os.path.normpath(path))
    inside = plain.is_relative_to(ctx.workspace)
    return printable(str(plain.relative_to(ctx.workspace) if inside else plain))


def really(path: Path, name: str, ctx: ToolContext | None) -> Path:
    """The place a path leads to, which must be the one that was judged.

    Args:
        path: As `resolve` gives it.
        name: For people and models.
        ctx: None where the path is a place that was found already.

    Raises:
        ToolFailure: It leads elsewhere now, out of the workspace without having been judged, or
            round and round.
    """
    try:
        real = Path(os.path.realpath(path))
    except OSError as problem:  # a link became something else between two looks at it
        raise moved(name) from problem
    if os.path.islink(real):  # noqa: PTH114 - does not raise on names that are too long
        raise ToolFailure(f"{name} cannot be read: {LOOP}", summary=LOOP)
    if ctx is None:
        return real
    # What was judged: the place of this path, or a path that is such a place already.
    judged = ctx.places.get(path, path if path in ctx.places.values() else None)
    if ctx.places and judged != real:
        raise moved(name)
    if judged is None and ctx.confined and not within(real, ctx):
        raise ToolFailure(
            f"{name} leads outside the workspace, to {printable(str(real))}; nothing was touched",
            summary="outside the workspace",
        )
    return real


def within(real: Path, ctx: ToolContext) -> bool:
    """Whether a resolved place lies in the workspace or in the folder of the notes."""
    return real.is_relative_to(ctx.workspace) or real.is_relative_to(ctx.notes)


def root_of(real: Path, ctx: ToolContext | None) -> Path:
    """The folder that must not be left on the way to a place."""
    inside = ctx is not None and real.is_relative_to(ctx.workspace)
    return ctx.workspace if ctx is not None and inside else Path("/")


def moved(name: str) -> ToolFailure:
    """The answer when a link or a file was put in the place of another."""
    return ToolFailure(
        f"{name} changed while it was looked at: it is not what was judged; nothing was touched",
        summary="changed meanwhile",
    )


def reason(problem: OSError) -> str:
    """An error of the system in words, without the path."""
    return (problem.strerror or str(problem)).lower()


def is_kernel(status: os.stat_result) -> bool:
    """Whether a file is none, but the kernel talking: its size says nothing, its end may not come.

    Such file systems are known by their device number, wherever they are mounted.
    """
    for mount in _KERNEL:
        try:
            if os.stat(mount).st_dev == status.st_dev:  # noqa: PTH116 - no more than a stat
                return True
        except OSError:
            continue
    return False

"""`/export [FORMAT] [FILE]`: this session as a file in the workspace."""

from __future__ import annotations

import asyncio
import re
import time
from itertools import count
from pathlib import Path

from stormclaw.commands.exporting import (
    FORMATS,
    SUFFIXES,
    Format,
    chosen,
    for_claude,
    readable,
    write_new,
)
from stormclaw.errors import UsageError
from stormclaw.protocol.command import Answer, Command
from stormclaw.runtime import Runtime
from stormclaw.store import sessions, transcripts
from stormclaw.store.sessions import SessionInfo

_LONGEST_NAME = 40


async def _run(runtime: Runtime, rest: str) -> Answer:
    form, name = _asked(rest)
    workspace, info = runtime.workspace, runtime.session.info
    path = _within(workspace, name) if name else _free(workspace, info, form)
    folder = sessions.folder(runtime.home, info.id)
    more = await asyncio.to_thread(_write, path, info, folder, form, workspace)
    return Answer(f"written: {path}{more}")


def _write(path: Path, info: SessionInfo, folder: Path, form: Format, workspace: Path) -> str:
    """Write the file -> what else there is to say."""
    nodes = transcripts.read(folder).nodes
    if not nodes:
        raise UsageError("nothing was said yet; there is nothing to export")
    if form != "claude":
        kept = chosen(nodes, agents=True, branches=form == "json")
        write_new(path, readable(info, kept, form))
        return ""
    session, transcript = for_claude(info, nodes, workspace)
    write_new(path, transcript)
    return (
        f"\nClaude Code knows it as {session}; `stormclaw session export {info.id} --format claude "
        "--install` puts such a file where claude looks for it"
    )


def _asked(rest: str) -> tuple[Format, str]:
    """The form and the file meant by the words behind `/export`."""
    first, _, name = rest.strip().partition(" ")
    for form in FORMATS:
        if first in (form, SUFFIXES[form]):
            return form, name.strip()
    suffix = Path(rest.strip()).suffix.removeprefix(".")
    if rest.strip() and not suffix:
        raise UsageError(
            f"{rest.strip()!r} is no form ({', '.join(FORMATS)}) and no file name with an ending"
        )
    forms = (form for form in FORMATS if SUFFIXES[form] == suffix)
    return next(forms, "markdown"), rest.strip()


def _within(workspace: Path, name: str) -> Path:
    path = workspace / name
    if not path.parent.resolve().is_relative_to(workspace):
        raise UsageError(
            f"{name} lies outside of {workspace}; `stormclaw session export --output` writes "
            "anywhere"
        )
    return path


def _free(workspace: Path, info: SessionInfo, form: Format) -> Path:
    """A name that says what is in it and that no file has."""
    words = re.sub(r"[^a-z0-9]+", "-", info.title.lower()).strip("-")[:_LONGEST_NAME].strip("-")
    stem = f"stormclaw-{words or info.id}-{time.strftime('%Y%m%d')}"
    names = (f"{stem}{f'-{n}' if n > 1 else ''}.{SUFFIXES[form]}" for n in count(1))
    return next(path for name in names if not (path := workspace / name).exists())


COMMAND = Command("export", "Write this session to a file", _run, "[FORMAT] [FILE]")

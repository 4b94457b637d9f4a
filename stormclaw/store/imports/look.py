"""What there is to import: which assistant a file is from, and what lies in their folders."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from stormclaw.errors import StoreError, UsageError
from stormclaw.protocol.messages import UserText
from stormclaw.store.export.claude import project_folder
from stormclaw.store.imports.claude import from_claude
from stormclaw.store.imports.codex import from_codex
from stormclaw.store.imports.native import is_native, session_of
from stormclaw.store.imports.rows import Row, mapping, moment, rows, text

Kind: TypeAlias = Literal["claude", "codex", "stormclaw"]

KINDS: tuple[Kind, ...] = ("claude", "codex", "stormclaw")
READERS = {"claude": from_claude, "codex": from_codex}
NAMES = {"claude": "Claude Code", "codex": "Codex", "stormclaw": "StormClaw"}
_HEAD_ROWS = 60
"""Rows in which a file must show what it is."""
_HEAD_NODES = 8
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
_ID = re.compile(r"[A-Za-z0-9-]{4,64}")
_CLAUDE_ROWS = {"user", "assistant", "system", "summary", "queue-operation", "mode", "attachment"}


@dataclass(frozen=True, slots=True)
class Found:
    """A file that can be imported.

    Attributes:
        kind: Whose it is.
        path: Where it lies.
        id: What its assistant calls the session.
        cwd: The folder it worked in, "" if it does not say.
        began: Unix seconds, the time of the file if no row tells.
        changed: When the file was last written.
    """

    kind: Kind
    path: Path
    id: str
    cwd: str
    began: float
    changed: float

    @property
    def origin(self) -> str:
        """What an imported session says of where it came from."""
        return f"{self.kind}:{self.id}"


@dataclass(frozen=True, slots=True)
class Places:
    """Where other assistants keep their sessions.

    Attributes:
        claude: `~/.claude`.
        codex: `$CODEX_HOME`.
    """

    claude: Path
    codex: Path


def look(path: Path) -> Found:
    """What a file is.

    Raises:
        UsageError: There is no such file.
        StoreError: It cannot be read, or is from none of those known here.
    """
    if not path.is_file():
        raise UsageError(f"{path} {'is no plain file' if path.exists() else 'does not exist'}")
    changed = path.stat().st_mtime
    if is_native(path):
        stored = session_of(path)
        began = moment(stored, "created") or changed
        return Found(
            "stormclaw", path, text(stored, "id"), text(stored, "workspace"), began, changed
        )
    head = [row for _, row in itertools.islice(rows(path), _HEAD_ROWS)]
    began = next(filter(None, map(moment, head)), 0.0) or changed
    if any(map(_is_claude, head)):
        own = next(filter(None, (text(row, "sessionId") for row in head)), "")
        session = path.stem if _UUID.fullmatch(path.stem) else own or path.stem
        cwd = next(filter(None, (text(row, "cwd") for row in head)), "")
        return Found("claude", path, session, cwd, began, changed)
    if any(map(_is_codex, head)):
        meta = next((mapping(r, "payload") for r in head if "payload" in r), head[0])
        named = _UUID.search(path.stem)
        session = text(meta, "id") or (named[0] if named else path.stem)
        return Found("codex", path, session, _codex_cwd(head), began, changed)
    raise StoreError(
        f"{path} line 1: neither a session of Claude Code, nor of Codex, nor a JSON export of ours"
    )


def first_prompt(found: Found) -> str:
    """What the person said first in it, "" if its beginning cannot be read."""
    reader = READERS.get(found.kind)
    if reader is None:
        return text(session_of(found.path), "title")
    try:
        for node in itertools.islice(reader(found.path), _HEAD_NODES):
            if isinstance(node.body, UserText):
                return node.body.text
    except (StoreError, UsageError, RecursionError):
        pass
    return ""


def listed(places: Places, workspace: Path, kinds: Iterable[Kind]) -> tuple[list[Found], list[str]]:
    """Sessions of a folder, last written first, and a sentence for each file that is none.

    Args:
        places: Where they are kept.
        workspace: The folder they worked in.
        kinds: Whose sessions.
    """
    found: list[Found] = []
    problems: list[str] = []
    for kind in kinds:
        for path in _files(places, kind, workspace):
            try:
                seen = look(path)
            except (StoreError, UsageError) as error:
                problems.append(str(error))
                continue
            if kind == seen.kind and (kind == "claude" or seen.cwd == str(workspace)):
                found.append(seen)
    found.sort(key=lambda one: (one.changed, one.id), reverse=True)
    return found, problems


def find(places: Places, wanted: str, kinds: Iterable[Kind]) -> Path:
    """The file of a session, by the beginning of its id, in whatever folder it worked.

    Raises:
        UsageError: None fits, or several do; the message lists some.
    """
    if not _ID.fullmatch(wanted):
        raise UsageError(f"{wanted!r} is neither a file nor the id of a session")
    fitting: list[Path] = []
    if "claude" in kinds:
        fitting += (places.claude / "projects").glob(f"*/{wanted}*.jsonl")
    if "codex" in kinds:
        fitting += (places.codex / "sessions").glob(f"**/rollout-*-{wanted}*.jsonl")
    if len(fitting) > 1:
        shown = ", ".join(map(str, sorted(fitting)[:4]))
        raise UsageError(f"{wanted!r} fits {len(fitting)} sessions: {shown}; name the file")
    if not fitting:
        raise UsageError(
            f"{wanted!r} is neither a file nor a session of Claude Code or Codex; "
            "`stormclaw session import` lists those of this folder"
        )
    return fitting[0]


def _files(places: Places, kind: Kind, workspace: Path) -> Iterator[Path]:
    if kind == "claude":
        try:
            folder = project_folder(places.claude, workspace)
        except UsageError:
            return
        yield from (path for path in folder.glob("*.jsonl") if not path.name.startswith("agent-"))
    elif kind == "codex":
        yield from (places.codex / "sessions").glob("**/rollout-*.jsonl")


def _is_claude(row: Row) -> bool:
    return text(row, "type") in _CLAUDE_ROWS and ("sessionId" in row or "leafUuid" in row)


def _is_codex(row: Row) -> bool:
    wrapped = text(row, "type") in ("session_meta", "response_item", "event_msg")
    bare = "type" not in row and "id" in row and "timestamp" in row
    return (wrapped and "payload" in row) or bare


def _codex_cwd(head: list[Row]) -> str:
    payloads = (mapping(row, "payload") for row in head)
    return next(filter(None, (text(payload, "cwd") for payload in payloads)), "")

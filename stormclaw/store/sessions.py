"""The sessions of a person: one folder each, found again by id, by workspace, by age."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from stormclaw.errors import StoreError, UsageError
from stormclaw.store.codec import Stored, upgrade
from stormclaw.store.durable import flush_folder, make_folder, save_atomically, store_error
from stormclaw.store.transcripts import FILE_NAME as TRANSCRIPT_NAME

VERSION = 1
FILE_NAME = "session.json"
TITLE_LENGTH = 60

_MIGRATIONS: Mapping[int, Callable[[Stored], Stored]] = {}
_ID = re.compile(r"\d{8}-\d{6}-[a-z0-9]{4}")
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_SHOWN_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session as listed.

    Attributes:
        id: Sortable by age, `20261122-014359-k3f9` (UTC and four random characters).
        workspace: Absolute folder it works in.
        title: From the first prompt, "" before there is one.
        created: Unix seconds, UTC.
        updated: Unix seconds, UTC; never before the transcript's last write.
        model: Model last used.
        provider: Our name of the provider last used.
        version: Of the file, see `VERSION`.
        cost_usd: What it has cost so far, None where nobody knows.
        cost_estimated: Some of that was worked out by us, from prices or from estimated tokens.
        turns: How often the person spoke.
        origin: Id of the session it was forked from, or where it was imported from; "" for neither.
    """

    id: str
    workspace: Path
    title: str
    created: float
    updated: float
    model: str
    provider: str
    version: int = VERSION
    cost_usd: float | None = None
    turns: int = 0
    origin: str = ""
    cost_estimated: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """Sessions, last updated first, and a sentence for each folder that could not be read."""

    sessions: tuple[SessionInfo, ...]
    problems: tuple[str, ...]


def folder(home: Path, session_id: str) -> Path:
    """Where a session lives.

    Raises:
        UsageError: `session_id` is not the whole id of a session.
    """
    if not _ID.fullmatch(session_id):
        raise UsageError(f"{session_id!r} is not a session id; `stormclaw session list` shows them")
    return home / "sessions" / session_id


def create(
    home: Path, workspace: Path, model: str, provider: str, *, now: float | None = None
) -> SessionInfo:
    """Make a new session on the disk.

    Args:
        home: The user folder.
        workspace: Absolute folder the session works in.
        model: Model to begin with.
        provider: Our name of its provider.
        now: Unix seconds; the clock if None.

    Raises:
        StoreError: The folder cannot be made.
    """
    at = time.time() if now is None else now
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(at))
    place = home / "sessions"
    try:
        make_folder(place)
        while True:
            session_id = f"{stamp}-{''.join(secrets.choice(_ALPHABET) for _ in range(4))}"
            try:
                (place / session_id).mkdir(mode=0o700)
            except FileExistsError:
                continue
            break
        flush_folder(place)
    except OSError as error:
        raise store_error("create a session in", place, error) from error
    info = SessionInfo(session_id, workspace, "", at, at, model, provider)
    save(home, info)
    return info


def save(home: Path, info: SessionInfo) -> None:
    """Write `session.json` anew, whole or not at all.

    Raises:
        StoreError: It could not be saved; the old one stands.
    """
    stored = asdict(info) | {"workspace": str(info.workspace), "version": VERSION}
    payload = json.dumps(stored, indent=2).encode("ascii") + b"\n"
    save_atomically(folder(home, info.id) / FILE_NAME, payload)


def load(home: Path, id_or_prefix: str) -> SessionInfo:
    """The session meant by an id, the beginning of one, or its last four characters.

    Raises:
        UsageError: None fits, or several do; the message lists them.
        StoreError: It fits, but cannot be read.
    """
    return _load(home / "sessions" / choose(_names(home), id_or_prefix, "stormclaw session list"))


def latest(home: Path, workspace: Path) -> SessionInfo | None:
    """The session last updated in a workspace; one without a transcript only if all are."""
    sessions = list_sessions(home, workspace)
    spoken = (info for info in sessions if _transcript_size(folder(home, info.id)))
    return next(spoken, sessions[0] if sessions else None)


def list_sessions(home: Path, workspace: Path | None = None) -> list[SessionInfo]:
    """All readable sessions (of a workspace, if given), last updated first."""
    return list(survey(home, workspace).sessions)


def survey(home: Path, workspace: Path | None = None) -> Listing:
    """All sessions (of a workspace, if given), and what is wrong with those left out.

    Raises:
        StoreError: The sessions folder cannot be read.
    """
    sessions: list[SessionInfo] = []
    problems: list[str] = []
    for name in _names(home):
        try:
            info = _load(home / "sessions" / name)
        except StoreError as error:
            problems.append(str(error))
            continue
        if workspace is None or info.workspace == workspace:
            sessions.append(info)
    sessions.sort(key=lambda info: (info.updated, info.id), reverse=True)
    return Listing(tuple(sessions), tuple(problems))


def titled(info: SessionInfo, prompt: str) -> SessionInfo:
    """The session named after its first prompt; one that has a title keeps it."""
    words = "".join(sign if sign.isprintable() else " " for sign in prompt).split()
    title = " ".join(words)
    if info.title or not title:
        return info
    if len(title) > TITLE_LENGTH:
        title = title[: TITLE_LENGTH - 1].rstrip() + "…"
    return replace(info, title=title)


def choose(ids: Sequence[str], wanted: str, lister: str) -> str:
    """The one id meant by `wanted`: an id, the beginning of one, or its last part.

    Args:
        ids: All there are, oldest first.
        wanted: What the person typed.
        lister: The command that lists them.

    Raises:
        UsageError: None fits, or several do; the message lists the newest.
    """
    if wanted in ids:
        return wanted
    fitting = [known for known in ids if known.startswith(wanted) or known.endswith(f"-{wanted}")]
    if not fitting or not wanted:
        raise UsageError(f"no session {wanted!r}; `{lister}` shows them")
    if len(fitting) > 1:
        shown = ", ".join(reversed(fitting[-_SHOWN_CANDIDATES:]))
        more = len(fitting) - _SHOWN_CANDIDATES
        rest = f" and {more} more" if more > 0 else ""
        raise UsageError(f"{wanted!r} fits {len(fitting)} sessions: {shown}{rest}")
    return fitting[0]


def _names(home: Path) -> list[str]:
    place = home / "sessions"
    try:
        return sorted(path.name for path in place.iterdir() if _ID.fullmatch(path.name))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise store_error("list", place, error) from error


def _load(place: Path) -> SessionInfo:
    path = place / FILE_NAME
    try:
        content = path.read_bytes()
    except OSError as error:
        raise store_error("read", path, error) from error
    try:
        stored = upgrade(_decoded(content), key="version", current=VERSION, steps=_MIGRATIONS)
        if isinstance(workspace := stored.get("workspace"), str):
            stored = stored | {"workspace": Path(workspace)}
        info = msgspec.convert(stored, SessionInfo)
    except StoreError as error:
        raise type(error)(f"{path}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path}: not a session: {error}") from error
    if info.id != place.name:
        raise StoreError(f"{path}: belongs to session {info.id}, not to this folder")
    return replace(info, updated=max(info.updated, _last_write(place)))


def _decoded(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:  # Lone surrogates: a folder whose name is not UTF-8.
        return json.loads(content)


def _transcript_size(place: Path) -> int:
    try:
        return (place / TRANSCRIPT_NAME).stat().st_size
    except OSError:
        return 0


def _last_write(place: Path) -> float:
    """When the transcript last grew: right even after a crash, when nobody saved the session."""
    try:
        status = (place / TRANSCRIPT_NAME).stat()
    except OSError:
        return 0.0
    return status.st_mtime if status.st_size else 0.0

"""What can be done to a session as a whole: fork it, name it, remove it. For every front end."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from stormclaw.errors import StoreError, UsageError
from stormclaw.protocol.messages import (
    NO_USAGE,
    ROOT,
    AssistantTurn,
    ContextEdit,
    Node,
    Summary,
    UserText,
)
from stormclaw.store import sessions, transcripts
from stormclaw.store.branches import current
from stormclaw.store.newborn import being_made, cleared, set_aside
from stormclaw.store.sessions import TITLE_LENGTH, SessionInfo

if TYPE_CHECKING:
    from stormclaw.store.memory import Memory

FORKED = " (fork)"


def fork(home: Path, session_id: str, at: str = "", *, now: float | None = None) -> SessionInfo:
    """A new session with one branch of another, which stays as it is and may be open.

    Args:
        home: The user folder.
        session_id: The session, or the beginning of its id.
        at: Where the branch ends, see `branches.current`; "" for where the session stands.
        now: Unix seconds; the clock if None.

    Raises:
        UsageError: No such session or place, or nothing was said in it yet.
        StoreError: It cannot be read, or the new one not be written; nothing is left of it then.
    """
    source = sessions.load(home, session_id)
    nodes = current(transcripts.read(sessions.folder(home, source.id)).nodes, at)
    if not nodes:
        raise UsageError(f"nothing was said in session {source.id} yet; there is nothing to fork")
    with being_made(home, source.workspace, source.model, source.provider, now=now) as made:
        for node in nodes:
            made.add(node)
        made.know(title=_forked(source.title), origin=source.id, **totals(nodes))
    return made.info


def remove(home: Path, session_id: str, memory: Memory | None = None) -> None:
    """Take a session off the disk and out of the index. Receipts of its calls stay.

    Args:
        home: The user folder.
        session_id: All of its id.
        memory: The index over all sessions; None leaves it alone.

    Raises:
        UsageError: There is no such session.
        StoreError: It is open somewhere, or the disk refuses; the message says what is left.
    """
    folder = sessions.folder(home, session_id)
    if not folder.is_dir():
        raise UsageError(f"no session {session_id!r}; `stormclaw session list --all` shows them")
    lock = transcripts.take(folder)
    try:
        aside = set_aside(home, session_id)
    finally:
        os.close(lock)
    cleared(aside)
    if memory is not None:
        try:
            memory.forget(session_id)
        except StoreError as error:
            raise StoreError(
                f"session {session_id} is removed, but not what the index knows of it ({error}); "
                "`stormclaw memory reindex` does that"
            ) from error


def rename(home: Path, session_id: str, title: str, memory: Memory | None = None) -> SessionInfo:
    """Give a session another title; one open in this program must be told of it besides.

    Args:
        home: The user folder.
        session_id: The session, or the beginning of its id.
        title: One line; a long one is cut.
        memory: The index, which shows titles too; None leaves it alone.

    Raises:
        UsageError: No such session, or no title.
        StoreError: It is open in another program, which would write the old title again; or the
            disk refuses.
    """
    info = sessions.load(home, session_id)
    named = replace(info, title=fit_title(title))
    folder = sessions.folder(home, info.id)
    lock: int | None = None
    try:
        lock = transcripts.take(folder)
    except StoreError:
        if transcripts.owner(folder) != os.getpid():
            raise
    try:
        sessions.save(home, named)
    finally:
        if lock is not None:
            os.close(lock)
    if memory is not None:
        memory.index_all(named, ())
    return named


def fit_title(title: str) -> str:
    """The title as it is kept: one line, not too long.

    Raises:
        UsageError: Nothing of it can be shown.
    """
    words = " ".join("".join(sign if sign.isprintable() else " " for sign in title).split())
    if not words:
        raise UsageError("a title needs at least one word")
    return words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 1].rstrip() + "…"


def totals(nodes: Iterable[Node]) -> dict[str, float | int | None]:
    """What `SessionInfo` says of these nodes: `turns`, `cost_usd` where anybody knows, and how."""
    usage, turns = NO_USAGE, 0
    for node in nodes:
        if isinstance(node.body, AssistantTurn | Summary | ContextEdit):
            usage = usage + node.body.usage
        elif isinstance(node.body, UserText) and node.agent == ROOT and not node.body.steered:
            turns += 1
    return {
        "turns": turns,
        "cost_usd": usage.cost_usd,
        "cost_estimated": usage.cost_estimated,
    }


def _forked(title: str) -> str:
    if not title or title.endswith(FORKED):
        return title
    return f"{title[: TITLE_LENGTH - len(FORKED)].rstrip()}{FORKED}"

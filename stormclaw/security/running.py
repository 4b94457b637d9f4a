"""Which StormClaws run on a home: each leaves a card there, and marks what its tools start."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from stormclaw.processes import MARK, is_alive, look

LOG = logging.getLogger(__name__)

FOLDER = "run"
MAX_CARD = 65_536


@dataclass(frozen=True, slots=True)
class Card:
    """A running StormClaw.

    Attributes:
        pid: Its process id, as its own machine or container counts.
        started: Its start time as the process table tells it; with the pid it is unique.
        kind: Which front end: tui, cli.
        workspace: The folder it works in.
        session: Its open session, "" for none.
        since: When it began, in Unix seconds.
        space: The machine and process space its pid counts in.
    """

    pid: int
    started: int
    kind: str
    workspace: str
    session: str
    since: float
    space: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The StormClaws of a home: those whose processes can be seen from here, and the others."""

    here: tuple[Card, ...]
    elsewhere: tuple[Card, ...]


def mark(home: Path, pid: int | None = None) -> str:
    """What the tools of a StormClaw put into the environment of what they start.

    Args:
        home: StormClaw's own folder.
        pid: The StormClaw; this process if None.
    """
    number = os.getpid() if pid is None else pid
    there = look(number)
    return f"{home_mark(home)}.{number}.{there.started if there else 0}"


def home_mark(home: Path) -> str:
    """The first part of every mark on this home."""
    return sha256(os.fsencode(home.resolve())).hexdigest()[:16]


def marked(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """An environment for what tools start."""
    return {**environ, MARK: mark(home)}


def register(home: Path, kind: str, workspace: Path) -> Card:
    """Leave this process's card; that it cannot be written is logged, nothing more."""
    there = look(os.getpid())
    started = there.started if there else 0
    card = Card(os.getpid(), started, kind, str(workspace), "", time.time(), _space())
    _write(home, card)
    return card


def in_session(home: Path, card: Card, session: str) -> Card:
    """The card with the session that is open now."""
    card = replace(card, session=session)
    _write(home, card)
    return card


def unregister(home: Path, card: Card) -> None:
    """Take this process's card away."""
    with contextlib.suppress(OSError):
        _path(home, card).unlink(missing_ok=True)


def running(home: Path) -> Listing:
    """All cards of processes that live, oldest first; those of dead ones are cleared away."""
    space = _space()
    here: list[Card] = []
    elsewhere: list[Card] = []
    try:
        paths = list((home / FOLDER).glob("*.json"))
    except OSError:
        paths = []
    for path in paths:
        card = _read(path)
        if card is None:
            continue
        if card.space != space:
            elsewhere.append(card)
        elif _lives(card):
            here.append(card)
        else:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
    return Listing(
        tuple(sorted(here, key=lambda card: card.since)),
        tuple(sorted(elsewhere, key=lambda card: card.since)),
    )


def _lives(card: Card) -> bool:
    proc = look(card.pid)
    return proc is not None and proc.started == card.started and is_alive(proc)


def _path(home: Path, card: Card) -> Path:
    return home / FOLDER / f"{card.pid}.{card.started}.json"


def _write(home: Path, card: Card) -> None:
    folder = home / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".card-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(card), file)
        Path(temporary).replace(_path(home, card))
    except OSError as problem:
        LOG.warning("this StormClaw is not listed in %s: %s", folder, problem)


def _read(path: Path) -> Card | None:
    try:
        with path.open("rb") as file:
            entry: Any = json.loads(file.read(MAX_CARD))
        return Card(
            int(entry["pid"]),
            int(entry["started"]),
            str(entry["kind"]),
            str(entry["workspace"]),
            str(entry["session"]),
            float(entry["since"]),
            str(entry["space"]),
        )
    except (OSError, ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return None


def _space() -> str:
    """Whose process ids these are: the machine's, or a container's."""
    try:
        return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115
    except OSError:
        return socket.gethostname()

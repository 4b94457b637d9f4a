"""Decisions about a conversation, each as one muted line of the transcript."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stormclaw.protocol.messages import Change, ContextEdit, Moved, MoveKind
from stormclaw.ui.text import count, tokens

MOVES: dict[MoveKind, tuple[str, str]] = {
    "rewind": ("went back to here", "off this branch"),
    "branch": ("another branch from here", "left behind"),
    "undo": ("undone", "taken back"),
    "redo": ("brought back", "on this branch again"),
    "files": ("files only", "left behind"),
}
"""What a move is called, and what became of the turns it took away or brought back."""


def edited(edit: ContextEdit) -> str:
    """What a decision about the context did: `old results: 12 messages left out, ~41k → ~30k`."""
    by = edit.by.replace("_", " ")
    did = "taken back" if edit.undoes else ", ".join(_did(edit)) or "nothing"
    words = f"context · {by}: {did}"
    if edit.before == edit.after:
        return words
    return f"{words}, ~{tokens(edit.before)} → ~{tokens(edit.after)} tokens"


def _did(edit: ContextEdit) -> Iterator[str]:
    for what, number in Counter(map(_kind, edit.changes)).items():
        yield f"{count(number, 'message')} {what}"
    if edit.policies:
        yield f"policies {', '.join(edit.policies).replace('_', ' ')}"
    elif edit.policies is not None:
        yield "policies as configured"


def _kind(change: Change) -> str:
    if not change.include:
        return "shortened" if change.summary else "left out"
    if change.pinned:
        return "pinned"
    return "whole again" if change.reasoning else "without reasoning"


def moved_on(move: Moved) -> str:
    """What left the branch, which files went with it, which stay: `went back to here, 3 turns...`.

    One file is named, several are counted.
    """
    name, gone = MOVES[move.kind]
    parts = [f"{count(move.turns, 'turn')} {gone}"] if move.turns else []
    if move.files:
        parts.append(f"{_files(move.files)} put back")
    if move.kept:
        parts.append(
            f"{_files(move.kept)} left as {'it is' if len(move.kept) == 1 else 'they are'}"
        )
    return ", ".join([name, *parts])


def _files(paths: tuple[str, ...]) -> str:
    return paths[0] if len(paths) == 1 else count(len(paths), "file")

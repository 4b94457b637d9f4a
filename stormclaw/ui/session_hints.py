"""Which keys the footer of the sessions screen names, by what the cursor is on."""

from __future__ import annotations

from typing import TypeAlias

from stormclaw.ui.tree_lines import GapLine, HereLine, ListLine, SessionLine, TurnLine, WordsLine

Hints: TypeAlias = tuple[tuple[str, str], ...]
FIND: Hints = (("/", "search"), ("a", "all folders"))
HINTS: dict[str, Hints] = {
    "turn": (
        ("b", "both"),
        ("c", "conversation"),
        ("f", "files"),
        ("n", "go on"),
        FIND[0],
        ("l", "label"),
        ("u", "undo"),
        ("U", "redo"),
    ),
    "here": (("u", "undo"), ("U", "redo"), ("l", "label"), *FIND),
    "open": (("r", "rename"), ("x", "export"), *FIND),
    "other": (("enter", "go on"), ("p", "preview"), ("→", "turns"), *FIND),
    "none": FIND,
}


def hints_of(line: ListLine | None, open_id: str, everywhere: bool = False) -> Hints:
    """(key, what it does), the most wanted first.

    Args:
        line: What the cursor is on.
        open_id: Id of the open session.
        everywhere: Whether the sessions of all folders are shown, so that `a` leads back.
    """
    hints = _hints_of(line, open_id)
    return tuple(
        (key, "this folder") if everywhere and key == "a" else (key, does) for key, does in hints
    )


def _hints_of(line: ListLine | None, open_id: str) -> Hints:
    match line:
        case TurnLine(session) if session == open_id:
            return HINTS["turn"]
        case HereLine():
            return HINTS["here"]
        case SessionLine(info):
            return HINTS["open" if info.id == open_id else "other"]
        case TurnLine() | WordsLine():
            return HINTS["other"]
        case GapLine() | None:
            return FIND

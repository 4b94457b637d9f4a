"""What going back did, in words; shared by the commands that do it and the screens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stormclaw.errors import UsageError
from stormclaw.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stormclaw.agent.history.values import Leaf, Returned

REDO = "/redo brings it back"
SAID = 40
"""Characters of a turn that name it."""
SHORTEST = 6
"""Characters that name a turn by the beginning of its id."""
NAMED = 3
"""Paths named before they are only counted."""
BUSY = "a turn runs; stop it first (esc, or ctrl+c in the line-based chat), then go back"


def idle(runtime: Runtime) -> None:
    """Make sure nothing runs, since what runs would write to what is being put back.

    Raises:
        UsageError: A turn runs.
    """
    if runtime.session.busy:
        raise UsageError(BUSY)


def moved(returned: Returned, hint: str = REDO) -> str:
    """`2 turns back, 3 files put back  /redo brings it back`; "" when nothing changed at all."""
    parts = []
    if returned.turns:
        parts.append(f"{counted(returned.turns, 'turn')} back")
    if returned.files:
        parts.append(f"{counted(len(returned.files), 'file')} put back")
    words = ", ".join(parts)
    return f"{words}  {hint}" if words and hint else words


def brought(returned: Returned) -> str:
    """`2 turns, 3 files brought back`."""
    parts = [counted(returned.turns, "turn")] if returned.turns else []
    parts += [counted(len(returned.files), "file")] if returned.files else []
    return f"{', '.join(parts)} brought back" if parts else "as before"


def gone_on(returned: Returned, leaf: Leaf) -> str:
    """`on from the end of 'try tenacity', 2 turns left; files stay  /redo goes back`."""
    said = " ".join((leaf.label or leaf.text).split())[:SAID]
    left = f", {counted(returned.turns, 'turn')} left" if returned.turns else ""
    return f"on from the end of {said!r}{left}; files stay  /redo goes back"


def left_alone(returned: Returned) -> tuple[str, ...]:
    """What did not go back, a sentence each."""
    found: list[str] = []
    if returned.kept:
        stays = "stays as it is" if len(returned.kept) == 1 else "stay as they are"
        found.append(f"{named(returned.kept)} {stays}: changed by somebody else since")
    return (*found, *returned.failed)


def named(paths: Sequence[str]) -> str:
    """`a.py, b.py, c.py and 4 more`."""
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return ", ".join(paths[:NAMED]) + more


def counted(number: int, noun: str) -> str:
    """`1 turn`, `2 turns`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def turn_meant(leaves: Sequence[Leaf], wanted: str) -> Leaf:
    """The turn meant by its number in `/tree`, its label, its id or the beginning of that.

    Raises:
        UsageError: None fits, or several do.
    """
    if wanted.isdecimal() and 1 <= int(wanted) <= len(leaves):
        return leaves[int(wanted) - 1]
    lower = wanted.lower()
    fitting = [leaf for leaf in leaves if leaf.label.lower() == lower or leaf.id == wanted]
    if not fitting and len(wanted) >= SHORTEST:  # A number too high is no beginning of an id.
        fitting = [leaf for leaf in leaves if leaf.id.startswith(wanted)]
    if len(fitting) == 1:
        return fitting[0]
    if not leaves:
        raise UsageError(f"there is no turn {wanted!r}: nothing was said in this session yet")
    how = "name it by its label, or by its number from the top of /tree"
    if fitting:
        raise UsageError(f"{wanted!r} fits {len(fitting)} turns; {how}")
    raise UsageError(f"there is no turn {wanted!r} among {len(leaves)}; {how}")

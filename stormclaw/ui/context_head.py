"""What the header and the footer of the context screen say, as pure functions of what goes on."""

from __future__ import annotations

from stormclaw.ui.context_trial import Differences
from stormclaw.ui.rows import Run
from stormclaw.ui.text import one_line

Hints = tuple[tuple[str, str], ...]

LIST: Hints = (("space", "keep or drop"), ("s", "summarise"), ("w", "wire"), ("t", "pin"))
LIST_DRY: Hints = (("o", "only changes"), ("w", "preview the wire"))
STACK: Hints = (("space", "on or off"), ("J K", "order"))
STACK_DRY: Hints = (("enter", "apply"), *STACK)


def trail(
    name: str, dry: Differences | None, work: tuple[Run, ...], sought: str, *, only: bool
) -> tuple[Run, ...]:
    """The name; a dry run, what is at work, what the list is narrowed to.

    Args:
        name: Of the screen.
        dry: What a dry run changes, None where there is none.
        work: What a model is at, empty for nothing.
        sought: The filter; foreign.
        only: Only what is held back, or would change, is listed.
    """
    runs = [Run(name, "text", "b")]
    if dry is not None:
        words = f"only {dry.words()}" if only else dry.words()
        runs += [Run("  dry run", "accent", "b"), Run(f"  {words}", "muted")]
    if work:
        return (*runs, *work)
    narrowed = ["held back"] if only and dry is None else []
    narrowed += [f'"{one_line(sought)}"'] if sought else []
    return (*runs, Run(f"  {', '.join(narrowed)}", "muted")) if narrowed else tuple(runs)


def hints(*, stack: bool, dry: bool) -> Hints:
    """The keys that count in the list, or in the stack of policies; also in a dry run."""
    if stack:
        return STACK_DRY if dry else STACK
    return LIST_DRY if dry else LIST


def ways(leave: str, *, stack: bool, short: bool) -> Hints:
    """The keys that lead elsewhere; `short` where something is said in their place."""
    if short:
        return (("esc", leave),)
    return (("tab", "list" if stack else "policies"), ("f1", "keys"), ("esc", leave))

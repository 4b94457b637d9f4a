"""`/fork [LABEL]`: names this place, so that another branch can go on from it later."""

from __future__ import annotations

from itertools import count

from stormclaw.commands.back import idle
from stormclaw.protocol.command import Answer, Command
from stormclaw.runtime import Runtime

MOST = 60
"""Characters of a label."""


async def _run(runtime: Runtime, rest: str) -> Answer:
    idle(runtime)
    history = runtime.session.history
    taken = {leaf.label for leaf in history.tree()}
    free = (name for number in count(1) if (name := f"fork {number}") not in taken)
    label = " ".join(rest.split())[:MOST] or next(free)
    if not await history.mark(label):
        return Answer("nothing was said yet; there is no place to name", ok=False)
    return Answer(f"this place is called {label!r}; go on here, /tree {label} comes back to it")


COMMAND = Command(
    "fork", "Name this place, to branch off from it later", _run, "[LABEL]", aliases=("branch",)
)

"""`/tree [TURN]`: every turn on every branch, or on from the end of one of them.

Without a screen the turns are a numbered table.
"""

from __future__ import annotations

from stormclaw.commands.ages import age
from stormclaw.commands.back import gone_on, idle, turn_meant
from stormclaw.errors import StoreError
from stormclaw.protocol.command import Answer, Command, Draft
from stormclaw.protocol.display import Table
from stormclaw.runtime import Runtime

COLUMNS = ("turn", "when", "files", "said", "label")
HINT = "/tree TURN goes on from its end, /rewind TURN goes back to before it"
OTHER_BRANCH = "  "
"""Before a turn, for each branch between it and the one that goes on."""


async def listed(runtime: Runtime, hint: str) -> Answer:
    """The turns as a table for front ends without a screen; the others open the tree."""
    history = runtime.session.history
    try:
        await history.learn()
    except StoreError:
        hint += "\n(what shell commands changed cannot be read)"
    leaves = history.tree()
    last = max((at for at, leaf in enumerate(leaves) if leaf.current), default=-1)
    rows = []
    for number, leaf in enumerate(leaves, start=1):
        here = "  < you are here" if number == last + 1 else ""
        said = f"{OTHER_BRANCH * leaf.depth}{'' if leaf.current else '| '}{leaf.text}{here}"
        files = str(len(leaf.files)) if leaf.files else ""
        rows.append((str(number), age(leaf.at), files, said, leaf.label))
    if not rows:
        return Answer("nothing was said in this session yet", screen="tree")
    return Answer(hint, Table(COLUMNS, tuple(rows)), screen="tree")


async def _run(runtime: Runtime, rest: str) -> Answer:
    if not rest:
        return await listed(runtime, HINT)
    idle(runtime)
    history = runtime.session.history
    leaves = history.tree()
    leaf = turn_meant(leaves, rest)
    trunk = [other for other in leaves if other.current]
    if trunk and trunk[-1].id == leaf.id:
        return Answer("you are there already")
    return Answer(gone_on(await history.go(leaf.id), leaf), change=Draft())


COMMAND = Command("tree", "Turns on every branch, or on from one", _run, "[TURN]")

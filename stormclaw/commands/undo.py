"""`/undo`: the last turn goes, in the conversation and in the files; `/redo` brings it back."""

from __future__ import annotations

from stormclaw.commands.back import idle, left_alone, moved
from stormclaw.protocol.command import Answer, Command, Draft
from stormclaw.runtime import Runtime


async def _run(runtime: Runtime, rest: str) -> Answer:
    idle(runtime)
    history = runtime.session.history
    last = next((leaf for leaf in reversed(history.tree()) if leaf.current), None)
    blocked = (await history.preview(last.id)).blocked if last is not None else ""
    back = await history.undo()
    if back is None:
        return Answer("nothing to take back: nothing was said on this branch", ok=False)
    lines = (
        moved(back),
        *left_alone(back),
        *((f"files stay: {blocked}",) if blocked not in ("", *back.failed) else ()),
    )
    return Answer("\n".join(lines), change=Draft(back.text), ok=not back.failed)


COMMAND = Command("undo", "Take back the last turn, its files too", _run)

"""`/rewind [TURN] [both|conversation|files]`: back to before a turn; nothing is lost."""

from __future__ import annotations

from collections.abc import Mapping

from stormclaw.commands.back import idle, left_alone, moved, turn_meant
from stormclaw.commands.tree import listed
from stormclaw.errors import UsageError
from stormclaw.protocol.command import Answer, Command, Draft
from stormclaw.runtime import Runtime

WHAT: Mapping[str, tuple[bool, bool]] = {
    "both": (True, True),
    "conversation": (True, False),
    "files": (False, True),
}
"""Word -> (conversation, files)."""
USAGE = "[TURN] [both|conversation|files]"


async def _run(runtime: Runtime, rest: str) -> Answer:
    words = rest.split()
    what = WHAT.get(words[-1].lower()) if words else None
    if what is not None:
        words.pop()
    if not words and what is None:
        return await listed(runtime, f"/rewind {USAGE}")
    idle(runtime)
    conversation, files = what or WHAT["both"]
    history = runtime.session.history
    leaves = history.tree()
    trunk = [leaf for leaf in leaves if leaf.current]
    if not trunk and not words:
        raise UsageError("nothing was said on this branch; there is nothing to go back to")
    leaf = turn_meant(leaves, " ".join(words)) if words else trunk[-1]
    back = await history.rewind(leaf.id, conversation=conversation, files=files)
    nothing = "no file had to go back" if not conversation else "nothing to go back to"
    lines = (moved(back) or nothing, *left_alone(back))
    return Answer("\n".join(lines), change=Draft(back.text), ok=not back.failed)


COMMAND = Command("rewind", "Go back to before a turn: words, files, both", _run, "[TURN] [WHAT]")

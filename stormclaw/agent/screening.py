"""Between a tool's output and the model: keys in it are masked, asked about, or pointed out."""

from __future__ import annotations

from dataclasses import replace

from stormclaw.agent.attempt import Attempt
from stormclaw.agent.kit import Kit
from stormclaw.protocol.asks import Question
from stormclaw.protocol.display import Display, Plain, Table
from stormclaw.security.secrets import Screened, screen

MASK_THEM, GIVE_THEM = "mask them", "give them to the model"


async def screened(attempt: Attempt, kit: Kit) -> None:
    """Settle what the model sees of an output that holds something shaped like a key."""
    seen = screen(attempt.output)
    if not seen.found:
        return
    attempt.masked = seen.found
    names = ", ".join(seen.found[:5]) + (" ..." if len(seen.found) > 5 else "")
    values = "a value" if len(seen.found) == 1 else f"{len(seen.found)} values"
    if kit.secrets == "allow" or (kit.secrets == "ask" and await _given(attempt, seen, kit)):
        note = f"[this holds {values} shaped like a key ({names}): do not repeat or send them]"
        attempt.output = f"{attempt.output}\n\n{note}"
        return
    note = (
        f"[{values} shaped like a key masked before you saw this: {names}; work without, "
        "the person decides (security.secrets)]"
    )
    attempt.output = f"{seen.text}\n\n{note}"
    attempt.display = _masked(attempt.display)


async def _given(attempt: Attempt, seen: Screened, kit: Kit) -> bool:
    """Whether the person lets the model see them; no answer, or nobody there, is no."""
    what = f"{attempt.headline.verb} {attempt.headline.object}"
    text = f"The result of `{what}` holds what looks like keys: {', '.join(seen.found[:5])}."
    options = (MASK_THEM, GIVE_THEM)
    reply = await kit.asks.put(Question(kit.asks.new_id(), kit.agent, text, options))
    return reply.choice == "text" and reply.text == GIVE_THEM


def _masked(display: Display | None) -> Display | None:
    """The same without keys; diffs and commands stay as they were approved."""
    match display:
        case Plain(text):
            return Plain(screen(text).text)
        case Table(rows=rows):
            return replace(
                display, rows=tuple(tuple(screen(cell).text for cell in row) for row in rows)
            )
        case _:
            return display

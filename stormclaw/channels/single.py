"""One tool, run by hand through the gate: output on standard output, errors on standard error."""

from __future__ import annotations

import secrets
import sys

from stormclaw.agent.asks import NOBODY
from stormclaw.agent.calls import perform
from stormclaw.agent.hub import Hub
from stormclaw.agent.sealing import Outcomes
from stormclaw.channels.approval import described, reply_to
from stormclaw.channels.inert_stream import for_stream
from stormclaw.channels.lines import line_if_any
from stormclaw.channels.result import DENIED, FAILED, OK
from stormclaw.protocol.asks import DENIED as NO
from stormclaw.protocol.asks import Ask, Permission, Reply
from stormclaw.protocol.events import Asked, ToolStarted
from stormclaw.protocol.inert import inert
from stormclaw.protocol.messages import ToolCall, ToolOutcome, outcome_of
from stormclaw.runtime import Runtime

EXIT = {"done": OK, "failed": FAILED, "denied": DENIED, "interrupted": FAILED}


async def run_tool(
    runtime: Runtime, name: str, arguments: str, *, yes: bool = False, terminal: bool = True
) -> int:
    """Run the tool; returns the exit code: 0 done, 1 failed, 3 denied.

    Args:
        runtime: Made for this.
        name: Name or alias.
        arguments: A JSON object.
        yes: The person said beforehand that what is of medium risk may run: once, and as it was
            judged. Opening the walls wider after a failure is another question.
        terminal: Whether somebody can type an answer.
    """
    import asyncio

    hub = Hub()
    events = hub.subscribe()
    runtime.guard()
    kit = runtime.loose_kit(hub)
    outcomes: Outcomes = {}
    call = ToolCall(f"by-hand-{secrets.token_hex(4)}", name, arguments)
    work = asyncio.create_task(perform(call, kit, outcomes))
    work.add_done_callback(lambda _: hub.close())
    tries = 0
    async for event in events:
        if isinstance(event, ToolStarted):
            tries += 1
        if isinstance(event, Asked) and kit.asks.attended:
            agreed = yes and tries == 1 and _is_medium(event.ask)
            reply = Reply("once") if agreed else _typed(event.ask) if terminal else NOBODY
            kit.asks.answer(event.ask.id, reply)
    await work
    return _print(outcome_of(outcomes[call.id]))


def _is_medium(ask: Ask) -> bool:
    """Whether it is a question whether something of medium risk may run."""
    if not isinstance(ask, Permission):
        return False
    return (ask.verdict.decision, ask.verdict.risk) == ("ask", "medium")


def _typed(ask: Ask) -> Reply:
    sys.stderr.write(inert(described(ask)))
    sys.stderr.flush()
    line = line_if_any()
    return NO if line is None else reply_to(ask, line)


def _print(outcome: ToolOutcome | None) -> int:
    if outcome is None:
        return FAILED
    stream = sys.stdout if outcome.status == "done" else sys.stderr
    stream.write(for_stream(outcome.output.rstrip("\n"), stream) + "\n")
    return EXIT[outcome.status]

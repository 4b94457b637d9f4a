"""One turn without a screen: the answer on standard output, everything else on standard error."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from typing import IO, Literal, TypeAlias

from stormclaw.agent.session import Session
from stormclaw.channels.inert_stream import for_stream
from stormclaw.channels.result import TurnResult
from stormclaw.channels.wire import event_to_json
from stormclaw.log import mask_secrets
from stormclaw.protocol.asks import Ask
from stormclaw.protocol.events import Asked, Event, Notice, ToolEnded, TurnEnded
from stormclaw.protocol.inert import inert
from stormclaw.protocol.messages import ROOT

OutputFormat: TypeAlias = Literal["text", "json", "stream-json"]
UNDONE = frozenset({"denied", "interrupted"})
"""How calls end that a person must hear of."""
OUTPUT_FORMATS: tuple[OutputFormat, ...] = ("text", "json", "stream-json")


async def one_turn(
    session: Session,
    text: str,
    output: OutputFormat = "text",
    *,
    answer: Callable[[Ask], None] | None = None,
    out: IO[str] = sys.stdout,
    err: IO[str] = sys.stderr,
) -> TurnResult:
    """Run one turn to its end and print what `output` asks for.

    Args:
        session: Idle.
        text: The prompt.
        output: text: the last answer; json: one object; stream-json: a line an event, then it.
        answer: Called with each question; it answers through the session. None: nobody is there.
        out: For the answer.
        err: For notices and denials.
    """
    result = TurnResult(session.id)
    events = session.events()
    _interrupt_on_signals(session)
    session.prompt(text)
    async for event in events:
        result.take(event)
        if output == "stream-json":
            _line(out, event_to_json(event))
        else:
            _tell(event, err)
        if isinstance(event, Asked) and answer is not None:
            answer(event.ask)
        if isinstance(event, TurnEnded) and event.agent == ROOT:
            break
    await session.idle()
    for event in events.waiting():
        result.take(event)
    print_result(result, output, out, err)
    return result


def print_result(result: TurnResult, output: OutputFormat, out: IO[str], err: IO[str]) -> None:
    """Print what came of it, as `output` asks."""
    if output == "text":
        if result.text:
            print(for_stream(result.text, out), file=out, flush=True)
        if result.is_error:
            print(_remark(result.message), file=err, flush=True)
    else:
        _line(out, result.to_json())


def _tell(event: Event, err: IO[str]) -> None:
    match event:
        case Notice(level="warning" | "error"):
            print(_remark(event.text), file=err, flush=True)
        case ToolEnded(outcome=outcome) if outcome.status in UNDONE:
            line = f"{outcome.headline.verb} {outcome.headline.object}: {outcome.summary}"
            print(_remark(f"{outcome.status}: {line}"), file=err, flush=True)
        case _:
            pass


def _remark(text: str) -> str:
    """A line of ours on standard error: foreign words in it are inert, keys in it masked."""
    return f"stormclaw: {inert(mask_secrets(text), prose=True)}"


def _line(out: IO[str], value: object) -> None:
    out.write(json.dumps(value, separators=(",", ":")) + "\n")
    out.flush()


def _interrupt_on_signals(session: Session) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, session.interrupt)

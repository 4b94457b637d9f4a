"""One turn without a screen, from the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from stormclaw.channels.answers import is_command, one_command
from stormclaw.channels.headless import one_turn
from stormclaw.cli.options import target_of
from stormclaw.config.place import Place
from stormclaw.protocol.asks import Ask, Reply
from stormclaw.providers.choose import DEMO
from stormclaw.runtime import open_runtime

UNTRUSTED = (
    "{} of this project's settings ignored; `stormclaw config trust` lists them and trusts them"
)
SCRIPTED = "no model is connected: the demo answers, scripted; `stormclaw onboard` connects one"


async def turn(
    place: Place,
    options: argparse.Namespace,
    text: str,
    session_id: str = "",
    *,
    reply: Callable[[Ask], Reply] | None = None,
) -> int:
    """Run one turn and print it; returns the exit code.

    Args:
        place: Where.
        options: With `model` and `output_format`.
        text: The prompt, or a slash command.
        session_id: To go on with, "" for a new one.
        reply: Answers questions; None when nobody is there.
    """
    runtime = await open_runtime(
        place, "cli", attended=reply is not None, target=target_of(options), session_id=session_id
    )
    session = runtime.session
    if runtime.way.name == DEMO:
        sys.stderr.write(f"stormclaw: {SCRIPTED}\n")

    if ignored := len(place.loaded.warnings):
        sys.stderr.write(f"stormclaw: {UNTRUSTED.format(ignored)}\n")

    def answer(ask: Ask) -> None:
        if reply is not None:
            session.answer(ask.id, reply(ask))

    try:
        if is_command(text):
            return await one_command(runtime, text, options.output_format)
        result = await one_turn(
            session, text, options.output_format, answer=None if reply is None else answer
        )
    finally:
        await runtime.close()
    return result.exit_code

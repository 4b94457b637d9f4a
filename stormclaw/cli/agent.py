"""Converse line by line, or run one turn.

examples:
  stormclaw agent                      a line-based conversation; /exit leaves
  stormclaw agent -m "list the files"  one turn; approvals are read from standard input
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys

from stormclaw.cli.options import (
    add_executor,
    add_model,
    add_turn_limits,
    place_from,
    target_of,
)
from stormclaw.cli.resume import session_to_resume


def add(parser: argparse.ArgumentParser) -> None:
    """Arguments of `stormclaw agent`."""
    parser.add_argument("-m", "--message", metavar="TEXT", help="run one turn with this and leave")
    parser.add_argument(
        "-c", "--continue", dest="go_on", action="store_true", help="the last session here"
    )
    parser.add_argument("-r", "--resume", default="", metavar="ID", help="an earlier session")
    add_model(parser)
    add_executor(parser)
    add_turn_limits(parser)


def run(options: argparse.Namespace) -> int:
    """Run `stormclaw agent`."""
    place = place_from(options)
    session_id = session_to_resume(place, options)
    if options.message is None:
        return asyncio.run(_repl(options, session_id))
    from stormclaw.agent.asks import NOBODY
    from stormclaw.channels.approval import described, reply_to
    from stormclaw.channels.lines import line_if_any
    from stormclaw.cli.turn import turn
    from stormclaw.protocol.asks import Ask, Reply
    from stormclaw.protocol.inert import inert

    def reply(ask: Ask) -> Reply:
        sys.stderr.write(inert(described(ask)))
        sys.stderr.flush()
        line = line_if_any()
        sys.stderr.write("\n" if line is None else "")
        return NOBODY if line is None else reply_to(ask, line)

    return asyncio.run(turn(place, options, options.message, session_id, reply=reply))


async def _repl(options: argparse.Namespace, session_id: str) -> int:
    from stormclaw.channels.repl import Repl
    from stormclaw.runtime import open_runtime

    gc.enable()
    runtime = await open_runtime(
        place_from(options), "cli", attended=True, target=target_of(options), session_id=session_id
    )
    try:
        return await Repl(runtime).run()
    finally:
        await runtime.close()

"""The assistant itself: full screen, or one turn with -p."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import sys
from typing import TYPE_CHECKING

from stormclaw import log
from stormclaw.cli.options import (
    add_executor,
    add_model,
    add_turn_limits,
    place_from,
    target_of,
)
from stormclaw.config.place import Place, branch_of
from stormclaw.errors import UsageError
from stormclaw.providers.choose import DEMO, choose

if TYPE_CHECKING:
    from stormclaw.runtime import Runtime

PICK = "pick"


def add(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command without a noun."""
    parser.add_argument("prompt", nargs="?", default="", help="the first thing to say")
    parser.add_argument(
        "-p", "--print", dest="once", action="store_true", help="one turn, no screen"
    )
    parser.add_argument(
        "-c", "--continue", dest="go_on", action="store_true", help="the last session here"
    )
    parser.add_argument(
        "-r", "--resume", nargs="?", const=PICK, default="", metavar="ID", help="an earlier session"
    )
    add_model(parser)
    add_executor(parser)
    add_turn_limits(parser)


def run(options: argparse.Namespace) -> int:
    """Open the assistant, or answer once."""
    if options.once:
        return _once(options)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "the full-screen assistant needs a terminal; -p TEXT answers once without one"
        )
    return _full_screen(options)


def _full_screen(options: argparse.Namespace) -> int:
    from stormclaw.ui.launch import launch
    from stormclaw.ui.start import Start

    place = place_from(options)
    pick = options.resume == PICK
    session_id = "" if pick else _session(place, options)
    log.setup(env=place.env, to=place.home / "logs" / "stormclaw.log")
    known = choose(place.settings, place.env, None)
    shown = known.settings.model.rpartition("/")[2] if known and known.name != DEMO else ""
    start = Start(
        home=place.home,
        workspace=place.workspace,
        branch=branch_of(place.workspace),
        autonomy=place.settings.security.autonomy,
        model_label=shown,
        provider_label=known.name if known and shown else "",
        ui=place.settings.ui,
        prompt=options.prompt,
        resuming=bool(session_id),
        pick=pick,
    )

    async def opener() -> Runtime:
        module = await asyncio.to_thread(importlib.import_module, "stormclaw.runtime")
        runtime: Runtime = await module.open_runtime(
            place, "tui", attended=True, target=target_of(options), session_id=session_id
        )
        return runtime

    return launch(start, opener)


def _session(place: Place, options: argparse.Namespace) -> str:
    if not (options.go_on or options.resume):
        return ""
    from stormclaw.cli.resume import session_to_resume

    return session_to_resume(place, options)


def _once(options: argparse.Namespace) -> int:
    from stormclaw.cli.turn import turn

    piped = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()
    text = "\n\n".join(part for part in (options.prompt, piped.strip()) if part)
    if not text:
        raise UsageError("-p needs something to say: stormclaw -p TEXT, or text on standard input")
    place = place_from(options)
    session_id = _session(place, options)
    return asyncio.run(turn(place, options, text, session_id))

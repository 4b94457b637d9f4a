"""Stop every tool of every running StormClaw of this person, and prove it.

examples:
  stormclaw estop          set the stop, kill what tools have started; text answers go on
  stormclaw estop --json   the same, told as JSON
  stormclaw estop --clear  let tools run again

exit codes: 0 all gone, 1 something could not be killed or the stop could not be set
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

from stormclaw.config.files import home_dir
from stormclaw.log import event
from stormclaw.protocol.inert import inert
from stormclaw.security import estop
from stormclaw.security.halting import Found, Halted, halt_all
from stormclaw.security.running import Card, Listing, running

BY = "stormclaw estop"


def add(parser: argparse.ArgumentParser) -> None:
    """Arguments of `stormclaw estop`."""
    parser.add_argument("--clear", action="store_true", help="let tools run again")
    parser.add_argument("--json", dest="as_json", action="store_true", help="as JSON")


def run(options: argparse.Namespace) -> int:
    """Set or clear the emergency stop."""
    # Nothing else is read: a broken configuration must not keep anybody from stopping, nor delay.
    home = home_dir(os.environ)
    return _clear(home, options) if options.clear else _stop(home, options)


def _clear(home: Path, options: argparse.Namespace) -> int:
    try:
        was = estop.clear(home)
    except OSError as problem:
        sys.stderr.write(f"stormclaw: {estop.path(home)} cannot be removed: {problem.strerror}\n")
        return 1
    if options.as_json:
        print(json.dumps({"stopped": False, "was_stopped": was}))
    else:
        print("tools may run again" if was else "there was no emergency stop")
    return 0


def _stop(home: Path, options: argparse.Namespace) -> int:
    listing = running(home)
    halted, problem = halt_all(home, BY)
    event(logging.getLogger(__name__), "estop_triggered", by=BY, killed=len(halted.killed))
    if options.as_json:
        print(json.dumps(_as_json(home, listing, halted, problem), indent=2))
    else:
        for line in lines(home, listing, halted):
            print(inert(line))
    for found in halted.left:
        sys.stderr.write(inert(f"stormclaw: could not kill {found.proc.pid} {found.command}\n"))
    if problem:
        sys.stderr.write(f"stormclaw: the stop itself could not be set: {problem}\n")
    return 1 if halted.left or problem else 0


def lines(home: Path, listing: Listing, halted: Halted) -> list[str]:
    """What a stop came to, a line each."""
    state = "stopped" if estop.is_stopped(home) else "NOT stopped"
    head = f"{state}: no tool runs until `stormclaw estop --clear` ({estop.path(home)})"
    cards = {card.pid: card for card in listing.here}
    killed = [
        f"  {found.proc.pid} {found.command} ({_whose(found, cards)})" for found in halted.killed
    ]
    counted = f"killed {len(killed)}:" if killed else "nothing was running"
    away = [
        f"on another machine or in a container, obeys by itself: stormclaw {card.pid}, "
        f"{_short(card.workspace)} ({card.space})"
        for card in listing.elsewhere
    ]
    return [head, counted, *killed, *away]


def _whose(found: Found, cards: dict[int, Card]) -> str:
    card = cards.get(found.stormclaw)
    if card is None:
        return f"stormclaw {found.stormclaw}, ended" if found.stormclaw else "stormclaw"
    return f"stormclaw {card.pid}, {_short(card.workspace)}"


def _short(path: str) -> str:
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path


def _as_json(home: Path, listing: Listing, halted: Halted, problem: str) -> dict[str, Any]:
    cards = {card.pid: card for card in listing.here}

    def entry(found: Found) -> dict[str, Any]:
        card = cards.get(found.stormclaw)
        return {
            "pid": found.proc.pid,
            "command": found.command,
            "stormclaw": found.stormclaw,
            "workspace": card.workspace if card else None,
            "session": card.session if card else None,
        }

    return {
        "stopped": estop.is_stopped(home),
        "file": str(estop.path(home)),
        "problem": problem or None,
        "running": [{"pid": card.pid, "workspace": card.workspace} for card in listing.here],
        "elsewhere": [{"pid": card.pid, "space": card.space} for card in listing.elsewhere],
        "killed": [entry(found) for found in halted.killed],
        "left": [entry(found) for found in halted.left],
        "seconds": round(halted.seconds, 3),
    }

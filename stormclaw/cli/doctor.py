"""Check terminal, sandbox, programs, network, configuration and stores; say what to do next.

examples:
  stormclaw doctor         every check in a line
  stormclaw doctor --json  the same for machines
  stormclaw doctor --keys  show each key as StormClaw receives it, until q

exit codes: 0 no problem (warnings are none), 1 a problem
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path

from stormclaw.cli.options import place_from
from stormclaw.commands.checkup import Patient, as_json, examine, lines, sound
from stormclaw.config.files import home_dir
from stormclaw.config.settings import Settings
from stormclaw.errors import StormClawError, UsageError
from stormclaw.protocol.inert import inert


def add(parser: argparse.ArgumentParser) -> None:
    """Arguments of `stormclaw doctor`."""
    parser.add_argument("--json", dest="as_json", action="store_true", help="as JSON")
    parser.add_argument("--keys", action="store_true", help="show the keys you press, until q")


def run(options: argparse.Namespace) -> int:
    """Examine, tell, and return the exit code."""
    at_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    if options.keys:
        if not at_terminal:
            raise UsageError("--keys needs a terminal to press keys at")
        from stormclaw.ui.key_tester import test_keys

        return test_keys()
    findings = examine(_patient(options, at_terminal=at_terminal))
    if options.as_json:
        print(json.dumps(as_json(findings), indent=2))
    else:
        for line in lines(findings):
            print(inert(line))
    return 0 if sound(findings) else 1


def _patient(options: argparse.Namespace, *, at_terminal: bool) -> Patient:
    """Also where the configuration cannot be read: then the defaults are looked at."""
    size = shutil.get_terminal_size()
    try:
        place = place_from(options)
    except StormClawError as error:
        return Patient(
            home=home_dir(os.environ),
            workspace=(options.workspace or Path.cwd()).absolute(),
            env=dict(os.environ),
            settings=Settings(),
            place=None,
            complaint=str(error),
            at_terminal=at_terminal,
            size=(size.columns, size.lines),
        )
    return Patient(
        home=place.home,
        workspace=place.workspace,
        env=place.env,
        settings=place.settings,
        place=place,
        complaint="",
        at_terminal=at_terminal,
        size=(size.columns, size.lines),
    )

"""The tools: what there is, and running one by hand through the gate."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys

from stormclaw.cli.options import place_from
from stormclaw.cli.table import show
from stormclaw.cli.verbs import Verb, add_verbs, run_verb
from stormclaw.errors import UsageError

run = run_verb


def add(parser: argparse.ArgumentParser) -> None:
    """Verbs of `stormclaw tool`."""
    add_verbs(parser, VERBS)


def _list(options: argparse.Namespace) -> int:
    from stormclaw.tools.registry import discover_tools
    from stormclaw.tools.schema import spec_of

    registry = discover_tools()
    if options.as_json:
        entries = [
            {
                "name": tool.name,
                "aliases": list(tool.aliases),
                "description": tool.description,
                "parameters": spec_of(tool).parameters,
            }
            for tool in registry
        ]
        show(entries, as_json=True)
        return 0
    rows = [
        {"tool": tool.name, "also_called": ", ".join(tool.aliases), "does": tool.description}
        for tool in registry
    ]
    show(rows, as_json=False)
    return 0


def _run(options: argparse.Namespace) -> int:
    try:
        arguments = json.loads(options.arguments)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--json wants a JSON object with the arguments: {error}") from error
    if not isinstance(arguments, dict):
        raise UsageError(f"--json wants a JSON object, not {options.arguments!r}")
    return asyncio.run(_perform(options))


async def _perform(options: argparse.Namespace) -> int:
    from stormclaw.agent.outfit import walls_for
    from stormclaw.channels.single import run_tool
    from stormclaw.providers.ways import DEMO_WAY
    from stormclaw.runtime import Runtime

    place = place_from(options)
    terminal = sys.stdin is not None and sys.stdin.isatty()
    attended = terminal or options.yes
    runtime = Runtime(place, DEMO_WAY, "cli", walls_for(place), attended=attended)
    try:
        return await run_tool(
            runtime, options.name, options.arguments, yes=options.yes, terminal=terminal
        )
    finally:
        await runtime.close()


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="name or alias")
    parser.add_argument(
        "--json", dest="arguments", default="{}", metavar="ARGS", help="arguments as a JSON object"
    )
    parser.add_argument(
        "--yes",
        action="store_true",
        help="agree beforehand to what asks at medium risk; what is high or denied stays so",
    )


VERBS = {
    "list": Verb("Every tool and its aliases", "stormclaw tool list --json", _list, lists=True),
    "run": Verb(
        "Run one through the gate (exit 0 done, 1 failed, 2 usage, 3 denied)",
        """stormclaw tool run read_file --json '{"path": "README.md"}'""",
        _run,
        _arguments,
    ),
}

"""From a line that begins with a slash to an answer; the same for every front end."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache

from stormclaw.discover import discover
from stormclaw.errors import StormClawError
from stormclaw.protocol.command import Answer, Command
from stormclaw.runtime import Runtime


@cache
def commands() -> Mapping[str, Command[Runtime]]:
    """Every slash command by name, sorted.

    Raises:
        TypeError: A module's `COMMAND` is not a Command.
    """
    found: dict[str, Command[Runtime]] = {}
    for module, command in discover("stormclaw.commands", "COMMAND", required=False).items():
        if not isinstance(command, Command):
            raise TypeError(f"stormclaw.commands.{module}.COMMAND is not a Command")
        found[command.name] = command
    return dict(sorted(found.items()))


def find(name: str) -> Command[Runtime] | None:
    """The command meant by a name or an alias, without the slash."""
    known = commands()
    return known.get(name) or next((c for c in known.values() if name in c.aliases), None)


async def run_command(runtime: Runtime, line: str) -> Answer:
    """Run `/name rest`; what goes wrong becomes an answer with `ok` False."""
    name, _, rest = line.strip().removeprefix("/").partition(" ")
    command = find(name.lower())
    if command is None:
        close = difflib.get_close_matches(name, commands(), n=1)
        hint = f"; did you mean /{close[0]}?" if close else "; /help lists them"
        return Answer(f"there is no command /{name}{hint}", ok=False)
    try:
        return await command.run(runtime, rest.strip())
    except StormClawError as error:
        return Answer(str(error), ok=False)

"""What the walls around a shell command cost: `true` inside them, beside `true` without any."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from benchmarks.rows import Beside, Limit, Row, middle
from benchmarks.world import World
from stormclaw.protocol.effects import WALLED_IN
from stormclaw.security.redact import scrubbed_environ
from stormclaw.security.sandbox import Sandbox, choose
from stormclaw.security.walls.trial import Ground, landlocked

COMMANDS = 40
MOST_ADDED_MS = 15
COMMAND = "true"


def walls(world: World) -> list[Row]:
    """The usual walls, and the second best ones where there are any."""
    place = world.place()
    environ = scrubbed_environ(os.environ)
    home = Path.home()
    best = choose(
        "auto", workspace=place.workspace, home=place.home, user_home=home, environ=environ
    )
    second = landlocked(Ground(place.workspace.resolve(), place.home, home, environ))
    rows = []
    try:
        for sandbox, limit in ((best, Limit(MOST_ADDED_MS)), (second, None)):
            if sandbox.level != "none":
                rows.append(_added(world, sandbox, place.workspace.resolve(), environ, limit))
    finally:
        best.close()
        second.close()
    if not rows:
        raise RuntimeError(f"no walls here: {best.why}")
    return rows


def _added(
    world: World, sandbox: Sandbox, workspace: Path, environ: dict[str, str], limit: Limit | None
) -> Row:
    inside: list[float] = []
    outside: list[float] = []
    for turn in range(world.runs(COMMANDS) + 1):
        for kind, found in ((sandbox, inside), (Sandbox(), outside)):
            took = asyncio.run(_once(kind, workspace, environ))
            if turn:
                found.append(took)
    plain = middle(outside)
    added = tuple(each - plain for each in inside)
    figure = f"a command in {sandbox.level}, added"
    return Row(figure, middle(added), "ms", Beside("without", plain), limit, added)


async def _once(sandbox: Sandbox, workspace: Path, environ: dict[str, str]) -> float:
    """Milliseconds from boxing a line in until its walls are down."""
    began = time.perf_counter()
    launch = sandbox.launch(COMMAND, workspace, environ, WALLED_IN)
    try:
        process = await asyncio.create_subprocess_exec(
            *launch.argv, cwd=workspace, env=launch.environ, pass_fds=launch.descriptors,
            stdin=asyncio.subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        await process.wait()
    finally:
        for descriptor in launch.descriptors:
            os.close(descriptor)
        launch.finish()
    return (time.perf_counter() - began) * 1000

"""The walls of a run: tried once, beside everything else, and told to whoever listens."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from stormclaw.agent.walls import UNTRIED, Walls
from stormclaw.errors import ToolFailure
from stormclaw.protocol.effects import WALLED_IN
from stormclaw.security.sandbox import Sandbox


async def test_they_are_tried_once_and_told() -> None:
    tried: list[int] = []

    def pick() -> Sandbox:
        tried.append(1)
        return Sandbox("bwrap")

    walls, told = Walls(pick), list[str]()
    walls.listen(told.append)
    assert (walls.sandbox, told) == (UNTRIED, [])
    await asyncio.gather(walls.ready(), walls.ready())
    await walls.ready()
    walls.listen(told.append)
    assert (len(tried), told) == (1, ["bwrap", "bwrap"])
    await walls.close()


async def test_an_interrupted_wait_does_not_end_the_trial() -> None:
    gate = threading.Event()

    def pick() -> Sandbox:
        gate.wait(20)
        return Sandbox("landlock")

    walls = Walls(pick)
    waiting = asyncio.create_task(walls.ready())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gate.set()
    await walls.ready()
    assert walls.sandbox.level == "landlock"
    await walls.close()


async def test_other_walls_take_their_place() -> None:
    walls, told = Walls(lambda: Sandbox("bwrap")), list[str]()
    await walls.ready()
    walls.listen(told.append)
    walls.again(lambda: Sandbox("none", "switched off"))
    await walls.ready()
    assert told == ["bwrap", "none"]
    await walls.close()


async def test_old_walls_stand_until_the_run_ends() -> None:
    taken_down: list[str] = []

    class Told(Sandbox):
        def close(self) -> None:
            taken_down.append(self.level)

    walls = Walls(lambda: Told("bwrap"))
    await walls.ready()
    walls.again(lambda: Told("landlock"))
    await walls.ready()
    assert taken_down == []
    await walls.close()
    assert taken_down == ["bwrap", "landlock"]


def test_untried_walls_start_nothing(tmp_path: Path) -> None:
    with pytest.raises(ToolFailure, match="not tried yet"):
        UNTRIED.launch("true", tmp_path, {"PATH": "/usr/bin:/bin"}, WALLED_IN)


async def test_never_begun_closes_quietly() -> None:
    tried: list[int] = []

    def pick() -> Sandbox:
        tried.append(1)
        return Sandbox("bwrap")

    walls = Walls(pick)
    await walls.close()
    walls.begin()
    await walls.ready()
    assert tried == []

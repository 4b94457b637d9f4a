"""What waits for the conversation to be drawn comes, whatever lies over the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stage import Stage

Stages = Callable[..., Stage]


async def test_a_session_opens_behind_the_help(stage: Stages) -> None:
    made = stage(gate=asyncio.Event())
    async with made.app().run_test(size=(80, 24)) as pilot:
        await made.until(pilot, lambda: made.storm.main.furnished)
        await pilot.press("f1")
        await made.until(pilot, lambda: made.storm.screen is not made.storm.main)
        assert made.gate is not None
        made.gate.set()
        await made.ready(pilot)
        assert made.storm.main.composer.completer is not None
        await pilot.press("escape", "slash")
        await made.until(pilot, lambda: made.storm.main.popup.display)

"""Esc on a filtered list shows all of it again; the next one leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stage import Stage, StageSession
from turns import grown

from stormclaw.ui.screens.main import MainScreen
from stormclaw.ui.screens.tree import TreeScreen

Stages = Callable[..., Stage]


async def test_in_the_tree(stage: Stages) -> None:
    session = StageSession()
    session.history.leaves = grown()
    there = stage(session=session)
    async with there.app().run_test(size=(80, 24)) as pilot:
        await there.ready(pilot)
        await pilot.press(*"/tree", "escape", "enter")
        await there.until(pilot, lambda: isinstance(there.storm.screen, TreeScreen))
        screen: Any = there.storm.screen
        await there.until(pilot, lambda: screen._read)
        await pilot.press("slash", *"jitter", "enter")
        assert screen.wanted.words == "jitter"
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(there.storm.screen, TreeScreen)
        assert screen.wanted.words == ""
        assert '"jitter"' not in screen.header._all()[0].text
        await pilot.press("escape")
        await there.until(pilot, lambda: isinstance(there.storm.screen, MainScreen))

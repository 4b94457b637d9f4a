"""A key that is held, or pressed twice, leaves one screen: never the one below, never the app."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from stage import Stage, StageSession
from textual.events import Key
from textual.pilot import Pilot
from tidepool import FIXER, running
from turns import CALM, grown

from stormclaw.ui.screens.confirm import Confirm
from stormclaw.ui.screens.main import MainScreen
from stormclaw.ui.screens.page import Page
from stormclaw.ui.screens.zoom import ZoomScreen

Stages = Callable[..., Stage]


@pytest.fixture
def there(stage: Stages) -> Stage:
    """An open session with a tree of six turns."""
    session = StageSession()
    session.history.leaves = grown()
    session.history.previews = {"n5": CALM}
    return stage(session=session)


async def held(there: Stage, pilot: Pilot[Any], key: str, times: int = 4) -> None:
    """Press a key so fast that all of it has come before the first is answered."""
    for _ in range(times):
        there.storm.post_message(Key(key, None))
    await pilot.pause()


@pytest.mark.parametrize("line", ["/tree", "/memory", "/receipts", "/help", "/theme"])
async def test_esc_held_on_a_page(there: Stage, line: str) -> None:
    async with there.app().run_test(size=(120, 36)) as pilot:
        await there.ready(pilot)
        await pilot.press(*line, "escape", "enter")
        await there.until(pilot, lambda: isinstance(there.storm.screen, Page))
        await pilot.pause()
        await held(there, pilot, "escape", 2)
        assert isinstance(there.storm.screen, MainScreen)
        assert there.storm.is_running


async def test_enter_held_where_one_is_in_the_tree(there: Stage) -> None:
    async with there.app().run_test(size=(120, 36)) as pilot:
        await there.ready(pilot)
        await pilot.press(*"/tree", "escape", "enter")
        await there.until(pilot, lambda: isinstance(there.storm.screen, Page))
        await there.until(pilot, lambda: there.storm.screen._read)  # type: ignore[attr-defined]
        await pilot.press("down")
        await held(there, pilot, "enter")
        assert isinstance(there.storm.screen, MainScreen)


async def test_esc_held_over_a_shoulder(there: Stage) -> None:
    async with there.app().run_test(size=(120, 36)) as pilot:
        await there.ready(pilot)
        there.emit(*running())
        await there.until(pilot, lambda: len(there.storm.board.agents) == 3)
        await there.storm.push_screen(ZoomScreen(there.storm.board.agent(FIXER)))
        await pilot.pause()
        await held(there, pilot, "escape", 2)
        assert isinstance(there.storm.screen, MainScreen)


async def test_a_question_is_answered_once(there: Stage) -> None:
    async with there.app().run_test(size=(120, 36)) as pilot:
        await there.ready(pilot)
        await pilot.press(*"/receipts", "escape", "enter")
        await there.until(pilot, lambda: isinstance(there.storm.screen, Page))
        answers: list[bool | None] = []
        await there.storm.push_screen(Confirm("Sure?", "yes", "no"), answers.append)
        await pilot.pause()
        await held(there, pilot, "y")
        assert answers == [True]
        assert isinstance(there.storm.screen, Page)

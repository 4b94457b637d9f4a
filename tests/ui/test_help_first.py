"""The help begins with the keys of the screen it was opened from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from stage import Stage, StageSession
from turns import grown

from stormclaw.ui.keymap import HEADINGS, KEYS, Place, help_rows
from stormclaw.ui.screens.context import ContextScreen
from stormclaw.ui.screens.context_node import ContextNodeScreen
from stormclaw.ui.screens.help import help_lines
from stormclaw.ui.screens.sessions import SessionsScreen
from stormclaw.ui.screens.tree import TreeScreen
from stormclaw.ui.screens.wire import WireScreen

Stages = Callable[..., Stage]


def heads(first: tuple[Place, ...]) -> list[str]:
    """The bold lines, in order."""
    wanted = {*HEADINGS.values(), "First letters", "Commands"}
    return [row.text for row in help_lines([("/find", "Find")], first) if row.text in wanted]


@pytest.mark.parametrize("of", [ContextScreen, ContextNodeScreen, WireScreen, SessionsScreen])
def test_every_place_of_a_screen_stands_at_the_top_once(of: Any) -> None:
    places = of.PLACES
    assert places
    assert heads(places)[: len(places)] == [HEADINGS[place] for place in places]
    assert sorted(heads(places)) == sorted(heads(()))
    assert all(help_rows(place) for place in places)
    assert {key.place for key in KEYS} >= set(places)


def test_the_tree_has_the_keys_of_the_sessions() -> None:
    assert TreeScreen.PLACES == ("tree",)


async def test_f1_over_the_tree(stage: Stages) -> None:
    session = StageSession()
    session.history.leaves = grown()
    there = stage(session=session)
    async with there.app().run_test(size=(80, 24)) as pilot:
        await there.ready(pilot)
        await pilot.press(*"/tree", "escape", "enter")
        await there.until(pilot, lambda: isinstance(there.storm.screen, TreeScreen))
        await pilot.press("f1")
        await there.until(pilot, lambda: type(there.storm.screen).__name__ == "HelpScreen")
        await pilot.pause()
        assert there.storm.screen._rows[0].text == HEADINGS["tree"]  # type: ignore[attr-defined]
        await pilot.press("escape")
        await there.until(pilot, lambda: isinstance(there.storm.screen, TreeScreen))

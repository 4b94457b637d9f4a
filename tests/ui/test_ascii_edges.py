"""With `ui.ascii` nothing of ours on the screen is beyond ASCII: rules, bars, keys below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from stage import NOON, Stage, StageSession
from textual.pilot import Pilot
from turns import grown

from stormclaw.config.settings import UiSettings
from stormclaw.protocol.messages import ROOT, AssistantTurn, Node, UserText
from stormclaw.ui.screens.page import Page

Stages = Callable[..., Stage]


def on_screen(there: Stage) -> str:
    """All of it, as text."""
    strips = there.storm.screen._compositor.render_strips()
    return "\n".join(strip.text for strip in strips)


@pytest.fixture
def plain(stage: Stages) -> Stage:
    """A short conversation on a plain terminal."""
    nodes = (
        Node("n1", None, ROOT, NOON, UserText("a word")),
        Node("n2", "n1", ROOT, NOON, AssistantTurn("another word")),
    )
    session = StageSession({ROOT: nodes})
    session.history.leaves = grown()
    return stage(session=session, ui=UiSettings(ascii=True, motion="reduced"))


async def typed(there: Stage, pilot: Pilot[Any], line: str) -> None:
    await there.ready(pilot)
    await pilot.press(*line, "escape", "enter")
    await pilot.pause()


async def test_a_search(plain: Stage) -> None:
    async with plain.app().run_test(size=(80, 24)) as pilot:
        await typed(plain, pilot, "/find word")
        await plain.until(pilot, lambda: "of 2" in on_screen(plain))
        assert "^ before" in on_screen(plain)
        assert on_screen(plain).isascii()
        await pilot.press("tab")
        await pilot.pause()
        assert on_screen(plain).isascii()


async def test_the_transcript_has_keys_of_ascii(plain: Stage) -> None:
    async with plain.app().run_test(size=(80, 24)) as pilot:
        await plain.ready(pilot)
        await pilot.press("up", "up")
        await pilot.pause()
        assert "^ v card" in on_screen(plain)
        assert on_screen(plain).isascii()


async def test_the_tree_and_its_sessions(plain: Stage) -> None:
    async with plain.app().run_test(size=(80, 24)) as pilot:
        await typed(plain, pilot, "/tree")
        await plain.until(pilot, lambda: isinstance(plain.storm.screen, Page))
        await pilot.press("end")
        await pilot.pause()
        assert on_screen(plain).isascii()

"""The question before work begins: what the project brings, and both answers."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from stage import Stage
from textual.pilot import Pilot

from stormclaw.config import trust
from stormclaw.errors import Problem
from stormclaw.ui.screens.main import MainScreen
from stormclaw.ui.screens.trust import TrustQuestion

Stages = Callable[..., Stage]
SIZE = (100, 30)


def bringing(stage: Stages, hooks: int = 1, **facts: Any) -> Stage:
    """A project that brings a server, hooks, and a setting that was ignored."""
    there = stage(start=facts)
    project = there.workspace
    folder = project / ".stormclaw" / "hooks"
    folder.mkdir(parents=True)
    for number in range(hooks):
        (folder / f"pre-{number:02}.sh").write_text("make check\n")
    server = '{"mcpServers": {"db": {"command": "npx", "args": ["-y", "db-server"]}}}'
    (project / ".mcp.json").write_text(server)
    config = project / ".stormclaw" / "config.yaml"
    ignored = Problem(f"{config}:2", "security.autonomy", "full", "ignored")
    there.runtime.place.loaded = SimpleNamespace(warnings=(ignored,))
    return there


async def asked(there: Stage, pilot: Pilot[Any]) -> TrustQuestion:
    await there.until(pilot, lambda: isinstance(there.storm.screen, TrustQuestion))
    screen = there.storm.screen
    assert isinstance(screen, TrustQuestion)
    await there.until(pilot, lambda: not screen.listed.dead)
    return screen


async def test_enter_opens_without_and_is_remembered(stage: Stages) -> None:
    there = bringing(stage, prompt="hello")
    async with there.app().run_test(size=SIZE) as pilot:
        await asked(there, pilot)
        assert there.session.said == []
        await pilot.press("enter")
        await there.until(pilot, lambda: isinstance(there.storm.screen, MainScreen))
        await there.until(pilot, lambda: there.session.said == ["hello"])
    assert trust.answered(there.home, there.workspace) == "open without"


async def test_y_trusts_exactly_what_was_shown(stage: Stages) -> None:
    there = bringing(stage)
    async with there.app().run_test(size=SIZE) as pilot:
        await asked(there, pilot)
        await pilot.press("y")
        await there.until(pilot, lambda: there.runtime.reloaded == 1)
    assert trust.is_trusted(there.home, there.workspace)


async def test_what_changed_meanwhile_is_not_trusted(stage: Stages) -> None:
    there = bringing(stage)
    async with there.app().run_test(size=SIZE) as pilot:
        await asked(there, pilot)
        (there.workspace / ".mcp.json").write_text("{}")
        await pilot.press("y")
        await there.until(pilot, lambda: isinstance(there.storm.screen, MainScreen))
        await pilot.pause()
    assert not trust.is_trusted(there.home, there.workspace)
    assert there.runtime.reloaded == 0


async def test_keys_typed_before_it_appeared_answer_nothing(stage: Stages) -> None:
    there = bringing(stage)
    async with there.app().run_test(size=SIZE) as pilot:
        await there.until(pilot, lambda: isinstance(there.storm.screen, TrustQuestion))
        screen = there.storm.screen
        assert isinstance(screen, TrustQuestion)
        screen.listed.dead = True
        await pilot.press("y")
        assert there.storm.screen is screen


async def test_a_long_list_scrolls_and_the_keys_stay(stage: Stages) -> None:
    there = bringing(stage, hooks=30)
    async with there.app().run_test(size=SIZE) as pilot:
        screen = await asked(there, pilot)
        before = [strip.text for strip in screen.listed._all()]
        assert "lines below" in before[-3]
        assert "trust it" in before[-1]
        for _ in range(12):
            await pilot.press("pagedown")
        after = [strip.text for strip in screen.listed._all()]
        assert any("pre-29.sh" in line for line in after)
        assert "trust it" in after[-1]
        assert len(after) == len(before)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
def test_trust_question_snapshot(snap_compare: Any, stage: Stages, size: tuple[int, int]) -> None:
    there = bringing(stage)

    async def before(pilot: Pilot[Any]) -> None:
        await asked(there, pilot)

    assert snap_compare(there.app(), run_before=before, terminal_size=size)

"""The sessions screen as it looks: look at the pictures when one of these fails."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stage import Stage, StageSession
from textual.pilot import Pilot
from turns import BLOCKED, CALM, CONFLICT, grown, shelve, talk, write

from stormclaw.agent.history.values import Preview
from stormclaw.config.settings import UiSettings

Stages = Callable[..., Stage]
Deed = Callable[[Stage, Pilot[Any]], Awaitable[None]]


@pytest.fixture(autouse=True)
def same_everywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def planted(stage: Stages, preview: Preview = CALM, **ui: Any) -> Stage:
    """An open session with branches, others beside it."""
    session = StageSession()
    session.id, session.title = "20261014-170000-test", "back off on 429"
    session.history.leaves = grown()
    session.history.previews = {"n5": preview}
    there = stage(session=session, ui=UiSettings(motion="reduced", **ui))
    for info in shelve(there):
        write(there.home, info, *talk(info.updated - 60))
    return there


def drawn(there: Stage, snap: Any, size: tuple[int, int], line: str, *keys: str) -> bool:
    """Open the screen with a command, press keys, and compare."""

    async def run(pilot: Pilot[Any]) -> None:
        await there.ready(pilot)
        await pilot.press(*line, "escape", "enter")
        name = "SessionsScreen" if "resume" in line else "TreeScreen"
        await there.until(pilot, lambda: type(there.storm.screen).__name__ == name)
        screen: Any = there.storm.screen
        await there.until(pilot, lambda: screen._read)
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        await settled(there, pilot)

    app = there.app()
    return bool(snap(app, terminal_size=size, run_before=run))


async def settled(there: Stage, pilot: Pilot[Any]) -> None:
    """Return when nothing is looked up any more."""
    screen: Any = there.storm.screen

    def at_rest() -> bool:
        return all(work.is_finished for work in screen.workers if work.node is screen)

    await there.until(pilot, at_rest)
    await pilot.pause()


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize(
    "size", [(80, 24), (120, 36), (200, 50)], ids=lambda size: f"{size[0]}x{size[1]}"
)
def test_tree(stage: Stages, snap_compare: Any, size: tuple[int, int], theme: str) -> None:
    there = planted(stage, theme=f"stormclaw-{theme}")
    assert drawn(there, snap_compare, size, "/tree", "up")


def test_tree_on_a_tiny_screen(stage: Stages, snap_compare: Any) -> None:
    assert drawn(planted(stage), snap_compare, (60, 20), "/tree", "up")


def test_tree_in_ascii(stage: Stages, snap_compare: Any) -> None:
    assert drawn(planted(stage, ascii=True), snap_compare, (80, 24), "/tree", "up")


def test_tree_in_sixteen_colours(stage: Stages, snap_compare: Any) -> None:
    there = planted(stage, CONFLICT, theme="stormclaw-ansi")
    assert drawn(there, snap_compare, (80, 24), "/tree", "up")


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_conflict(stage: Stages, snap_compare: Any, size: tuple[int, int]) -> None:
    assert drawn(planted(stage, CONFLICT), snap_compare, size, "/rewind", "up")


def test_files_blocked(stage: Stages, snap_compare: Any) -> None:
    assert drawn(planted(stage, BLOCKED), snap_compare, (80, 24), "/tree", "up")


def test_asked_before_somebody_elses_work_goes(stage: Stages, snap_compare: Any) -> None:
    there = planted(stage, CONFLICT)

    async def run(pilot: Pilot[Any]) -> None:
        await there.ready(pilot)
        await pilot.press(*"/tree", "escape", "enter")
        await there.until(pilot, lambda: type(there.storm.screen).__name__ == "TreeScreen")
        screen: Any = there.storm.screen
        await there.until(pilot, lambda: screen._read)
        await pilot.press("up")
        await there.until(pilot, lambda: "n5" in screen.previews)
        await pilot.press("F")
        await pilot.pause()

    assert snap_compare(there.app(), terminal_size=(80, 24), run_before=run)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_other_sessions(stage: Stages, snap_compare: Any, size: tuple[int, int]) -> None:
    assert drawn(planted(stage), snap_compare, size, "/resume", "p")


def test_another_session_unfolded(stage: Stages, snap_compare: Any) -> None:
    assert drawn(planted(stage), snap_compare, (120, 36), "/resume", "right", "down", "down")


def test_all_folders(stage: Stages, snap_compare: Any) -> None:
    assert drawn(planted(stage), snap_compare, (120, 36), "/resume", "a")


def test_search(stage: Stages, snap_compare: Any) -> None:
    assert drawn(planted(stage), snap_compare, (80, 24), "/tree", "slash", *"retry")


def test_only_turns_with_files(stage: Stages, snap_compare: Any) -> None:
    assert drawn(planted(stage), snap_compare, (120, 36), "/tree", "o")


def test_empty(stage: Stages, snap_compare: Any) -> None:
    assert drawn(stage(), snap_compare, (80, 24), "/tree")


def test_hostile_words(stage: Stages, snap_compare: Any) -> None:
    there = planted(stage)
    nasty = "[bold red]x[/]\x1b[31m\x07\u202etxt.exe [/nope\ufdfa日本語"
    there.session.title = nasty
    first, *rest = grown()
    there.session.history.leaves = (
        replace(first, text=nasty, did=nasty, label=nasty),
        *rest,
    )
    there.session.history.previews["n1"] = replace(
        CONFLICT, files=tuple(replace(step, path=f"{nasty}/{step.path}") for step in CONFLICT.files)
    )
    assert drawn(there, snap_compare, (80, 24), "/tree", "home", "down")

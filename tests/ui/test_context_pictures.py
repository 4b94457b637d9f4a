"""The context screen, the wire and a node whole, drawn: look at them when one of these fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from inspected import inspected
from stage import Stage
from still import still
from textual.pilot import Pilot

from stormclaw.config.settings import UiSettings
from stormclaw.errors import ProviderError

Stages = Callable[..., Stage]
SIZES = [(80, 24), (120, 36), (200, 50)]


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def named(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"


async def settle(stage: Stage, pilot: Pilot[Any]) -> None:
    await still()
    stage.storm.screen.refresh()
    await pilot.pause()


async def look(stage: Stage, pilot: Pilot[Any], *keys: str) -> None:
    await stage.ready(pilot)
    await pilot.press("ctrl+x")
    screen: Any = stage.storm.screen
    await stage.until(pilot, lambda: getattr(stage.storm.screen, "_sheet", None) is not None)
    screen = stage.storm.screen
    await stage.until(pilot, lambda: screen.picker.count > 0)
    for key in keys:
        await pilot.press(key)
        await pilot.pause()
    await settle(stage, pilot)


def shot(stage: Stage, snap_compare: Any, size: tuple[int, int], *keys: str) -> None:
    async def act(pilot: Pilot[Any]) -> None:
        await look(stage, pilot, *keys)

    assert snap_compare(stage.app(), terminal_size=size, run_before=act)


def staged(stage: Stages, theme: str = "dark", *, ascii: bool = False, **options: Any) -> Stage:  # noqa: A002
    ui = UiSettings(theme=f"stormclaw-{theme}", motion="reduced", ascii=ascii)
    return stage(session=inspected(**options), ui=ui)


@pytest.mark.parametrize("size", SIZES, ids=named)
def test_context(stage: Stages, snap_compare: Any, size: tuple[int, int]) -> None:
    shot(staged(stage), snap_compare, size, *("j",) * 6)


def test_in_light(stage: Stages, snap_compare: Any) -> None:
    shot(staged(stage, "light"), snap_compare, (120, 36), *("j",) * 6)


def test_in_ascii(stage: Stages, snap_compare: Any) -> None:
    shot(staged(stage, ascii=True), snap_compare, (120, 36), *("j",) * 6)


def test_in_sixteen_colours(stage: Stages, snap_compare: Any) -> None:
    shot(staged(stage, "ansi"), snap_compare, (120, 36), "tab", "space")


def test_without_colours(stage: Stages, snap_compare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    shot(staged(stage), snap_compare, (120, 36), *("j",) * 6)


@pytest.mark.parametrize("size", SIZES, ids=named)
def test_dry_run(stage: Stages, snap_compare: Any, size: tuple[int, int]) -> None:
    shot(staged(stage), snap_compare, size, "tab", "space", "J")


def test_dry_run_in_light(stage: Stages, snap_compare: Any) -> None:
    shot(staged(stage, "light"), snap_compare, (80, 24), "tab", "space", "tab", "G")


def test_only_held_back(stage: Stages, snap_compare: Any) -> None:
    shot(staged(stage), snap_compare, (80, 24), "o")


@pytest.mark.parametrize("size", SIZES, ids=named)
def test_the_wire(stage: Stages, snap_compare: Any, size: tuple[int, int]) -> None:
    shot(staged(stage), snap_compare, size, "w")


def test_the_wire_searched(stage: Stages, snap_compare: Any) -> None:
    shot(staged(stage, "light"), snap_compare, (80, 24), "w", "slash", *"tok", "enter", "n")


def test_a_node_whole(stage: Stages, snap_compare: Any) -> None:
    shot(staged(stage), snap_compare, (120, 36), *("j",) * 6, "enter")


def test_at_work(stage: Stages, snap_compare: Any) -> None:
    shot(staged(stage), snap_compare, (80, 24), *("j",) * 7, "s")


def test_an_empty_session(stage: Stages, snap_compare: Any) -> None:
    there = staged(stage, nodes=(), window_size=0)
    shot(there, snap_compare, (80, 24))


def test_what_went_wrong(stage: Stages, snap_compare: Any) -> None:
    there = staged(stage)
    session: Any = there.session
    session.desk.gate.set()
    words = "openrouter: 429, asks to wait 20 s; the request was not counted and nothing was lost"
    session.desk.failure = ProviderError("rate_limit", words)
    shot(there, snap_compare, (80, 24), *("j",) * 7, "s")

"""The one place that leans on Textual's insides: what it relies on, and that it pays."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from stage import Stage
from textual._compositor import Compositor
from textual.geometry import Region
from textual.screen import Screen

Stages = Callable[..., Stage]


def test_the_version_it_was_written_against() -> None:
    assert version("textual") == "8.2.8"


async def test_the_screen_has_what_is_relied_on(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=(80, 24)) as pilot:
        await there.ready(pilot)
        screen: Any = there.storm.screen
        assert isinstance(screen._dirty_widgets, set)
        assert screen._layout_required is False
        assert screen._scroll_required is False
        assert callable(Screen._on_timer_update)


async def test_a_letter_repaints_one_line_and_at_once(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=(80, 24)) as pilot:
        await there.ready(pilot)
        await pilot.press("a")
        await pilot.pause()
        composer = there.storm.main.composer
        painted: list[set[Region]] = []
        update = Compositor.update_widgets

        def noted(self: Compositor, widgets: Any) -> None:
            painted.append({r for w in widgets for r in w._repaint_regions})
            update(self, widgets)

        Compositor.update_widgets = noted  # type: ignore[method-assign]
        try:
            await pilot.press("b")
        finally:
            Compositor.update_widgets = update  # type: ignore[method-assign]
        assert composer.text == "ab"
        assert painted
        regions = set().union(*painted)
        assert {region.height for region in regions} == {1}
        assert {region.width for region in regions} == {composer.size.width}


async def test_what_is_on_the_screen_is_what_was_typed(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=(60, 24)) as pilot:
        await there.ready(pilot)
        words = "a line that is longer than the composer is wide, so it wraps into two rows"
        await pilot.press(*words)
        await pilot.press("left", "left", "X", "home", "Y", "ctrl+j")
        await pilot.pause()
        composer = app.main.composer
        shown = [composer.render_line(y).text.rstrip() for y in range(composer.size.height)]
        x, y = composer.content_region.offset
        update: Any = app.screen._compositor.render_strips()
        rows = update[y:][: len(shown)]
        drawn = [strip.text[x : x + composer.size.width].rstrip() for strip in rows]
        assert drawn == shown
        assert len(shown) == 2
        assert sum("Y" in line for line in shown) == 1


async def test_focus_and_theme_still_change_its_colours(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=(80, 24)) as pilot:
        await there.ready(pilot)
        composer = app.main.composer
        await pilot.press("a")
        before = composer.render_line(0)
        app.theme = "stormclaw-light"
        await pilot.pause()
        composer.render_lines(Region(0, 0, 10, 1))
        assert composer.render_line(0) != before


async def test_nothing_is_painted_when_nothing_happens(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=(80, 24)) as pilot:
        await there.ready(pilot)
        await pilot.pause(0.1)
        painted: list[object] = []
        display = app._display

        def noted(screen: Any, renderable: Any) -> None:
            painted.append(renderable)
            display(screen, renderable)

        app._display = noted  # type: ignore[method-assign]
        await pilot.pause(1.2)
        assert [shown for shown in painted if shown is not None] == []

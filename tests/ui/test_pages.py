"""The screens over the chat: help, receipts, sessions, themes, tables, palette, connect."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from stage import Stage
from textual.pilot import Pilot

from stormclaw.protocol.command import Answer
from stormclaw.protocol.display import Table
from stormclaw.store.receipts import ReceiptDraft
from stormclaw.ui.deeds import show
from stormclaw.ui.keymap import KEYS
from stormclaw.ui.screens.main import MainScreen

Stages = Callable[..., Stage]
SIZE = (120, 36)


def screen(stage: Stage) -> Any:
    return stage.storm.screen


def rows(stage: Stage) -> list[str]:
    return [strip.text.strip() for strip in screen(stage).picker._all()]


async def opened(stage: Stage, pilot: Pilot[Any], line: str, name: str) -> None:
    await stage.ready(pilot)
    await pilot.press(*line)
    await pilot.press("escape", "enter")
    await stage.until(pilot, lambda: type(screen(stage)).__name__ == name)
    await pilot.pause()


async def back(stage: Stage, pilot: Pilot[Any]) -> None:
    await pilot.press("escape")
    await stage.until(pilot, lambda: isinstance(screen(stage), MainScreen))


async def test_help_lists_every_key_and_command(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=(120, 200)) as pilot:
        await opened(there, pilot, "/help", "HelpScreen")
        shown = "\n".join(rows(there))
        for key in KEYS:
            assert key.label in shown
        assert "/receipts" in shown
        await back(there, pilot)


@pytest.mark.parametrize("key", ["f1"])
async def test_f1_is_help(stage: Stages, key: str) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(key)
        await there.until(pilot, lambda: type(screen(there)).__name__ == "HelpScreen")
        await pilot.press("G")
        assert screen(there).picker.cursor == screen(there).picker.count - 1
        await pilot.press("g")
        assert screen(there).picker.cursor == 0
        await pilot.press("j", "down", "k", "pagedown", "pageup", "end", "home")
        await pilot.press("q")
        await there.until(pilot, lambda: isinstance(screen(there), MainScreen))


async def with_receipts(stage: Stage) -> None:
    log = stage.runtime.receipts
    assert log is not None
    drafts: list[tuple[str, str, str, str, str, dict[str, str]]] = [
        ("read_file", "allowed", "low", "read src/a.py", "policy", {}),
        ("shell_exec", "denied", "blocked", "shell rm -rf build", "policy", {}),
        ("edit_file", "allowed", "medium", "edit src/a.py", "you, once", {}),
    ]
    for tool, status, risk, thing, by, more in drafts:
        extra = {"agent": "root", "object": thing, "decided_by": by, "rule": "r", **more}
        draft = ReceiptDraft(stage.session.id, tool, "{}", "", status, risk, extra)  # type: ignore[arg-type]
        await log.append(draft)


async def test_receipts_list_filter_verify(stage: Stages) -> None:
    there = stage()
    await with_receipts(there)
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await opened(there, pilot, "/receipts", "ReceiptsScreen")
        await there.until(pilot, lambda: screen(there).picker.count == 3)
        head = screen(there).header
        await there.until(pilot, lambda: "3 in the chain, unbroken ✓" in head._all()[0].text)
        assert rows(there)[1].split()[:1] == ["r1"]
        assert "■ blocked" in rows(there)[2]
        await pilot.press("o")
        await pilot.pause()
        assert [row.split()[1] for row in rows(there)[1:]] == ["r2"]
        await pilot.press("o", "slash", *"edit")
        await pilot.pause()
        assert len(rows(there)) == 2
        await pilot.press("enter")
        assert screen(there).picker.has_focus
        await pilot.press("slash", "escape")
        await pilot.pause()
        assert len(rows(there)) == 4
        detail = "\n".join(strip.text for strip in screen(there).detail._all())
        assert "sha256" in detail
        await pilot.press("A", "v")
        await pilot.pause()
        await there.until(pilot, lambda: "unbroken" in head._all()[0].text)
        await back(there, pilot)


async def test_a_broken_chain_is_red_and_named(stage: Stages) -> None:
    there = stage()
    await with_receipts(there)
    log = there.runtime.receipts
    assert log is not None
    text = log.path.read_text()
    log.path.write_text(text.replace("edit src/a.py", "edit src/b.py"))
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        assert app.chain is False
        assert "chain broken" in app.main.footer._all()[0].text
        await opened(there, pilot, "/receipts", "ReceiptsScreen")
        head = screen(there).header
        await there.until(pilot, lambda: "chain breaks at r3" in head._all()[0].text)
        await there.until(pilot, lambda: screen(there).picker.cursor == 2)


async def test_enter_on_a_receipt_goes_back_to_the_chat(stage: Stages) -> None:
    there = stage()
    await with_receipts(there)
    async with there.app().run_test(size=SIZE) as pilot:
        await opened(there, pilot, "/receipts", "ReceiptsScreen")
        await there.until(pilot, lambda: screen(there).picker.count == 3)
        await pilot.press("enter")
        await there.until(pilot, lambda: isinstance(screen(there), MainScreen))


async def test_theme_is_tried_and_given_back_or_kept(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await opened(there, pilot, "/theme ", "ThemeScreen")
        await pilot.press("down")
        await pilot.pause()
        assert app.theme == "stormclaw-light"
        await back(there, pilot)
        assert app.theme == "stormclaw-dark"
        await opened(there, pilot, "/theme nord", "ThemeScreen")
        assert app.theme == "nord"
        await pilot.press("enter")
        await there.until(pilot, lambda: isinstance(screen(there), MainScreen))
        assert app.theme == "nord"
        assert "ui.theme: nord" in app.main.footer.costs.said


async def test_every_theme_draws(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=(80, 24)) as pilot:
        await there.ready(pilot)
        for name in app.available_themes:
            app.theme = name
            await pilot.pause()
            assert app.palette["text"] is not None


async def test_long_answers_get_a_screen_and_short_ones_a_note(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await show(app, "/cost", Answer("spent [bold]nothing[/]"))
        await pilot.pause()
        assert isinstance(screen(there), MainScreen)
        assert app.main.transcript is not None
        assert any("spent [bold]nothing[/]" in line for line in app.main.transcript.lines())
        await show(app, "/tools", Answer("", Table(("tool", "does"), (("grep", "searches"),))))
        await there.until(pilot, lambda: type(screen(there)).__name__ == "TableScreen")
        await pilot.pause()
        assert rows(there)[1].split() == ["›", "grep", "searches"] or "grep" in rows(there)[1]
        await pilot.press("y")
        await pilot.pause()
        assert "grep" in app.clipboard
        await back(there, pilot)


async def test_an_unknown_command_is_a_note(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"/zzz", "enter")
        transcript = app.main.transcript
        assert transcript is not None
        await there.until(
            pilot, lambda: any("no command /zzz" in line for line in transcript.lines())
        )


async def test_new_opens_another_session(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"/new", "enter")
        await there.until(pilot, lambda: there.runtime.opened == [""])
        await there.until(pilot, lambda: id(there.storm.session) == id(there.runtime.session))


async def test_the_palette_has_our_commands(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press("ctrl+p")
        await there.until(pilot, lambda: type(screen(there)).__name__ == "CommandPalette")
        await pilot.press(*"keys and comm")
        await asyncio.sleep(0)
        await there.until(pilot, lambda: screen(there).query("OptionList").first().option_count)
        await pilot.press("down", "enter")
        await there.until(pilot, lambda: type(screen(there)).__name__ == "HelpScreen")


async def test_ctrl_c_leaves_a_page(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press("f1")
        await there.until(pilot, lambda: type(screen(there)).__name__ == "HelpScreen")
        await pilot.press("ctrl+c")
        await there.until(pilot, lambda: isinstance(screen(there), MainScreen))


async def test_agents_goes_into_the_panel(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"/agents", "escape", "enter")
        await there.until(pilot, lambda: app.main.footer.costs.said == "no agents yet")

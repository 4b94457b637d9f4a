"""Every screen of the design, drawn: look at them beside it when one of these fails."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from stage import NOON, Stage, StageSession
from still import still
from textual.pilot import Pilot
from tidepool import (
    FIXER,
    ask_again,
    ask_edit,
    ask_patch,
    ask_shell,
    ask_words,
    fixers,
    running,
    stored,
)

from stormclaw.config.settings import UiSettings
from stormclaw.protocol.asks import Permission
from stormclaw.protocol.events import Asked, ChildEnded, Committed, Notice, ToolEnded, TurnEnded
from stormclaw.protocol.messages import ROOT, Node, Note, Usage
from stormclaw.security.sandbox import Sandbox
from stormclaw.store.receipts import ReceiptDraft, ReceiptLog
from stormclaw.ui.screens.zoom import ZoomScreen

Stages = Callable[..., Stage]
SIZES = [(60, 20), (80, 24), (120, 36), (200, 50)]
BOTH = [(80, 24), (120, 36)]
THEMES = ["dark", "light"]


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def named(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"


def at_work(stage: Stages, theme: str = "stormclaw-dark", **ui: Any) -> Stage:
    """Root and fixer at work, one message queued, a draft with a file half typed."""
    session = StageSession({ROOT: stored(), FIXER: fixers()})
    session.busy, session.title = True, "back off on 429"
    session.waiting = ["Bump the version to 0.9.2"]
    made = stage(session=session, ui=UiSettings(theme=theme, motion="reduced", **ui))
    for name, age in (
        ("src/tide/retry.py", 20),
        ("tests/test_retry.py", 7200),
        ("docs/retries.md", 345_600),
    ):
        path = made.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        os.utime(path, (NOON - age, NOON - age))
    return made


async def work(stage: Stage, pilot: Pilot[Any]) -> None:
    await stage.ready(pilot)
    stage.emit(*running())
    await stage.until(pilot, lambda: len(stage.storm.board.agents) == 3)
    stage.clock.go(80)
    stage.storm.heart.beat()
    stage.storm.refresh_facts()
    transcript = stage.storm.main.transcript
    assert transcript is not None
    await stage.until(pilot, lambda: any("so I am" in line for line in transcript.lines()))
    await settle(stage, pilot)


async def settle(stage: Stage, pilot: Pilot[Any]) -> None:
    """Until the code in the answer has its colours and nothing is left to draw."""
    await still()
    stage.storm.screen.refresh()
    await pilot.pause()


def shot(
    stage: Stage,
    snap_compare: Any,
    size: tuple[int, int],
    act: Callable[[Pilot[Any]], Awaitable[None]],
) -> None:
    assert snap_compare(stage.app(), terminal_size=size, run_before=act)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=named)
def test_main(stage: Stages, snap_compare: Any, size: tuple[int, int], theme: str) -> None:
    there = at_work(stage, f"stormclaw-{theme}")

    async def act(pilot: Pilot[Any]) -> None:
        await work(there, pilot)
        there.storm.main.composer.put("Also note it in the changelog, see @ret")
        await there.until(pilot, lambda: there.storm.main.popup.display)
        await settle(there, pilot)

    shot(there, snap_compare, size, act)


@pytest.mark.parametrize("kind", ["ansi", "ascii", "no-color"])
def test_main_with_fewer_means(
    stage: Stages, snap_compare: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    if kind == "no-color":
        monkeypatch.setenv("NO_COLOR", "1")
    theme = "stormclaw-ansi" if kind == "ansi" else "stormclaw-dark"
    there = at_work(stage, theme, ascii=kind == "ascii")

    async def act(pilot: Pilot[Any]) -> None:
        await work(there, pilot)
        await settle(there, pilot)

    shot(there, snap_compare, (120, 36), act)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=named)
def test_approve_edit(stage: Stages, snap_compare: Any, size: tuple[int, int], theme: str) -> None:
    there = at_work(stage, f"stormclaw-{theme}")

    async def act(pilot: Pilot[Any]) -> None:
        await work(there, pilot)
        there.emit(Asked(FIXER, ask_edit()), Asked(ROOT, ask_words("ask-3", "a", "b")))
        await answerable(there, pilot)

    shot(there, snap_compare, size, act)


async def answerable(stage: Stage, pilot: Pilot[Any]) -> None:
    sheet = stage.storm.main.sheet
    assert sheet is not None
    await stage.until(pilot, lambda: sheet.display)
    stage.clock.go(5)
    sheet.view.wake()
    await settle(stage, pilot)


@pytest.mark.parametrize("size", [(60, 20), *BOTH], ids=named)
def test_approve_shell(stage: Stages, snap_compare: Any, size: tuple[int, int]) -> None:
    there = at_work(stage)

    async def act(pilot: Pilot[Any]) -> None:
        await work(there, pilot)
        there.emit(Asked(ROOT, ask_shell()))
        await answerable(there, pilot)

    shot(there, snap_compare, size, act)


@pytest.mark.parametrize("size", BOTH, ids=named)
@pytest.mark.parametrize("ask", [ask_again, ask_patch], ids=["again", "patch"])
def test_approve_other(
    stage: Stages, snap_compare: Any, size: tuple[int, int], ask: Callable[[], Permission]
) -> None:
    there = at_work(stage)

    async def act(pilot: Pilot[Any]) -> None:
        await work(there, pilot)
        there.emit(Asked(ROOT, ask()))
        await answerable(there, pilot)

    shot(there, snap_compare, size, act)


@pytest.mark.parametrize("theme", THEMES)
def test_an_emergency_stop(
    stage: Stages, snap_compare: Any, monkeypatch: pytest.MonkeyPatch, theme: str
) -> None:
    there = at_work(stage, f"stormclaw-{theme}")

    async def act(pilot: Pilot[Any]) -> None:
        await work(there, pilot)
        there.session.busy, there.session.waiting = False, []
        there.emit(*_stopped(), ChildEnded(ROOT, FIXER, "interrupted", Usage()))
        there.emit(TurnEnded(ROOT, "interrupted", Usage()))
        detail = (
            "by      ~/.stormclaw/ESTOP\ntook    0.2 s\n\n"
            "48112   pytest -q tests/\n48140   uv run mypy src"
        )
        there.emit(Notice(ROOT, "error", "Emergency stop: 2 commands killed, 0 alive", detail))
        there.storm.stopped = "14:03:07"
        there.storm.refresh_facts()
        await settle(there, pilot)

    shot(there, snap_compare, (120, 36), act)


def test_without_walls(stage: Stages, snap_compare: Any) -> None:
    there = at_work(stage)
    there.runtime.sandbox = Sandbox("none")

    async def act(pilot: Pilot[Any]) -> None:
        await work(there, pilot)

    shot(there, snap_compare, (80, 24), act)


def test_deny_with_a_reason(stage: Stages, snap_compare: Any) -> None:
    there = at_work(stage)

    async def act(pilot: Pilot[Any]) -> None:
        await work(there, pilot)
        there.emit(Asked(FIXER, ask_edit()))
        await answerable(there, pilot)
        await pilot.press("n", *"use a branch")
        await settle(there, pilot)

    shot(there, snap_compare, (120, 36), act)


def test_question(stage: Stages, snap_compare: Any) -> None:
    there = at_work(stage)

    async def act(pilot: Pilot[Any]) -> None:
        await work(there, pilot)
        there.emit(Asked(ROOT, ask_words("ask-3", "the client", "the watcher", "both of them")))
        await answerable(there, pilot)
        await pilot.press("down")
        await settle(there, pilot)

    shot(there, snap_compare, (80, 24), act)


@pytest.mark.parametrize("size", BOTH, ids=named)
def test_first_run(stage: Stages, snap_compare: Any, size: tuple[int, int]) -> None:
    facts = {"model_label": "demo", "provider_label": "demo", "scripted": True}
    there = stage(start=facts)
    there.runtime.scripted, there.runtime.model_label = True, "demo"
    there.runtime.place.trusted = False
    (there.workspace / "README.md").write_text("x")

    async def act(pilot: Pilot[Any]) -> None:
        await there.ready(pilot)
        await settle(there, pilot)

    shot(there, snap_compare, size, act)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", BOTH, ids=named)
def test_zoom(stage: Stages, snap_compare: Any, size: tuple[int, int], theme: str) -> None:
    there = at_work(stage, f"stormclaw-{theme}")

    async def act(pilot: Pilot[Any]) -> None:
        await work(there, pilot)
        await pilot.press("ctrl+t", *(("down", "enter") if size[0] >= 110 else ()))
        await there.until(pilot, lambda: isinstance(there.storm.screen, ZoomScreen))
        await settle(there, pilot)

    shot(there, snap_compare, size, act)


def receipts(stage: Stage) -> None:
    """Ten calls of the afternoon, sealed at fixed times."""
    path = stage.home / "receipts.log"
    seconds = iter(range(0, 600, 7))
    start = datetime(2026, 11, 22, 14, 1, 2, tzinfo=UTC)
    log = ReceiptLog(path, lambda: start.replace(second=0) + _after(next(seconds)))
    calls = (
        ("root", "read_file", "read pyproject.toml", "allowed", "low", "policy"),
        ("root", "grep", "grep “retry” in src/", "allowed", "low", "policy"),
        ("root/scout", "read_file", "read src/tide/client.py", "allowed", "low", "policy"),
        ("root", "edit_file", "edit src/tide/retry.py", "allowed", "medium", "you, once"),
        ("root/fixer", "shell_exec", "shell rm -rf build", "denied", "blocked", "forbidden"),
        (
            "root/fixer",
            "edit_file",
            "edit tests/test_retry.py",
            "allowed",
            "medium",
            "you, session",
        ),
    )

    async def write() -> None:
        for agent, tool, thing, status, risk, by in calls:
            extra = {
                "agent": agent,
                "object": thing,
                "decided_by": by,
                "rule": "forbidden_commands: rm" if status == "denied" else "workspace",
                "rule_at": "shipped",
                "model": "anthropic/claude-sonnet-4.5",
                "autonomy": "supervised",
                "summary": "nothing ran" if status == "denied" else "",
            }
            draft = ReceiptDraft(stage.session.id, tool, "{}", "", status, risk, extra)  # type: ignore[arg-type]
            await log.append(draft)

    asyncio.run(write())


def _after(seconds: int) -> Any:
    from datetime import timedelta

    return timedelta(seconds=seconds)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", BOTH, ids=named)
def test_receipts(stage: Stages, snap_compare: Any, size: tuple[int, int], theme: str) -> None:
    there = at_work(stage, f"stormclaw-{theme}")
    receipts(there)

    async def act(pilot: Pilot[Any]) -> None:
        await work(there, pilot)
        await pilot.press(*"/receipts", "escape", "enter")
        screen: Any = there.storm.screen
        await there.until(pilot, lambda: type(there.storm.screen).__name__ == "ReceiptsScreen")
        screen = there.storm.screen
        await there.until(pilot, lambda: screen._verification is not None)
        await pilot.press("up")
        await settle(there, pilot)

    shot(there, snap_compare, size, act)


def test_help(stage: Stages, snap_compare: Any) -> None:
    there = at_work(stage)

    async def act(pilot: Pilot[Any]) -> None:
        await work(there, pilot)
        await pilot.press("f1")
        await settle(there, pilot)

    shot(there, snap_compare, (120, 36), act)


def test_a_stopped_turn(stage: Stages, snap_compare: Any) -> None:
    there = at_work(stage)

    async def act(pilot: Pilot[Any]) -> None:
        await work(there, pilot)
        there.session.busy, there.session.waiting = False, []
        body = Note(
            "failed",
            "The answer stopped half way",
            "No word from openrouter for 60s. What arrived is kept: 214 tokens.",
            "timeout",
        )
        node = Node("n99", None, ROOT, NOON, body)
        there.emit(*_stopped(), ChildEnded(ROOT, FIXER, "interrupted", Usage()))
        there.emit(Committed(ROOT, node), TurnEnded(ROOT, "failed", Usage()))
        await there.until(pilot, lambda: there.storm.failed)
        await settle(there, pilot)

    shot(there, snap_compare, (120, 36), act)


def _stopped() -> tuple[ToolEnded, ...]:
    from tidepool import ended

    done = ended()
    assert isinstance(done, ToolEnded)
    return (done,)

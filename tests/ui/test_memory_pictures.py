"""The memory screen drawn: look at it when one of these fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from stage import NOON, Stage
from still import came, still
from textual.pilot import Pilot

from stormclaw.config.settings import UiSettings
from stormclaw.protocol.command import Answer
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import AssistantTurn, Body, Node, ToolOutcome, UserText
from stormclaw.store import sessions
from stormclaw.store.sessions import SessionInfo
from stormclaw.ui.deeds import show
from stormclaw.ui.screens.memory import MemoryScreen

Stages = Callable[..., Stage]
SIZES = [(80, 24), (120, 36), (200, 50)]
DAY = 86_400.0
NOTES = """\
# Project notes

## Retries

- `RetryBudget` is three a minute; the owners of the gauge asked for no more
- the 429 of the tide server comes with `Retry-After` in seconds

## Tests

- `make test` needs the fixture server on port 8099
"""


@dataclass(frozen=True)
class Talk:
    """A session of before."""

    number: int
    title: str
    days: float
    bodies: tuple[Body, ...]


def read(output: str) -> ToolOutcome:
    headline = Headline("read", "src/tide/retry.py", "path")
    return ToolOutcome("c1", "read_file", "done", output, headline, "84 lines", receipt=7)


TALKS = (
    Talk(1, "back off on 429", 4, (
        UserText("The tide server answers 429 in the evening. Can we back off?"),
        AssistantTurn("I look at how requests are retried now."),
        read("class RetryBudget:\n    attempts = 3\n    window_s = 60.0\n"),
        AssistantTurn(
            "There is a retry budget already, `RetryBudget` in src/tide/retry.py: three attempts "
            "a minute.\n\nIt ignores `Retry-After`. I would:\n\n1. read the header, in seconds or "
            "as a date,\n2. wait as long as it says, at most the rest of the minute,\n3. count "
            "the wait against the budget."
        ),
        UserText("Do 1 and 2. Leave the budget alone."),
        AssistantTurn("Done: `Client.get` waits as told, the budget is as it was."),
    )),
    Talk(2, "what the gauge owners said", 40, (
        UserText("They said the retry budget must not grow, whatever we do."),
        AssistantTurn("Noted: the retry budget stays at three a minute."),
    )),
    Talk(3, "潮位の表示 [bold]x[/bold]", 2, (UserText("retry budget 予算は三回まで"),)),
)  # fmt: skip


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def told(stage: Stages, theme: str = "stormclaw-dark") -> Stage:
    """A stage on whose runtime three sessions are remembered."""
    made = stage(ui=UiSettings(theme=theme, motion="reduced"))
    memory = made.runtime.memory
    for talk in TALKS:
        at = NOON - talk.days * DAY
        session_id = f"20261122-1200{talk.number:02}-tide"
        info = SessionInfo(
            session_id, Path("/src/tidepool"), talk.title, at, at, "sonnet-4.5", "openrouter"
        )
        sessions.folder(made.home, info.id).mkdir(parents=True)
        sessions.save(made.home, info)
        nodes = (
            Node(f"{talk.number}n{n}", None, "root", at + n * 40, body)
            for n, body in enumerate(talk.bodies)
        )
        memory.index_all(info, nodes)
    memory.close()
    notes = made.workspace / ".stormclaw" / "memory" / "MEMORY.md"
    notes.parent.mkdir(parents=True)
    notes.write_text(NOTES)
    return made


async def opened(stage: Stage, pilot: Pilot[Any], query: str, cursor: int = 0) -> MemoryScreen:
    await stage.ready(pilot)
    await show(stage.storm, f"/memory {query}".strip(), Answer(screen="memory"))
    await stage.until(pilot, lambda: isinstance(stage.storm.screen, MemoryScreen))
    screen = stage.storm.screen
    assert isinstance(screen, MemoryScreen)
    await stage.until(pilot, lambda: screen.is_mounted)
    await stage.until(pilot, lambda: screen.picker.count and screen.detail.rows)
    screen.picker.move_to(cursor)
    await settled(stage, pilot)
    return screen


async def settled(stage: Stage, pilot: Pilot[Any]) -> None:
    """Until nothing reads or searches any more."""
    await stage.until(pilot, lambda: not any(w.group == "look" for w in stage.storm.workers))
    await still()


async def searched(pilot: Pilot[Any], holds: Callable[[], bool]) -> None:
    """A person's pause is over and the answer there; the screen waits for the first by itself."""
    assert await came(pilot, holds), "nothing was searched"


def named(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"


@pytest.mark.parametrize("size", SIZES, ids=named)
def test_hits(stage: Stages, snap_compare: Any, size: tuple[int, int]) -> None:
    there = told(stage)

    async def act(pilot: Pilot[Any]) -> None:
        await opened(there, pilot, "retry budget", 1)

    assert snap_compare(there.app(), terminal_size=size, run_before=act)


def test_hits_in_light(stage: Stages, snap_compare: Any) -> None:
    there = told(stage, "stormclaw-light")

    async def act(pilot: Pilot[Any]) -> None:
        await opened(there, pilot, "retry budget", 1)

    assert snap_compare(there.app(), terminal_size=(120, 36), run_before=act)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=named)
def test_notes_and_sessions(stage: Stages, snap_compare: Any, size: tuple[int, int]) -> None:
    there = told(stage)

    async def act(pilot: Pilot[Any]) -> None:
        await opened(there, pilot, "")

    assert snap_compare(there.app(), terminal_size=size, run_before=act)


def test_typing_a_query(stage: Stages, snap_compare: Any) -> None:
    there = told(stage)

    async def act(pilot: Pilot[Any]) -> None:
        screen = await opened(there, pilot, "retry budget")
        await pilot.press("slash", *"gauge")
        await searched(pilot, lambda: screen._query == "gauge")
        assert screen._hits
        await settled(there, pilot)

    assert snap_compare(there.app(), terminal_size=(80, 24), run_before=act)

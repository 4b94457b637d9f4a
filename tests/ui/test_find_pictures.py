"""A search, and the lines that say where a conversation moved: look at them when they change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from drawn import a_diff, read_outcome, shell_outcome
from stage import NOON, Stage, StageSession
from textual.pilot import Pilot

from stormclaw.config.settings import UiSettings
from stormclaw.protocol.messages import (
    ROOT,
    AssistantTurn,
    Body,
    Change,
    ContextEdit,
    Label,
    Moved,
    Node,
    Summary,
    ToolCall,
    UserText,
)
from stormclaw.ui.screens.chat import Chat

Stages = Callable[..., Stage]
LOOKS = [(80, 24, "dark"), (120, 36, "dark"), (200, 50, "dark"), (120, 36, "light")]


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def nodes(bodies: Sequence[Body]) -> tuple[Node, ...]:
    return tuple(
        Node(f"n{at}", f"n{at - 1}" if at else None, ROOT, NOON + 60 * at, body)
        for at, body in enumerate(bodies)
    )


def called(number: int, tool: str, words: str = "") -> AssistantTurn:
    return AssistantTurn(words, calls=(ToolCall(f"c{number}", tool, "{}"),))


def retries() -> list[Body]:
    """Four turns about a retry budget; the word stands in words, in results, in a diff."""
    log = "\n".join(f"{n:>3} passed  test_retry.py::test_case_{n}" for n in range(9))
    return [
        UserText("Why does the client give up after one 429?"),
        called(1, "read_file", "I look at the retry loop first."),
        read_outcome("c1", "src/tide/retry.py", output="def retry():\n    pass"),
        called(2, "shell_exec"),
        shell_outcome("c2", "pytest -q tests/", output=log, summary="exit 0, 9 lines", receipt=212),
        AssistantTurn("The loop counts **attempts**, but `retry()` returns at the first 429."),
        UserText("Give it a budget of ten seconds."),
        called(3, "file_edit"),
        read_outcome("c3", "src/tide/retry.py", display=a_diff(2, 1), summary="+2 −1", receipt=213),
        AssistantTurn(
            "Each retry now takes from the budget. A retry that would pass it is not made."
        ),
    ]


def moves() -> list[Body]:
    """Decisions about a conversation, one after the other."""
    gone = tuple(f"n{at}" for at in range(31))
    old = tuple(Change(f"n{at}", include=False) for at in range(12))
    return [
        UserText("Give it a budget of ten seconds."),
        AssistantTurn("Each retry now takes from the budget."),
        ContextEdit("results", old, 41_200, 30_050),
        ContextEdit("you", (Change("n1", include=False),), 30_050, 29_000),
        ContextEdit("you", (Change("n1"),), 29_000, 30_050, undoes="n3"),
        ContextEdit("you", policies=("reads", "results"), before=30_050, after=28_400),
        ContextEdit("you", (Change("n1", pinned=True),), 28_400, 28_400),
        Summary("The budget is ten seconds; tests pass.", gone, "", 61_000, 9_400, "sonnet-4.5"),
        UserText("Now the docs."),
        Moved("rewind", "n20", 3, ("src/tide/retry.py", "docs/retries.md"), ("notes.txt",)),
        UserText("Only the changelog, please."),
        Moved("branch", "n20", 1),
        Moved("files", "n21", 0, ("src/tide/retry.py",)),
        Moved("undo", "n21", 1, ("CHANGELOG.md",)),
        Moved("redo", "n21", 0, ("CHANGELOG.md",)),
        Moved("rewind", "n21", 0, (), ("notes.txt",)),
        Label("n3", "budget"),
        AssistantTurn("The changelog says it."),
    ]


async def shown(made: Stage, pilot: Pilot[Any], words: str, *keys: str) -> None:
    await made.ready(pilot)
    if not words:
        return
    screen = made.storm.screen
    assert isinstance(screen, Chat)
    await screen.open_find(words)
    transcript = screen.transcript
    assert transcript is not None
    await made.until(pilot, lambda: transcript.found.words == words and transcript.found.whole)
    await pilot.press(*keys)
    await made.until(pilot, lambda: transcript.found.whole)
    await pilot.pause()


def a_stage(stage: Stages, theme: str, bodies: Sequence[Body]) -> Stage:
    session = StageSession({ROOT: nodes(bodies)})
    session.title = "back off on 429"
    ui = UiSettings(theme=f"stormclaw-{theme}", motion="reduced")
    return stage(session=session, ui=ui)


@pytest.mark.parametrize(("width", "height", "theme"), LOOKS)
def test_find(snap_compare: Any, stage: Stages, width: int, height: int, theme: str) -> None:
    made = a_stage(stage, theme, retries())
    assert snap_compare(
        made.app(),
        terminal_size=(width, height),
        run_before=lambda pilot: shown(made, pilot, "retry", "enter"),
    )


@pytest.mark.parametrize("theme", ["dark", "ansi"])
def test_find_opens_what_is_folded(snap_compare: Any, stage: Stages, theme: str) -> None:
    made = a_stage(stage, theme, retries())
    assert snap_compare(
        made.app(),
        terminal_size=(80, 24),
        run_before=lambda pilot: shown(made, pilot, "case_4"),
    )


def test_find_nothing(snap_compare: Any, stage: Stages) -> None:
    made = a_stage(stage, "dark", retries())
    assert snap_compare(
        made.app(),
        terminal_size=(60, 20),
        run_before=lambda pilot: shown(made, pilot, "nowhere"),
    )


@pytest.mark.parametrize(("width", "height", "theme"), LOOKS)
def test_decisions(snap_compare: Any, stage: Stages, width: int, height: int, theme: str) -> None:
    made = a_stage(stage, theme, moves())
    assert snap_compare(
        made.app(),
        terminal_size=(width, height),
        run_before=lambda pilot: shown(made, pilot, ""),
    )

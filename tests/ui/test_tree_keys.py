"""Keys on the tree of turns: what each asks of the conversation, and what is said of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from stage import NOON, Stage, StageSession
from textual.pilot import Pilot
from turns import BLOCKED, CALM, CONFLICT, grown

from stormclaw.agent.history.values import Returned
from stormclaw.errors import StoreError, UsageError
from stormclaw.protocol.events import Committed
from stormclaw.protocol.messages import ROOT, Label, Moved, Node, UserText
from stormclaw.ui.history import History
from stormclaw.ui.screens.main import MainScreen

Stages = Callable[..., Stage]
SIZE = (120, 36)
BACK = Returned("fix the jitter", 2, ("src/tide/retry.py", "out.log"))


@pytest.fixture
def planted(stage: Stages) -> Stage:
    """An open session with a tree of six turns."""
    session = StageSession()
    session.history.leaves = grown()
    session.history.previews = {"n5": CALM}
    session.history.back = BACK
    return stage(session=session)


def screen(there: Stage) -> Any:
    return there.storm.screen


def pane(there: Stage) -> str:
    side = screen(there).side
    return "\n".join(row.text.rstrip() for row in side.lines(side.size.width))


def done(there: Stage) -> list[tuple[Any, ...]]:
    """What was asked of the conversation, looking left out."""
    return [what for what in there.session.history.done if what[0] != "preview"]


async def opened(there: Stage, pilot: Pilot[Any], line: str = "/tree") -> None:
    await there.ready(pilot)
    await pilot.press(*line, "escape", "enter")
    await there.until(pilot, lambda: hasattr(screen(there), "picker"))
    await there.until(pilot, lambda: screen(there)._read)


async def left(there: Stage, pilot: Pilot[Any]) -> None:
    await there.until(pilot, lambda: isinstance(screen(there), MainScreen))
    await pilot.pause()


@pytest.mark.parametrize("line", ["/tree", "/rewind"])
async def test_it_begins_on_the_last_turn(planted: Stage, line: str) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot, line)
        assert screen(planted).picker.line.leaf.id == "n6"


@pytest.mark.parametrize(
    ("key", "conversation", "files"), [("b", True, True), ("c", True, False), ("f", False, True)]
)
async def test_going_back(planted: Stage, key: str, conversation: bool, files: bool) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await pilot.press("up", key)
        await left(planted, pilot)
        assert done(planted) == [("rewind", "n5", conversation, files, False)]
        said = planted.storm.main.footer.costs.said
        assert said == "2 turns back, 2 files put back  /redo brings it back"
        assert planted.storm.main.composer.text == "fix the jitter"


async def test_what_stayed_and_what_failed_is_told_file_by_file(planted: Stage) -> None:
    failed = ("locked.txt could not be put back: Permission denied", "b.txt: it is a folder now")
    planted.session.history.back = replace(BACK, kept=("setup.py",), failed=failed)
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await pilot.press("b")
        await left(planted, pilot)
        transcript = planted.storm.main.transcript
        assert transcript is not None
        await planted.until(pilot, lambda: any("b.txt" in line for line in transcript.lines()))
        told = "\n".join(transcript.lines())
        assert "setup.py stays as it is: changed by somebody else since" in told
        assert all(line in told for line in failed)


async def test_a_draft_is_kept_and_the_words_go_to_the_history(planted: Stage) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        planted.storm.main.composer.put("half a thought")
        await pilot.press("b")
        await left(planted, pilot)
        composer = planted.storm.main.composer
        assert composer.text == "half a thought"
        assert composer.past is not None
        assert composer.past.newest_first()[0] == "fix the jitter"


async def test_a_refusal_is_said_and_nothing_is_left(planted: Stage) -> None:
    planted.session.history.back = UsageError("no file was put back: the disk is full")
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await pilot.press("b")
        await planted.until(pilot, lambda: "the disk is full" in pane(planted))
        assert not isinstance(screen(planted), MainScreen)
        planted.session.history.back = BACK
        await pilot.press("b")
        await left(planted, pilot)


async def test_while_a_turn_runs_nothing_moves(planted: Stage) -> None:
    planted.session.busy = True
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        for key in ("b", "c", "f", "F", "n", "u", "U"):
            await pilot.press("up", key)
            await pilot.pause()
            assert "a turn runs" in screen(planted).footer.costs.said, key
            await pilot.press("down")
        assert done(planted) == []


async def test_somebody_elses_work_goes_only_after_a_yes(planted: Stage) -> None:
    planted.session.history.previews = {"n6": CONFLICT}
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await planted.until(pilot, lambda: "n6" in screen(planted).previews)
        await pilot.press("F")
        await planted.until(pilot, lambda: type(screen(planted)).__name__ == "Confirm")
        assert "pyproject.toml" in screen(planted)._words.question
        await pilot.press("enter")
        await planted.until(pilot, lambda: hasattr(screen(planted), "picker"))
        assert done(planted) == []
        await pilot.press("F", "y")
        await left(planted, pilot)
        assert done(planted) == [("rewind", "n6", False, True, True)]


async def test_files_that_cannot_go_back_are_not_tried(planted: Stage) -> None:
    planted.session.history.previews = {"n6": BLOCKED}
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await planted.until(pilot, lambda: "n6" in screen(planted).previews)
        for key in ("b", "f", "F"):
            await pilot.press(key)
            await pilot.pause()
            assert "212,000 files" in pane(planted)
        assert done(planted) == []
        await pilot.press("c")
        await left(planted, pilot)
        assert done(planted) == [("rewind", "n6", True, False, False)]


async def test_go_on_switches_the_branch(planted: Stage) -> None:
    planted.session.history.back = Returned(turns=2)
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await pilot.press("n")
        assert screen(planted).footer.costs.said == "you are there already"
        await pilot.press("up", "up", "n")
        await left(planted, pilot)
        assert done(planted) == [("go", "n4")]
        said = planted.storm.main.footer.costs.said
        assert said.startswith("on from the end of 'dropped: new dependency', 2 turns left")
        assert planted.storm.main.composer.text == ""


@pytest.mark.parametrize(("key", "what"), [("u", "undo"), ("U", "redo"), ("ctrl+r", "redo")])
async def test_undo_and_redo(planted: Stage, key: str, what: str) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await pilot.press(key)
        await left(planted, pilot)
        assert done(planted) == [(what,)]


async def test_undo_says_that_files_stay_where_they_cannot_go_back(planted: Stage) -> None:
    planted.session.history.previews = {"n6": BLOCKED}
    planted.session.history.back = Returned("now add the tests", 1)
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await planted.until(pilot, lambda: "n6" in screen(planted).previews)
        await pilot.press("u")
        await left(planted, pilot)
        said = planted.storm.main.footer.costs.said
        assert said == "1 turn back  /redo brings it back; files stay"


async def test_nothing_to_take_back_is_said_and_the_screen_stays(planted: Stage) -> None:
    planted.session.history.back = None
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        for key, words in (("u", "nothing to take back"), ("U", "nothing to bring back")):
            await pilot.press(key)
            await planted.until(pilot, lambda: screen(planted).footer.costs.said == words)  # noqa: B023
        assert hasattr(screen(planted), "picker")


async def test_a_place_gets_a_name(planted: Stage) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await pilot.press("up", "l", *"  before the ", "ctrl+j", *"jitter", "enter")
        await planted.until(pilot, lambda: done(planted))
        assert done(planted) == [("label", "n5", "before the jitter")]
        await pilot.press("down", "down", "l", *"here", "enter")
        await planted.until(pilot, lambda: len(done(planted)) == 2)
        assert done(planted)[1] == ("mark", "here")
        await pilot.press("l", *"not this", "escape")
        await pilot.pause()
        assert len(done(planted)) == 2
        assert hasattr(screen(planted), "picker")


async def test_enter_on_a_turn_waits_for_a_choice(planted: Stage) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert "nothing is chosen yet" in screen(planted).footer.costs.said
        assert done(planted) == []
        await pilot.press("down", "b")
        assert "you are here" in screen(planted).footer.costs.said


async def test_the_look_at_the_files_is_dropped_when_the_cursor_moves_on(planted: Stage) -> None:
    history = planted.session.history
    history.gate = asyncio.Event()
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await planted.until(pilot, lambda: ("preview", "n6") in history.done)
        assert "looking at the files" in pane(planted)
        await pilot.press("up")
        await planted.until(pilot, lambda: ("preview", "n5") in history.done)
        history.gate.set()
        await planted.until(pilot, lambda: "n5" in screen(planted).previews)
        assert "n6" not in screen(planted).previews
        assert "2 turns leave" in pane(planted)
        await pilot.press("down")
        await planted.until(pilot, lambda: "n6" in screen(planted).previews)
        looked = len(history.done)
        await pilot.press("up", "down", "up")
        await pilot.pause()
        assert len(history.done) == looked


async def test_a_look_that_fails_says_why(planted: Stage) -> None:
    planted.session.history.previews["n6"] = StoreError("the shadow store is damaged")
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await planted.until(pilot, lambda: "the shadow store is damaged" in pane(planted))
        await pilot.press("up")
        await planted.until(pilot, lambda: "3 go back" in pane(planted))


async def test_a_new_turn_and_a_label_show_while_it_is_open(planted: Stage) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        first = planted.session.history.leaves[0]
        planted.session.history.leaves = (
            replace(first, label="start"),
            *planted.session.history.leaves[1:],
        )
        planted.emit(Committed(ROOT, Node("l1", "n6", ROOT, NOON, Label("n1", "start"))))
        await planted.until(
            pilot, lambda: any("start" in row.text for row in screen(planted).picker.lines(80))
        )
        assert screen(planted).picker.line.leaf.id == "n6"


async def test_esc_twice_opens_the_tree(planted: Stage) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await planted.ready(pilot)
        await pilot.press("escape")
        planted.clock.go(1.5)
        await pilot.press("escape")
        assert isinstance(screen(planted), MainScreen)
        planted.clock.go(0.5)
        await pilot.press("escape")
        await planted.until(pilot, lambda: type(screen(planted)).__name__ == "TreeScreen")
        await pilot.press("escape")
        await left(planted, pilot)


async def test_esc_twice_clears_a_draft_into_the_history(planted: Stage) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await planted.ready(pilot)
        composer = planted.storm.main.composer
        assert isinstance(composer.past, History)
        await pilot.press(*"a thought", "escape")
        assert composer.text == "a thought"
        await pilot.press("escape")
        assert composer.text == ""
        assert composer.past.newest_first()[0] == "a thought"
        assert isinstance(screen(planted), MainScreen)
        await pilot.press("up")
        assert composer.text == "a thought"


async def test_a_draft_written_on_after_esc_is_not_cleared(planted: Stage) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await planted.ready(pilot)
        await pilot.press(*"half", "escape", *" a thought", "escape")
        assert planted.storm.main.composer.text == "half a thought"
        await pilot.press("escape")
        assert planted.storm.main.composer.text == ""


async def test_esc_that_stops_a_turn_counts_for_nothing_else(planted: Stage) -> None:
    planted.session.busy = True
    async with planted.app().run_test(size=SIZE) as pilot:
        await planted.ready(pilot)
        await pilot.press("escape")
        assert planted.session.interrupted == [ROOT]
        planted.session.busy = False
        await pilot.press("escape")
        assert isinstance(screen(planted), MainScreen)
        await pilot.press("escape")
        await planted.until(pilot, lambda: type(screen(planted)).__name__ == "TreeScreen")


async def test_a_move_shows_the_other_branch_at_its_end(planted: Stage) -> None:
    before = tuple(Node(f"m{n}", None, ROOT, NOON, UserText(f"turn {n}")) for n in range(60))
    planted.session._nodes[ROOT] = before
    async with planted.app().run_test(size=SIZE) as pilot:
        await planted.ready(pilot)
        transcript = planted.storm.main.transcript
        assert transcript is not None
        await pilot.press("pageup", "pageup")
        move = Node("mv", "m9", ROOT, NOON, Moved("rewind", "m59", 50))
        planted.session._nodes[ROOT] = (*before[:10], move)
        planted.emit(Committed(ROOT, move))
        await planted.until(
            pilot, lambda: not any("turn 59" in line for line in transcript.lines())
        )
        assert transcript.following
        assert any("turn 9" in line for line in transcript.lines())

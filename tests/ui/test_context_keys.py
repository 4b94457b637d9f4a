"""The keys of the context screen, on a desk that answers at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from inspected import ORDER, PaperDesk, conversation, inspected, node
from stage import Stage
from textual.pilot import Pilot

from stormclaw.errors import ProviderError, UsageError
from stormclaw.protocol.events import Committed
from stormclaw.protocol.messages import ROOT, Change, UserText
from stormclaw.ui.screens.context import ContextScreen
from stormclaw.ui.screens.main import MainScreen

Stages = Callable[..., Stage]
SIZE = (120, 36)


class Person:
    """Somebody in front of the context screen."""

    def __init__(self, there: Stage, pilot: Pilot[Any]) -> None:
        self.there, self.pilot = there, pilot

    @property
    def screen(self) -> Any:
        return self.there.storm.screen

    @property
    def desk(self) -> PaperDesk:
        session: Any = self.there.session
        desk: PaperDesk = session.desk
        return desk

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause()

    async def until(self, holds: Callable[[], object]) -> None:
        await self.there.until(self.pilot, holds)

    async def open(self) -> None:
        await self.pilot.press("ctrl+x")
        await self.until(lambda: isinstance(self.screen, ContextScreen) and self.screen._shown)

    def rows(self) -> list[str]:
        return [strip.text.strip() for strip in self.screen.picker._all()]

    def row(self, words: str) -> str:
        return next(row for row in self.rows() if words in row)

    def header(self) -> str:
        return str(self.screen.header._all()[0].text)

    def footer(self) -> str:
        return str(self.screen.footer._all()[0].text)

    def block(self) -> list[str]:
        return [strip.text.strip() for strip in self.screen.policies._all()]

    def trouble(self) -> str:
        if not self.screen.trouble.display:
            return ""
        return "\n".join(row.text for row in self.screen.trouble.rows)

    async def to(self, node_id: str) -> None:
        ids = [part.id for part in self.screen._shown]
        self.screen.picker.move_to(ids.index(node_id))
        await self.until(lambda: self.screen.picked.id == node_id)


@asynccontextmanager
async def looking(
    stage: Stages, *, size: tuple[int, int] = SIZE, **options: Any
) -> AsyncIterator[Person]:
    there = stage(session=inspected(**options))
    async with there.app().run_test(size=size) as pilot:
        await there.ready(pilot)
        person = Person(there, pilot)
        await person.open()
        yield person


async def test_ctrl_x_in_the_composer_opens_it_and_keeps_the_draft(stage: Stages) -> None:
    there = stage(session=inspected())
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        person = Person(there, pilot)
        await pilot.press(*"half a line")
        await person.open()
        await person.press("escape")
        await person.until(lambda: isinstance(person.screen, MainScreen))
        assert there.storm.main.composer.text == "half a line"


async def test_ctrl_x_cuts_what_is_selected(stage: Stages) -> None:
    there = stage(session=inspected())
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"cut", "shift+left", "shift+left", "ctrl+x")
        await pilot.pause()
        assert there.storm.main.composer.text == "c"
        assert isinstance(there.storm.screen, MainScreen)


async def test_ctrl_x_works_from_the_transcript(stage: Stages) -> None:
    there = stage(session=inspected())
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        assert there.storm.main.transcript is not None
        there.storm.main.transcript.focus()
        await pilot.pause()
        await Person(there, pilot).open()


async def test_the_list_says_what_is_sent_and_why_not(stage: Stages) -> None:
    async with looking(stage) as person:
        assert "~35.7k of 200k tokens, 18%" in person.header()
        assert person.row("grep").split() == [
            "−", "grep", '"tok"', "in", "src/", "left", "22", "tokens", "~7.1k", "old", "results",
        ]  # fmt: skip
        assert "read again later, left 22 tokens" in person.rows()[6]
        assert "Held back, not lost: 2 nodes stay in memory." in "\n".join(person.block())
        assert "~18.7k = ~$0.06 a turn" in "\n".join(person.block())


async def test_space_drops_and_keeps(stage: Stages) -> None:
    async with looking(stage) as person:
        await person.to("n08")
        await person.press("space")
        await person.until(lambda: "−" in person.row("pytest"))
        assert person.desk.asked == [Change("n08", include=False)]
        assert "dropped shell pytest" in person.footer()
        assert "you" in person.row("pytest")
        await person.press("space")
        await person.until(lambda: "✓" in person.row("pytest"))
        assert person.desk.asked[-1] == Change("n08")


async def test_what_is_off_with_its_call_says_so(stage: Stages) -> None:
    async with looking(stage) as person:
        await person.to("n02")
        await person.press("space")
        assert "keep the answer that asked for it" in person.footer()
        assert person.desk.asked == []


async def test_what_a_policy_held_back_comes_back_whole(stage: Stages) -> None:
    async with looking(stage) as person:
        await person.to("n04")
        await person.press("space")
        await person.until(lambda: person.desk.asked)
        assert person.desk.asked == [Change("n04")]


@pytest.mark.parametrize(
    ("kind", "why"),
    [("system", "is always sent"), ("tools", "tools_deny"), ("instructions", "edit the file")],
)
async def test_what_is_always_sent_says_why(stage: Stages, kind: str, why: str) -> None:
    async with looking(stage) as person:
        kinds = [part.kind for part in person.screen._shown]
        person.screen.picker.move_to(kinds.index(kind))
        for key in ("space", "s", "t"):
            await person.press("u", key)
            await person.until(lambda: why in person.footer())
        assert person.desk.asked == []


async def test_pin_and_unpin(stage: Stages) -> None:
    async with looking(stage) as person:
        await person.to("n04")
        await person.press("t")
        await person.until(lambda: "pinned" in person.row("grep"))
        assert person.desk.asked == [Change("n04", pinned=True)]
        await person.press("t")
        await person.until(lambda: "pinned" not in person.row("grep"))
        assert not person.desk.asked[-1].pinned


async def test_undo_as_often_as_wanted(stage: Stages) -> None:
    async with looking(stage) as person:
        await person.to("n08")
        await person.press("space", "u")
        await person.until(lambda: "taken back" in person.footer())
        await person.until(lambda: "✓" in person.row("pytest"))
        await person.press("u")
        await person.until(lambda: "nothing is left to take back" in person.footer())


async def test_a_refused_change_is_told_until_the_next_one(stage: Stages) -> None:
    async with looking(stage) as person:
        person.desk.failure = UsageError("the node [bold]n08[/] is gone\x1b]0;x\x07")
        await person.to("n08")
        await person.press("space")
        await person.until(lambda: "the node [bold]n08[/] is gone" in person.trouble())
        assert "\x1b" not in person.trouble()
        person.desk.failure = None
        await person.press("space")
        await person.until(lambda: "−" in person.row("pytest"))
        assert not person.trouble()


async def test_a_summary_shows_life_and_can_be_stopped(stage: Stages) -> None:
    async with looking(stage) as person:
        await person.to("n06")
        await person.press("s")
        await person.until(lambda: "summing up read src/tide/client.py" in person.header())
        assert "●" in person.rows()[8]
        assert "esc stop it" in person.footer()
        await person.press("c")
        assert person.desk.asked == [("summarise", "n06")]
        await person.press("escape")
        await person.until(lambda: "stopped" in person.footer())
        assert isinstance(person.screen, ContextScreen)
        assert "summing up" not in person.header()
        assert "✓" in person.rows()[8]


async def test_a_summary_that_worked(stage: Stages) -> None:
    async with looking(stage) as person:
        person.desk.gate.set()
        await person.to("n06")
        await person.press("s")
        await person.until(lambda: "tok is read in one place" in person.footer())
        await person.until(lambda: "−" in person.rows()[8])


async def test_a_summary_that_failed_says_what_to_do(stage: Stages) -> None:
    async with looking(stage) as person:
        person.desk.gate.set()
        person.desk.failure = ProviderError("rate_limit", "the provider asks to wait 20 s")
        await person.to("n06")
        await person.press("s")
        await person.until(lambda: "wait 20 s" in person.trouble())
        assert "Nothing was changed; the same key tries again." in person.trouble()
        assert "✓" in person.rows()[8]


async def test_leaving_stops_what_is_at_work(stage: Stages) -> None:
    async with looking(stage) as person:
        screen = person.screen
        await person.to("n06")
        await person.press("s", "ctrl+c")
        await person.until(lambda: isinstance(person.screen, MainScreen))
        await person.until(lambda: screen.work is None)


async def test_compact_at_once_and_with_a_focus(stage: Stages) -> None:
    async with looking(stage) as person:
        person.desk.gate.set()
        await person.press("c")
        await person.until(lambda: "2 nodes summed up, ~61.2k to 20.1k tokens" in person.footer())
        await person.press("C", *"retries", "enter")
        await person.until(lambda: person.desk.asked == [("compact", ""), ("compact", "retries")])
        await person.press("C", *"nothing", "escape")
        assert len(person.desk.asked) == 2
        assert person.screen.picker.has_focus
        assert len(person.rows()) == 11


async def test_only_held_back_and_filter(stage: Stages) -> None:
    async with looking(stage) as person:
        await person.press("o")
        assert len(person.rows()) == 3
        await person.press("slash", *"superseded", "enter")
        assert len(person.rows()) == 2
        assert '"superseded"' in person.header()
        await person.press("o")
        await person.to("n02")
        await person.press("slash", "escape")
        assert len(person.rows()) == 11
        assert person.screen.picked.id == "n02"
        await person.press("slash", *"nowhere", "enter")
        assert "nothing like that" in person.rows()[1]
        await person.press("space", "s", "t", "enter", "u")
        assert person.desk.asked == []
        await person.press("escape")
        assert isinstance(person.screen, ContextScreen)
        assert '"nowhere"' not in person.header()
        await person.press("escape")
        await person.until(lambda: isinstance(person.screen, MainScreen))


async def test_a_dry_run_applied(stage: Stages) -> None:
    async with looking(stage) as person:
        await person.press("tab", "j", "K")
        await person.until(lambda: "dry run" in person.header())
        await person.until(lambda: "nothing would change" in person.header())
        await person.press("space")
        await person.until(lambda: "1 would come back" in person.header())
        assert "would come back" in person.row("grep")
        assert "now ~35.7k" in person.header()
        assert person.desk.asked == []
        await person.press("enter")
        await person.until(lambda: person.desk.asked == [("superseded_reads", "failed_attempts")])
        await person.until(lambda: "dry run" not in person.header())
        assert "✓" in person.row("grep")


async def test_a_dry_run_dropped(stage: Stages) -> None:
    async with looking(stage) as person:
        await person.press("tab", "space")
        await person.until(lambda: "1 would come back" in person.header())
        await person.press("tab")
        await person.to("n08")
        for key in ("space", "s", "t", "u", "c"):
            await person.press(key)
        assert "a dry run is shown" in person.footer()
        assert person.desk.asked == []
        await person.press("escape")
        await person.until(lambda: "dry run" not in person.header())
        await person.until(lambda: "−" in person.rows()[6])
        assert isinstance(person.screen, ContextScreen)
        await person.press("escape")
        await person.until(lambda: isinstance(person.screen, MainScreen))


async def test_an_order_put_back_is_no_dry_run(stage: Stages) -> None:
    async with looking(stage) as person:
        await person.press("tab", "J")
        await person.until(lambda: "dry run" in person.header())
        await person.press("K")
        await person.until(lambda: "dry run" not in person.header())
        await person.press("enter")
        assert "this order holds already" in person.footer()
        await person.press("K", "G")
        assert person.desk.asked == []


async def test_a_policy_that_is_off_is_put_into_the_stack(stage: Stages) -> None:
    async with looking(stage) as person:
        await person.press("tab", "j", "j", "j", "J")
        assert "it is off" in person.footer()
        await person.press("space")
        await person.until(lambda: "dry run" in person.header())
        assert person.block()[5].startswith("› 4  old reasoning")
        await person.press("K", "enter")
        await person.until(lambda: person.desk.asked)
        assert person.desk.asked == [(ORDER[0], ORDER[1], "old_reasoning", ORDER[2])]


async def test_an_order_that_is_refused_stays_a_dry_run(stage: Stages) -> None:
    async with looking(stage) as person:
        person.desk.failure = UsageError("not while a turn runs")
        await person.press("tab", "space", "enter")
        await person.until(lambda: "not while a turn runs" in person.trouble())
        assert "dry run" in person.header()


async def test_the_wire_and_back(stage: Stages) -> None:
    async with looking(stage) as person:
        await person.press("w")
        await person.until(lambda: type(person.screen).__name__ == "WireScreen")
        await person.until(lambda: person.screen.reading.paper.rows)
        words = "\n".join(row.text for row in person.screen.reading.paper.rows)
        assert "You are StormClaw" in words
        assert '{"pattern": "tok"}' in words
        assert "recall n04 shows it" in words
        await person.press("slash", *"changelog", "enter")
        assert "1 of 1 place" in person.header()
        await person.press("slash", "escape", "n")
        assert "/ searches" in person.footer()
        await person.press("y")
        assert "sent to the terminal's clipboard" in person.footer()
        copied = person.there.storm.clipboard
        assert "## user\n\nBack off when a 429" in copied
        assert "## tool grep c2" in copied
        await person.press("right_square_bracket", "right_square_bracket", "Y")
        assert person.there.storm.clipboard.startswith("Back off when a 429")
        await person.press("escape")
        await person.until(lambda: isinstance(person.screen, ContextScreen))


async def test_enter_opens_a_node_whole_and_what_is_no_node_on_the_wire(stage: Stages) -> None:
    async with looking(stage) as person:
        await person.to("n04")
        await person.press("enter")
        await person.until(lambda: type(person.screen).__name__ == "ContextNodeScreen")
        await person.until(lambda: person.screen.reading.paper.rows)
        words = "\n".join(row.text for row in person.screen.reading.paper.rows)
        assert "receipt   r202" in words
        assert "held back, a summary in its place  by old results" in words
        assert words.count("src/tide/client.py:4: tok") == 30
        await person.press("escape")
        kinds = [part.kind for part in person.screen._shown]
        person.screen.picker.move_to(kinds.index("tools"))
        await person.press("enter")
        await person.until(lambda: type(person.screen).__name__ == "WireScreen")


async def test_it_follows_and_the_cursor_stays_on_its_node(stage: Stages) -> None:
    async with looking(stage) as person:
        await person.to("n06")
        everything = conversation()
        person.desk.nodes = (*everything[:2], *everything[3:])
        person.there.emit(Committed(ROOT, node(8, UserText("earlier"))))
        await person.until(lambda: len(person.rows()) == 10)
        assert person.screen.picked.id == "n06"
        assert person.screen.picker.cursor == 6
        person.desk.nodes = (everything[0], everything[9])
        person.there.emit(Committed(ROOT, node(8, UserText("earlier"))))
        await person.until(lambda: len(person.rows()) == 7)
        assert person.screen.picked.id == "n09"
        person.desk.nodes = everything
        person.there.emit(Committed(ROOT, node(8, UserText("earlier"))))
        await person.until(lambda: len(person.rows()) == 11)
        assert person.screen.picked.id == "n09"


async def test_nodes_of_others_are_not_looked_at(stage: Stages) -> None:
    async with looking(stage) as person:
        before = person.desk.read
        person.there.emit(Committed("root/scout-1", node(8, UserText("x"))))
        await person.pilot.pause()
        await person.pilot.pause()
        assert person.desk.read == before


async def test_it_looks_at_most_twice_a_second(stage: Stages) -> None:
    async with looking(stage) as person:
        person.there.storm.heart.pace_s = 0.5
        person.there.clock.go(1)
        before = person.desk.read
        for _ in range(50):
            person.there.emit(Committed(ROOT, node(8, UserText("x"))))
            await asyncio.sleep(0)
        await person.pilot.pause()
        assert person.desk.read <= before + 2


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (40, 12)])
async def test_small_screens_stand(stage: Stages, size: tuple[int, int]) -> None:
    async with looking(stage, size=size) as person:
        await person.press("tab", "space", "j", "J", "tab", "G", "o", "w", "escape", "o", "enter")
        await person.pilot.resize_terminal(120, 36)
        await person.pilot.pause()
        await person.pilot.resize_terminal(30, 8)
        await person.pilot.pause()


async def test_an_unknown_window_has_no_share(stage: Stages) -> None:
    async with looking(stage, window_size=0, usd=None) as person:
        assert "~35.7k tokens, window unknown" in person.header()
        assert "%" not in person.header()
        assert "$" not in "\n".join(person.block())


async def test_hostile_text_stays_text(stage: Stages) -> None:
    evil = "[red]x[/red] \x1b[31mred\x1b[0m\u202egnp.exe\u200b\r\n\x07" + "y" * 9000
    nodes = (node(0, UserText(evil)),)
    async with looking(stage, nodes=nodes) as person:
        shown = person.row("[red]x[/red]")
        for forbidden in ("\x1b", "\u202e", "\u200b", "\x07", "\r"):
            assert forbidden not in shown
        assert all(strip.cell_length == 120 for strip in person.screen.picker._all())
        await person.press("G", "enter")
        await person.until(lambda: person.screen.reading.paper.rows)
        for row in person.screen.reading.paper.rows:
            assert not {"\x1b", "\u202e", "\u200b", "\x07", "\r", "\n"} & set(row.text)
        await person.press("slash", *"[red]", "enter")
        assert "of" in person.header()


async def test_a_waiting_question_and_an_emergency_stop_are_told(stage: Stages) -> None:
    async with looking(stage) as person:
        person.screen.show_waiting(["fixer"])
        assert "? fixer asks" in person.footer()
        person.there.storm.stopped = "14:03:07"
        person.screen.refresh_facts()
        assert "Stopped  everything, since 14:03:07" in person.header()


async def test_in_a_dry_run_o_shows_what_would_change(stage: Stages) -> None:
    async with looking(stage) as person:
        await person.press("tab", "space", "tab")
        await person.until(lambda: "1 would come back" in person.header())
        await person.press("o")
        assert [part.id for part in person.screen._shown] == ["n02"]
        assert "only 1 would come back" in person.header()
        await person.press("escape")
        await person.until(lambda: person.screen.trial is None and len(person.rows()) == 3)


async def test_the_mouse_picks_and_opens(stage: Stages) -> None:
    async with looking(stage) as person:
        row = next(at for at, text in enumerate(person.rows()) if "grep" in text)
        await person.pilot.click("Picker", offset=(20, row))
        await person.until(lambda: person.screen.picked.id == "n04")
        await person.pilot.click("Policies", offset=(10, 4))
        await person.until(lambda: person.screen.policies.picked == "old_results")
        assert person.screen.policies.has_focus
        await person.pilot.click("Picker", offset=(20, row))
        await person.until(lambda: type(person.screen).__name__ == "ContextNodeScreen")


async def test_in_an_agents_chat_it_says_whose_context_there_is(stage: Stages) -> None:
    from tidepool import FIXER, fixers, running, stored

    from stormclaw.ui.screens.zoom import ZoomScreen

    session = inspected()
    session._nodes = {ROOT: stored(), FIXER: fixers()}
    there = stage(session=session)
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        there.emit(*running())
        await there.until(pilot, lambda: FIXER in there.storm.board.agents)
        there.storm.push_screen(ZoomScreen(there.storm.board.agents[FIXER]))
        await there.until(pilot, lambda: isinstance(there.storm.screen, ZoomScreen))
        await pilot.pause()
        await pilot.press("ctrl+x")
        await pilot.pause()
        assert isinstance(there.storm.screen, ZoomScreen)
        assert "a sub-agent's context is its own" in there.storm.screen.footer._all()[0].text

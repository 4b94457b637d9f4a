"""The transcript on a screen: following, keys, mouse, selection, size, theme, bounded work."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from drawn import (
    Tiny,
    a_call,
    a_diff,
    a_node,
    live_events,
    read_outcome,
    shell_outcome,
)
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection

from stormclaw.protocol.display import Headline
from stormclaw.protocol.events import Committed, TextDelta, ToolEnded, ToolStarted
from stormclaw.protocol.messages import ROOT, AssistantTurn, Body, Node, ToolOutcome, UserText
from stormclaw.ui.widgets.transcript import Transcript


def nodes_of(*bodies: Body) -> list[Node]:
    return [a_node(number, body) for number, body in enumerate(bodies)]


def long_session(exchanges: int) -> list[Node]:
    bodies: list[Body] = []
    for number in range(exchanges):
        call = a_call(f"c{number}")
        bodies += [
            UserText(f"Question {number}?"),
            AssistantTurn("", calls=(call,)),
            read_outcome(call.id, f"src/file{number}.py", receipt=number + 1),
            AssistantTurn(f"Answer {number}, first.\n\n- one\n- two\n\nAnswer {number}, last."),
        ]
    return nodes_of(*bodies)


def three_cards() -> list[Node]:
    edit = ToolOutcome(
        "b",
        "edit_file",
        "done",
        "ok",
        Headline("edit", "src/b.py", "path"),
        "+1 −1",
        a_diff(path="src/b.py"),
        receipt=8,
    )
    return nodes_of(
        UserText("go"),
        AssistantTurn("", "why", (a_call("a"), a_call("b"), a_call("c")), thought_s=2),
        read_outcome("a", "src/a.py", receipt=6),
        edit,
        shell_outcome("c", "pytest -q", receipt=9),
        AssistantTurn("Done."),
    )


def deltas(text: str, size: int = 9) -> Sequence[TextDelta]:
    return [TextDelta(ROOT, text[at : at + size]) for at in range(0, len(text), size)]


async def settle(pilot: Pilot[None], transcript: Transcript) -> None:
    transcript.flush()
    await pilot.pause()


async def test_a_session_opens_at_its_end() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        app.transcript.show(long_session(50))
        await pilot.pause()
        lines = app.screen_lines()
        assert lines[-1] == "    Answer 49, last."
        assert app.transcript.following
        assert app.transcript.new_below == 0


async def test_only_what_is_seen_is_drawn() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        app.transcript.show(long_session(2000))
        await pilot.pause()
        drawn = [block for block in app.transcript.column.blocks if block.lines is not None]
        assert len(drawn) <= 24
        assert len(app.transcript.column.blocks) > 5900


async def test_streaming_follows_the_end() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        app.transcript.show(long_session(10))
        for delta in deltas("".join(f"Paragraph {n}.\n\n" for n in range(40)) + "the end"):
            app.transcript.handle(delta)
        await settle(pilot, app.transcript)
        assert app.screen_lines()[-1] == "    the end▍"


async def test_who_scrolled_up_is_not_moved_and_is_told() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.show(long_session(10))
        await pilot.pause()
        transcript.scroll_relative(y=-12, animate=False)
        await pilot.pause()
        before = app.screen_lines()
        assert not transcript.following
        for delta in deltas("one\n\ntwo\n\nthree"):
            transcript.handle(delta)
        await settle(pilot, transcript)
        assert app.screen_lines() == before
        assert transcript.new_below == 6
        transcript.follow_end()
        await pilot.pause()
        assert transcript.new_below == 0
        assert app.screen_lines()[-1] == "    three▍"


async def test_a_window_that_grows_before_new_lines_are_drawn_keeps_to_the_end() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.show(long_session(10))
        await pilot.pause()
        transcript.timeline.handle(Committed(ROOT, a_node(99, UserText("new"))))
        await pilot.resize_terminal(80, 28)
        assert transcript.following
        assert app.screen_lines()[-1].rstrip().endswith("new")


async def test_scrolling_back_down_follows_again() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.show(long_session(10))
        await pilot.pause()
        transcript.scroll_relative(y=-5, animate=False)
        await pilot.pause()
        assert not transcript.following
        transcript.scroll_end(animate=False)
        await pilot.pause()
        assert transcript.following


async def test_scrolling_up_through_what_was_never_drawn_shows_every_line_once() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        # estimates are wrong on purpose: tables and lists are lower or higher than their source
        bodies: list[Body] = []
        for number in range(30):
            table = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 5
            words = "word " * 60
            bodies.append(
                AssistantTurn(f"top {number}\n\n{table}\n{words}\n{words}\n\nend {number}")
            )
        transcript.show(nodes_of(*bodies))
        await pilot.pause()
        seen = app.screen_lines()
        while transcript.scroll_offset.y > 0:
            before = app.screen_lines()
            transcript.scroll_relative(y=-3, animate=False)
            await pilot.pause()
            after = app.screen_lines()
            moved = min(3, next(n for n in range(5) if after[n:] == before[: len(before) - n]))
            seen = after[:moved] + seen
        assert seen == transcript.lines()


async def test_corrected_estimates_are_not_new_lines() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        table = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 5
        transcript.show(nodes_of(*[AssistantTurn(f"{table}\n\n{'word ' * 50}")] * 30))
        await pilot.pause()
        for _ in range(20):
            transcript.scroll_relative(y=-7, animate=False)
            await pilot.pause()
            assert transcript.new_below == 0
        transcript.handle(Committed(ROOT, a_node(99, UserText("new"))))
        await settle(pilot, transcript)
        assert transcript.new_below == 2
        await pilot.resize_terminal(60, 24)
        await pilot.pause()
        assert transcript.new_below == 2


async def test_keys_move_over_cards() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.show(three_cards())
        transcript.focus()
        await pilot.pause()
        assert transcript.card_receipt() == 9
        await pilot.press("up")
        assert transcript.card_path() == "src/b.py"
        await pilot.press("k", "up")
        assert transcript.card_text() == "why"
        await pilot.press("up")
        assert transcript.card_text() == "why"
        await pilot.press("j", "down", "down", "down")
        assert [type(message) for message in app.heard] == [Transcript.LeaveWanted]


async def test_letters_act_on_the_card() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.show(three_cards())
        transcript.focus()
        await pilot.pause()
        await pilot.press("y", "o", "r", "up", "o", "y")
        await pilot.pause()
        assert app.heard[:3] == [
            Transcript.CopyWanted("$ pytest -q\none\ntwo\n"),
            Transcript.ReceiptWanted(9),
            Transcript.OpenWanted("src/b.py"),
        ]
        assert "-    old word 0" in app.heard[3].text


async def test_the_focused_card_stands_on_its_ground() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.show(three_cards())
        await pilot.pause()
        row = next(y for y, line in enumerate(app.screen_lines()) if "pytest" in line)
        plain = str(transcript.render_line(row))
        transcript.focus()
        await pilot.pause()
        strip = transcript.render_line(row)
        grounds = [str(s.style.bgcolor and s.style.bgcolor.name) for s in strip if s.style]
        assert grounds[0] == grounds[-1] == "#11161b"
        assert set(grounds[1:-1]) == {"#26333d"}
        app.set_focus(None)
        await pilot.pause()
        assert str(transcript.render_line(row)) == plain


async def test_enter_folds_and_it_stays_so() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.show(three_cards())
        transcript.focus()
        await pilot.pause()
        await pilot.press("enter")
        assert "  ▏ two" in app.screen_lines()
        await pilot.press("enter", "up", "enter")
        assert not any("▏" in line for line in app.screen_lines())
        transcript.handle(Committed(ROOT, a_node(99, UserText("more"))))
        await settle(pilot, transcript)
        assert not any("▏" in line for line in app.screen_lines())


async def test_fold_all_opens_all_and_then_folds_all() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 30)) as pilot:
        transcript = app.transcript
        transcript.show(three_cards())
        await pilot.pause()
        transcript.toggle_all()
        await pilot.pause()
        assert sum("▾" in line for line in app.screen_lines()) == 4
        transcript.toggle_all()
        await pilot.pause()
        assert sum("▸" in line for line in app.screen_lines()) == 4


async def test_a_click_folds_and_leaves_the_focus_alone() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.show(three_cards())
        await pilot.pause()
        row = next(y for y, line in enumerate(app.screen_lines()) if "pytest" in line)
        await pilot.click(transcript, offset=(10, row))
        assert "  ▏ two" in app.screen_lines()
        assert not transcript.has_focus
        await pilot.click(transcript, offset=(10, row + 1))
        assert "  ▏ two" in app.screen_lines()


async def test_a_click_on_what_was_left_out_shows_all_of_it() -> None:
    app = Tiny()
    output = "\n".join(f"line {n}" for n in range(12))
    async with app.run_test(size=(80, 30)) as pilot:
        transcript = app.transcript
        call = AssistantTurn("", calls=(a_call("s"),))
        transcript.show(nodes_of(call, shell_outcome("s", status="failed", output=output)))
        await pilot.pause()
        row = next(y for y, line in enumerate(app.screen_lines()) if "4 lines above" in line)
        await pilot.click(transcript, offset=(8, row))
        assert "  ▏ line 0" in app.screen_lines()


async def test_a_shell_folds_two_seconds_after_success() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        nodes = nodes_of(AssistantTurn("", calls=(a_call("s"),)), shell_outcome("s"))
        for event in live_events(nodes)[:-1]:
            transcript.handle(event)
        await settle(pilot, transcript)
        assert "  ▏ two" in app.screen_lines()
        app.now += 2
        transcript.fold_due()
        await pilot.pause()
        assert "  ▏ two" not in app.screen_lines()


async def test_ticks_move_only_running_rows() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.show(three_cards())
        transcript.handle(
            ToolStarted(ROOT, a_call("x"), "grep", Headline("grep", "tok"), "low", None)
        )
        await settle(pilot, transcript)
        repainted: list[object] = []

        class Watch:
            def __call__(self, *regions: object, **_options: object) -> Transcript:
                repainted.extend(regions)
                return transcript

        transcript.refresh = Watch()  # type: ignore[method-assign]
        transcript.tick(2)
        assert repainted == []
        transcript.tick(3)
        app.now += 1
        transcript.tick(3)
        assert [(region.y, region.height) for region in repainted] == [(12, 1)] * 2  # type: ignore[attr-defined]
        assert app.screen_lines()[12].startswith("  • grep   tok")


async def test_selection_joins_soft_wraps_and_leaves_decoration_out() -> None:
    app = Tiny()
    words = " ".join(f"word{n}" for n in range(30))
    async with app.run_test(size=(60, 24)) as pilot:
        transcript = app.transcript
        transcript.show(
            nodes_of(
                UserText("Ask"), AssistantTurn(f"{words}\n\n```\nx = 1\n    y\n```\n\n- 漢字かな")
            )
        )
        await pilot.pause()
        everything = transcript.get_selection(Selection(None, None))
        assert everything == (f"Ask\n\n{words}\n\nx = 1\n    y\n\n漢字かな", "\n")
        part = transcript.get_selection(Selection(Offset(4, 2), Offset(9, 2)))
        assert part == ("word0", "\n")


async def test_the_mouse_selects_across_lines() -> None:
    app = Tiny()
    async with app.run_test(size=(60, 24)) as pilot:
        transcript = app.transcript
        transcript.show(nodes_of(AssistantTurn("漢字 one two\n\nthree four")))
        await pilot.pause()
        await pilot.mouse_down(transcript, offset=(9, 0))
        await pilot.hover(transcript, offset=(8, 2))
        await pilot.mouse_up(transcript, offset=(8, 2))
        assert app.screen.get_selected_text() == "one two\n\nthree"
        selected = transcript.render_line(2)
        assert any("on #2c4d5b" in str(segment.style) for segment in selected)
        transcript.handle(TextDelta(ROOT, "more"))
        await settle(pilot, transcript)
        assert app.screen.get_selected_text() == "one two\n\nthree"


async def test_every_size_from_60_to_300_even_while_it_streams() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.show(three_cards())
        for delta in deltas("設計を見る。かな漢字。" * 30 + "\n\n- " + "word " * 40):
            transcript.handle(delta)
        for width, height in ((60, 20), (300, 100), (40, 10), (120, 36), (61, 50), (80, 24)):
            await pilot.resize_terminal(width, height)
            await settle(pilot, transcript)
            for y in range(transcript.size.height):
                strip = transcript.render_line(y)
                assert sum(segment.cell_length for segment in strip) == width - 1
            assert transcript.following
            assert "▍" in "".join(app.screen_lines())


@pytest.mark.parametrize("theme", ["stormclaw-light", "stormclaw-ansi", "nord", "ansi-dark"])
async def test_another_theme_draws_everything_anew(theme: str) -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.show(three_cards())
        await pilot.pause()
        words = app.screen_lines()
        before = str(transcript.render_line(0))
        app.theme = theme
        await pilot.pause()
        await pilot.pause()
        assert str(transcript.render_line(0)) != before
        assert app.screen_lines() == words


async def test_no_color_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        app.transcript.show(three_cards())
        await pilot.pause()
        assert "pytest" in app.export_screenshot()


async def test_a_card_above_the_window_may_grow_without_moving_it() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        call = AssistantTurn("", calls=(a_call("s"),))
        filler = AssistantTurn("\n\n".join(f"para {n}" for n in range(60)))
        transcript.show(nodes_of(UserText("x"), call))
        started = ToolStarted(
            ROOT, a_call("s"), "shell_exec", Headline("shell", "make", "command"), "low", None
        )
        transcript.handle(started)
        transcript.handle(Committed(ROOT, a_node(9, filler)))
        await settle(pilot, transcript)
        transcript.scroll_relative(y=-20, animate=False)
        await pilot.pause()
        before = app.screen_lines()
        outcome = shell_outcome("s", "make", status="failed", output="\n".join("abcdefgh"))
        transcript.handle(ToolEnded(ROOT, outcome))
        await settle(pilot, transcript)
        assert app.screen_lines() == before


async def test_work_for_a_burst_is_bounded_by_the_screen() -> None:
    app = Tiny()
    text = "".join(f"Paragraph number {n} with a few words.\n\n" for n in range(600))
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.show([])
        drawn: list[object] = []
        draw = transcript.markdown.draw
        transcript.markdown.draw = lambda *a, **k: (drawn.append(a), draw(*a, **k))[1]  # type: ignore[method-assign,func-returns-value]
        for delta in deltas(text, 5):
            transcript.handle(delta)
        transcript.handle(Committed(ROOT, a_node(1, AssistantTurn(text))))
        await settle(pilot, transcript)
        assert app.screen_lines()[-1] == "    Paragraph number 599 with a few words."
        assert len(drawn) < 100


async def test_the_scrollbar_comes_with_the_need_and_moves_no_text() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.show(three_cards())
        await pilot.pause()
        bars = [transcript.show_vertical_scrollbar]
        edge = [line.rfind("r9") for line in app.screen_lines() if "pytest" in line]
        transcript.show([*long_session(20), *three_cards()])
        await pilot.pause()
        bars.append(transcript.show_vertical_scrollbar)
        assert bars == [False, True]
        assert [line.rfind("r9") for line in app.screen_lines() if "pytest" in line] == edge
        assert "▐" in app.export_screenshot()


async def test_it_can_go_to_a_receipt() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.show(long_session(60))
        await pilot.pause()
        assert transcript.go_to_receipt(3)
        await pilot.pause()
        assert any("src/file2.py" in line for line in app.screen_lines())
        assert transcript.card_receipt() == 3
        assert not transcript.go_to_receipt(9999)


async def test_events_before_the_first_paint_are_not_lost() -> None:
    app = Tiny()
    app.transcript.show(three_cards())
    app.transcript.handle(TextDelta(ROOT, "early"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, app.transcript)
        assert app.screen_lines()[0] == "  ▌ go"
        assert any("early▍" in line for line in app.screen_lines())


async def test_a_flood_of_events_is_painted_once_per_frame() -> None:
    app = Tiny()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.show([])
        await pilot.pause()
        flushes: list[int] = []
        flush = transcript.flush
        transcript.flush = lambda: (flushes.append(1), flush())[1]  # type: ignore[method-assign,func-returns-value]
        for delta in deltas("word " * 400, 2):
            transcript.handle(delta)
        await asyncio.sleep(0)
        assert len(flushes) <= 3

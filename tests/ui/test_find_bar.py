"""Looking for words with the keyboard: typed, walked through, closed, whatever comes meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from drawn import read_outcome, shell_outcome
from stage import Stage, StageSession
from textual.pilot import Pilot
from tidepool import ask_words

from stormclaw.protocol.asks import Reply
from stormclaw.protocol.events import Asked, Committed, TextDelta, TurnStarted
from stormclaw.protocol.messages import (
    ROOT,
    AssistantTurn,
    Body,
    Moved,
    Node,
    ToolCall,
    UserText,
)
from stormclaw.ui.blocks import Card, Reads
from stormclaw.ui.screens.zoom import ZoomScreen
from stormclaw.ui.widgets.find_bar import FindBar
from stormclaw.ui.widgets.transcript import Transcript

Stages = Callable[..., Stage]
CHILD = f"{ROOT}/fixer"


def nodes(bodies: Sequence[Body], agent: str = ROOT) -> tuple[Node, ...]:
    return tuple(
        Node(f"n{at}", f"n{at - 1}" if at else None, agent, 1000.0 + at, body)
        for at, body in enumerate(bodies)
    )


def call(number: int, tool: str = "shell_exec") -> AssistantTurn:
    return AssistantTurn("", calls=(ToolCall(f"c{number}", tool, '{"command": "ls"}'),))


def a_talk(turns: int = 30) -> list[Body]:
    """Every turn asks for one stone; turn 3 has a kelp in an output, turn 20 one in an answer."""
    bodies: list[Body] = []
    for number in range(turns):
        rows = "\n".join(f"row {row} of {number}" for row in range(12))
        output = f"{rows}\nkelp at last\n{rows}" if number == 3 else rows
        said = "there is **kelp** in it" if number == 20 else "nothing but water"
        bodies += [
            UserText(f"stone {number}?"),
            call(number),
            shell_outcome(f"c{number}", f"ls {number}", output=output),
            AssistantTurn(f"Looked at it.\n\nIn {number}: {said}."),
        ]
    return bodies


async def opened(made: Stage, pilot: Pilot[Any], words: str = "") -> Transcript:
    """The transcript, with the bar open and `words` typed in it."""
    await made.ready(pilot)
    made.storm.main.composer.put(f"/find {words}".rstrip())
    await pilot.press("enter")
    transcript = made.storm.main.transcript
    assert transcript is not None
    await made.until(pilot, lambda: transcript.finding and transcript.found.words == words)
    await made.until(pilot, lambda: transcript.found.whole)
    await pilot.pause()
    return transcript


def bar(made: Stage) -> FindBar:
    found = made.storm.main.find_bar
    assert found is not None
    return found


def in_view(transcript: Transcript, words: str) -> bool:
    return any(words in transcript.render_line(y).text for y in range(transcript.size.height))


def marked(transcript: Transcript) -> list[str]:
    """What is marked as the place that is shown, and then what is underlined beside it."""
    shown: list[str] = []
    others: list[str] = []
    for y in range(transcript.size.height):
        for text, style, _ in transcript.render_line(y):
            if style is not None and style.underline:
                (shown if style.bold else others).append(text)
    return shown + others


def a_session(bodies: Sequence[Body], **more: Any) -> StageSession:
    return StageSession({ROOT: nodes(bodies), **more})


async def test_the_end_stays_in_view_above_the_line(stage: Stages) -> None:
    """Words may come before the line is on the screen; the view is the same as when they do not."""
    made = stage(session=a_session(a_talk()))
    async with made.app().run_test(size=(80, 24)) as pilot:
        transcript = await opened(made, pilot)
        await pilot.press("escape")
        await made.until(pilot, lambda: not transcript.finding)
        transcript.follow_end()
        await pilot.pause()
        main = made.storm.main
        await main.open_find("nowhere")
        main.on_find_bar_wanted(FindBar.Wanted("nowhere"))
        await made.until(pilot, lambda: transcript.found[:4] == ("nowhere", 0, 0, True))
        await pilot.pause()
        assert in_view(transcript, "In 29: nothing but water.")
        assert transcript.scroll_offset.y == transcript.max_scroll_y


async def test_it_finds_while_it_is_typed(stage: Stages) -> None:
    made = stage(session=a_session(a_talk()))
    async with made.app().run_test(size=(80, 24)) as pilot:
        transcript = await opened(made, pilot)
        await pilot.press(*"kelp")
        await made.until(pilot, lambda: transcript.found[:4] == ("kelp", 2, 2, True))
        assert in_view(transcript, "there is kelp in it")
        assert marked(transcript) == ["kelp"]
        assert not transcript.following
        await pilot.press("s")
        await made.until(pilot, lambda: transcript.found[:4] == ("kelps", 0, 0, True))
        assert "not found" in bar(made).count.render_line(0).text
        assert marked(transcript) == []


async def test_next_goes_down_and_around(stage: Stages) -> None:
    made = stage(session=a_session(a_talk()))
    async with made.app().run_test(size=(80, 24)) as pilot:
        transcript = await opened(made, pilot, "stone 1")
        assert transcript.found.total == 11
        assert transcript.found.at == 11  # The nearest above the end, where the person was.
        await pilot.press("enter")
        assert transcript.found[1::3] == (1, True)
        assert in_view(transcript, "stone 1?")
        assert "around" in bar(made).count.render_line(0).text
        await pilot.press("down")
        assert transcript.found[1::3] == (2, False)
        await pilot.press("up", "up")
        assert transcript.found[1::3] == (11, True)
        assert in_view(transcript, "stone 19?")


async def test_a_folded_card_opens_while_it_is_shown(stage: Stages) -> None:
    made = stage(session=a_session(a_talk()))
    async with made.app().run_test(size=(80, 24)) as pilot:
        transcript = await opened(made, pilot, "kelp")
        await pilot.press("up")
        assert transcript.found.at == 1
        card = next(
            block.source
            for block in transcript.column.blocks
            if isinstance(block.source, Card) and block.source.call_id == "c3"
        )
        hands = [card.hand]
        assert in_view(transcript, "kelp at last")
        total = transcript.column.total
        await pilot.press("enter")
        assert [*hands, card.hand] == [True, None]
        assert transcript.column.total < total
        assert in_view(transcript, "there is kelp")


async def test_the_person_folds_what_was_opened_and_it_stays_so(stage: Stages) -> None:
    made = stage(session=a_session(a_talk()))
    async with made.app().run_test(size=(80, 24)) as pilot:
        transcript = await opened(made, pilot, "kelp")
        await pilot.press("up", "tab")
        await made.until(pilot, lambda: transcript.has_focus)
        card = transcript._finder.hit.block.source  # type: ignore[union-attr]
        assert isinstance(card, Card)
        transcript.cursor = transcript._finder.hit.block  # type: ignore[union-attr]
        await pilot.press("enter", "n")
        assert card.hand is False


async def test_esc_leaves_the_view_and_gives_the_keys_back(stage: Stages) -> None:
    made = stage(session=a_session(a_talk()))
    async with made.app().run_test(size=(80, 24)) as pilot:
        transcript = await opened(made, pilot, "kelp")
        await pilot.press("up")
        top = transcript.scroll_offset.y
        await pilot.press("escape")
        assert not bar(made).display
        assert made.storm.main.composer.has_focus
        assert transcript.scroll_offset.y == top
        assert in_view(transcript, "kelp at last")
        assert marked(transcript) == []
        assert not transcript.finding
        await pilot.press("end", "end")
        assert transcript.following


async def test_esc_at_the_end_follows_it_again(stage: Stages) -> None:
    made = stage(session=a_session(a_talk()))
    async with made.app().run_test(size=(80, 24)) as pilot:
        transcript = await opened(made, pilot, "nowhere at all")
        assert not transcript.following
        await pilot.press("escape")
        assert transcript.following


async def test_the_ends_are_reached_and_not_followed(stage: Stages) -> None:
    made = stage(session=a_session(a_talk()))
    async with made.app().run_test(size=(80, 24)) as pilot:
        transcript = await opened(made, pilot, "stone 15")
        await pilot.press("tab", "home")
        await made.until(pilot, lambda: in_view(transcript, "stone 0?"))
        await pilot.press("end")
        await made.until(pilot, lambda: in_view(transcript, "In 29: nothing but water."))
        assert not transcript.following
        await pilot.press("n")
        assert in_view(transcript, "stone 15?")


async def test_esc_in_the_composer_ends_the_search_before_it_stops_a_turn(stage: Stages) -> None:
    session = a_session(a_talk(3))
    session.busy = True
    made = stage(session=session)
    async with made.app().run_test(size=(80, 24)) as pilot:
        transcript = await opened(made, pilot, "kelp")
        made.storm.main.composer.focus()
        await pilot.press("escape")
        assert not transcript.finding
        assert session.interrupted == []
        await pilot.press("escape")
        assert session.interrupted == [ROOT]


async def test_a_question_meanwhile_is_answered_and_the_search_goes_on(stage: Stages) -> None:
    made = stage(session=a_session(a_talk()))
    async with made.app().run_test(size=(80, 24)) as pilot:
        transcript = await opened(made, pilot, "kelp")
        made.emit(Asked(ROOT, ask_words("ask-1", "yes", "no")))
        sheet = made.storm.main.sheet
        assert sheet is not None
        await made.until(pilot, lambda: bool(sheet.display))
        assert transcript.found.total == 2
        made.session.answer("ask-1", Reply("text", "yes"))
        composer = made.storm.main.composer
        await made.until(pilot, lambda: not sheet.display and composer.has_focus)
        finding = [transcript.finding]
        await pilot.press("escape")
        assert [*finding, transcript.finding] == [True, False]
        assert made.storm.screen is made.storm.main


async def test_n_and_capital_n_walk_in_the_transcript(stage: Stages) -> None:
    made = stage(session=a_session(a_talk()))
    async with made.app().run_test(size=(80, 24)) as pilot:
        transcript = await opened(made, pilot, "stone 2")
        await pilot.press("tab")
        await made.until(pilot, lambda: transcript.has_focus)
        at = transcript.found.at
        await pilot.press("N", "N")
        assert transcript.found.at == at - 2
        await pilot.press("n")
        assert transcript.found.at == at - 1
        assert bar(made).display
        await pilot.press("escape")
        assert not transcript.finding
        await pilot.press("n")
        assert transcript.found.at == 0


async def test_slash_in_the_transcript_opens_it_and_a_slash_in_the_composer_types(
    stage: Stages,
) -> None:
    made = stage(session=a_session(a_talk(3)))
    async with made.app().run_test(size=(80, 24)) as pilot:
        await made.ready(pilot)
        transcript = made.storm.main.transcript
        assert transcript is not None
        await pilot.press("slash")
        assert made.storm.main.composer.text == "/"
        made.storm.main.composer.put("")
        transcript.focus()
        await pilot.press("slash")
        await made.until(pilot, lambda: made.storm.main.find_typing)
        await pilot.press(*"kelp", "escape")
        assert transcript.has_focus
        assert made.storm.main.composer.text == ""


async def test_lines_that_come_meanwhile_are_found_and_move_nothing(stage: Stages) -> None:
    made = stage(session=a_session(a_talk()))
    async with made.app().run_test(size=(80, 24)) as pilot:
        transcript = await opened(made, pilot, "kelp")
        await pilot.press("up")
        before = [transcript.render_line(y).text for y in range(transcript.size.height)]
        top = transcript.scroll_offset.y
        made.emit(TurnStarted(ROOT), TextDelta(ROOT, "Now kelp grows. And more kelp\n\nhere."))
        await made.until(pilot, lambda: transcript.found.total == 4)
        assert transcript.scroll_offset.y == top
        assert [transcript.render_line(y).text for y in range(transcript.size.height)] == before
        text = "Now kelp grows. And more kelp\n\nhere."
        made.emit(Committed(ROOT, Node("m1", None, ROOT, 2000.0, AssistantTurn(text))))
        await made.until(pilot, lambda: "m1" and transcript.found[2:4] == (4, True))
        await pilot.press("enter", "enter")
        assert transcript.found.at == 3
        assert in_view(transcript, "Now kelp grows")
        assert not transcript.following
        assert transcript.new_below > 0 or in_view(transcript, "here.")


async def test_another_branch_is_searched_anew(stage: Stages) -> None:
    session = a_session(a_talk())
    made = stage(session=session)
    async with made.app().run_test(size=(80, 24)) as pilot:
        transcript = await opened(made, pilot, "kelp")
        moved = Node("back", "n11", ROOT, 3000.0, Moved("rewind", "n119", 27))
        session._nodes[ROOT] = (*session._nodes[ROOT][:12], moved)
        made.emit(Committed(ROOT, moved))
        await made.until(pilot, lambda: transcript.found[2:4] == (0, True))
        assert bar(made).display
        assert transcript.finding
        transcript.show(nodes(a_talk()))
        await made.until(pilot, lambda: transcript.found[1:4] == (2, 2, True))
        assert in_view(transcript, "there is kelp")


async def test_another_size_keeps_the_place_in_view(stage: Stages) -> None:
    made = stage(session=a_session(a_talk()))
    async with made.app().run_test(size=(120, 36)) as pilot:
        transcript = await opened(made, pilot, "kelp")
        await pilot.press("up")
        for size in ((60, 20), (200, 50), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert in_view(transcript, "kelp at last"), size
            assert marked(transcript) == ["kelp"]


async def test_another_theme_marks_in_its_colours(stage: Stages) -> None:
    made = stage(session=a_session(a_talk()))
    async with made.app().run_test(size=(80, 24)) as pilot:
        transcript = await opened(made, pilot, "kelp")
        for theme in ("stormclaw-light", "stormclaw-ansi", "stormclaw-dark"):
            made.storm.theme = theme
            await pilot.pause()
            assert marked(transcript) == ["kelp"]
            assert transcript.found[1:4] == (2, 2, True)


async def test_one_read_of_many_opens_with_its_result(stage: Stages) -> None:
    bodies: list[Body] = [UserText("read")]
    for n in range(6):
        output = "kelp" if n == 2 else "sand"
        bodies += [call(n, "read_file"), read_outcome(f"c{n}", f"src/f{n}.py", output=output)]
    made = stage(session=a_session([*bodies, AssistantTurn("Read.")]))
    async with made.app().run_test(size=(80, 24)) as pilot:
        transcript = await opened(made, pilot, "kelp")
        reads = next(b.source for b in transcript.column.blocks if isinstance(b.source, Reads))
        assert (reads.hand, reads.cards[2].hand) == (True, True)
        assert marked(transcript) == ["kelp"]
        await pilot.press("backspace", *"x")
        await made.until(pilot, lambda: transcript.found[:4] == ("kelx", 0, 0, True))
        assert (reads.hand, reads.cards[2].hand) == (None, None)


async def test_in_an_agents_own_chat(stage: Stages) -> None:
    session = a_session([UserText("go")], **{CHILD: nodes(a_talk(), CHILD)})
    made = stage(session=session)
    async with made.app().run_test(size=(80, 24)) as pilot:
        await made.ready(pilot)
        made.storm.push_screen(ZoomScreen(made.storm.board.agent(CHILD)))
        await made.until(pilot, lambda: isinstance(made.storm.screen, ZoomScreen))
        zoom = made.storm.screen
        assert isinstance(zoom, ZoomScreen)
        await made.until(pilot, lambda: zoom.transcript is not None and zoom.transcript.has_focus)
        transcript = zoom.transcript
        assert transcript is not None
        await pilot.press("slash")
        await made.until(pilot, lambda: zoom.find_typing)
        await pilot.press(*"kelp")
        await made.until(pilot, lambda: transcript.found[1:4] == (2, 2, True))
        await pilot.press("escape")
        assert transcript.has_focus
        assert made.storm.screen is zoom
        await pilot.press("escape")
        await made.until(pilot, lambda: made.storm.screen is made.storm.main)


async def test_hostile_words_only_show(stage: Stages) -> None:
    made = stage(session=a_session([UserText("[red]x[/] \x1b[2J .* ")]))
    async with made.app().run_test(size=(80, 24)) as pilot:
        transcript = await opened(made, pilot, "[red]x[/]")
        assert transcript.found.total == 1
        made.storm.main.find_bar.entry.value = "␛[2J"  # type: ignore[union-attr]
        await made.until(pilot, lambda: transcript.found[:4] == ("␛[2J", 1, 1, True))
        made.storm.main.find_bar.entry.value = "\x1b[2J"  # type: ignore[union-attr]
        await made.until(pilot, lambda: transcript.found[2:4] == (1, True))


async def test_an_empty_session_has_nothing_to_find(stage: Stages) -> None:
    made = stage()
    async with made.app().run_test(size=(60, 20)) as pilot:
        transcript = await opened(made, pilot, "kelp")
        assert transcript.found[1:4] == (0, 0, True)
        await pilot.press("enter", "up", "tab", "n", "escape")
        assert not transcript.finding

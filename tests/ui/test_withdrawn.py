"""Text that was shown and then withdrawn leaves the screen, and what comes after stands alone."""

from __future__ import annotations

from collections.abc import Callable

from stage import Stage

from stormclaw.protocol.events import (
    Committed,
    Notice,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    TurnStarted,
    Withdrawn,
)
from stormclaw.protocol.messages import NO_USAGE, ROOT, AssistantTurn, Node, UserText

Stages = Callable[..., Stage]


def shown(made: Stage) -> str:
    transcript = made.storm.main.transcript
    assert transcript is not None
    return "\n".join(transcript.lines())


async def test_withdrawn_text_leaves_the_screen(stage: Stages) -> None:
    made = stage()
    async with made.app().run_test(size=(80, 24)) as pilot:
        await made.ready(pilot)
        asked = Node("n1", None, ROOT, 2000.0, UserText("Why?"))
        made.emit(TurnStarted(ROOT), Committed(ROOT, asked))
        made.emit(
            ThinkingDelta(ROOT, "a doubtful thought"), TextDelta(ROOT, "A half\n\nanswer, cu")
        )
        await made.until(pilot, lambda: "A half" in shown(made))
        made.emit(
            Withdrawn(ROOT, "the connection broke"),
            Notice(ROOT, "warning", "withdrawn: the connection broke"),
        )
        await made.until(pilot, lambda: "A half" not in shown(made))
        assert "doubtful" not in shown(made)
        assert "withdrawn: the connection broke" in shown(made)
        made.emit(TextDelta(ROOT, "A whole answer."))
        await made.until(pilot, lambda: "A whole answer." in shown(made))
        answer = Node("n2", "n1", ROOT, 2001.0, AssistantTurn("A whole answer."))
        made.emit(Committed(ROOT, answer), TurnEnded(ROOT, "done", NO_USAGE))
        await made.until(pilot, lambda: not made.storm.main.transcript.timeline.stream.writing)  # type: ignore[union-attr]
        assert shown(made).count("A whole answer.") == 1
        assert "A half" not in shown(made)


async def test_a_delta_and_its_withdrawal_in_one_frame_show_nothing(stage: Stages) -> None:
    made = stage()
    async with made.app().run_test(size=(80, 24)) as pilot:
        await made.ready(pilot)
        made.emit(
            TurnStarted(ROOT),
            TextDelta(ROOT, "never seen"),
            Withdrawn(ROOT, "cut"),
            TextDelta(ROOT, "seen"),
        )
        await made.until(pilot, lambda: "seen" in shown(made))
        assert "never" not in shown(made)

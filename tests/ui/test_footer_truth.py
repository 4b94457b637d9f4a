"""What the footer says is true now: what was used before counts, words of the past are over."""

from __future__ import annotations

from collections.abc import Callable

from stage import Stage, StageSession

from stormclaw.protocol.messages import Usage

Stages = Callable[..., Stage]
SIZE = (120, 36)


def footer(there: Stage) -> str:
    return there.storm.main.footer._all()[0].text


async def test_a_session_that_goes_on_has_cost_what_it_cost(stage: Stages) -> None:
    session = StageSession()
    session.usage = Usage(2_000_000, 14_000, cost_usd=1.08)
    there = stage(session=session)
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        assert "cost $1.08" in footer(there)


async def test_a_new_session_has_cost_nothing(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        assert "cost $0.00" in footer(there)


async def test_words_about_a_draft_end_when_it_is_sent(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"hello", "escape")
        assert "esc again clears the draft" in footer(there)
        await pilot.press("enter")
        await pilot.pause()
        assert there.session.said == ["hello"]
        assert "clears the draft" not in footer(there)


async def test_a_turn_does_not_begin_under_the_words_of_the_one_before(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        there.storm.main.say("stopped")
        assert "stopped" in footer(there)
        await pilot.press(*"go", "enter")
        await pilot.pause()
        assert "stopped" not in footer(there)

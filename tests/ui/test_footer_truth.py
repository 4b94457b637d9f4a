"""What the footer says is true now: what was used before counts, words of the past are over."""

from __future__ import annotations

from collections.abc import Callable

from stage import Stage, StageSession

from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.events import Committed, TurnEnded, TurnStarted
from stormclaw.protocol.messages import NO_USAGE, ROOT, AssistantTurn, Node, Usage
from stormclaw.providers.ways import Way

Stages = Callable[..., Stage]
SIZE = (120, 36)


def footer(there: Stage) -> str:
    return there.storm.main.footer._all()[0].text


def header(there: Stage) -> str:
    return there.storm.main.header._all()[0].text


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


async def test_a_wait_shows_life_before_anything_has_come(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        there.emit(TurnStarted(ROOT))
        await there.until(pilot, lambda: "● 0s" in footer(there))
        there.clock.now += 12
        there.storm.heart.beat()
        assert "● 12s  enter queue" in footer(there)
        there.emit(TurnEnded(ROOT, "done", NO_USAGE))
        await there.until(pilot, lambda: "12s" not in footer(there))


def answered(provider: str, model: str) -> Committed:
    turn = AssistantTurn("Yes.", provider=provider, model=model)
    return Committed(ROOT, Node("n1", None, ROOT, 2000.0, turn))


async def test_the_header_names_who_of_several_answered(stage: Stages) -> None:
    there = stage()
    usual = Way("openrouter", ModelSettings("openai-compatible", "x-ai/grok-4"), None, "")
    second = Way("groq", ModelSettings("openai-compatible", "openai/gpt-oss-120b"), None, "")
    settings = ModelSettings(kind="reliable")
    there.runtime.way = Way("steady", settings, None, "", parts=(usual, second))
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        there.emit(answered("groq", "openai/gpt-oss-120b"))
        await there.until(pilot, lambda: "gpt-oss-120b · steady/groq" in header(there))
        # Whoever answered before the model was changed is not in use.
        there.runtime.way = usual
        there.storm.refresh_facts()
        await there.until(pilot, lambda: "sonnet-4.5 · openrouter" in header(there))


async def test_the_header_names_the_model_a_program_chose(stage: Stages) -> None:
    there = stage()
    there.runtime.way = Way("claude", ModelSettings(kind="claude-cli"), None, "")
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        there.emit(answered("claude", "claude-opus-4"))
        await there.until(pilot, lambda: "claude-opus-4 · claude" in header(there))

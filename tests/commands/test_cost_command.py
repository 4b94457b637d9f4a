"""`/cost` says what the provider's cache read, took in and saved, and nothing it cannot know."""

from __future__ import annotations

import pytest
from scripted import Desk, Ear, call, calls

from stormclaw.channels.result import TurnResult
from stormclaw.commands.cost import cache_lines, counted, money, said_of, with_known_prices
from stormclaw.commands.run import run_command
from stormclaw.protocol.messages import NO_USAGE, ROOT, AssistantTurn, Note, Usage, UserText

COLD = {"input_tokens": 10_000, "output_tokens": 5, "cache_write_tokens": 8_000}
WARM = {"input_tokens": 10_000, "output_tokens": 5, "cached_tokens": 9_000, "cost_usd": 0.01}


async def test_what_the_cache_did_is_shown(desk: Desk) -> None:
    desk.write("a.txt", "A")
    read = calls(call("read_file", path="a.txt"))
    desk.script([{**read, "usage": COLD}, {"text": "done", "usage": WARM}])
    runtime = await desk.open()
    try:
        result = TurnResult(runtime.session.id)
        ear = Ear(runtime.session)
        runtime.session.prompt("look")
        await ear.end()
        for event in ear.heard:
            result.take(event)
        said = (await run_command(runtime, "/cost")).text.splitlines()
        assert said[0] == "input   20,000 tokens"
        assert said[1] == "cache   9,000 read (45% of the input), 8,000 written"
        assert said[2] == "output  10 tokens"
        assert (await run_command(runtime, "/usage")).text.splitlines() == said
        usage = result.to_json()["usage"]
        assert (usage["cached_tokens"], usage["cache_write_tokens"]) == (9_000, 8_000)
    finally:
        await runtime.close()


def turn(model: str, read: int, written: int) -> AssistantTurn:
    return AssistantTurn("x", model=model, usage=Usage(20_000, 1, read, cache_write_tokens=written))


def test_savings_are_told_where_the_prices_of_the_cache_are_known() -> None:
    bodies = (
        UserText("hi"),
        turn("anthropic/claude-sonnet-4.5", 10_000, 4_000),
        Note("info", "x"),
        turn("qwen/qwen3", 7_000, 0),
    )
    priced = with_known_prices(bodies)
    assert (priced.cached_tokens, priced.cache_write_tokens) == (10_000, 4_000)
    total = priced + turn("qwen", 7_000, 0).usage
    assert cache_lines(total, priced) == (
        "cache   17,000 read (42% of the input), 4,000 written",
        "        saved about the price of 8,000 input tokens",
    )


@pytest.mark.parametrize(
    ("usage", "priced", "lines"),
    [
        (Usage(100, 5), NO_USAGE, ()),
        (Usage(100, 5, 50), NO_USAGE, ("cache   50 read (50% of the input), 0 written",)),
        (
            Usage(5_000, 5, cache_write_tokens=4_000),
            Usage(5_000, 5, cache_write_tokens=4_000),
            (
                "cache   0 read (0% of the input), 4,000 written",
                "        cost about the price of 1,000 input tokens",
            ),
        ),
    ],
)
def test_nothing_is_said_that_is_not_known(
    usage: Usage, priced: Usage, lines: tuple[str, ...]
) -> None:
    assert cache_lines(usage, priced) == lines


# Reported or estimated ----------------------------------------------------------------------------

CHILD = "root/scout-1"
SAID = Usage(1000, 50, cost_usd=0.01)
PRICED = Usage(1000, 50, cost_usd=0.02, priced=True)
GUESSED = Usage(1000, 50, reported=False)
GUESSED_COST = Usage(1000, 50, cost_usd=0.03, reported=False, priced=True)
UNKNOWN = Usage(1000, 50)


def by(**usages: tuple[Usage, ...]) -> dict[str, list[AssistantTurn]]:
    agents = {"root": ROOT, "child": CHILD}
    return {
        agents[name]: [AssistantTurn("x", model="m", provider="p", usage=each) for each in parts]
        for name, parts in usages.items()
    }


def whole(answers: dict[str, list[AssistantTurn]]) -> Usage:
    return sum((turn.usage for turns in answers.values() for turn in turns), start=NO_USAGE)


@pytest.mark.parametrize(
    ("answers", "cost", "said"),
    [
        (by(), "unknown", ("nothing was used yet",)),
        (
            by(root=(SAID, SAID)),
            "$0.0200",
            ("tokens: as the provider reported them", "cost: as the provider reported it"),
        ),
        (
            by(root=(SAID, PRICED)),
            "~$0.0300",
            (
                "tokens: as the provider reported them",
                "cost: worked out from a price list where the provider did not say it",
            ),
        ),
        (
            by(root=(SAID,), child=(GUESSED_COST,)),
            "~$0.0400",
            (
                "tokens: estimated for the answer of sub-agents, whose provider reported no usage",
                "cost: worked out from a price list where the provider did not say it",
            ),
        ),
        (
            by(root=(GUESSED,)),
            "unknown",
            (
                "tokens: estimated, the provider reported no usage",
                "cost: no price is known of p/m; models.json in the StormClaw folder can say it",
            ),
        ),
        (
            by(root=(SAID, UNKNOWN), child=(GUESSED,)),
            "~$0.0100",
            (
                "tokens: estimated for the answer of sub-agents, whose provider reported no usage",
                "cost: rests on estimated tokens",
                "not in it: 2 answers of p/m, whose price is not known",
            ),
        ),
        (
            by(root=(SAID, GUESSED_COST)),
            "~$0.0400",
            (
                "tokens: estimated for 1 answer that came without a usage report",
                "cost: worked out from a price list where the provider did not say it",
            ),
        ),
        (
            by(root=(Usage(10, 5, cost_usd=0.0),)),
            "$0.0000",
            ("tokens: as the provider reported them", "cost: nothing to pay"),
        ),
    ],
)
def test_who_counted_and_who_named_the_cost(
    answers: dict[str, list[AssistantTurn]], cost: str, said: tuple[str, ...]
) -> None:
    usage = whole(answers)
    assert money(usage) == cost
    assert said_of(usage, answers) == said


def test_one_is_one() -> None:
    assert (counted(1, "token"), counted(0, "token"), counted(2_000, "token")) == (
        "1 token",
        "0 tokens",
        "2,000 tokens",
    )


@pytest.mark.parametrize(
    ("usage", "estimated"),
    [
        (NO_USAGE, False),
        (SAID, False),
        (PRICED, True),
        (GUESSED, False),
        (GUESSED_COST, True),
        (SAID + PRICED, True),
        (Usage(5, 5, cost_usd=0.0, reported=False), False),
    ],
)
def test_machines_are_told_too(usage: Usage, estimated: bool) -> None:
    result = TurnResult("s", usage=usage)
    assert result.to_json()["cost_estimated"] is estimated

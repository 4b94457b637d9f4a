"""The gauge: near the truth for every kind of text, nearer with every report, never far off."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormclaw.agent.context.tokens import Gauge, estimate
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    AssistantTurn,
    Note,
    Summary,
    ToolCall,
    ToolOutcome,
    Usage,
    UserText,
)
from stormclaw.protocol.provider import ToolSpec

PROSE = (
    "The tide turns twice a day, and with it the current in the narrow channel between the pier "
    "and the rocks. Whoever wants to pass has to know when. Most people ask the harbour master, "
    "who looks at a table; the table was made by a machine a hundred years ago and is still right."
)
CODE = '''\
def retry(call: Callable[[], Answer], *, most: int = 3, wait_s: float = 0.5) -> Answer:
    """Call again after a failure that may pass, at most `most` times."""
    for attempt in range(1, most + 1):
        try:
            return call()
        except (TimeoutError, ConnectionError) as error:
            if attempt == most:
                raise RetriesExhausted(f"{most} attempts: {error}") from error
            time.sleep(wait_s * 2**attempt)
    raise AssertionError("unreachable")
'''
VALUES = json.dumps({"id": 4821, "tags": ["tide", "buoy"], "at": [52.3731, 4.8922]}, indent=2)
DIFF = """\
--- a/src/tide/retry.py
+++ b/src/tide/retry.py
@@ -12,7 +12,7 @@ class Retry:
     def wait(self, attempt: int) -> float:
-        return self.base * attempt
+        return min(self.cap, self.base * 2**attempt)
"""
CHINESE = "潮水每天涨落两次，港口的水流也随之改变。想要通过的人必须知道时间。"
COUNTED = {PROSE: 61, CODE: 124, VALUES: 48, DIFF: 66, CHINESE: 26}
"""Tokens in o200k, counted once with a real tokenizer."""


@pytest.mark.parametrize("text", COUNTED, ids=["prose", "code", "json", "diff", "chinese"])
def test_it_is_near_a_real_tokenizer(text: str) -> None:
    assert Gauge().text(text) == pytest.approx(COUNTED[text], rel=0.25)


@given(st.text(), st.text())
def test_any_text_has_a_size_and_more_has_more(one: str, other: str) -> None:
    assert estimate(one) >= 0
    assert estimate(one + other) >= max(estimate(one), estimate(other)) - 1
    assert estimate("\ud800" + one) > 0


def _learn(gauge: Gauge, tokens: int, text: str = CODE * 20, *, reported: bool = True) -> None:
    usage = Usage(input_tokens=tokens, output_tokens=1, reported=reported)
    gauge.learn("", (), (UserText(text),), usage)


def test_it_learns_what_a_model_makes_of_a_text() -> None:
    gauge = Gauge()
    before = gauge.text(CODE)
    for _ in range(3):
        _learn(gauge, round(1.4 * gauge.request("", (), (UserText(CODE * 20),)) / gauge.factor))
    assert gauge.factor == pytest.approx(1.4, rel=0.01)
    assert gauge.text(CODE) == pytest.approx(1.4 * before, rel=0.03)
    assert gauge.of(UserText(CODE)) > before


def test_one_odd_report_changes_little() -> None:
    gauge = Gauge()
    usual = gauge.request("", (), (UserText(CODE * 20),))
    for _ in range(5):
        _learn(gauge, usual)
    _learn(gauge, round(usual * 2.2))
    assert gauge.factor == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("tokens", [0, -5, 10, 900_000])
def test_reports_of_something_else_teach_nothing(tokens: int) -> None:
    gauge = Gauge()
    _learn(gauge, tokens)
    _learn(gauge, 3_000, reported=False)
    _learn(gauge, 9, "short")
    assert gauge.factor == 1.0


def test_an_answer_takes_what_was_reported_for_it() -> None:
    gauge = Gauge()
    near = round(estimate(PROSE) * 1.2)
    reported = AssistantTurn(PROSE, usage=Usage(100, near))
    assert gauge.of(reported) == pytest.approx(near, abs=5)
    assert gauge.reported(reported)
    for _ in range(3):
        _learn(gauge, round(gauge.request("", (), (UserText(CODE * 20),)) * 1.5))
    assert gauge.of(reported) == pytest.approx(near, abs=5), "what is known is not corrected"


@pytest.mark.parametrize(
    "turn",
    [
        AssistantTurn(PROSE, thinking="hm " * 900, usage=Usage(100, 1_000)),
        AssistantTurn(PROSE, usage=Usage(100, 4_000)),
        AssistantTurn(PROSE, usage=Usage(100, 61, reported=False)),
        AssistantTurn(PROSE, usage=Usage(100, 0)),
    ],
    ids=["with reasoning", "with hidden reasoning", "a guess", "nothing"],
)
def test_a_report_that_counts_more_than_is_sent_again_does_not_count(turn: AssistantTurn) -> None:
    gauge = Gauge()
    assert not gauge.reported(turn)
    assert gauge.of(turn) == pytest.approx(61, rel=0.3)


def test_everything_that_is_sent_has_a_size_and_decisions_have_none() -> None:
    gauge = Gauge()
    call = ToolCall("c", "read_file", json.dumps({"path": "a" * 400}))
    assert gauge.of(AssistantTurn("", calls=(call,))) > 50
    assert gauge.of(AssistantTurn("ok", echo="x" * 4_000)) > 500
    head = Headline("read", "a")
    assert gauge.of(ToolOutcome("c", "read_file", "done", CODE, head)) > 100
    assert gauge.of(Summary(PROSE, ())) > 50
    assert gauge.of(Note("info", PROSE)) == 0
    specs = (ToolSpec("read", PROSE, {"type": "object", "properties": {}}),)
    system, tools = gauge.prompt(PROSE, specs)
    assert 50 < system < tools
    assert gauge.request(PROSE, specs, (UserText(PROSE),)) > system + tools


def test_each_body_is_looked_at_once(tmp_path: Path) -> None:
    gauge = Gauge()
    body = UserText(CODE)
    assert gauge.weight(body) is gauge.weight(body)
    again = UserText(CODE)
    assert gauge.weight(again) is not gauge.weight(body)
    assert gauge.weight(again) == gauge.weight(body)

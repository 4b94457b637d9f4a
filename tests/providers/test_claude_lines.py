"""What claude's lines mean: recorded turns, lines from tomorrow, lines that are none."""

from __future__ import annotations

import json

import pytest
from claude_lines import events, recorded
from hypothesis import given
from hypothesis import strategies as st

from stormclaw.protocol.messages import Usage
from stormclaw.providers._claude.lines import Lines
from stormclaw.providers._programs.events import (
    CliEvent,
    MessageAbandoned,
    MessageStart,
    MessageStop,
    Result,
    Retry,
    SessionInit,
    TextDelta,
    ThinkingDelta,
    ToolResult,
    ToolUse,
)


def said(told: list[CliEvent]) -> str:
    return "".join(event.text for event in told if isinstance(event, TextDelta))


def kinds(told: list[CliEvent]) -> list[str]:
    """The kinds of events in order, runs of the same kind as one."""
    names = [type(event).__name__ for event in told]
    return [name for at, name in enumerate(names) if at == 0 or names[at - 1] != name]


def test_a_turn_with_tools() -> None:
    parser = Lines()
    told = events(*recorded("tools"), parser=parser)
    assert isinstance(told[0], SessionInit)
    assert told[0].version == "2.1.197"
    assert said(told) == "I beginDone."
    assert "".join(e.text for e in told if isinstance(e, ThinkingDelta)) == "let me see"
    uses = [event for event in told if isinstance(event, ToolUse)]
    results = [event for event in told if isinstance(event, ToolResult)]
    assert len(uses) == len({use.id for use in uses}) == 19
    assert {use.id for use in uses} == {result.id for result in results}
    assert uses[1].input == {"command": "echo out; echo err >&2"}
    stops = [event for event in told if isinstance(event, MessageStop)]
    assert [stop.stop_reason for stop in stops] == ["tool_use"] * 4 + ["end_turn"]
    assert stops[0].usage == Usage(10_520, 25, 9_000, cache_write_tokens=1_500)
    end = told[-1]
    assert isinstance(end, Result)
    assert (end.is_error, end.message, end.context_window) == (False, "Done.", 1_000_000)
    assert end.cost_usd == pytest.approx(0.073, abs=0.001)
    assert end.denials == (uses[0].id,)
    assert parser.unknown == len([1 for line in recorded("tools") if b'"control_request"' in line])
    assert parser.answer


def test_a_cut_stream_is_void_and_the_whole_message_counts_instead() -> None:
    told = events(*recorded("cut"))
    assert kinds(told) == [
        "SessionInit", "MessageStart", "TextDelta", "MessageAbandoned", "MessageStart", "TextDelta",
        "MessageStop", "Result",
    ]  # fmt: skip
    assert said(told).endswith("the whole answer")
    assert said(told).count("the whole answer") == 1


def test_calls_of_an_unstreamed_message_belong_together() -> None:
    lines = [line for line in recorded("cut_calls") if b'"control_request"' not in line]
    told = events(*lines)
    first = next(at for at, event in enumerate(told) if isinstance(event, MessageAbandoned))
    assert kinds(told[first:]) == [
        "MessageAbandoned", "MessageStart", "TextDelta", "ToolUse", "MessageStop", "ToolResult",
        "MessageStart", "TextDelta", "MessageStop", "Result",
    ]  # fmt: skip


def test_a_question_says_that_an_unstreamed_message_is_whole() -> None:
    parser = Lines()
    lines = recorded("cut_calls")
    at = next(at for at, line in enumerate(lines) if b'"control_request"' in line)
    events(*lines[:at], parser=parser)
    assert [type(event) for event in parser.flush()] == [MessageStop]
    assert not list(parser.flush())


def test_a_limit() -> None:
    told = events(*recorded("limited"))
    retries = [event for event in told if isinstance(event, Retry)]
    assert [(retry.attempt, retry.status, retry.reason) for retry in retries] == [
        (1, 429, "rate_limit"),
        (2, 429, "rate_limit"),
    ]
    assert all(0 < retry.delay_s < 10 for retry in retries)
    assert said(told) == "", "an error dressed as an answer is none"
    end = told[-1]
    assert isinstance(end, Result)
    assert (end.is_error, end.status, end.reason) == (True, 429, "rate_limit")


@pytest.mark.parametrize(
    ("name", "reason", "shown"),
    [
        ("refused", "refusal", "no"),
        ("long", "max_output_tokens", "part 0 part 1 part 2 part 3 "),
    ],
)
def test_ends_that_are_errors(name: str, reason: str, shown: str) -> None:
    told = events(*recorded(name))
    assert said(told) == shown
    end = told[-1]
    assert isinstance(end, Result)
    assert (end.is_error, end.reason) == (True, reason)


def test_costs_are_of_the_turn_though_claude_sums_them_up() -> None:
    parser = Lines()
    lines = [json.dumps({"type": "result", "total_cost_usd": cost}).encode() for cost in (1.5, 2)]
    costs = [event.cost_usd for event in events(*lines, parser=parser) if isinstance(event, Result)]
    assert costs == [1.5, 0.5]


def test_what_a_sub_agent_says_is_only_a_sign_of_life() -> None:
    message = {"id": "m", "content": [{"type": "text", "text": "inner"}]}
    line = {"type": "assistant", "parent_tool_use_id": "toolu_1", "message": message}
    assert kinds(events(json.dumps(line).encode())) == ["ToolProgress"]


@pytest.mark.parametrize(
    "line", [b"", b"no json", b"[1]", b"null", b'{"type":"from_tomorrow"}', b'{"type":3}',
             b'{"type":"system","subtype":"from_tomorrow"}', b"{}"]
)  # fmt: skip
def test_unknown_lines_are_counted(line: bytes) -> None:
    parser = Lines()
    assert not events(line, parser=parser)
    assert parser.unknown == 1


NAMES = st.sampled_from(
    ["type", "subtype", "message", "content", "event", "delta", "usage", "id", "input", "result"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)
TYPES = st.sampled_from(
    ["system", "stream_event", "assistant", "user", "result", "rate_limit_event", "tool_progress"]
)


@given(TYPES, st.lists(st.dictionaries(NAMES, JSON, max_size=5), max_size=4))
def test_no_line_of_any_shape_breaks_it(kind: str, lines: list[dict[str, object]]) -> None:
    parser = Lines()
    for line in lines:
        for event in parser.feed(json.dumps({**line, "type": kind}).encode()):
            assert event is not None
    assert parser.unknown <= len(lines)


def test_a_message_that_starts_says_who_answers() -> None:
    starts = [event for event in events(*recorded("tools")) if isinstance(event, MessageStart)]
    assert {start.model for start in starts} == {"claude-opus-4-8"}

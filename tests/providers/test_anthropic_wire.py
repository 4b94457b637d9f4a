"""What is sent to Anthropic: the conversation by its rules, markers for its cache, thinking."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from any_nodes import NASTY
from hypothesis import given, settings
from hypothesis import strategies as st

from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    NO_USAGE,
    AssistantTurn,
    Delegation,
    Status,
    ToolCall,
    ToolOutcome,
    UserText,
)
from stormclaw.protocol.provider import ChatRequest, Message, ToolSpec
from stormclaw.providers._anthropic.models import MODELS, plain_name, row_of
from stormclaw.providers._anthropic.talk import Talk
from stormclaw.providers._anthropic.wire import Wire

OPUS, SONNET, HAIKU = "claude-opus-4-6", "claude-sonnet-4-5", "claude-haiku-4-5"
SETTINGS = ModelSettings("anthropic")
MARK = {"type": "ephemeral"}
GREP = ToolSpec("grep", "Search.", {"type": "object", "properties": {"x": {"type": "string"}}})
READ = ToolSpec("read_file", "Read.", {"type": "object", "properties": {}, "anyOf": [{}]})


def sent(
    *messages: Message,
    model: str = OPUS,
    tools: tuple[ToolSpec, ...] = (),
    talk: Talk | None = None,
    effort: str = "",
    **changes: Any,
) -> dict[str, Any]:
    wire = Wire("here", replace(SETTINGS, **changes))
    request = ChatRequest("You are brief.", messages, tools, model, effort=effort)
    body = wire.body(request, model, talk or Talk())
    parsed: dict[str, Any] = json.loads(body.content(model=body.model, stream=True))
    return parsed


def outcome(call_id: str, output: str = "found", status: Status = "done") -> ToolOutcome:
    return ToolOutcome(call_id, "grep", status, output, Headline("search", "x"))


def call(call_id: str, arguments: str = '{"x": "y"}') -> ToolCall:
    return ToolCall(call_id, "grep", arguments)


def bare(value: Any) -> Any:
    """Without the markers."""
    if isinstance(value, dict):
        return {name: bare(item) for name, item in value.items() if name != "cache_control"}
    return [bare(item) for item in value] if isinstance(value, list) else value


def carriers(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "cache_control" in value:
            assert value["cache_control"] == MARK
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from carriers(item)


def echo(*blocks: dict[str, Any], provider: str = "here", model: str = OPUS) -> str:
    return json.dumps({"provider": provider, "model": model, "blocks": blocks})


def test_a_conversation_with_calls() -> None:
    body = sent(
        UserText("look"),
        UserText("and be quick", steered=True),
        AssistantTurn("I look.", calls=(call("toolu_1"), call("toolu_2", "{}"))),
        outcome("toolu_2", "", "failed"),
        outcome("toolu_1"),
        UserText("well?"),
    )
    assert bare(body["messages"]) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "text", "text": "and be quick"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "grep", "input": {"x": "y"}},
                {"type": "tool_use", "id": "toolu_2", "name": "grep", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_2",
                    "content": "(no output)",
                    "is_error": True,
                },
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "found"},
                {"type": "text", "text": "well?"},
            ],
        },
    ]
    assert bare(body["system"]) == [{"type": "text", "text": "You are brief."}]
    assert (body["model"], body["stream"]) == (OPUS, True)
    assert "tools" not in body
    assert "thinking" not in body


def test_tools_are_told_as_objects() -> None:
    tools = bare(sent(UserText("x"), tools=(GREP, READ))["tools"])
    assert tools == [
        {"name": "grep", "description": "Search.", "input_schema": GREP.parameters},
        {
            "name": "read_file",
            "description": "Read.",
            "input_schema": {"type": "object", "properties": {}},
        },
    ]


def test_words_between_calls_and_results_come_after_the_results() -> None:
    body = sent(
        UserText("a"), AssistantTurn("", calls=(call("t1"),)), UserText("steer"), outcome("t1")
    )
    assert [block["type"] for block in body["messages"][-1]["content"]] == ["tool_result", "text"]


def test_a_call_without_result_gets_one_and_a_result_without_call_becomes_words() -> None:
    body = sent(
        UserText("a"), AssistantTurn("", calls=(call("t1"),)), UserText("b"), outcome("t9", "lost")
    )
    result, said, stray = body["messages"][-1]["content"]
    assert (result["tool_use_id"], result["is_error"]) == ("t1", True)
    assert said["text"] == "b"
    assert "lost" in stray["text"]


def test_the_model_never_has_the_first_or_the_last_word() -> None:
    body = sent(AssistantTurn("I was first."), AssistantTurn("And again. "))
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert len(body["messages"][1]["content"]) == 2


def test_what_a_child_did_is_the_result_of_its_call() -> None:
    told = Delegation(outcome("t1", "done"), "root/a", "task", "done", NO_USAGE)
    body = sent(UserText("a"), AssistantTurn("", calls=(call("t1"),)), told)
    assert bare(body["messages"][-1]["content"]) == [
        {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": 1.0, "b": [null]}', {"a": 1.0, "b": [None]}),
        ("", {}),
        ('{"a": ', {"not_json": '{"a": '}),
        ("[1]", {"not_json": "[1]"}),
        ('{"a": NaN}', {"not_json": '{"a": NaN}'}),
        (r'{"a": "\ud83e"}', {"a": "\ufffd"}),
        ('{"a": "\ud83e"}', {"a": "\ufffd"}),
    ],
)
def test_arguments_are_always_an_object(arguments: str, expected: dict[str, Any]) -> None:
    body = sent(UserText("a"), AssistantTurn("", calls=(call("t1", arguments),)), outcome("t1"))
    assert body["messages"][1]["content"][0]["input"] == expected


IDS = st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=12)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Words, answers and results in any order, with calls nobody answers and the reverse."""
    ids = draw(IDS)
    messages: list[Message] = []
    for _ in range(draw(st.integers(0, 10))):
        kind = draw(st.sampled_from(["user", "answer", "outcome"]))
        text_ = draw(NASTY)
        if kind == "user":
            messages.append(UserText(text_))
        elif kind == "answer":
            taken = [ids.pop() for _ in range(min(len(ids), draw(st.integers(0, 3))))]
            calls = tuple(ToolCall(one, draw(NASTY), draw(NASTY)) for one in taken)
            messages.append(AssistantTurn(text_, calls=calls))
        else:
            known = [c.id for m in messages if isinstance(m, AssistantTurn) for c in m.calls]
            messages.append(outcome(draw(st.sampled_from([*known, "never"])), text_))
    return messages


@settings(deadline=None)
@given(conversations(), st.booleans())
def test_whatever_is_said_is_sent_by_the_rules(messages: list[Message], again: bool) -> None:
    wire = Wire("here", SETTINGS)
    request = ChatRequest("s", tuple(messages), (GREP,), OPUS)
    content = wire.body(request, OPUS, Talk()).content()
    assert not again or wire.body(request, OPUS, Talk()).content() == content
    body = json.loads(content)
    check_rules(body["messages"])
    assert len(list(carriers(body))) <= 4


def check_rules(messages: Sequence[dict[str, Any]]) -> None:
    assert [m["role"] for m in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"]
    waiting: set[str] = set()
    for message in messages:
        kinds = [block["type"] for block in message["content"]]
        assert kinds
        results = {b["tool_use_id"] for b in message["content"] if b["type"] == "tool_result"}
        assert len(results) == kinds.count("tool_result")
        assert results == waiting
        assert "tool_result" not in kinds[len(results) :]
        waiting = {b["id"] for b in message["content"] if b["type"] == "tool_use"}
        assert len(waiting) == kinds.count("tool_use")
        for block in message["content"]:
            if block["type"] == "text":
                assert block["text"].strip()
            if block["type"] == "tool_use":
                assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", block["id"])
                assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", block["name"])
                assert isinstance(block["input"], dict)


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
SECRET = {"type": "redacted_thinking", "data": "b3BhcXVl"}
LATER = {"type": "thinking", "thinking": "", "signature": "bGF0ZXI="}
TURN = AssistantTurn(
    "I look.Found?",
    calls=(call("t1"), call("t2")),
    model="claude-served",
    echo=echo(
        THOUGHT,
        SECRET,
        {"type": "text", "from": 0, "to": 7},
        LATER,
        {"type": "text", "from": 7, "to": 13},
        {"type": "tool_use", "id": "t1"},
        {"type": "tool_use", "id": "t2"},
    ),
)
ANSWERED = (UserText("a"), TURN, outcome("t1"), outcome("t2"))


def answered(*messages: Message, **changes: Any) -> list[Any]:
    content: list[Any] = bare(sent(*messages, **changes)["messages"][1]["content"])
    return content


def test_thinking_goes_back_unchanged_and_in_its_place() -> None:
    assert answered(*ANSWERED) == [
        THOUGHT,
        SECRET,
        {"type": "text", "text": "I look."},
        LATER,
        {"type": "text", "text": "Found?"},
        {"type": "tool_use", "id": "t1", "name": "grep", "input": {"x": "y"}},
        {"type": "tool_use", "id": "t2", "name": "grep", "input": {"x": "y"}},
    ]


@pytest.mark.parametrize(
    "echoed",
    ["", "no json", "[]", echo(THOUGHT, provider="other"), echo(THOUGHT, model=SONNET)],
    ids=["none", "broken", "a-list", "another-provider", "another-model"],
)
def test_what_another_model_thought_stays_here(echoed: str) -> None:
    turn = replace(TURN, echo=echoed)
    kinds = [block["type"] for block in answered(UserText("a"), turn, *ANSWERED[2:])]
    assert kinds == ["text", "tool_use", "tool_use"]


def test_thinking_comes_first_where_the_answer_has_changed_since() -> None:
    turn = replace(TURN, calls=TURN.calls[:1])
    kinds = [block["type"] for block in answered(UserText("a"), turn, outcome("t1"))]
    assert kinds == ["thinking", "redacted_thinking", "thinking", "text", "tool_use"]


def test_muted_thinking_is_left_out() -> None:
    kinds = [b["type"] for b in answered(*ANSWERED, talk=Talk(muted=frozenset({TURN.echo})))]
    assert kinds == ["text", "tool_use", "tool_use"]


def test_at_most_four_markers_and_none_on_thinking() -> None:
    body = sent(*ANSWERED, tools=(GREP, READ))
    assert "cache_control" not in body["tools"][0]
    assert body["tools"][1]["cache_control"] == MARK
    assert body["system"][0]["cache_control"] == MARK
    assert body["messages"][-1]["content"][-1]["cache_control"] == MARK
    assert len(list(carriers(body))) == 4
    ended = replace(TURN, calls=(), echo=echo({"type": "text", "from": 0, "to": 13}, LATER))
    for block in carriers(sent(UserText("a"), ended)):
        assert block.get("type") != "thinking"


def test_markers_can_be_left_to_the_person() -> None:
    own = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    body = sent(*ANSWERED, extra_body=own)
    assert body["cache_control"] == own["cache_control"]
    assert not list(carriers(body["messages"]))
    assert not list(carriers(body["system"]))
    assert not list(carriers(sent(*ANSWERED, talk=Talk(markers=False))))


def test_our_fields_are_ours_and_others_the_persons() -> None:
    own = {"model": "x", "messages": [], "stream": False, "service_tier": "auto", "top_k": 5}
    body = sent(UserText("a"), extra_body=own)
    assert (body["model"], body["stream"], body["service_tier"], body["top_k"]) == (
        OPUS,
        True,
        "auto",
        5,
    )
    assert len(body["messages"]) == 1
    assert "top_k" not in sent(
        UserText("a"), extra_body=own, talk=Talk(refused=frozenset({"top_k"}))
    )


ADAPTIVE = {"type": "adaptive"}
SHOWN = {"type": "adaptive", "display": "summarized"}
SPELLED: list[tuple[str, str, dict[str, Any] | None, str | None, int]] = [
    ("claude-opus-4-6", "", None, None, 32_000),
    ("claude-opus-4-6", "high", ADAPTIVE, "high", 64_000),
    ("claude-opus-4-6", "xhigh", ADAPTIVE, "max", 64_000),
    ("claude-opus-4-6", "none", None, None, 32_000),
    ("claude-opus-4-8", "xhigh", SHOWN, "xhigh", 64_000),
    ("claude-opus-4-8", "", None, None, 32_000),
    ("claude-opus-5", "", SHOWN, None, 64_000),
    ("claude-opus-5", "none", {"type": "disabled"}, None, 32_000),
    ("claude-opus-5-5", "none", SHOWN, "low", 64_000),
    ("claude-sonnet-5-5", "none", {"type": "between_tools"}, None, 32_000),
    ("claude-haiku-5-5", "minimal", SHOWN, "low", 64_000),
    ("claude-fable-5-1", "medium", SHOWN, "medium", 64_000),
    ("claude-sonnet-4-5", "medium", {"type": "enabled", "budget_tokens": 10_000}, None, 42_000),
    ("claude-opus-4-1-20250805", "high", {"type": "enabled", "budget_tokens": 24_000}, None,
     32_000),
    ("claude-3-7-sonnet-latest", "minimal", {"type": "enabled", "budget_tokens": 1_024}, None,
     33_024),
    ("claude-3-5-haiku-latest", "high", None, None, 8_192),
    ("claude-3-opus-20240229", "", None, None, 4_096),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "low",
     {"type": "enabled", "budget_tokens": 4_096}, None, 36_096),
    ("anthropic/claude-opus-4.6", "low", ADAPTIVE, "low", 64_000),
    ("glm-4.6", "low", {"type": "enabled", "budget_tokens": 4_096}, None, 16_000),
    ("glm-4.6", "", None, None, 16_000),
]  # fmt: skip


@pytest.mark.parametrize(("model", "effort", "thinking", "level", "most"), SPELLED)
def test_effort_is_spelled_for_the_age_of_the_model(
    model: str, effort: str, thinking: dict[str, Any] | None, level: str | None, most: int
) -> None:
    body = sent(UserText("a"), model=model, reasoning=effort)
    assert body.get("thinking") == thinking
    assert body.get("output_config") == (None if level is None else {"effort": level})
    assert body["max_tokens"] == most
    assert body == sent(UserText("a"), model=model, effort=effort, reasoning="medium") or not effort


def test_the_budget_leaves_room_for_the_answer() -> None:
    body = sent(UserText("a"), model=SONNET, reasoning="xhigh", max_tokens=8_000)
    assert (body["max_tokens"], body["thinking"]["budget_tokens"]) == (8_000, 6_000)
    assert "thinking" not in sent(UserText("a"), model=SONNET, reasoning="high", max_tokens=1_200)
    capped = sent(UserText("a"), model=OPUS, reasoning="high", talk=Talk(most_tokens=9_000))
    assert capped["max_tokens"] == 9_000


def test_thinking_between_calls_is_asked_for_where_it_must_be() -> None:
    request = ChatRequest("", (UserText("a"),), (), "", effort="low")
    wire = Wire("here", SETTINGS)
    assert wire.body(request, SONNET, Talk()).betas == ("interleaved-thinking-2025-05-14",)
    assert wire.body(request, OPUS, Talk()).betas == ()


def test_calls_made_without_thinking_are_answered_without() -> None:
    plain = replace(TURN, echo="")
    body = sent(UserText("a"), plain, *ANSWERED[2:], model=SONNET, reasoning="low")
    assert "thinking" not in body
    later = sent(UserText("a"), plain, *ANSWERED[2:], UserText("b"), model=SONNET, reasoning="low")
    assert "thinking" in later
    kept = replace(TURN, echo=TURN.echo.replace(OPUS, SONNET))
    assert "thinking" in sent(UserText("a"), kept, *ANSWERED[2:], model=SONNET, reasoning="low")


@pytest.mark.parametrize(
    ("model", "effort", "warm"),
    [(OPUS, "", True), (OPUS, "high", False), ("claude-opus-5", "none", False), ("glm", "", True)],
)
def test_a_temperature_goes_only_to_who_takes_it(model: str, effort: str, warm: bool) -> None:
    body = sent(UserText("a"), model=model, reasoning=effort, temperature=0.0)
    assert ("temperature" in body) is warm


def test_names_of_models_in_all_their_places() -> None:
    places = (
        "claude-opus-4-1",
        "us.anthropic.claude-opus-4-1-20250805-v1:0",
        "anthropic/claude-opus-4.1",
        "claude-opus-4-1@20250805",
        "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-opus-4-1-v1:0",
    )
    assert {row_of(place).start for place in places} == {"claude-opus-4"}
    assert plain_name("org/Qwen3") == "qwen3"
    for at, row in enumerate(MODELS):
        shadowed = [earlier for earlier in MODELS[:at] if row.start.startswith(earlier.start)]
        assert not shadowed, f"{row.start} is never reached"


def test_a_long_conversation_is_joined_not_written_again() -> None:
    """1,000 messages: counted, and printed as time."""
    messages: list[Message] = [UserText("look around")]
    for number in range(333):
        turn = AssistantTurn("Next.", calls=(call(f"t{number}"),), echo=echo(THOUGHT))
        messages += [turn, outcome(f"t{number}", "found\n" * 40), UserText("go on")]
    wire = Wire("here", SETTINGS)
    wire.body(ChatRequest("s", tuple(messages), (GREP,), OPUS), OPUS, Talk())
    kept = {key: value.json for key, value in wire._kept.items()}
    more = (*messages, AssistantTurn("done"), UserText("one more"))
    began = time.perf_counter()
    body = wire.body(ChatRequest("s", more, (GREP,), OPUS), OPUS, Talk())
    took = time.perf_counter() - began
    print(f"{len(more)} messages, {len(body.content()):,} bytes: {took * 1000:.1f} ms")
    assert all(wire._kept[key].json is value for key, value in kept.items())
    assert len(wire._kept) - len(kept) == 2

"""What goes out: bodies as strict servers want them, and cheap for long conversations."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    AssistantTurn,
    Delegation,
    ToolCall,
    ToolOutcome,
    Usage,
    UserText,
)
from stormclaw.protocol.provider import ChatRequest, Message, ToolSpec
from stormclaw.providers._openai.schemas import plain_schema
from stormclaw.providers._openai.wire import Wire
from stormclaw.providers.presets import PRESETS, by_name, by_url
from stormclaw.providers.quirks import ROWS, Quirks

MODEL = "a-model"
SETTINGS = ModelSettings("openai-compatible")
PLAIN = Quirks()


def request(*messages: Message, **more: Any) -> ChatRequest:
    return ChatRequest("be brief", messages, (), MODEL, **more)


def sent(
    *messages: Message,
    quirks: Quirks = PLAIN,
    settings: ModelSettings = SETTINGS,
    **more: Any,
) -> Any:
    return json.loads(
        Wire("here", settings).body(request(*messages, **more), MODEL, quirks).content
    )


def outcome(call_id: str, output: str = "ok") -> ToolOutcome:
    return ToolOutcome(call_id, "read_file", "done", output, Headline("read", "a.py"))


def turn(text: str = "", *calls: ToolCall, echo: str = "") -> AssistantTurn:
    return AssistantTurn(text, calls=calls, echo=echo)


CALL = ToolCall("c1", "read_file", '{"path": "a.py"}')


def test_one_system_message_stands_first_and_nothing_unusual_is_sent() -> None:
    assert sent(UserText("hi")) == {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hi"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_an_answer_with_calls_alone_has_null_content() -> None:
    _, _, assistant, tool = sent(UserText("hi"), turn("", CALL), outcome("c1"))["messages"]
    assert assistant == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "read_file", "arguments": '{"path": "a.py"}'},
            }
        ],
    }
    assert tool == {"role": "tool", "tool_call_id": "c1", "content": "ok"}


def test_a_delegation_is_sent_as_its_outcome() -> None:
    left = Delegation(outcome("c1", "found it"), "root/scout", "look", "done", Usage())
    tool = sent(UserText("hi"), turn("", CALL), left)["messages"][-1]
    assert tool == {"role": "tool", "tool_call_id": "c1", "content": "found it"}


def test_an_empty_output_is_words_too() -> None:
    assert sent(turn("", CALL), outcome("c1", ""))["messages"][-1]["content"] == "(no output)"


def test_what_the_person_said_in_a_row_is_one_message() -> None:
    messages = sent(UserText("one"), turn(" "), UserText("two"), UserText("three"))["messages"]
    assert messages[1:] == [{"role": "user", "content": "one\n\ntwo\n\nthree"}]


@pytest.mark.parametrize(
    ("arguments", "wired"),
    [
        ("{}", {}),
        ("", {}),
        ('{"path": "a', {"not_json": '{"path": "a'}),
        ("[1]", {"not_json": "[1]"}),
        ('{"path": "\ud83d"}', {"path": "\ufffd"}),
    ],
)
def test_arguments_always_go_back_as_a_json_object(arguments: str, wired: object) -> None:
    call = ToolCall("c1", "read_file", arguments)
    messages = sent(turn("", call), outcome("c1"))["messages"]
    assert json.loads(messages[1]["tool_calls"][0]["function"]["arguments"]) == wired


def test_a_nonsense_name_is_sent_as_one_servers_take() -> None:
    call = ToolCall("c1", "read file!\n", "{}")
    messages = sent(turn("", call), outcome("c1"))["messages"]
    assert messages[1]["tool_calls"][0]["function"]["name"] == "read_file__"


def test_half_characters_are_mended() -> None:
    messages = sent(UserText("a\ud83d\ude00b \ud83d c"))["messages"]
    assert messages[1]["content"] == "a😀b \ufffd c"


ECHO = json.dumps(
    {
        "provider": "here",
        "model": MODEL,
        "fields": {"reasoning_details": [{"type": "reasoning.text", "signature": "s"}]},
    }
)


def test_signed_reasoning_goes_back_unchanged_to_the_same_model() -> None:
    messages = sent(turn("", CALL, echo=ECHO), outcome("c1"))["messages"]
    assert messages[1]["reasoning_details"] == [{"type": "reasoning.text", "signature": "s"}]


@pytest.mark.parametrize("change", [{"provider": "there"}, {"model": "b"}])
def test_it_does_not_go_to_another(change: dict[str, str]) -> None:
    echo = json.dumps(json.loads(ECHO) | change)
    messages = sent(turn("", CALL, echo=echo), outcome("c1"))["messages"]
    assert "reasoning_details" not in messages[1]


def test_plain_reasoning_stays_here_where_it_is_refused() -> None:
    echo = json.dumps({"provider": "here", "model": MODEL, "fields": {"reasoning_content": "hm"}})
    messages = (turn("", CALL, echo=echo), outcome("c1"))
    assert sent(*messages)["messages"][1]["reasoning_content"] == "hm"
    quiet = Quirks(echo=False)
    assert "reasoning_content" not in sent(*messages, quirks=quiet)["messages"][1]


def test_deepseek_gets_an_empty_reasoning_with_calls() -> None:
    deepseek = ROWS["deepseek"]
    messages = sent(turn("", CALL), outcome("c1"), turn("done"), quirks=deepseek)["messages"]
    assert messages[1]["reasoning_content"] == ""
    assert "reasoning_content" not in messages[3]


@pytest.mark.parametrize(
    ("form", "call_id", "pattern"),
    [
        ("nine", "call_0123456789abcdef", r"[A-Za-z0-9]{9}"),
        ("nine", "abcDEF123", "abcDEF123"),
        ("forty", "x" * 60, r"[A-Za-z0-9]{9}"),
        ("forty", "call_abc-1", "call_abc-1"),
        ("any", "functions.read:0", r"functions\.read:0"),
    ],
)
def test_call_ids_take_the_form_a_server_wants_on_both_sides(
    form: Any, call_id: str, pattern: str
) -> None:
    call = replace(CALL, id=call_id)
    messages = sent(turn("", call), outcome(call_id), quirks=Quirks(ids=form))["messages"]
    wired = messages[1]["tool_calls"][0]["id"]
    assert messages[2]["tool_call_id"] == wired
    assert re.fullmatch(pattern, wired)


@pytest.mark.parametrize(
    ("reasoning", "effort", "wired"),
    [
        ("effort", "high", {"reasoning_effort": "high"}),
        ("object", "low", {"reasoning": {"effort": "low"}}),
        ("thinking", "low", {"thinking": {"type": "enabled"}}),
        ("thinking", "none", {"thinking": {"type": "disabled"}}),
        ("omit", "high", {}),
        ("effort", "", {}),
    ],
)
def test_effort_is_spelled_as_the_server_wants(
    reasoning: Any, effort: Any, wired: dict[str, Any]
) -> None:
    body = sent(quirks=Quirks(reasoning=reasoning), settings=replace(SETTINGS, reasoning=effort))
    names = ("reasoning_effort", "reasoning", "thinking")
    assert {name: body[name] for name in names if name in body} == wired


def test_settings_are_sent_and_cannot_replace_the_conversation() -> None:
    settings = replace(
        SETTINGS,
        temperature=0.2,
        max_tokens=9,
        extra_body={"top_k": 3, "messages": [], "stream": 0},
    )
    body = sent(UserText("hi"), settings=settings)
    assert (body["temperature"], body["max_tokens"], body["top_k"]) == (0.2, 9, 3)
    assert len(body["messages"]) == 2
    assert body["stream"] is True


def test_a_requests_temperature_counts_more_than_the_settings() -> None:
    settings = replace(SETTINGS, temperature=0.2)
    assert sent(settings=settings, temperature=0.0)["temperature"] == 0.0


def test_refused_fields_are_left_out() -> None:
    settings = replace(SETTINGS, temperature=0.2, extra_body={"top_k": 3})
    body = sent(settings=settings, quirks=Quirks(refused=frozenset({"top_k", "temperature"})))
    assert not {"top_k", "temperature"} & body.keys()


def test_the_cache_never_shows_an_old_body() -> None:
    wire = Wire("here", SETTINGS)
    tools = (ToolSpec("a", "A.", {"type": "object"}),)
    first = request(UserText("hi"), turn("", CALL), outcome("c1"))
    steps = [
        (first, MODEL, PLAIN),
        (replace(first, system_prompt="other", tools=tools), MODEL, PLAIN),
        (replace(first, tools=(replace(tools[0], description="B."),)), MODEL, PLAIN),
        (replace(first, messages=(*first.messages, turn("", CALL, echo=ECHO))), MODEL, PLAIN),
        (replace(first, messages=(*first.messages, turn("", CALL, echo=ECHO))), "b", PLAIN),
        (first, MODEL, Quirks(ids="nine")),
        (first, MODEL, PLAIN),
    ]
    for asked, model, quirks in steps:
        fresh = Wire("here", SETTINGS).body(asked, model, quirks)
        assert wire.body(asked, model, quirks) == fresh


def test_messages_made_anew_each_time_do_not_pile_up() -> None:
    wire = Wire("here", SETTINGS)
    for number in range(3_000):
        wire.body(request(UserText(str(number))), MODEL, PLAIN)
    assert len(wire._kept) < 1_100


def test_a_long_conversation_is_written_once() -> None:
    history: list[Message] = []
    for number in range(500):
        history += [UserText(f"question {number}"), turn(f"answer {number} " + "y" * 500)]
    wire = Wire("here", SETTINGS)
    wire.body(request(*history), MODEL, PLAIN)
    before = {key: kept.json for key, kept in wire._kept.items()}
    body = wire.body(request(*history, UserText("one more")), MODEL, PLAIN)
    assert len(json.loads(body.content)["messages"]) == 1_002
    assert all(wire._kept[key].json is written for key, written in before.items())


def test_geminis_schemas_lose_what_it_refuses() -> None:
    schema = {
        "$schema": "x",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "path": {"type": "string", "default": ".", "minLength": 1, "description": "d"},
            "depth": {
                "anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}],
                "default": None,
            },
            "mode": {"const": "fast"},
            "level": {"type": ["integer", "null"], "enum": [1, 2, None]},
            "names": {"type": "array"},
            "when": {"type": "string", "format": "uri"},
        },
        "required": ["path"],
    }
    assert plain_schema(schema, "gemini") == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "d"},
            "depth": {"type": "integer", "nullable": True},
            "mode": {"type": "string", "enum": ["fast"]},
            "level": {"type": "string", "nullable": True, "enum": ["1", "2"]},
            "names": {"type": "array", "items": {"type": "string"}},
            "when": {"type": "string"},
        },
        "required": ["path"],
    }


def test_presets_are_found_by_name_and_by_address() -> None:
    assert len({preset.name for preset in PRESETS}) == len(PRESETS) == 14
    for preset in PRESETS:
        assert by_name(preset.name) is preset
        assert by_url(preset.base_url) is (preset if preset.needs_key else None)
        assert preset.settings().base_url == preset.base_url
        assert bool(preset.key_url) == preset.needs_key == preset.base_url.startswith("https://")
    assert by_url("https://openrouter.ai.evil.example/api/v1") is None


def test_openrouter_is_told_who_asks() -> None:
    preset = by_name("openrouter")
    assert preset is not None
    assert preset.headers["X-Title"] == "StormClaw"
    assert "HTTP-Referer" in preset.headers
    assert "stream_options" not in sent(quirks=ROWS["openrouter"])

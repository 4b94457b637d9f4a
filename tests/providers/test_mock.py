"""The mock plays its script to the letter, and says what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ConfigError, ProviderError
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import AssistantTurn, ToolCall, ToolOutcome, Usage, UserText
from stormclaw.protocol.provider import ChatRequest, ChatResponse, Message, Text, Thinking
from stormclaw.providers.mock import Mock, connect


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "script.yaml"


def mock(script: Path, text: str) -> Mock:
    script.write_text(text)
    return connect("local", ModelSettings("mock", model="m", script=str(script)), None)


def ask(*messages: Message, agent: str = "root") -> ChatRequest:
    return ChatRequest("", messages or (UserText("go"),), (), "", metadata={"agent": agent})


async def test_a_turn_with_everything(script: Path) -> None:
    provider = mock(
        script,
        """
turns:
  - thinking: "I look."
    text: "Reading it now."
    chunk: 6
    calls:
      - {name: read_file, arguments: {path: a.py}, id: call_1}
      - {name: shell_exec, arguments: '{"command": '}
    usage: {input_tokens: 10, output_tokens: 5, cached_tokens: 3, cost_usd: 0.25}
""",
    )
    *deltas, response = [item async for item in provider.stream(ask())]
    assert deltas == [
        Thinking("I look"),
        Thinking("."),
        Text("Readin"),
        Text("g it n"),
        Text("ow."),
    ]
    assert isinstance(response, ChatResponse)
    first, second = response.tool_calls
    assert first == ToolCall("call_1", "read_file", '{"path": "a.py"}')
    assert (second.name, second.arguments) == ("shell_exec", '{"command": ')
    assert second.id not in ("", "call_1")
    assert response.usage == Usage(10, 5, 3, 0.25)
    assert (response.finish, response.model) == ("tool_calls", "m")
    assert provider.capabilities().scripted


async def test_words_are_deltas_by_default_and_usage_is_estimated(script: Path) -> None:
    provider = mock(script, "turns: [{text: one two  three}]")
    *deltas, response = [item async for item in provider.stream(ask())]
    assert deltas == [Text("one "), Text("two "), Text(" "), Text("three")]
    assert isinstance(response, ChatResponse)
    assert not response.usage.reported


async def test_the_last_outcome_and_the_last_words_can_be_quoted(script: Path) -> None:
    provider = mock(script, 'turns: [{text: "{{last_user}} gave {{last_output}}"}]')
    call = ToolCall("c", "time", "{}")
    outcome = ToolOutcome("c", "time", "done", "noon", Headline("time", "now"))
    asked = ask(UserText("tell"), AssistantTurn("", calls=(call,)), outcome)
    assert (await provider.chat(asked)).final_text == "tell gave noon"


async def test_turns_run_out_with_an_error_that_says_so(script: Path) -> None:
    provider = mock(script, "turns: [{text: a}]")
    await provider.chat(ask())
    with pytest.raises(ProviderError, match=r"script\.yaml has no turn left for root"):
        await provider.chat(ask())


async def test_an_expectation_that_is_not_met_says_where_and_what_was_heard(script: Path) -> None:
    provider = mock(script, "turns:\n  - expect: 42 passed\n    text: green\n")
    with pytest.raises(ProviderError, match=r"script\.yaml:2 expects '42 passed'.*41 passed"):
        await provider.chat(ask(UserText("41 passed")))


async def test_a_turn_waits_for_its_words(script: Path) -> None:
    provider = mock(script, "turns: [{when: draft, text: a}, {text: b}]")
    assert (await provider.chat(ask(UserText("go")))).final_text == "b"
    with pytest.raises(ProviderError, match="no turn that fits"):
        await provider.chat(ask(UserText("go")))
    assert (await provider.chat(ask(UserText("a draft")))).final_text == "a"


async def test_an_error_ends_the_answer_after_its_text(script: Path) -> None:
    provider = mock(
        script,
        "turns: [{text: half, error: {class: rate_limit, message: slow down, retry_after_s: 2}}]",
    )
    items = provider.stream(ask())
    assert await anext(items) == Text("half")
    with pytest.raises(ProviderError, match="slow down") as caught:
        await anext(items)
    error = caught.value
    assert (error.kind, error.retry_after_s, error.partial) == ("rate_limit", 2.0, "half")


async def test_each_agent_has_its_own_script(script: Path) -> None:
    provider = mock(
        script,
        """
turns: [{text: root 1}, {text: root 2}]
agents:
  scout: {turns: [{text: scout 1}]}
  root/reader-2: {turns: [{text: second reader}]}
  "*": {turns: [{text: anybody}]}
""",
    )
    spoken = [
        (await provider.chat(ask(agent=agent))).final_text
        for agent in (
            "root",
            "root/scout",
            "root/scout-2",
            "root",
            "root/reader-2",
            "root/reader",
            "root/x/deep",
        )
    ]
    assert spoken == [
        "root 1",
        "scout 1",
        "scout 1",
        "root 2",
        "second reader",
        "anybody",
        "anybody",
    ]


async def test_an_agent_without_a_script_is_an_error(script: Path) -> None:
    provider = mock(script, "turns: [{text: a}]")
    with pytest.raises(ProviderError, match="nothing for root/scout"):
        await provider.chat(ask(agent="root/scout"))


async def test_without_a_script_it_says_that_it_is_the_mock() -> None:
    provider = connect("local", ModelSettings("mock"), None)
    for _ in range(2):
        assert "This is the mock provider" in (await provider.chat(ask())).final_text


def test_every_problem_of_a_script_is_told_at_once(script: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        mock(
            script,
            """
turns:
  - text: 7
    colour: red
  - just words
  - calls: [{arguments: {}}, {name: x, arguments: 3}]
    error: {class: nonsense}
    delay_s: -1
    usage: [1]
    finish: maybe
extra: 1
agents:
  scout: {turns: none}
""",
        )
    told = {problem.key: problem for problem in caught.value.problems}
    assert set(told) == {
        "extra",
        "turns[0].colour",
        "turns[0].text",
        "turns[1]",
        "turns[2].calls[0]",
        "turns[2].calls[1].arguments",
        "turns[2].error.class",
        "turns[2].delay_s",
        "turns[2].usage",
        "turns[2].finish",
        "agents.scout.turns",
    }
    assert told["turns[0].colour"].file == f"{script}:4"
    assert told["turns[2].error.class"].file == f"{script}:7"
    assert "rate_limit" in told["turns[2].error.class"].message


@pytest.mark.parametrize("text", ["turns: [", "- a", "{}", "turns: {}"])
def test_what_is_no_script_is_a_config_error(script: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"script\.yaml"):
        mock(script, text)


def test_a_missing_script_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        connect("local", ModelSettings("mock", script=str(tmp_path / "none.yaml")), None)

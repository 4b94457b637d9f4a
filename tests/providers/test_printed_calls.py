"""Calls printed as text: each form that models print, and every answer that only looks like one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from byte_server import ByteServer, delta, fragment, serving, stream
from hypothesis import given
from hypothesis import strategies as st

from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import AssistantTurn, ToolCall, ToolOutcome, UserText
from stormclaw.protocol.provider import (
    ChatRequest,
    ChatResponse,
    Message,
    Remark,
    Text,
    Thinking,
    ToolSpec,
    Withdrawn,
)
from stormclaw.providers._openai.printed_calls import Reading, read_calls
from stormclaw.providers.openai_compatible import OpenAICompatible

READ = ToolSpec(
    "read_file",
    "Read a file.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "limit": {"type": "integer"},
            "whole": {"type": "boolean"},
        },
        "required": ["path"],
    },
)
LIST = ToolSpec("list_dir", "List.", {"type": "object", "properties": {"path": {}}})
SHELL = ToolSpec(
    "shell",
    "Run.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)
TOOLS = (READ, LIST, SHELL)
ONE = ("read_file", {"path": "a.py"})
TWO = ("shell", {"command": "ls -l"})
CALL = '{"name": "read_file", "arguments": {"path": "a.py"}}'
OTHER = '{"name": "shell", "parameters": {"command": "ls -l"}}'

PRINTED: list[tuple[str, str, list[tuple[str, dict[str, Any]]], str]] = [
    ("bare", CALL, [ONE], ""),
    ("bare-in-space", f"\n\n  {CALL}\n", [ONE], ""),
    ("parameters", OTHER, [TWO], ""),
    ("arguments-as-text", json.dumps({"name": "read_file", "arguments": '{"path": "a.py"}'}),
     [ONE], ""),
    ("fence-json", f"```json\n{CALL}\n```", [ONE], ""),
    ("fence-without-language", f"```\n{CALL}\n```", [ONE], ""),
    ("fence-tool-call", f"```tool_call\n{CALL}\n```\n", [ONE], ""),
    ("fences-in-a-row", f"```json\n{CALL}\n```\n\n```json\n{OTHER}\n```", [ONE, TWO], ""),
    ("list", f"[{CALL}, {OTHER}]", [ONE, TWO], ""),
    ("fence-list", f"```json\n[\n{CALL},\n{OTHER}\n]\n```", [ONE, TWO], ""),
    ("one-a-line", f"{CALL}\n{OTHER}", [ONE, TWO], ""),
    ("semicolons", f"{CALL}; {OTHER}", [ONE, TWO], ""),
    ("openai-object", json.dumps({"type": "function", "function": json.loads(CALL)}), [ONE], ""),
    ("openai-list", json.dumps({"tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "shell",
         "arguments": '{"command": "ls -l"}'}}]}), [TWO], ""),
    ("llama-object", '{"type": "function", "name": "read_file", "parameters": {"path": "a.py"}}',
     [ONE], ""),
    ("prefixed", CALL.replace("read_file", "functions.read_file"), [ONE], ""),
    ("no-arguments", '{"name": "list_dir", "arguments": {}}', [("list_dir", {})], ""),
    ("hermes", f"<tool_call>\n{CALL}\n</tool_call>", [ONE], ""),
    ("hermes-never-closed", f"<tool_call>\n{CALL}", [ONE], ""),
    ("hermes-two", f"<tool_call>{CALL}</tool_call>\n<tool_call>{OTHER}</tool_call>",
     [ONE, TWO], ""),
    ("hermes-after-a-word", f"Let me look.\n<tool_call>\n{CALL}\n</tool_call>", [ONE],
     "Let me look."),
    ("hermes-and-its-end", f"<tool_call>\n{CALL}\n</tool_call><|im_end|>", [ONE], ""),
    ("llama-function", '<function=read_file>{"path": "a.py"}</function>', [ONE], ""),
    ("llama-function-never-closed", '<function=read_file>{"path": "a.py"}', [ONE], ""),
    ("python-tag", f"<|python_tag|>{OTHER}<|eom_id|>", [TWO], ""),
    ("qwen-coder", "<tool_call>\n<function=read_file>\n<parameter=path>\na.py\n</parameter>\n"
     "<parameter=limit>\n20\n</parameter>\n<parameter=whole>\nTrue\n</parameter>\n</function>\n"
     "</tool_call>", [("read_file", {"path": "a.py", "limit": 20, "whole": True})], ""),
    ("qwen-coder-bare", "I read it.\n\n<function=read_file>\n<parameter=path>\na.py\n"
     "</parameter>\n</function>", [ONE], "I read it."),
    ("glm", "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n"
     "</tool_call>", [ONE], ""),
    ("mistral-list", f"[TOOL_CALLS] [{CALL}, {OTHER}]", [ONE, TWO], ""),
    ("mistral-names", '[TOOL_CALLS]read_file[ARGS]{"path": "a.py"}', [ONE], ""),
    ("mistral-names-two", '[TOOL_CALLS]read_file{"path": "a.py"}'
     '[TOOL_CALLS]shell{"command": "ls -l"}', [ONE, TWO], ""),
    ("text-with-quotes", json.dumps({"name": "shell", "arguments": {"command": 'echo "```"'}}),
     [("shell", {"command": 'echo "```"'})], ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "calls", "lead"), [p[1:] for p in PRINTED],
                         ids=[p[0] for p in PRINTED])  # fmt: skip
def test_a_printed_call_is_read(
    text: str, calls: list[tuple[str, dict[str, Any]]], lead: str
) -> None:
    reading = read_calls(text, TOOLS)
    assert reading is not None
    assert [(name, json.loads(arguments)) for name, arguments in reading.calls] == calls
    assert reading.lead == lead


EXPLAINED = f"""To read a file, the model answers with a call such as

```json
{CALL}
```

and the program runs it."""
ANSWERS = {
    "prose": "The file a.py prints one line.",
    "an-example-in-an-explanation": EXPLAINED,
    "a-fence-after-a-word": f"Like this:\n\n```json\n{CALL}\n```",
    "a-fence-before-a-word": f"```json\n{CALL}\n```\nThat is how it looks.",
    "json-before-a-word": f"{CALL}\nThis is the call I would make.",
    "json-after-a-word": f"I would call {CALL}",
    "tags-shown-in-a-fence": f"Hermes prints:\n```\n<tool_call>\n{CALL}\n</tool_call>\n```",
    "tags-shown-in-an-open-fence": f"So:\n```\n<tool_call>\n{CALL}\n</tool_call>",
    "tags-in-a-sentence": f"It prints `<tool_call>{CALL}</tool_call>` and stops.",
    "tags-before-a-word": f"<tool_call>\n{CALL}\n</tool_call>\nThat is what Hermes prints.",
    "tags-after-much": f"{'Much is to be said of it. ' * 20}\n<tool_call>{CALL}</tool_call>",
    "tags-quoted": f"> <tool_call>{CALL}</tool_call>",
    "function-in-a-sentence": "Write <function=read_file> and then the arguments.",
    "another-name": '{"name": "read_files", "arguments": {"path": "a.py"}}',
    "a-name-in-capitals": '{"name": "Read_File", "arguments": {"path": "a.py"}}',
    "without-what-it-needs": '{"name": "read_file", "arguments": {"limit": 3}}',
    "with-what-it-does-not-know": '{"name": "read_file", "arguments": {"path": "a", "to": "b"}}',
    "arguments-that-are-none": '{"name": "read_file", "arguments": "a.py"}',
    "arguments-in-a-list": '{"name": "read_file", "arguments": ["a.py"]}',
    "no-arguments-at-all": '{"name": "read_file"}',
    "both-spellings": '{"name": "list_dir", "arguments": {}, "parameters": {}}',
    "a-package": '{"name": "shell", "version": "1.0.0", "arguments": {"command": "ls"}}',
    "a-package-file": '{"name": "shell", "version": "1.0.0", "dependencies": {}}',
    "a-schema": json.dumps({"name": "read_file", "description": "Reads.",
                            "parameters": dict(READ.parameters)}),
    "a-schema-bare": json.dumps({"name": "read_file", "parameters": dict(READ.parameters)}),
    "one-of-two-is-none": f'[{CALL}, {{"name": "nobody", "arguments": {{}}}}]',
    "a-call-and-a-value": f'[{CALL}, 3]',
    "numbers": "[1, 2, 3]",
    "an-empty-object": "{}",
    "an-empty-list": "[]",
    "cut-off": CALL[:-3],
    "nothing": "   ",
    "python": '```python\nread_file(path="a.py")\n```',
    "python-with-json": f"```python\ncall = {CALL}\n```",
    "yaml": "name: read_file\narguments:\n  path: a.py",
    "json-with-a-comment": f"{CALL} // reads it",
    "a-diff": f"```diff\n+{CALL}\n```",
    "deep": "[" * 5_000,
    "twenty-of-them": "\n".join([CALL] * 20),
    "unknown-tag": f"<tool_call>\nperhaps {CALL}\n</tool_call>",
    "tag-of-nothing": "<tool_call></tool_call>",
    "function-of-nobody": "<function=nobody>{}</function>",
    "half-a-parameter": "<function=read_file>path a.py</function>",
    "mistral-without-arguments": "[TOOL_CALLS] read_file",
    "mistral-in-prose": "[TOOL_CALLS] is the token Mistral uses.",
}  # fmt: skip


@pytest.mark.parametrize("text", ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_is_no_call(text: str) -> None:
    assert read_calls(text, TOOLS) is None


def test_without_tools_nothing_is_a_call() -> None:
    assert read_calls(CALL, ()) is None


@given(st.text(max_size=200))
def test_no_text_around_a_call_makes_it_one(prose: str) -> None:
    """A word before or behind: it is an answer."""
    if any(character.isalpha() for character in prose):
        assert read_calls(f"{prose}\n{CALL}", TOOLS) is None or prose.strip().startswith("{")
        assert read_calls(f"{CALL}\n{prose}", TOOLS) is None or "{" in prose


@given(st.text(alphabet='{}[]"`<>=/\\ntool_callfunctionnamearguments:,. ', max_size=120))
def test_reading_never_fails(text: str) -> None:
    reading = read_calls(text, TOOLS)
    assert reading is None or isinstance(reading, Reading)


@pytest.fixture
async def server() -> AsyncIterator[ByteServer]:
    async with serving() as running:
        yield running


async def listen(
    server: ByteServer, tools: tuple[ToolSpec, ...] = TOOLS, *before: Any
) -> list[Any]:
    settings = ModelSettings("openai-compatible", base_url=server.url, max_retries=0)
    provider = OpenAICompatible("here", settings, None)
    request = ChatRequest("", (UserText("look"), *before), tools, "a-model")
    try:
        return [item async for item in provider.stream(request)]
    finally:
        await provider.close()


def pieces(text: str, size: int = 5) -> list[dict[str, Any]]:
    return [delta(text[at : at + size]) for at in range(0, len(text), size)]


async def test_the_text_is_withdrawn_the_call_made_and_the_person_told(server: ByteServer) -> None:
    said = f"<think>I look.</think>Look:\n<tool_call>\n{CALL}\n</tool_call>"
    server.will(stream(*pieces(said), delta(finish="stop")))
    items = await listen(server)
    at = next(place for place, item in enumerate(items) if isinstance(item, Withdrawn))
    thinking, lead, remark, response = items[at + 1 :]
    assert thinking == Thinking("I look.")
    assert lead == Text("Look:")
    assert isinstance(remark, Remark)
    assert remark.text.startswith("the model printed its call of read_file as text; it was taken")
    assert isinstance(response, ChatResponse)
    assert (response.final_text, response.thinking) == ("Look:", "I look.")
    (call,) = response.tool_calls
    assert (call.name, json.loads(call.arguments)) == ("read_file", {"path": "a.py"})
    assert response.finish == "tool_calls"
    assert len(call.id) == 9


async def test_ids_are_new_and_different(server: ByteServer) -> None:
    server.will(stream(delta(f"{CALL}\n{CALL}"), delta(finish="stop")))
    *_, response = await listen(server)
    assert len({call.id for call in response.tool_calls}) == 2


async def test_a_real_call_beside_it_leaves_the_text_alone(server: ByteServer) -> None:
    real = fragment("shell", '{"command": "ls"}', index=0, id="c1")
    server.will(stream(delta(CALL), real, delta(finish="tool_calls")))
    items = await listen(server)
    assert not any(isinstance(item, Withdrawn | Remark) for item in items)
    assert items[-1].final_text == CALL
    assert items[-1].tool_calls == (ToolCall("c1", "shell", '{"command": "ls"}'),)


async def test_an_answer_cut_off_is_no_call(server: ByteServer) -> None:
    server.will(stream(delta(CALL), delta(finish="length")))
    items = await listen(server)
    assert items[-1].finish == "length"
    assert not items[-1].tool_calls


async def test_an_explanation_streams_and_stays(server: ByteServer) -> None:
    server.will(stream(*pieces(EXPLAINED), delta(finish="stop")))
    items = await listen(server, TOOLS, AssistantTurn("hm"), UserText("and?"))
    assert not any(isinstance(item, Withdrawn | Remark) for item in items)
    assert items[-1].final_text == EXPLAINED


SPREAD = json.dumps(json.loads(CALL), indent=2)


@pytest.mark.parametrize(
    "printed", [CALL, f"```json\n{SPREAD}\n```", f"<tool_call>{CALL}</tool_call>"]
)
@pytest.mark.parametrize(
    "read",
    [
        UserText(f"What does this do?\n{CALL}"),
        ToolOutcome("c0", "read_file", "done", f"[\n{CALL}\n]", Headline("read", "notes.json")),
        ToolOutcome(
            "c0",
            "read_file",
            "done",
            "\n".join(f"{at:>4} {line}" for at, line in enumerate(SPREAD.splitlines(), 1)),
            Headline("read", "notes.json"),
        ),
    ],
)
async def test_what_is_repeated_from_a_file_or_a_person_is_no_call(
    server: ByteServer, printed: str, read: Message
) -> None:
    server.will(stream(*pieces(printed), delta(finish="stop")))
    call = ToolCall("c0", "read_file", "{}")
    before = (UserText("print it"), AssistantTurn("", calls=(call,)))
    provider = OpenAICompatible("x", ModelSettings("openai-compatible", "m", server.url), None)
    request = ChatRequest("", (*before, read), TOOLS, "m")
    items = [item async for item in provider.stream(request)]
    await provider.close()
    assert not any(isinstance(item, Withdrawn) for item in items)
    assert isinstance(items[-1], ChatResponse)
    assert (items[-1].final_text, items[-1].tool_calls) == (printed, ())

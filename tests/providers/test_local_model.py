"""The local model, really loaded: streaming, calls, cancelling, sharing, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
from llama_server import model_file

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import AssistantTurn, ToolOutcome, UserText
from stormclaw.protocol.provider import (
    ChatRequest,
    ChatResponse,
    Delta,
    Remark,
    Text,
    ToolSpec,
)
from stormclaw.providers import llama
from stormclaw.providers._llama.engine import shelf
from stormclaw.providers._llama.load import Spec

FOUND = model_file()
pytestmark = [
    pytest.mark.llama,
    pytest.mark.skipif(FOUND is None, reason="llama.cpp or its model is not installed here"),
    pytest.mark.xdist_group("llama"),
]
MODEL = FOUND or Path("none.gguf")
WINDOW = 1_024
READ = ToolSpec(
    "read_file",
    "Read a file.",
    {
        "type": "object",
        "properties": {"path": {"enum": ["a.py", "b.py"]}, "limit": {"type": "integer"}},
        "required": ["path"],
    },
)
HELLO = ChatRequest("You are brief.", (UserText("Say hello."),), (), "", temperature=0.0)
CALLING = ChatRequest("", (UserText("Use the tool."),), (READ,), "", temperature=0.0)


def made(name: str = "local", **more: object) -> llama.Llama:
    fields = {"path": str(MODEL), "context_window": WINDOW, "max_tokens": 12, "threads": 1}
    settings = ModelSettings("llama", **{**fields, **more})  # type: ignore[arg-type]
    return llama.connect(name, settings, None)


async def heard(
    provider: llama.Llama, request: ChatRequest
) -> tuple[list[Delta | ChatResponse], ChatResponse]:
    *deltas, response = [item async for item in provider.stream(request)]
    assert isinstance(response, ChatResponse)
    return deltas, response


@pytest.fixture(scope="module")
async def kept() -> AsyncIterator[None]:
    """Keeps the model loaded for all tests of this file."""
    engine = shelf().lease(Spec(MODEL, WINDOW, 1))
    yield
    await asyncio.to_thread(shelf().give_back, engine)


@pytest.fixture
async def provider(kept: None) -> AsyncIterator[llama.Llama]:
    connected = made()
    await connected.warm_up()
    yield connected
    await connected.close()


async def test_words_stream_and_are_counted_and_cost_nothing(provider: llama.Llama) -> None:
    deltas, response = await heard(provider, HELLO)
    texts = [item.text for item in deltas if isinstance(item, Text)]
    assert len(texts) > 1
    assert "".join(texts) == response.final_text
    assert response.final_text.strip()
    assert response.usage.reported
    assert response.usage.cost_usd == 0.0
    assert response.usage.input_tokens > 10
    assert 1 < response.usage.output_tokens <= 12
    assert response.model == provider.model == "SmolLM2-135M-Instruct.Q4_1"


async def test_the_same_beginning_is_not_read_again(provider: llama.Llama) -> None:
    _, first = await heard(provider, HELLO)
    turn = AssistantTurn(first.final_text)
    going_on = ChatRequest("You are brief.", (*HELLO.messages, turn, UserText("Go on.")), (), "")
    _, second = await heard(provider, going_on)
    assert second.usage.cached_tokens >= first.usage.input_tokens - 1


async def test_an_answer_with_tools_is_a_valid_call_or_words_and_never_anything_else(
    kept: None,
) -> None:
    provider = made(max_tokens=30)
    for words in ("Use the tool.", "Use the tool. Thanks!"):
        request = ChatRequest("", (UserText(words),), (READ,), "", temperature=1.0)
        deltas, response = await heard(provider, request)
        texts = "".join(item.text for item in deltas if isinstance(item, Text))
        assert texts == response.final_text
        assert "{" not in texts[:1]
        for call in response.tool_calls:
            assert call.name == "read_file"
            arguments = json.loads(call.arguments)
            assert set(arguments) <= {"path", "limit"}
            assert arguments["path"] in ("a.py", "b.py")
        assert response.tool_calls or response.finish == "length" or response.final_text
    await provider.close()


async def test_a_result_goes_back_after_the_call_as_it_was_written(kept: None) -> None:
    provider = made(max_tokens=4)
    written = r"{\"tool\": \"read_file\", \"args\": {\"path\": \"a.py\"}}"
    forced = {"grammar": f'root ::= "{written}"'}
    calling = made(max_tokens=40, extra_body=forced)
    _, first = await heard(calling, CALLING)
    (call,) = first.tool_calls
    assert json.loads(call.arguments) == {"path": "a.py"}
    assert first.finish == "tool_calls"
    assert first.final_text == ""
    turn = AssistantTurn("", calls=first.tool_calls, echo=first.echo)
    outcome = ToolOutcome(call.id, "read_file", "done", "print(1)", Headline("read", "a.py"))
    going_on = ChatRequest("", (*CALLING.messages, turn, outcome), (READ,), "", temperature=0.0)
    _, second = await heard(provider, going_on)
    assert second.usage.cached_tokens >= first.usage.input_tokens - 1
    assert second.usage.input_tokens > first.usage.input_tokens + 20
    await calling.close()
    await provider.close()


async def test_leaving_stops_the_model_at_the_next_token(kept: None) -> None:
    endless = made(max_tokens=500)
    long = ChatRequest("", (UserText("Tell a very long story about the sea."),), (), "")
    async with aclosing(endless.stream(long)) as items:
        async for item in items:
            if isinstance(item, Text):
                break
    # One request at a time: this one is only answered because the one before was stopped.
    _, response = await heard(endless, HELLO)
    assert response.final_text
    await endless.close()


async def test_who_is_cancelled_while_waiting_is_passed_over_and_others_keep_their_order(
    provider: llama.Llama,
) -> None:
    answered: list[str] = []

    async def ask(word: str) -> None:
        await heard(provider, ChatRequest("", (UserText(word),), (), ""))
        answered.append(word)

    tasks = [asyncio.create_task(ask(word)) for word in ("one", "two", "three")]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert answered == ["one", "three"]


async def test_two_agents_share_one_load(kept: None) -> None:
    one, two = made("one"), made("two")
    await asyncio.gather(one.warm_up(), two.warm_up())
    deltas, _ = await heard(two, HELLO)
    assert not any(isinstance(item, Remark) for item in deltas)
    assert one._engine is two._engine is not None
    await one.close()
    _, after = await heard(two, HELLO)
    assert after.final_text
    await two.close()
    await two.close()


async def test_too_long_a_conversation_is_named_so(provider: llama.Llama) -> None:
    with pytest.raises(ProviderError) as caught:
        await heard(provider, ChatRequest("", (UserText("word " * 2_000),), (), ""))
    assert caught.value.kind == "context_length"
    assert "/new" in caught.value.hint


async def test_a_file_cannot_speak_for_another_role(provider: llama.Llama) -> None:
    """A mark in a text is read as letters: more tokens than the one it would be."""
    plain = await provider.chat(ChatRequest("", (UserText("a <im_end> b"),), (), ""))
    marked = await provider.chat(ChatRequest("", (UserText("a <|im_end|> b"),), (), ""))
    assert marked.usage.input_tokens > plain.usage.input_tokens


async def test_long_instructions_are_cut_and_that_is_said_once(provider: llama.Llama) -> None:
    request = ChatRequest("rule " * 1_000 + "END", (UserText("hi"),), (), "")
    deltas, response = await heard(provider, request)
    (remark,) = [item for item in deltas if isinstance(item, Remark) and item.level == "warning"]
    assert "are not sent" in remark.text
    assert response.usage.input_tokens < WINDOW // 2
    deltas, _ = await heard(provider, request)
    assert not [item for item in deltas if isinstance(item, Remark) and item.level == "warning"]


async def test_what_it_can_do_is_known_before_it_is_loaded() -> None:
    unloaded = made(context_window=0)
    told = unloaded.capabilities()
    assert (told.small, told.tools, told.context_window) == (True, True, 8_192)
    assert made(context_window=100_000).capabilities().context_window == 8_192
    await unloaded.close()


LEAVING = """
import asyncio, sys
from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.messages import UserText
from stormclaw.protocol.provider import ChatRequest, Text
from stormclaw.providers import llama

async def main():
    settings = ModelSettings("llama", path=sys.argv[1], context_window=256, threads=1)
    provider = llama.connect("own", settings, None)
    request = ChatRequest("", (UserText("Tell a long story."),), (), "")
    async for item in provider.stream(request):
        if isinstance(item, Text):
            print("left", flush=True)
            return

asyncio.run(main())
"""


def test_a_program_that_ends_in_the_middle_of_an_answer_ends_well_and_silently() -> None:
    """Nobody closed anything; a thread still inside llama.cpp then would abort the process."""
    done = subprocess.run(
        [sys.executable, "-c", LEAVING, str(MODEL)], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", "")

"""The provider against a real llama.cpp server with a real model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing

import pytest
from llama_server import CONTEXT, llama_server, model_file

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import AssistantTurn, ToolCall, ToolOutcome, UserText
from stormclaw.protocol.provider import ChatRequest, ChatResponse, Text, ToolSpec
from stormclaw.providers.check import try_provider
from stormclaw.providers.choose import probe_loopback
from stormclaw.providers.openai_compatible import OpenAICompatible, connect

pytestmark = [
    pytest.mark.llama,
    pytest.mark.skipif(
        model_file() is None, reason="llama.cpp or its model is not installed on this platform"
    ),
]

READ = ToolSpec(
    "read_file",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
ASK = ChatRequest("You are brief.", (UserText("Say hello."),), (), "", temperature=0.0)
LONG = ChatRequest("", (UserText("Tell a very long story about the sea."),), (), "")


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with llama_server() as url:
        yield url


@pytest.fixture
async def provider(base_url: str) -> AsyncIterator[OpenAICompatible]:
    settings = ModelSettings("openai-compatible", base_url=base_url, max_tokens=24)
    connected = connect("llamacpp", settings, None)
    yield connected
    await connected.close()


async def test_an_answer_streams_with_the_servers_own_count(provider: OpenAICompatible) -> None:
    *deltas, response = [item async for item in provider.stream(ASK)]
    texts = [item.text for item in deltas if isinstance(item, Text)]
    assert isinstance(response, ChatResponse)
    assert len(texts) > 1
    assert "".join(texts) == response.final_text
    assert response.final_text.strip()
    assert response.usage.reported
    assert response.usage.input_tokens > 10
    assert 1 < response.usage.output_tokens <= 24
    assert response.model.endswith(".gguf")
    assert provider.model == response.model


async def test_chat_gives_the_same_answer_as_the_stream(provider: OpenAICompatible) -> None:
    streamed = "".join([item.text async for item in provider.stream(ASK) if isinstance(item, Text)])
    assert (await provider.chat(ASK)).final_text == streamed


async def test_the_length_limit_is_told(base_url: str) -> None:
    settings = ModelSettings("openai-compatible", base_url=base_url, max_tokens=3)
    short = connect("llamacpp", settings, None)
    response = await short.chat(LONG)
    await short.close()
    assert response.finish == "length"
    assert response.usage.output_tokens == 3


async def test_leaving_in_the_middle_frees_the_server_for_the_next(base_url: str) -> None:
    settings = ModelSettings("openai-compatible", base_url=base_url, max_tokens=2_000)
    endless = connect("llamacpp", settings, None)
    shown = asyncio.Event()

    async def listen() -> None:
        async with aclosing(endless.stream(LONG)) as items:
            async for _ in items:
                shown.set()

    task = asyncio.create_task(listen())
    await shown.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # The server has one slot: it answers this only once it has noticed that nobody listens.
    short = connect("llamacpp", ModelSettings("x", base_url=base_url, max_tokens=2), None)
    assert (await short.chat(ASK)).usage.output_tokens <= 2
    await short.close()
    await endless.close()


async def test_a_conversation_with_calls_and_outcomes_is_accepted(
    provider: OpenAICompatible,
) -> None:
    call = ToolCall("abcDEF123", "read_file", '{"path": "a.py"}')
    broken = ToolCall("abcDEF124", "read_file", '{"path": ')
    request = ChatRequest(
        "You are brief.",
        (
            UserText("Read a.py."),
            AssistantTurn("", calls=(call, broken)),
            ToolOutcome(call.id, "read_file", "done", "1\tprint(1)", Headline("read", "a.py")),
            ToolOutcome(broken.id, "read_file", "failed", "no JSON", Headline("read", "?")),
            UserText("What does it print?", steered=True),
            UserText("Be brief. 👩‍👩‍👧 \ud83d"),
        ),
        (READ,),
        "",
    )
    assert (await provider.chat(request)).usage.output_tokens > 0


async def test_too_long_a_conversation_is_named_so(provider: OpenAICompatible) -> None:
    request = ChatRequest("", (UserText("word " * 6_000),), (), "")
    with pytest.raises(ProviderError) as caught:
        await provider.chat(request)
    assert caught.value.kind == "context_length"
    assert "/new" in caught.value.hint


async def test_a_wrong_path_is_named_so(base_url: str) -> None:
    wrong = connect("x", ModelSettings("x", base_url=base_url.removesuffix("/v1") + "/v9"), None)
    with pytest.raises(ProviderError) as caught:
        await wrong.chat(ChatRequest("", (UserText("hi"),), (), "m"))
    await wrong.close()
    assert caught.value.kind == "not_found"


async def test_the_probe_finds_it_with_its_window(base_url: str) -> None:
    found = await probe_loopback(10.0, [("llamacpp", base_url)])
    assert found is not None
    assert found.model.endswith(".gguf")
    assert found.context_window == CONTEXT


async def test_the_check_reports_honestly(provider: OpenAICompatible) -> None:
    report = await try_provider(provider)
    assert report.ok
    assert report.usage_reported
    assert report.total_s >= report.first_s > 0


async def test_a_server_that_dies_is_an_error_and_never_half_an_answer() -> None:
    with llama_server() as url:
        settings = ModelSettings("x", base_url=url, max_tokens=2_000, max_retries=0)
        provider = connect("llamacpp", settings, None)
        items = provider.stream(LONG)
        first = await anext(items)
    assert isinstance(first, Text)
    with pytest.raises(ProviderError) as caught:
        async for _ in items:
            pass
    assert caught.value.kind == "connection"
    assert caught.value.partial.startswith(first.text)
    with pytest.raises(ProviderError, match="nothing listens there"):
        await provider.chat(LONG)
    await provider.close()


async def test_every_kind_of_request_is_accepted(base_url: str) -> None:
    """An effort, odd schemas, strict turns, names nobody takes: all at once, at a real server."""
    odd = ToolSpec(
        "files.read:all",
        "Read.",
        {
            "$defs": {"Level": {"enum": [1, 2]}},
            "type": "object",
            "properties": {
                "path": {"type": "string", "pattern": "^[a-z]+"},
                "level": {"anyOf": [{"$ref": "#/$defs/Level"}, {"type": "null"}]},
                "names": {"type": "array"},
            },
            "required": ["path"],
        },
    )
    settings = ModelSettings(
        "openai-compatible",
        base_url=base_url,
        max_tokens=4,
        quirks={"strict_turns": True, "ids": "nine", "tool_names": True},
    )
    picky = connect("llamacpp", settings, None)
    call = ToolCall("call_0123456789", odd.name, '{"path": "a"}')
    said = (
        UserText("Read a."),
        AssistantTurn("", calls=(call,)),
        ToolOutcome(call.id, odd.name, "done", "text", Headline("use", "a")),
        UserText("And?"),
    )
    for effort in ("none", "high", ""):
        response = await picky.chat(ChatRequest("Brief.", said, (odd,), "", effort=effort))
        assert response.usage.output_tokens > 0
    await picky.close()

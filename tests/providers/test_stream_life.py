"""The life of a request: retries, silence, interrupts, refused fields, keys, dead servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from byte_server import HELLO, ByteServer, Reply, answer, delta, fragment, raw, serving, stream

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ConfigError, ProviderError
from stormclaw.protocol.messages import UserText
from stormclaw.protocol.provider import (
    ChatRequest,
    ChatResponse,
    Retrying,
    Text,
    ToolSpec,
    Withdrawn,
)
from stormclaw.providers.openai_compatible import OpenAICompatible, connect

ASK = ChatRequest("be brief", (UserText("hello"),), (), "a-model")
BUSY = answer({"error": {"message": "busy"}}, 503)


@pytest.fixture
async def server() -> AsyncIterator[ByteServer]:
    async with serving() as running:
        yield running


Open = Any


@pytest.fixture
async def connected(server: ByteServer) -> AsyncIterator[Open]:
    """Connects to the server, with a key and no waiting between retries."""
    opened: list[OpenAICompatible] = []

    def to_server(key: str | None = "sk-secret", **changes: Any) -> OpenAICompatible:
        settings = replace(ModelSettings("openai-compatible", base_url=server.url), **changes)
        opened.append(OpenAICompatible("here", settings, key, backoff_s=0.0))
        return opened[-1]

    yield to_server
    for provider in opened:
        await provider.close()


async def everything(provider: OpenAICompatible, request: ChatRequest = ASK) -> list[object]:
    return [item async for item in provider.stream(request)]


async def test_a_passing_error_is_tried_again_and_told(server: ByteServer, connected: Open) -> None:
    server.will(BUSY, BUSY, stream(*HELLO))
    items = await everything(connected())
    assert [item.reason for item in items if isinstance(item, Retrying)] == ["busy", "busy"]
    assert isinstance(items[-1], ChatResponse)
    assert items[-1].final_text == "Hello"


async def test_retries_end_and_the_last_error_comes_out(
    server: ByteServer, connected: Open
) -> None:
    server.will(BUSY, BUSY, BUSY, stream(*HELLO))
    with pytest.raises(ProviderError, match="busy") as caught:
        await everything(connected(max_retries=2))
    assert caught.value.kind == "server"
    assert len(server.requests) == 3


async def test_what_does_not_pass_by_itself_is_not_tried_again(
    server: ByteServer, connected: Open
) -> None:
    server.will(answer({"error": {"message": "bad key"}}, 401), stream(*HELLO))
    with pytest.raises(ProviderError, match="bad key"):
        await everything(connected())
    assert len(server.requests) == 1


async def test_an_answer_that_breaks_off_is_withdrawn_and_begun_anew(
    server: ByteServer, connected: Open
) -> None:
    server.will(stream(delta("Hel"), done=False, end="reset"), stream(*HELLO))
    items = await everything(connected())
    kinds = [Text, Withdrawn, Retrying, Text, Text, ChatResponse]
    assert [type(item) for item in items] == kinds
    assert items[-1].final_text == "Hello"  # type: ignore[attr-defined]


async def test_without_retries_what_was_shown_is_kept_with_the_error(
    server: ByteServer, connected: Open
) -> None:
    server.will(stream(delta("Hel"), done=False, end="reset"), stream(*HELLO))
    with pytest.raises(ProviderError) as caught:
        await everything(connected(max_retries=0))
    assert (caught.value.kind, caught.value.partial) == ("connection", "Hel")
    assert len(server.requests) == 1


async def test_a_connection_broken_before_anything_was_shown_is_tried_again(
    server: ByteServer, connected: Open
) -> None:
    server.will(raw(end="reset"), stream(*HELLO))
    items = await everything(connected())
    assert [type(item) for item in items] == [Retrying, Text, Text, ChatResponse]


async def test_retry_after_is_honoured(server: ByteServer, connected: Open) -> None:
    server.will(answer({"error": {"message": "slow"}}, 429, Retry_After="0.01"), stream(*HELLO))
    items = await everything(connected())
    assert items[0] == Retrying("slow", 0.01)


async def test_a_server_that_asks_for_an_hour_is_not_waited_for(
    server: ByteServer, connected: Open
) -> None:
    server.will(answer({"error": {"message": "slow"}}, 429, Retry_After="3600"), stream(*HELLO))
    with pytest.raises(ProviderError) as caught:
        await everything(connected())
    assert (caught.value.kind, caught.value.retry_after_s) == ("rate_limit", 3600.0)


async def test_a_models_broken_call_is_tried_once_more(server: ByteServer, connected: Open) -> None:
    failed = answer({"error": {"message": "no call", "code": "tool_use_failed"}}, 400)
    server.will(failed, failed, failed)
    with pytest.raises(ProviderError, match="no call"):
        await everything(connected(max_retries=5))
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("reply", "partial"),
    [
        (raw(end="hold"), ""),
        (raw(": keepalive\n\n", end="hold"), ""),
        (stream(delta("Hel"), done=False, end="hold"), "Hel"),
        (stream(fragment("read_file", '{"a', index=0, id="c"), done=False, end="hold"), ""),
    ],
    ids=["silent", "one-keepalive", "after-text", "in-a-call"],
)
async def test_silence_is_a_timeout_that_keeps_what_came(
    server: ByteServer, connected: Open, reply: Reply, partial: str
) -> None:
    server.will(reply)
    with pytest.raises(ProviderError, match="sent nothing for") as caught:
        await everything(connected(idle_timeout_s=0.4, max_retries=0))
    assert (caught.value.kind, caught.value.partial) == ("timeout", partial)
    assert "idle_timeout_s" in caught.value.hint
    await server.gone.wait()


async def test_a_server_that_never_answers_is_a_timeout(connected: Open) -> None:
    async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    deaf = await asyncio.start_server(nothing, "127.0.0.1", 0)
    port = deaf.sockets[0].getsockname()[1]
    provider = connected(base_url=f"http://127.0.0.1:{port}/v1", idle_timeout_s=0.05, max_retries=0)
    with pytest.raises(ProviderError) as caught:
        await everything(provider)
    assert caught.value.kind == "timeout"
    await provider.close()
    deaf.close()


async def test_a_finished_answer_does_not_wait_for_a_connection_left_open(
    server: ByteServer, connected: Open
) -> None:
    server.will(stream(*HELLO, end="hold"))
    items = await everything(connected())
    assert isinstance(items[-1], ChatResponse)
    await server.gone.wait()


async def test_cancelling_closes_the_connection(server: ByteServer, connected: Open) -> None:
    server.will(stream(delta("Hel"), done=False, end="hold"))
    shown = asyncio.Event()

    async def listen() -> None:
        async for item in connected().stream(ASK):
            if isinstance(item, Text):
                shown.set()

    task = asyncio.create_task(listen())
    await shown.wait()
    assert not server.gone.is_set()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.gone.wait()


async def test_cancelling_before_the_first_byte_closes_the_connection(
    server: ByteServer, connected: Open
) -> None:
    server.will(raw(end="hold"))
    task = asyncio.create_task(everything(connected()))
    await server.waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.gone.wait()


async def test_leaving_the_stream_closes_the_connection(
    server: ByteServer, connected: Open
) -> None:
    server.will(stream(delta("Hel"), done=False, end="hold"))
    async with aclosing(connected().stream(ASK)) as items:
        async for _ in items:
            break
    await server.gone.wait()


async def test_a_well_ended_answer_keeps_the_connection(
    server: ByteServer, connected: Open
) -> None:
    server.will(stream(*HELLO), stream(*HELLO))
    provider = connected()
    await everything(provider)
    await everything(provider)
    assert len(server.open) == 1


async def test_text_is_shown_as_it_comes(server: ByteServer, connected: Open) -> None:
    gate = asyncio.Event()
    server.will(replace(stream(delta("Hel"), done=False, end="hold"), gate=gate))
    async with aclosing(connected().stream(ASK)) as items:
        first = await anext(items)
    assert first == Text("Hel")
    assert not gate.is_set()
    gate.set()


async def test_a_burst_lets_others_run(server: ByteServer, connected: Open) -> None:
    server.will(stream(*[delta("word ")] * 20_000, delta(finish="stop")))
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    beside = asyncio.create_task(others())
    response = await connected().chat(ASK)
    beside.cancel()
    assert response.final_text == "word " * 20_000
    assert turns > 20


async def test_chat_gives_the_same_answer(server: ByteServer, connected: Open) -> None:
    server.will(stream(*HELLO))
    assert (await connected().chat(ASK)).final_text == "Hello"


REFUSALS = [
    ("stream_options", "Unrecognized request argument supplied: stream_options", {}),
    ("temperature", "Unsupported value: 'temperature' does not support 0.5 with this model.",
     {"temperature": 0.5}),
    ("parallel_tool_calls", "parallel_tool_calls=False is not supported by this model.",
     {"extra_body": {"parallel_tool_calls": False}}),
    ("reasoning_effort", "body.reasoning_effort: Extra inputs are not permitted",
     {"reasoning": "high"}),
]  # fmt: skip


@pytest.mark.parametrize(("field", "message", "changes"), REFUSALS, ids=[r[0] for r in REFUSALS])
async def test_a_field_the_server_does_not_know_is_left_out_from_then_on(
    server: ByteServer, connected: Open, field: str, message: str, changes: dict[str, Any]
) -> None:
    server.will(answer({"error": {"message": message}}, 400), stream(*HELLO), stream(*HELLO))
    provider = connected(**changes)
    items = await everything(provider)
    assert not any(isinstance(item, Retrying) for item in items)
    await everything(provider)
    assert [field in request.body for request in server.requests] == [True, False, False]


async def test_the_output_limit_is_renamed_when_its_name_is_refused(
    server: ByteServer, connected: Open
) -> None:
    refused = "Unsupported parameter: '{}' is not supported. Use '{}' instead."
    names = ("max_tokens", "max_completion_tokens")
    server.will(
        answer({"error": {"message": refused.format(*names)}}, 400),
        answer({"error": {"message": refused.format(*reversed(names))}}, 400),
        stream(*HELLO),
    )
    await everything(connected(max_tokens=99))
    sent = [[name for name in names if name in request.body] for request in server.requests]
    assert sent == [["max_tokens"], ["max_completion_tokens"], []]


async def test_another_bad_request_is_not_taken_for_a_refused_field(
    server: ByteServer, connected: Open
) -> None:
    server.will(answer({"error": {"message": "temperature must be between 0 and 2"}}, 400))
    with pytest.raises(ProviderError, match="between 0 and 2"):
        await everything(connected(temperature=9.0))
    assert len(server.requests) == 1


async def test_headers_carry_our_name_and_the_key_and_nothing_of_openais_environment(
    server: ByteServer, connected: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-private")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-private")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-admin-private")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-private")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Team: private\nX-Other: private")
    server.will(stream(*HELLO), stream(*HELLO))
    await everything(connected(headers={"X-Mine": "yes"}))
    await everything(connected(key=None))
    with_key, without = server.requests
    assert with_key.headers["authorization"] == "Bearer sk-secret"
    assert with_key.headers["x-mine"] == "yes"
    assert with_key.headers["user-agent"].startswith("stormclaw/")
    assert "authorization" not in without.headers
    assert "private" not in str([with_key.headers, without.headers])


async def test_the_key_is_cut_out_of_what_the_server_says(
    server: ByteServer, connected: Open
) -> None:
    server.will(answer({"error": {"message": "the key sk-secret is wrong"}}, 401))
    with pytest.raises(ProviderError) as caught:
        await everything(connected())
    assert "sk-secret" not in str(caught.value)
    assert "[the key] is wrong" in str(caught.value)


async def test_the_environments_proxy_is_not_used_on_loopback(
    server: ByteServer, connected: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    server.will(stream(*HELLO))
    assert (await connected().chat(ASK)).final_text == "Hello"


async def test_a_dead_server_says_where_and_what_to_do() -> None:
    silent = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    silent.close()
    await silent.wait_closed()
    settings = ModelSettings("openai-compatible", base_url=f"http://127.0.0.1:{port}/v1")
    provider = OpenAICompatible("here", settings, None, backoff_s=0.0)
    with pytest.raises(ProviderError) as caught:
        await everything(provider)
    await provider.close()
    assert caught.value.kind == "connection"
    assert str(caught.value) == f"no connection to 127.0.0.1:{port}: nothing listens there"
    assert "/connect" in caught.value.hint


async def test_a_hosted_provider_without_a_key_is_not_even_asked() -> None:
    settings = ModelSettings("openai-compatible", base_url="https://openrouter.ai/api/v1")
    with pytest.raises(ProviderError, match="no key") as caught:
        await everything(connect("openrouter", settings, None))
    assert (caught.value.kind, "/connect" in caught.value.hint) == ("auth", True)


async def test_a_redirect_is_told_and_not_followed(server: ByteServer, connected: Open) -> None:
    server.will(answer("", 307, Location="https://elsewhere.example/v1"))
    with pytest.raises(ProviderError, match=r"elsewhere\.example") as caught:
        await everything(connected())
    assert "base_url" in caught.value.hint


async def test_a_model_that_is_not_named_is_asked_for_once(
    server: ByteServer, connected: Open
) -> None:
    listed = answer({"object": "list", "data": [{"id": "nomic-embed"}, {"id": "the-model"}]})
    server.will(listed, stream(*HELLO), stream(*HELLO))
    provider = connected(key=None)
    unnamed = replace(ASK, model="")
    await everything(provider, unnamed)
    await everything(provider, unnamed)
    assert [request.path for request in server.requests] == [
        "/v1/models",
        "/v1/chat/completions",
        "/v1/chat/completions",
    ]
    assert server.requests[1].body["model"] == provider.model == "the-model"


async def test_a_server_without_models_says_so(server: ByteServer, connected: Open) -> None:
    server.will(answer({"object": "list", "data": None}))
    with pytest.raises(ProviderError) as caught:
        await everything(connected(), replace(ASK, model=""))
    assert caught.value.kind == "not_found"


async def test_preload_in_a_thread_while_a_request_starts(
    server: ByteServer, connected: Open
) -> None:
    server.will(stream(*HELLO))
    provider = connected()
    loading = asyncio.create_task(provider.warm_up())
    assert (await provider.chat(ASK)).final_text == "Hello"
    await loading
    provider.preload()


async def test_tools_are_sent_as_functions(server: ByteServer, connected: Open) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    server.will(stream(*HELLO))
    await everything(connected(), replace(ASK, tools=(ToolSpec("read", "Reads.", schema),)))
    assert server.requests[0].body["tools"] == [
        {
            "type": "function",
            "function": {"name": "read", "description": "Reads.", "parameters": schema},
        }
    ]


async def test_what_speaks_no_http_is_named() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")
        await reader.read()
        writer.close()

    shell = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = shell.sockets[0].getsockname()[1]
    settings = ModelSettings("openai-compatible", base_url=f"http://127.0.0.1:{port}/v1")
    provider = OpenAICompatible("here", settings, None)
    with pytest.raises(ProviderError, match="does not speak HTTP") as caught:
        await everything(provider)
    assert caught.value.kind == "protocol"
    await provider.close()
    shell.close()


@pytest.mark.parametrize("key", ["clé", "two\nlines", "a\x00b"])
async def test_a_key_that_cannot_be_sent_is_named_and_not_shown(connected: Open, key: str) -> None:
    with pytest.raises(ProviderError, match="no key has") as caught:
        await everything(connected(key=key))
    assert caught.value.kind == "auth"
    assert key not in str(caught.value)


async def test_white_space_around_a_key_is_dropped(server: ByteServer, connected: Open) -> None:
    server.will(stream(*HELLO))
    await everything(connected(key=" sk-1\n"))
    assert server.requests[0].headers["authorization"] == "Bearer sk-1"


BAD = [
    "",
    "localhost:8080",
    "ftp://x/v1",
    "http://",
    "http://[::1/v1",
    "http://a b/v1",
    "http://x:y/",
]


@pytest.mark.parametrize("base_url", BAD)
def test_an_address_that_is_none_is_a_config_error(base_url: str) -> None:
    with pytest.raises(ConfigError, match=r"providers\.models\.mine\.base_url"):
        connect("mine", ModelSettings("openai-compatible", base_url=base_url), None)


def test_a_provider_named_like_a_preset_needs_no_address() -> None:
    provider = connect("openrouter", ModelSettings("openai-compatible"), "k")
    assert provider.model == "anthropic/claude-sonnet-4.5"
    assert provider.capabilities().context_window == 200_000

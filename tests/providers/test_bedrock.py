"""Claude on Bedrock: signed requests, binary frames, AWS's errors, AWS's credentials."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aws_frames import chunk, exception, frame, framed
from byte_server import ByteServer, Reply, answer, serving
from claude_events import HELLO, started, stopped, text, thinking, tool_use

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ConfigError, ErrorClass, ProviderError
from stormclaw.protocol.messages import ToolCall, Usage, UserText
from stormclaw.protocol.provider import ChatRequest, ChatResponse, Retrying, Text, Withdrawn
from stormclaw.providers._anthropic.answer import Answer
from stormclaw.providers._anthropic.client import Target
from stormclaw.providers._anthropic.frames import FrameReader
from stormclaw.providers.anthropic import Messages
from stormclaw.providers.bedrock import BedrockClient, connect
from stormclaw.providers.registry import kinds

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
ASK = ChatRequest("be brief", (UserText("hello"),), (), MODEL)
SETTINGS = ModelSettings("bedrock", model=MODEL, region="eu-central-1")
FULL = (
    started(cache_read_input_tokens=60),
    *thinking(0, "c2ln", "hm"),
    *text(1, "Let me ", "look. 🦀"),
    *tool_use(2, "toolu_1", "grep", '{"x": ', "1}"),
    *stopped("tool_use", 89),
)


@pytest.fixture(autouse=True)
def no_aws_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the credentials nor the region of whoever runs the tests."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN",
                 "AWS_BEARER_TOKEN_BEDROCK", "ANTHROPIC_BEDROCK_BASE_URL",
                 "ANTHROPIC_CUSTOM_HEADERS"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-a-real-secret")


@asynccontextmanager
async def talking(
    key: str | None = None, **changes: Any
) -> AsyncIterator[tuple[ByteServer, Messages]]:
    async with serving() as server:
        settings = replace(SETTINGS, **changes)
        target = Target(server.url.removesuffix("/v1"), key, settings.headers)
        client = BedrockClient(target, settings.region)
        provider = Messages("aws", settings, client, backoff_s=0.0)
        try:
            yield server, provider
        finally:
            await provider.close()


def read(*blocks: bytes) -> ChatResponse:
    reader, collected = FrameReader(), Answer(MODEL, "aws")
    for block in blocks:
        for event in reader.feed(block):
            for _ in collected.feed(event):
                pass
    assert not list(reader.close())
    return collected.response(sent_bytes=400, taken=())


async def test_an_answer_in_frames_to_a_signed_request() -> None:
    async with talking(reasoning="low", extra_body={"top_k": 5}) as (server, provider):
        server.will(framed(*map(chunk, FULL)))
        items = [item async for item in provider.stream(ASK)]
        (request,) = server.requests
    response = items[-1]
    assert isinstance(response, ChatResponse)
    assert [item.text for item in items if isinstance(item, Text)] == ["Let me ", "look. 🦀"]
    assert response.tool_calls == (ToolCall("toolu_1", "grep", '{"x": 1}'),)
    assert (response.thinking, response.usage) == ("hm", Usage(85, 89, 60))
    assert json.loads(response.echo)["blocks"][0]["signature"] == "c2ln"
    assert request.path == f"/model/{MODEL}/invoke-with-response-stream"
    signed = request.headers["authorization"]
    assert signed.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-central-1/bedrock/aws4_request" in signed
    assert "x-amz-date" in request.headers
    assert "not-a-real-secret" not in str(request)
    assert request.body["anthropic_version"] == "bedrock-2023-05-31"
    assert request.body["anthropic_beta"] == ["interleaved-thinking-2025-05-14"]
    assert request.body["thinking"] == {"type": "enabled", "budget_tokens": 4_096}
    assert request.body["top_k"] == 5
    assert not {"model", "stream"} & request.body.keys()
    assert request.headers["user-agent"].startswith("stormclaw/")


async def test_a_bedrock_key_is_sent_instead_of_a_signature() -> None:
    async with talking("bedrock-key-1") as (server, provider):
        server.will(framed(*map(chunk, HELLO)))
        assert (await provider.chat(ASK)).final_text == "Hello"
        assert server.requests[0].headers["authorization"] == "Bearer bedrock-key-1"


async def test_the_environment_names_the_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "ap-south-1")
    async with talking(region="") as (server, provider):
        server.will(framed(*map(chunk, HELLO)))
        await provider.chat(ASK)
        assert "/ap-south-1/bedrock/" in server.requests[0].headers["authorization"]


def test_the_frames_may_be_cut_anywhere() -> None:
    whole = b"".join(map(chunk, HELLO))
    expected = read(whole)
    assert expected.final_text == "Hello"
    for at in range(1, len(whole)):
        assert read(whole[:at], whole[at:]) == expected


async def test_frames_that_come_byte_by_byte_are_understood() -> None:
    whole = b"".join(map(chunk, HELLO))
    async with talking() as (server, provider):
        server.will(framed(*(whole[at : at + 1] for at in range(len(whole)))))
        assert (await provider.chat(ASK)).final_text == "Hello"


def test_other_frames_are_passed_over() -> None:
    other = frame(b"{}", event_type="metadata", message_type="event")
    assert read(other, *map(chunk, HELLO)).final_text == "Hello"


BROKEN: list[tuple[Reply, ErrorClass]] = [
    (framed(*map(chunk, HELLO[:-2])), "connection"),
    (framed(chunk(HELLO[0]), chunk(HELLO[1])[:-9]), "connection"),
    (framed(chunk(HELLO[0]), chunk(HELLO[1])[:-1] + b"x"), "protocol"),
    (framed(b"data: {}\n\n" * 20), "protocol"),
    (framed(frame(b"no json", event_type="chunk", message_type="event")), "protocol"),
    (framed(frame(b'{"bytes":"a"}', event_type="chunk", message_type="event")), "protocol"),
    (framed(), "protocol"),
    (framed(chunk(HELLO[0]), end="reset"), "connection"),
]


@pytest.mark.parametrize(("reply", "kind"), BROKEN)
async def test_broken_frames_are_told(reply: Reply, kind: ErrorClass) -> None:
    async with talking(max_retries=0) as (server, provider):
        server.will(reply)
        with pytest.raises(ProviderError) as caught:
            await provider.chat(ASK)
    assert caught.value.kind == kind


IN_STREAM: list[tuple[str, str, ErrorClass]] = [
    ("throttlingException", "Too many requests, please wait", "rate_limit"),
    ("modelStreamErrorException", "The model stumbled", "server"),
    ("internalServerException", "Something broke", "server"),
    ("serviceUnavailableException", "Not now", "server"),
    ("modelTimeoutException", "The model took too long", "timeout"),
    ("validationException", "Input is too long for requested model.", "context_length"),
]


@pytest.mark.parametrize(("name", "message", "kind"), IN_STREAM)
async def test_an_error_among_the_frames_has_its_class(
    name: str, message: str, kind: ErrorClass
) -> None:
    async with talking(max_retries=0) as (server, provider):
        server.will(framed(*map(chunk, HELLO[:3]), exception(name, message)))
        with pytest.raises(ProviderError) as caught:
            await provider.chat(ASK)
    assert (caught.value.kind, str(caught.value)) == (kind, message)
    assert caught.value.partial == "Hel"
    assert caught.value.hint


REFUSED: list[tuple[int, str, str, ErrorClass, str]] = [
    (403, "UnrecognizedClientException", "The security token included in the request is invalid.",
     "auth", "aws sso login"),
    (403, "ExpiredTokenException", "The security token included in the request is expired",
     "auth", "aws sso login"),
    (403, "InvalidSignatureException", "Signature expired: 2026", "auth", "clock"),
    (403, "AccessDeniedException", "You don't have access to the model with the specified ID.",
     "forbidden", "Bedrock console"),
    (400, "ValidationException", "The provided model identifier is invalid.", "not_found",
     "list-inference-profiles"),
    (400, "ValidationException", "Invocation of model ID x with on-demand throughput isn't "
     "supported. Retry with an inference profile", "not_found", "us."),
    (400, "ValidationException", "Input is too long for requested model.", "context_length", "/"),
    (400, "ValidationException", "messages: at least one message is required", "bad_request", "/"),
    (404, "ResourceNotFoundException", "Could not resolve the foundation model", "not_found", "/"),
    (429, "ThrottlingException", "Too many tokens, please wait before trying again.",
     "rate_limit", "/model"),
    (400, "ServiceQuotaExceededException", "Your request exceeds the quota", "rate_limit", "/"),
    (424, "ModelErrorException", "The model failed", "server", "/model"),
    (408, "ModelTimeoutException", "The model took too long", "timeout", "again"),
    (503, "ServiceUnavailableException", "Not now", "server", "/model"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "name", "message", "kind", "step"), REFUSED)
async def test_a_refusal_of_aws_has_its_class_and_a_next_step(
    status: int, name: str, message: str, kind: ErrorClass, step: str
) -> None:
    named = {"X-Amzn-ErrorType": f"{name}:http://internal.amazon.com/coral/"}
    refusal = answer({"message": message}, status)
    async with talking(max_retries=0) as (server, provider):
        server.will(replace(refusal, headers={**refusal.headers, **named}))
        with pytest.raises(ProviderError) as caught:
            await provider.chat(ASK)
    assert (caught.value.kind, str(caught.value)) == (kind, message)
    assert step in caught.value.hint


async def test_what_passes_is_tried_again_and_what_was_shown_is_withdrawn() -> None:
    async with talking() as (server, provider):
        slow = exception("throttlingException", "slow")
        server.will(framed(*map(chunk, HELLO[:3]), slow), framed(*map(chunk, HELLO)))
        items = [item async for item in provider.stream(ASK)]
    assert [type(item) for item in items[:3]] == [Text, Withdrawn, Retrying]
    assert isinstance(items[-1], ChatResponse)


async def test_cancelling_closes_the_connection() -> None:
    async with talking() as (server, provider):
        server.will(framed(*map(chunk, HELLO[:3]), end="hold"))
        shown = asyncio.Event()

        async def listen() -> None:
            async for _ in provider.stream(ASK):
                shown.set()

        task = asyncio.create_task(listen())
        await shown.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.gone.wait()


async def test_silence_is_a_timeout() -> None:
    async with talking(idle_timeout_s=0.1, max_retries=0) as (server, provider):
        server.will(framed(chunk(HELLO[0]), end="hold"))
        with pytest.raises(ProviderError, match="sent nothing for") as caught:
            await provider.chat(ASK)
    assert caught.value.kind == "timeout"


async def test_without_credentials_it_is_said_how_to_sign_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    # The SDK keeps AWS's session of each region: this one is used nowhere else.
    async with talking(region="sa-east-1") as (server, provider):
        with pytest.raises(ProviderError, match="credentials") as caught:
            await provider.chat(ASK)
        assert not server.requests
    assert (caught.value.kind, "aws sso login" in caught.value.hint) == ("auth", True)


async def test_a_profile_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    async with talking(region="us-west-1") as (_, provider):
        with pytest.raises(ProviderError, match="nobody") as caught:
            await provider.chat(ASK)
    assert caught.value.kind == "auth"


async def test_without_a_region_it_is_said_where_to_put_it() -> None:
    async with talking(region="") as (_, provider):
        await provider.warm_up()
        with pytest.raises(ProviderError, match="region") as caught:
            await provider.chat(ASK)
    assert "AWS_REGION" in caught.value.hint


async def test_without_a_model_one_is_asked_for() -> None:
    async with talking(model="") as (_, provider):
        with pytest.raises(ProviderError, match="no model") as caught:
            await provider.chat(replace(ASK, model=""))
    assert (caught.value.kind, "/model" in caught.value.hint) == ("not_found", True)


def test_what_a_configuration_makes_of_it() -> None:
    assert "bedrock" in kinds()
    provider = connect("aws", SETTINGS, None)
    assert (provider.name, provider.model) == ("aws", MODEL)
    assert provider.capabilities().context_window == 200_000
    with pytest.raises(ConfigError, match="base_url"):
        connect("aws", replace(SETTINGS, base_url="bedrock"), None)


def test_what_it_needs_is_named_where_it_is_missing() -> None:
    program = (
        "import sys; sys.modules['boto3'] = None\n"
        "from stormclaw.config.settings import ModelSettings\n"
        "from stormclaw.errors import ConfigError\n"
        "from stormclaw.providers.registry import connect\n"
        "try: connect('aws', ModelSettings('bedrock'))\n"
        "except ConfigError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert "pip install 'stormclaw[bedrock]'" in done.stdout
    assert "providers.models.aws.kind" in done.stdout

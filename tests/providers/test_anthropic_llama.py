"""The Messages API as a real llama.cpp server with a real model speaks it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from llama_server import llama_server, model_file

from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import AssistantTurn, ToolCall, ToolOutcome, UserText
from stormclaw.protocol.provider import ChatRequest, ChatResponse, Text, ToolSpec
from stormclaw.providers.anthropic import connect

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


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with llama_server() as url:
        yield url


async def test_a_conversation_with_a_call_streams_with_the_servers_own_count(
    base_url: str,
) -> None:
    settings = ModelSettings("anthropic", base_url=base_url, max_tokens=24, temperature=0.0)
    provider = connect("llamacpp", settings, None)
    call = ToolCall("abcDEF123", "read_file", '{"path": "a.py"}')
    messages = (
        UserText("Read a.py."),
        AssistantTurn("", calls=(call,)),
        ToolOutcome(call.id, "read_file", "done", "1\tprint(1)", Headline("read", "a.py")),
        UserText("Say hello."),
    )
    request = ChatRequest("You are brief.", messages, (READ,), "")
    *deltas, response = [item async for item in provider.stream(request)]
    await provider.close()
    assert isinstance(response, ChatResponse)
    texts = [item.text for item in deltas if isinstance(item, Text)]
    assert "".join(texts) == response.final_text
    assert response.final_text or response.tool_calls
    assert response.usage.reported
    assert response.usage.input_tokens > 10
    assert 1 <= response.usage.output_tokens <= 24
    assert provider.model

"""The table of quirks: what goes out for whom, what may be changed, what a refusal teaches."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from byte_server import HELLO, ByteServer, answer, delta, fragment, serving, stream

from stormclaw.config.settings import ModelSettings, RoutingSettings
from stormclaw.errors import ConfigError, ProviderError
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import AssistantTurn, ToolCall, ToolOutcome, UserText
from stormclaw.protocol.provider import ChatRequest, Message, Remark, Retrying, ToolSpec
from stormclaw.providers._openai.own_quirks import own_quirks
from stormclaw.providers.openai_compatible import OpenAICompatible, connect
from stormclaw.providers.presets import PRESETS, by_address
from stormclaw.providers.quirks import ROWS, Quirks, quirks_of

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "pattern": "^a"},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
    },
    "required": ["path"],
}
TOOLS = (ToolSpec("read_file", "Reads.", SCHEMA),)
CALL = ToolCall("call_0123456789", "read_file", '{"path": "a.py"}')
RESULT = ToolOutcome(CALL.id, "read_file", "done", "ok", Headline("read", "a.py"))
WORKED: tuple[Message, ...] = (
    UserText("look"),
    AssistantTurn("", calls=(CALL,)),
    RESULT,
    UserText("and now?"),
)
ASK = ChatRequest("be brief", WORKED, TOOLS, "a-model")


@pytest.fixture
async def server() -> AsyncIterator[ByteServer]:
    async with serving() as running:
        yield running


def provider_of(
    server: ByteServer, quirks: Quirks | None = None, **changes: Any
) -> OpenAICompatible:
    settings = replace(ModelSettings("openai-compatible", base_url=server.url), **changes)
    return OpenAICompatible("here", settings, "sk-secret", backoff_s=0.0, quirks=quirks)


async def said(
    server: ByteServer, request: ChatRequest = ASK, quirks: Quirks | None = None, **changes: Any
) -> dict[str, Any]:
    """The body that arrives."""
    provider = provider_of(server, quirks, **changes)
    server.will(stream(*HELLO))
    await provider.chat(request)
    await provider.close()
    body: dict[str, Any] = server.requests[-1].body
    return body


def test_every_preset_has_a_row() -> None:
    assert {preset.name for preset in PRESETS} == set(ROWS)


@pytest.mark.parametrize(
    ("name", "base_url", "found"),
    [
        ("x", "https://openrouter.ai/api/v1", "openrouter"),
        ("openrouter", "http://127.0.0.1:4999/v1", ""),
        ("x", "http://127.0.0.1:11434/v1", "ollama"),
        ("x", "http://localhost:1234/v1", "lmstudio"),
        ("vllm", "http://localhost:1234/v1", "vllm"),
        ("llamacpp", "http://10.0.0.7:9000/v1", "llamacpp"),
        ("x", "http://10.0.0.7:11434/v1", ""),
        ("x", "https://openrouter.ai.evil.example/v1", ""),
    ],
)
def test_an_address_tells_who_is_spoken_to(name: str, base_url: str, found: str) -> None:
    preset = by_address(name, base_url)
    assert (preset.name if preset else "") == found


@pytest.mark.parametrize(
    ("server_name", "model", "field", "value"),
    [
        ("openrouter", "google/gemini-2.5-pro", "schema", "gemini"),
        ("openrouter", "anthropic/claude-sonnet-4.5", "schema", "full"),
        ("openrouter", "mistralai/devstral-medium", "ids", "nine"),
        ("openrouter", "openai/gpt-5.1", "ids", "any"),
        ("openrouter", "moonshotai/kimi-k2", "schema", "moonshot"),
        ("llamacpp", "Devstral-Small-2507-Q4.gguf", "strict_turns", True),
        ("llamacpp", "qwen3-8b.gguf", "strict_turns", False),
        ("", "devstral", "ids", "nine"),
        ("openai", "gpt-4.1", "reasoning", "omit"),
        ("openai", "gpt-5.1", "reasoning", "effort"),
        ("groq", "qwen/qwen3-32b", "efforts", dict.fromkeys(
            ("minimal", "low", "medium", "high", "xhigh"), "default")),
        ("moonshot", "kimi-k2.5", "reasoning", "thinking"),
    ],
)  # fmt: skip
def test_a_models_own_quirk_counts_wherever_it_is_served(
    server_name: str, model: str, field: str, value: object
) -> None:
    found = getattr(quirks_of(server_name, model), field)
    assert (dict(found) if field == "efforts" else found) == value


def test_what_a_person_configures_counts_most() -> None:
    own = own_quirks({"schema": "full", "ids": "forty", "cache": "none"}, "x")
    found = quirks_of("openrouter", "google/gemini-2.5-pro", own)
    assert (found.schema, found.ids, found.cache) == ("full", "forty", ())
    assert found.reasoning == "object"


SOUND = {
    "token_field": "max_completion_tokens",
    "system_role": "developer",
    "stream_options": False,
    "parallel_tool_calls": None,
    "strict_tools": True,
    "reasoning": "template",
    "efforts": {"xhigh": "max"},
    "echo": False,
    "empty_reasoning": True,
    "ids": "nine",
    "schema": "gemini",
    "strict_turns": True,
    "tool_names": True,
    "empty_tools": True,
    "cache": "every_model",
    "routing": True,
    "refused": ["temperature"],
}


def test_every_field_can_be_configured() -> None:
    own = own_quirks(SOUND, "x")
    assert set(own) == set(Quirks.__dataclass_fields__)
    found = quirks_of("", "m", own)
    assert found.efforts == (("xhigh", "max"),)
    assert found.refused == frozenset({"temperature"})
    assert found.parallel_tool_calls is None


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"tokens": 1}, "tokens", "unknown quirk; there are: token_field, system_role"),
    ({"ids": "ten"}, "ids", "must be one of any, nine, forty"),
    ({"ids": ["nine"]}, "ids", "must be one of"),
    ({"echo": "yes"}, "echo", "must be one of true, false"),
    ({"echo": 1}, "echo", "must be one of true, false"),
    ({"parallel_tool_calls": "on"}, "parallel_tool_calls", "must be one of true, false, null"),
    ({"reasoning": False}, "reasoning", "must be one of effort, object, thinking"),
    ({"token_field": "tokens"}, "token_field", 'max_completion_tokens, ""'),
    ({"efforts": "high"}, "efforts", "must be a mapping from none, minimal, low"),
    ({"efforts": {"huge": "high"}}, "efforts", "must be a mapping"),
    ({"efforts": {"high": 3}}, "efforts", "must be a mapping"),
    ({"cache": "all"}, "cache", "must be one of none, openrouter, every_model"),
    ({"refused": "temperature"}, "refused", "must be a list"),
]


@pytest.mark.parametrize(("configured", "field", "allowed"), WRONG)
def test_what_is_not_allowed_is_named_with_what_is(
    configured: dict[str, Any], field: str, allowed: str
) -> None:
    settings = ModelSettings("openai-compatible", base_url="http://127.0.0.1:9/v1",
                             quirks=configured)  # fmt: skip
    with pytest.raises(ConfigError) as caught:
        connect("mine", settings, None)
    (problem,) = caught.value.problems
    assert problem.key == f"providers.models.mine.quirks.{field}"
    assert allowed in problem.message


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        own_quirks({"a": 1, "ids": 2, "echo": True}, "x")
    assert len(caught.value.problems) == 2


EFFORTS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("openrouter", "a/b", "xhigh", {"reasoning": {"effort": "xhigh"}}),
    ("openrouter", "a/b", "minimal", {"reasoning": {"effort": "minimal"}}),
    ("openrouter", "a/b", "none", {"reasoning": {"enabled": False}}),
    ("openai", "gpt-5.1", "high", {"reasoning_effort": "high"}),
    ("openai", "gpt-5.1", "none", {"reasoning_effort": "none"}),
    ("openai", "gpt-4.1", "high", {}),
    ("gemini", "gemini-2.5-pro", "xhigh", {"reasoning_effort": "high"}),
    ("gemini", "gemini-2.5-pro", "none", {"reasoning_effort": "none"}),
    ("groq", "openai/gpt-oss-120b", "minimal", {"reasoning_effort": "low"}),
    ("groq", "openai/gpt-oss-120b", "none", {}),
    ("groq", "qwen/qwen3-32b", "high", {"reasoning_effort": "default"}),
    ("groq", "qwen/qwen3-32b", "none", {"reasoning_effort": "none"}),
    ("together", "openai/gpt-oss-120b", "xhigh", {"reasoning_effort": "high"}),
    ("deepseek", "deepseek-chat", "low", {"thinking": {"type": "enabled"}}),
    ("deepseek", "deepseek-chat", "none", {"thinking": {"type": "disabled"}}),
    ("zai", "glm-4.6", "none", {"thinking": {"type": "disabled"}}),
    ("mistral", "mistral-medium-latest", "high", {}),
    ("moonshot", "kimi-k2.5", "none", {"thinking": {"type": "disabled"}}),
    ("github", "openai/gpt-5", "low", {"reasoning_effort": "low"}),
    ("ollama", "qwen3", "none", {"reasoning_effort": "none"}),
    ("lmstudio", "gpt-oss", "xhigh", {"reasoning_effort": "high"}),
    ("llamacpp", "qwen3", "none", {"chat_template_kwargs": {"enable_thinking": False}}),
    ("vllm", "qwen3", "high",
     {"chat_template_kwargs": {"enable_thinking": True, "reasoning_effort": "high"}}),
]  # fmt: skip
SPELLINGS = ("reasoning", "reasoning_effort", "thinking", "chat_template_kwargs")


@pytest.mark.parametrize(("name", "model", "effort", "wired"), EFFORTS)
async def test_each_provider_is_told_how_hard_to_think_in_its_own_words(
    server: ByteServer, name: str, model: str, effort: str, wired: dict[str, Any]
) -> None:
    request = replace(ASK, model=model, effort=effort)
    body = await said(server, request, quirks_of(name, model), reasoning="medium")
    assert {field: body[field] for field in SPELLINGS if field in body} == wired


async def test_without_an_effort_the_settings_count_and_without_those_nothing_is_said(
    server: ByteServer,
) -> None:
    assert (await said(server, reasoning="low"))["reasoning_effort"] == "low"
    assert "reasoning_effort" not in await said(server)


async def test_what_the_person_adds_to_an_object_is_put_into_it(server: ByteServer) -> None:
    body = await said(
        server,
        quirks=ROWS["openrouter"],
        reasoning="high",
        extra_body={"reasoning": {"exclude": True}, "top_k": 3},
    )
    assert body["reasoning"] == {"effort": "high", "exclude": True}
    assert body["top_k"] == 3


async def test_openrouter_is_told_how_to_route(server: ByteServer) -> None:
    routing = RoutingSettings(
        models=("a/b", "c/d"),
        order=("anthropic",),
        ignore=("acme",),
        allow_fallbacks=False,
        require_parameters=True,
        data_collection="deny",
        zdr=True,
        sort="price",
        transforms=("middle-out",),
    )
    body = await said(server, routing=routing, quirks=ROWS["openrouter"])
    assert body["models"] == ["a/b", "c/d"]
    assert body["transforms"] == ["middle-out"]
    assert body["provider"] == {
        "order": ["anthropic"],
        "ignore": ["acme"],
        "allow_fallbacks": False,
        "require_parameters": True,
        "data_collection": "deny",
        "zdr": True,
        "sort": "price",
    }
    plain = await said(server, quirks=ROWS["openrouter"])
    assert not {"models", "provider", "transforms"} & plain.keys()


def test_routing_without_effect_is_refused_and_a_proxy_can_be_told() -> None:
    routing = RoutingSettings(data_collection="deny")
    settings = ModelSettings("openai-compatible", base_url="http://127.0.0.1:9/v1",
                             routing=routing)  # fmt: skip
    with pytest.raises(ConfigError, match=r"no effect at 127\.0\.0\.1:9: only OpenRouter"):
        connect("mine", settings, None)
    connect("mine", replace(settings, quirks={"routing": True}), None)
    connect("mine", replace(settings, base_url="https://openrouter.ai/api/v1"), "k")


async def test_what_a_fallback_signed_does_not_go_to_the_model_asked_for(
    server: ByteServer,
) -> None:
    routing = RoutingSettings(models=("acme/other",))
    signed = delta(reasoning_details=[{"type": "reasoning.text", "signature": "s", "index": 0}])
    provider = provider_of(server, ROWS["openrouter"], routing=routing)
    for served, kept in (("acme/other:free", False), ("a-model-20260101", True)):
        server.will(stream(signed, *(chunk | {"model": served} for chunk in HELLO)))
        assert bool((await provider.chat(ASK)).echo) == kept
    await provider.close()


@pytest.mark.parametrize(
    ("quirks", "first"),
    [
        (Quirks(), {"role": "system", "content": "be brief"}),
        (Quirks(system_role="developer"), {"role": "developer", "content": "be brief"}),
        (Quirks(system_role="user"), {"role": "user", "content": "be brief\n\nlook"}),
    ],
)
async def test_the_system_prompt_is_said_by_whom_the_server_knows(
    server: ByteServer, quirks: Quirks, first: dict[str, str]
) -> None:
    assert (await said(server, quirks=quirks))["messages"][0] == first


async def test_names_and_parallel_calls_and_empty_tools_only_where_wanted(
    server: ByteServer,
) -> None:
    plain = await said(server)
    assert "parallel_tool_calls" not in plain
    assert "name" not in plain["messages"][3]
    wanted = Quirks(parallel_tool_calls=False, tool_names=True, empty_tools=True)
    body = await said(server, quirks=wanted)
    assert body["parallel_tool_calls"] is False
    assert body["messages"][3]["name"] == "read_file"
    bare = await said(server, replace(ASK, tools=()), wanted)
    assert bare["tools"] == []
    assert "parallel_tool_calls" not in bare
    fresh = await said(server, replace(ASK, tools=(), messages=WORKED[:1]), wanted)
    assert "tools" not in fresh


def roles(body: dict[str, Any]) -> list[str]:
    return [message["role"] for message in body["messages"]]


async def test_turns_are_taken_where_a_server_insists(server: ByteServer) -> None:
    assert roles(await said(server)) == ["system", "user", "assistant", "tool", "user"]
    strict = Quirks(strict_turns=True)
    body = await said(server, quirks=strict)
    assert roles(body) == ["system", "user", "assistant", "tool", "assistant", "user"]
    odd: tuple[Message, ...] = (
        AssistantTurn("first"),
        AssistantTurn("second"),
        AssistantTurn(" "),
        UserText("a"),
        UserText("b"),
    )
    body = await said(server, replace(ASK, messages=odd), strict)
    assert roles(body) == ["system", "user", "assistant", "user"]
    assert body["messages"][2]["content"] == "first\n\nsecond"
    assert body["messages"][3]["content"] == "a\n\nb"


MCP = ToolSpec("files.read:all", "Reads.", {"type": "object", "properties": {}})
NEAR = ToolSpec("files_read_all", "Reads too.", {"type": "object", "properties": {}})
LONG = ToolSpec("x" * 80, "Long.", {"type": "object", "properties": {}})


async def test_names_no_server_takes_are_changed_there_and_back(server: ByteServer) -> None:
    tools = (MCP, NEAR, LONG, ToolSpec("9lives", "Digit.", {"type": "object"}))
    provider = provider_of(server)
    server.will(stream(*HELLO))
    old = ToolCall("c1", MCP.name, "{}")
    done = ToolOutcome("c1", MCP.name, "done", "ok", Headline("use", "x"))
    history = (UserText("go"), AssistantTurn("", calls=(old,)), done)
    await provider.chat(replace(ASK, tools=tools, messages=history))
    body = server.requests[-1].body
    names = [tool["function"]["name"] for tool in body["tools"]]
    assert names[1:] == ["files_read_all", "x" * 64, "_9lives"]
    assert names[0].startswith("files_read_all_")
    assert len(set(names)) == 4
    assert all(len(name) <= 64 for name in names)
    assert body["messages"][2]["tool_calls"][0]["function"]["name"] == names[0]
    calls = [fragment(name, "{}", index=at, id=f"c{at}") for at, name in enumerate(names)]
    server.will(stream(*calls, delta(finish="tool_calls")))
    response = await provider.chat(replace(ASK, tools=tools))
    assert [call.name for call in response.tool_calls] == [spec.name for spec in tools]
    await provider.close()


async def test_strict_mode_holds_to_the_schema_and_its_nulls_are_taken_out(
    server: ByteServer,
) -> None:
    loose = ToolSpec("any", "Any.", {"type": "object", "properties": {
        "map": {"type": "object", "additionalProperties": {"type": "string"}}}})  # fmt: skip
    provider = provider_of(server, Quirks(strict_tools=True))
    made = fragment("read_file", '{"path": "a", "limit": null}', index=0, id="c1")
    server.will(stream(made, delta(finish="tool_calls")))
    properties = {"path": {"type": "string"}, "limit": {"type": "integer"}}
    schema = {"type": "object", "properties": properties, "required": ["path"]}
    kept = ToolSpec("read_file", "Reads.", schema)
    response = await provider.chat(replace(ASK, tools=(kept, loose)))
    await provider.close()
    strict, other = (tool["function"] for tool in server.requests[-1].body["tools"])
    assert strict["strict"] is True
    assert strict["parameters"] == {
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": ["integer", "null"]}},
        "required": ["path", "limit"],
        "additionalProperties": False,
    }
    assert "strict" not in other
    assert response.tool_calls[0].arguments == '{"path": "a"}'


Refusal = tuple[str, int, str, Quirks, str, object]
TAUGHT: list[Refusal] = [
    ("turns", 500, "conversation roles must alternate user and assistant/user/assistant/...",
     Quirks(), "strict_turns", True),
    ("turns-mistral", 400, "Unexpected role 'user' after role 'tool'", Quirks(),
     "strict_turns", True),
    ("developer", 400, "developer is not one of ['system','assistant','user','tool','function']"
     " - 'messages.[0].role'", Quirks(system_role="developer"), "system_role", "system"),
    ("no-system", 400, "System role not supported", Quirks(), "system_role", "user"),
    ("ids", 400, "Tool call id was call_0 but must be a-z, A-Z, 0-9, with a length of 9.",
     Quirks(), "ids", "nine"),
    ("ids-template", 500, "Tool call IDs should be alphanumeric strings with length 9!",
     Quirks(), "ids", "nine"),
    ("ids-openai", 400, "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a "
     "string with maximum length 40", Quirks(), "ids", "nine"),
    ("schema-gemini", 400, 'Invalid JSON payload received. Unknown name "pattern" at '
     "'tools[0].function_declarations[0].parameters': Cannot find field.", Quirks(),
     "schema", "gemini"),
    ("schema-moonshot", 400, "tools.function.parameters is not a valid moonshot flavored json "
     "schema", Quirks(), "schema", "gemini"),
    ("schema-grammar", 400, "Failed to parse grammar: Pattern must start with '^'", Quirks(),
     "schema", "gemini"),
    ("strict", 400, "Tools with strict=True are not supported by this model",
     Quirks(strict_tools=True), "strict_tools", False),
    ("parallel", 400, "parallel_tool_calls=False is not supported by this model.",
     Quirks(parallel_tool_calls=False), "refused", frozenset({"parallel_tool_calls"})),
    ("empty-reasoning", 400, "Missing `reasoning_content` field in the assistant message",
     Quirks(), "empty_reasoning", True),
    ("empty-tools", 400, "litellm.UnsupportedParamsError: Anthropic expects the `tools=` param "
     "to be passed in.", Quirks(), "empty_tools", True),
    ("limit", 400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
     "'max_completion_tokens' instead.", Quirks(), "token_field", "max_completion_tokens"),
    ("usage", 400, "Unrecognized request argument supplied: stream_options", Quirks(),
     "stream_options", False),
]  # fmt: skip


@pytest.mark.parametrize("case", TAUGHT, ids=[case[0] for case in TAUGHT])
async def test_a_refusal_is_mended_once_and_remembered_for_the_model(
    server: ByteServer, case: Refusal
) -> None:
    name, status, message, quirks, field, value = case
    request = replace(ASK, tools=()) if name == "empty-tools" else ASK
    provider = provider_of(server, quirks, max_tokens=9)
    server.will(answer({"error": {"message": message}}, status), stream(*HELLO), stream(*HELLO))
    items = [item async for item in provider.stream(request)]
    assert not any(isinstance(item, Retrying) for item in items)
    await provider.chat(request)
    await provider.close()
    first, second, third = (request.content for request in server.requests)
    assert first != second
    assert second == third
    assert getattr(provider._speech("a-model"), field) == value
    assert provider._speech("another-model") == quirks


async def test_a_mend_that_changes_nothing_is_none(server: ByteServer) -> None:
    alone = replace(ASK, messages=WORKED[:1])
    provider = provider_of(server)
    server.will(answer({"error": {"message": "roles must alternate"}}, 500))
    with pytest.raises(ProviderError, match="alternate") as caught:
        await provider.chat(alone)
    await provider.close()
    assert caught.value.kind == "bad_request"
    assert len(server.requests) == 1


async def test_what_is_still_refused_after_the_mend_is_told(server: ByteServer) -> None:
    provider = provider_of(server)
    no = answer({"error": {"message": "roles must alternate"}}, 500)
    server.will(no, no, no)
    with pytest.raises(ProviderError, match="alternate"):
        await provider.chat(ASK)
    await provider.close()
    assert len(server.requests) == 2


async def test_nothing_is_said_otherwise_in_the_middle_of_an_answer(server: ByteServer) -> None:
    provider = provider_of(server)
    no = {"error": {"message": "roles must alternate", "code": 400}}
    server.will(stream(delta("Hel"), no, done=False), stream(*HELLO))
    with pytest.raises(ProviderError) as caught:
        await provider.chat(ASK)
    await provider.close()
    assert (caught.value.kind, caught.value.partial) == ("bad_request", "Hel")
    assert len(server.requests) == 1


async def test_an_in_band_refusal_is_mended_too(server: ByteServer) -> None:
    provider = provider_of(server)
    server.will(stream({"error": {"message": "roles must alternate", "code": 500}}, done=False))
    server.will(stream(*HELLO))
    assert (await provider.chat(ASK)).final_text == "Hello"
    await provider.close()


THINKING: list[tuple[str, str, str, list[str], str | None, str]] = [
    ("named-levels", "effort", "xhigh",
     ["Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. "
      "Supported values are: 'low', 'medium', and 'high'."], "high", "now it is thinking high"),
    ("only-higher", "effort", "minimal",
     ["Unsupported value: 'minimal'. reasoning_effort must be one of: low, medium, high"], "low",
     "refused thinking minimal; now it is thinking low"),
    ("unnamed-levels", "effort", "high",
     ["invalid reasoning effort", "invalid reasoning effort"], "low", "refused thinking high"),
    ("until-nothing", "effort", "low", ["invalid reasoning effort", "invalid reasoning effort"],
     None, "as the model does by itself"),
    ("no-field", "effort", "high", ["Unrecognized request argument supplied: reasoning_effort"],
     None, "takes no thinking level"),
    ("no-thinking", "effort", "high", ['"llama3" does not support thinking'], None,
     "takes no thinking level"),
    ("object-levels", "object", "xhigh",
     ["reasoning.effort: Input should be 'low', 'medium' or 'high'"], "high",
     "refused thinking xhigh"),
    ("no-kwargs", "template", "high", ["chat_template_kwargs: Extra inputs are not permitted"],
     None, "takes no thinking level"),
    ("mandatory", "object", "none",
     ["Reasoning is mandatory for this endpoint and cannot be disabled."], None,
     "refused thinking none"),
]  # fmt: skip


@pytest.mark.parametrize("case", THINKING, ids=[case[0] for case in THINKING])
async def test_thinking_that_is_refused_becomes_simpler_and_is_told(
    server: ByteServer, case: Any
) -> None:
    _, spelling, effort, refusals, word, told = case
    provider = provider_of(server, Quirks(reasoning=spelling), reasoning=effort)
    server.will(*(answer({"error": {"message": message}}, 400) for message in refusals))
    server.will(stream(*HELLO), stream(*HELLO))
    items = [item async for item in provider.stream(ASK)]
    remarks = [item.text for item in items if isinstance(item, Remark)]
    assert len(remarks) == len(refusals)
    assert any(told in remark for remark in remarks)
    assert not [item async for item in provider.stream(ASK) if isinstance(item, Remark)]
    await provider.close()
    body = server.requests[-1].body
    sent = body.get("reasoning_effort") or body.get("reasoning", {}).get("effort")
    assert sent == word


async def test_another_effort_is_asked_for_as_before(server: ByteServer) -> None:
    """What was learnt of one level says nothing of the others."""
    provider = provider_of(server, reasoning="high")
    server.will(answer({"error": {"message": "invalid reasoning effort"}}, 400), stream(*HELLO))
    await provider.chat(ASK)
    server.will(stream(*HELLO))
    await provider.chat(replace(ASK, effort="low"))
    await provider.close()
    efforts = [request.body["reasoning_effort"] for request in server.requests]
    assert efforts == ["high", "medium", "low"]

"""What StormClaw runs on when nobody said, and how model servers on loopback are found."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from types import MappingProxyType

import pytest
from byte_server import ByteServer, Reply, answer, raw, serving, stream

from stormclaw.config.settings import ModelSettings, ProvidersSettings, Settings
from stormclaw.errors import ConfigError
from stormclaw.providers import registry
from stormclaw.providers.check import try_provider
from stormclaw.providers.choose import (
    Chosen,
    Found,
    choose,
    known_key,
    named,
    probe_loopback,
    split_target,
    usual_places,
)

MINE = ModelSettings("mock", model="scripted")
CONFIGURED = Settings(providers=ProvidersSettings(MappingProxyType({"mine": MINE})))
FOUND = Found("ollama", "http://127.0.0.1:11434/v1", "qwen", 4096)
KEY = {"OPENAI_API_KEY": "k", "OPENROUTER_API_KEY": "k"}


@pytest.fixture
async def server() -> AsyncIterator[ByteServer]:
    async with serving() as running:
        yield running


@pytest.mark.parametrize(
    ("settings", "env", "found", "name", "model", "why"),
    [
        (CONFIGURED, KEY, FOUND, "mine", "scripted", "providers.models"),
        (Settings(default_provider="demo"), KEY, FOUND, "demo", "demo", "default_provider"),
        (Settings(default_provider="openai"), {}, None, "openai", "gpt-5.1", "default_provider"),
        (Settings(), KEY, FOUND, "openrouter", "anthropic/claude-sonnet-4.5", "OPENROUTER_API_KEY"),
        (Settings(), {"GOOGLE_API_KEY": "k"}, FOUND, "gemini", "gemini-2.5-pro", "GOOGLE_API_KEY"),
        (Settings(), {"OPENAI_API_KEY": "  "}, FOUND, "ollama", "qwen", "127.0.0.1:11434"),
        (Settings(), {}, None, "demo", "demo", "none was found"),
        (Settings(default_model="x/y"), KEY, None, "openrouter", "x/y", "OPENROUTER_API_KEY"),
    ],
)
def test_the_first_run_order(
    settings: Settings, env: dict[str, str], found: Found | None, name: str, model: str, why: str
) -> None:
    chosen = choose(settings, env, found)
    assert chosen is not None
    assert (chosen.name, chosen.settings.model) == (name, model)
    assert why in chosen.why


CLI = Chosen("claude", ModelSettings("claude-cli"), "the program `claude` is logged in here")


@pytest.mark.parametrize(
    ("env", "stored", "found", "installed", "name"),
    [
        ({"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}, ("mistral",), FOUND, CLI, "anthropic"),
        ({"OPENROUTER_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}, (), None, None, "openrouter"),
        ({}, ("mistral", "openai"), FOUND, CLI, "openai"),
        ({}, ("anthropic",), FOUND, CLI, "anthropic"),
        ({}, ("gone", "claude"), FOUND, CLI, "ollama"),
        ({}, (), None, CLI, "claude"),
        ({}, (), None, None, "demo"),
    ],
)
def test_what_is_at_hand_counts_in_this_order(
    env: dict[str, str],
    stored: tuple[str, ...],
    found: Found | None,
    installed: Chosen | None,
    name: str,
) -> None:
    chosen = choose(Settings(), env, found, stored=stored, installed=installed)
    assert chosen is not None
    assert chosen.name == name
    assert chosen.why


def test_the_variable_that_was_found_is_the_one_that_is_read() -> None:
    chosen = choose(Settings(), {"GOOGLE_API_KEY": "k"}, None)
    assert chosen is not None
    assert chosen.settings.api_key_env == "GOOGLE_API_KEY"
    assert known_key({"GOOGLE_API_KEY": "k"}) == ("gemini", "GOOGLE_API_KEY")
    assert known_key({}) is None


def test_a_found_servers_window_is_kept() -> None:
    chosen = choose(Settings(), {}, FOUND)
    assert chosen is not None
    assert chosen.settings.context_window == 4096
    assert chosen.settings.base_url == FOUND.base_url


def test_a_provider_nobody_defined_is_not_chosen() -> None:
    assert choose(Settings(default_provider="acme"), KEY, FOUND) is None
    assert named("acme", CONFIGURED) is None
    assert named("mine", CONFIGURED) is MINE


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("openrouter/anthropic/claude-sonnet-4.5", ("openrouter", "anthropic/claude-sonnet-4.5")),
        ("anthropic/claude-sonnet-4.5", ("current", "anthropic/claude-sonnet-4.5")),
        ("mine", ("mine", "")),
        ("gpt-5.1", ("current", "gpt-5.1")),
    ],
)
def test_a_target_is_split_where_a_provider_is_known(target: str, parts: tuple[str, str]) -> None:
    assert (
        split_target(target, CONFIGURED, "current", lambda name: name == "openrouter")[:2] == parts
    )


def models(*names: str, **more: object) -> Reply:
    entries = [{"id": name, "object": "model", **more} for name in names]
    return answer({"object": "list", "data": entries})


async def test_a_server_is_found_with_its_model(server: ByteServer) -> None:
    server.will(models("text-embed", "qwen", max_model_len=8192))
    found = await probe_loopback(5.0, [("vllm", server.url)])
    assert found == Found("vllm", server.url, "qwen", 8192)
    assert server.requests[0].path == "/v1/models"


async def test_an_older_llama_cpp_is_asked_for_its_context(server: ByteServer) -> None:
    props = answer({"default_generation_settings": {"n_ctx": 2048}})
    server.will(models("m", owned_by="llamacpp", meta={"n_ctx_train": 9}), props)
    found = await probe_loopback(5.0, [("llamacpp", server.url)])
    assert found == Found("llamacpp", server.url, "m", 2048)
    assert server.requests[1].path == "/props"


async def test_the_first_place_that_answers_counts(server: ByteServer) -> None:
    async with serving() as second:
        server.will(models("first"))
        second.will(models("second"))
        places = [("ollama", "http://127.0.0.1:1/v1"), ("a", server.url), ("b", second.url)]
        found = await probe_loopback(5.0, places)
    assert found is not None
    assert found.model == "first"


@pytest.mark.parametrize(
    "reply",
    [
        answer("<html>hello</html>"),
        answer({"data": None}),
        answer({"data": ["x", {}, {"id": 7}]}),
        answer({"hello": "world"}),
        answer("[]"),
        answer({"detail": "no"}, 404),
        raw(end="reset"),
        answer("{" + " " * 400_000),
    ],
    ids=["page", "no-models", "odd-models", "other-api", "list", "404", "reset", "huge"],
)
async def test_what_is_no_model_server_is_not_taken_for_one(
    server: ByteServer, reply: Reply
) -> None:
    server.will(reply)
    assert await probe_loopback(5.0, [("a", server.url)]) is None


async def test_a_silent_place_is_given_up(server: ByteServer) -> None:
    server.will(raw(end="hold"))
    assert await probe_loopback(0.05, [("a", server.url)]) is None


async def test_an_interrupted_probe_leaves_nothing_open(server: ByteServer) -> None:
    server.will(raw(end="hold"))
    probing = asyncio.create_task(probe_loopback(60.0, [("a", server.url)]))
    await server.waiting.wait()
    probing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probing
    await server.gone.wait()


def test_the_usual_places_are_loopback_alone() -> None:
    assert [url for _, url in usual_places()] == [
        f"http://127.0.0.1:{port}/v1" for port in (11434, 1234, 8080, 8000)
    ]


def test_the_kinds_are_the_modules_that_connect() -> None:
    kinds = registry.kinds()
    assert list(kinds) == sorted(kinds)
    assert {"demo", "mock", "openai-compatible"} <= set(kinds)
    assert not {"registry", "choose", "ways", "-wire"} & set(kinds)


@pytest.mark.parametrize("kind", ["demo", "mock", "openai-compatible", "openai_compatible"])
def test_a_kind_is_connected_by_name(kind: str) -> None:
    settings = ModelSettings(kind, model="m", base_url="http://127.0.0.1:1/v1")
    assert registry.connect("mine", settings).name == "mine"


@pytest.mark.parametrize("kind", ["presets", "_wire", "os", ""])
def test_an_unknown_kind_is_told_with_what_there_is(kind: str) -> None:
    with pytest.raises(ConfigError, match=r"providers\.models\.mine\.kind.*demo, .*mock"):
        registry.connect("mine", ModelSettings(kind))


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    program = """
import asyncio, sys
from stormclaw.config.settings import ModelSettings, Settings
from stormclaw.providers import registry
from stormclaw.providers.choose import choose, probe_loopback
asyncio.run(probe_loopback(0.05, [("a", "http://127.0.0.1:1/v1")]))
choose(Settings(), {}, None)
registry.kinds()
registry.connect("demo", ModelSettings("demo"))
registry.connect("x", ModelSettings("openai-compatible", base_url="http://127.0.0.1:1/v1"))
heavy = {"openai", "httpx2", "aiohttp", "pydantic", "yaml", "stormclaw.providers.mock"}
print(sorted(heavy & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


async def test_a_check_tells_what_works(server: ByteServer) -> None:
    call = {"index": 0, "id": "c", "function": {"name": "report_ready", "arguments": "{}"}}
    chunk = {"model": "m", "choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "stop"}]}
    usage = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "cost": 0.1}}
    server.will(stream(chunk, usage))
    settings = ModelSettings("openai-compatible", model="m", base_url=server.url)
    provider = registry.connect("mine", settings)
    report = await try_provider(provider)
    await provider.close()
    assert (report.ok, report.called, report.usage_reported, report.cost_usd) == (
        True,
        True,
        True,
        0.1,
    )
    assert report.streamed
    assert "m, first sign" in report.lines()[0]


async def test_a_check_tells_what_does_not(server: ByteServer) -> None:
    server.will(answer({"error": {"message": "bad key"}}, 401))
    settings = ModelSettings("openai-compatible", model="m", base_url=server.url)
    provider = registry.connect("mine", settings, "k")
    report = await try_provider(provider)
    await provider.close()
    assert (report.ok, report.error) == (False, "auth")
    assert report.lines() == ("auth: bad key", "the key was refused; /connect takes another")


async def test_a_check_of_a_silent_server_ends(server: ByteServer) -> None:
    server.will(raw(end="hold"))
    settings = ModelSettings("openai-compatible", model="m", base_url=server.url)
    provider = registry.connect("mine", settings)
    report = await try_provider(provider, 0.05)
    await provider.close()
    assert (report.ok, report.error) == (False, "timeout")

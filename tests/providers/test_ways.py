"""From names to ways: keys, parts, efforts, what is at hand; and what does not hold together."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from stormclaw.config.keys import save_key
from stormclaw.config.settings import ModelSettings, ProvidersSettings, Settings
from stormclaw.errors import ConfigError, ProviderError
from stormclaw.protocol.messages import UserText
from stormclaw.protocol.provider import ChatRequest, Remark
from stormclaw.providers._fallback.cooldowns import Cooldowns
from stormclaw.providers._fallback.failover import Failover
from stormclaw.providers._installed import local_model, logged_in
from stormclaw.providers.choose import BUILT_IN, known_names, look_around, split_target
from stormclaw.providers.reliable import Reliable
from stormclaw.providers.ways import find_way

ONE = ModelSettings("openai-compatible", model="m-1", base_url="http://127.0.0.1:1/v1")
TWO = replace(ONE, model="m-2", api_key_env="TWO_KEY")


@pytest.fixture(autouse=True)
def no_real_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring
    from keyring.backends import null

    nothing = null.Keyring()  # type: ignore[no-untyped-call]
    monkeypatch.setattr(keyring.core, "_keyring_backend", nothing)


def settings(**models: ModelSettings) -> Settings:
    both = {"one": ONE, "two": TWO, **models}
    return Settings(
        default_provider=next(iter(models), "one"),
        providers=ProvidersSettings(MappingProxyType(both)),
    )


def reliable(*providers: str, **more: object) -> ModelSettings:
    return replace(ModelSettings("reliable", providers=providers), **more)  # type: ignore[arg-type]


def router(**routes: str) -> ModelSettings:
    return ModelSettings("router", routes=MappingProxyType(routes))


async def test_one_made_of_others_has_them_as_parts(tmp_path: Path) -> None:
    save_key("one", "k-1", tmp_path)
    way = await find_way(settings(steady=reliable("one", "two/x:high")), {"TWO_KEY": "k"}, tmp_path)
    assert [(part.name, part.model, part.key, part.target) for part in way.parts] == [
        ("one", "m-1", "k-1", "one"),
        ("two", "x", "k", "two/x:high"),
    ]
    assert way.parts[1].settings.reasoning == "high"
    assert {part.settings.max_retries for part in way.parts} == {0}
    assert way.model == "m-1"
    provider = way.connect()
    assert isinstance(provider, Reliable)
    assert [member.label for member in provider.members] == ["one", "two"]
    assert (provider.name, provider.model) == ("steady", "m-1")


async def test_a_router_begins_with_who_does_the_work(tmp_path: Path) -> None:
    made = settings(split=router(title="two", work="one", subagent="two"))
    way = await find_way(made, {}, tmp_path)
    assert [part.name for part in way.parts] == ["one", "two"]
    assert {part.settings.max_retries for part in way.parts} == {2}
    assert way.model == "m-1"
    assert way.connect().model == "m-1"


async def test_they_can_be_nested(tmp_path: Path) -> None:
    made = settings(split=router(work="steady", title="two"), steady=reliable("one", "two"))
    way = await find_way(made, {}, tmp_path)
    assert [part.name for part in way.parts[0].parts] == ["one", "two"]
    assert isinstance(way.parts[0].connect(), Reliable)
    assert way.model == "m-1"


@pytest.mark.parametrize(
    ("target", "models"),
    [
        ("steady", ["m-1", "m-2"]),
        ("steady/two", ["m-2", "m-1"]),
        ("steady/m-2", ["m-2", "m-1"]),
        ("steady/else", ["else", "m-2"]),
        ("steady:low", ["m-1", "m-2"]),
    ],
)
async def test_a_model_of_one_made_of_others(
    tmp_path: Path, target: str, models: list[str]
) -> None:
    made = settings(steady=reliable("one", "two"))
    way = await find_way(made, {}, tmp_path, target=target)
    assert [part.model for part in way.parts] == models
    assert way.model == models[0]
    if target.endswith("low"):
        assert {part.settings.reasoning for part in way.parts} == {"low"}


@pytest.mark.parametrize(
    ("models", "told"),
    [
        ({"steady": reliable()}, "providers.models.steady.providers: is missing"),
        ({"split": router()}, "providers.models.split.routes: is missing"),
        (
            {"steady": reliable("one", "nobody/x")},
            "providers.models.steady.providers[1] = nobody/x: must be PROVIDER",
        ),
        ({"split": router(work="nobody")}, "providers.models.split.routes.work = nobody: must"),
        (
            {"steady": reliable("one", "steady")},
            "steady.providers[1] = steady: leads back to itself: steady -> steady",
        ),
        (
            {"split": router(work="steady"), "steady": reliable("one", "split:high")},
            "split.routes.work = steady: leads back to itself: split -> steady -> split",
        ),
    ],
)
async def test_what_does_not_hold_together_is_told(
    tmp_path: Path, models: dict[str, ModelSettings], told: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        await find_way(settings(**models), {}, tmp_path)
    assert told in str(caught.value)


async def test_a_part_that_cannot_be_connected_says_so_when_it_is_asked(tmp_path: Path) -> None:
    nowhere = ModelSettings("openai-compatible", base_url="ftp://x")
    made = settings(steady=reliable("nowhere", "demo"), nowhere=nowhere)
    provider = (await find_way(made, {}, tmp_path)).connect()
    request = ChatRequest("", (UserText("hi"),), (), "")
    items = [item async for item in provider.stream(request)]
    (remark,) = [item for item in items if isinstance(item, Remark)]
    assert remark.text.startswith("nowhere cannot be used here: must be an address")
    assert remark.text.endswith("; demo answers instead")
    made = settings(steady=reliable("nowhere"), nowhere=nowhere)
    with pytest.raises(ConfigError, match="must be an address"):
        (await find_way(made, {}, tmp_path)).connect()


async def test_several_keys_are_used_in_turn(tmp_path: Path) -> None:
    for profile in ("default", "work"):
        save_key("two", f"k-{profile}", tmp_path, profile)
    way = await find_way(settings(), {"TWO_KEY": "k-env"}, tmp_path, target="two")
    assert [one.name for one in way.keys] == ["environment", "default", "work"]
    assert way.key == "k-env"
    assert "k-" not in repr(way)
    provider = way.connect()
    assert isinstance(provider, Failover)
    assert [member.label for member in provider.members] == ["environment", "default", "work"]
    assert "k-" not in repr(provider.members)


async def test_what_one_way_has_learnt_the_next_one_knows(tmp_path: Path) -> None:
    way = await find_way(settings(), {}, tmp_path)
    way.cooldowns.rest("one", ProviderError("timeout", "no answer"))
    following = await find_way(settings(), {}, tmp_path, target="two", cooldowns=way.cooldowns)
    assert following.cooldowns.of("one") is not None
    anew = await find_way(settings(), {}, tmp_path, cooldowns=Cooldowns())
    assert anew.cooldowns.of("one") is None
    assert anew.cooldowns.lasts


async def test_profiles_that_are_configured_narrow_and_order(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for profile in ("default", "work"):
        save_key("two", f"k-{profile}", tmp_path, profile)
    made = settings(two=replace(TWO, profiles=("work", "gone", "environment")))
    way = await find_way(made, {"TWO_KEY": "k-env"}, tmp_path)
    assert [one.name for one in way.keys] == ["work", "environment"]
    assert "no key is stored under gone" in caplog.text


async def test_profiles_of_which_none_is_there_are_an_error(tmp_path: Path) -> None:
    save_key("two", "k", tmp_path)
    made = settings(two=replace(TWO, profiles=("gone",)))
    with pytest.raises(ConfigError, match=r"two\.profiles = gone: no key.*there are default"):
        await find_way(made, {}, tmp_path)


# Targets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("openrouter/x-ai/grok-4:high", ("openrouter", "x-ai/grok-4", "high")),
        ("openrouter/x/y:free", ("openrouter", "x/y:free", "")),
        ("openrouter/x/y:free:xhigh", ("openrouter", "x/y:free", "xhigh")),
        ("ollama/qwen:7b", ("ollama", "qwen:7b", "")),
        ("qwen:7b", ("now", "qwen:7b", "")),
        ("one:none", ("one", "", "none")),
        ("m:minimal", ("now", "m", "minimal")),
        (":medium", ("now", "", "medium")),
        ("anthropic/claude-x", ("now", "anthropic/claude-x", "")),
        ("anthropic", ("anthropic", "", "")),
        ("claude", ("claude", "", "")),
        ("codex:low", ("codex", "", "low")),
    ],
)
def test_a_target_is_taken_apart(target: str, parts: tuple[str, str, str]) -> None:
    usable = {"openrouter", "ollama"}
    assert split_target(target, settings(), "now", usable.__contains__) == parts


async def test_a_provider_that_is_named_is_taken_without_looking_for_others(
    tmp_path: Path,
) -> None:
    (tmp_path / "auth.json").write_text('{"version": 2, "keys": {"mistral": []}}')
    way = await find_way(Settings(), {}, tmp_path, target="ollama/qwen:7b")
    assert (way.name, way.model, way.why) == ("ollama", "qwen:7b", "you asked for it")


async def test_a_vendors_name_is_the_provider_only_with_a_key(tmp_path: Path) -> None:
    made = Settings(default_provider="openrouter")
    way = await find_way(made, {}, tmp_path, target="openai/gpt-5.1", current="openrouter")
    assert (way.name, way.model) == ("openrouter", "openai/gpt-5.1")
    env = {"OPENAI_API_KEY": "k"}
    way = await find_way(made, env, tmp_path, target="openai/gpt-5.1", current="openrouter")
    assert (way.name, way.model, way.key) == ("openai", "gpt-5.1", "k")
    way = await find_way(made, {}, tmp_path, target="openai", current="openrouter")
    assert way.name == "openai"


def test_every_name_without_configuration_is_known() -> None:
    assert {"openrouter", "ollama", "claude", "codex", "demo"} <= set(known_names())
    assert BUILT_IN["anthropic"].api_key_env == "ANTHROPIC_API_KEY"
    assert {name: BUILT_IN[name].kind for name in ("claude", "codex", "local")} == {
        "claude": "claude-cli",
        "codex": "codex-cli",
        "local": "llama",
    }


# What is at hand -------------------------------------------------------------------------------


def machine(root: Path, *programs: str, **files: object) -> dict[str, str]:
    """An environment with these programs on PATH and these files (`__` is a slash) at home."""
    (root / "bin").mkdir(exist_ok=True)
    for program in programs:
        (root / "bin" / program).write_text("#!/bin/false\n")
        (root / "bin" / program).chmod(0o755)
    for name, content in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    return {"PATH": str(root / "bin"), "HOME": str(root)}


CREDENTIALS = {"claudeAiOauth": {"accessToken": "t"}}


@pytest.mark.parametrize(
    ("programs", "files", "found"),
    [
        (("claude",), {}, ()),
        ((), {".claude__.credentials.json": CREDENTIALS}, ()),
        (("claude",), {".claude__.credentials.json": CREDENTIALS}, ("claude",)),
        (("claude",), {".claude__.credentials.json": {}}, ()),
        (("claude",), {".claude.json": {"oauthAccount": {"a": 1}}}, ("claude",)),
        (("claude",), {".claude.json": {"numStartups": 1}}, ()),
        (("claude",), {".claude__settings.json": {"apiKeyHelper": "x"}}, ("claude",)),
        (("claude",), {".claude__settings.json": {"env": {"ANTHROPIC_AUTH_TOKEN": "t"}}},
         ("claude",)),
        (("codex",), {".codex__auth.json": {"tokens": {"a": "b"}}}, ("codex",)),
        (("codex",), {".codex__auth.json": {"OPENAI_API_KEY": "k"}}, ("codex",)),
        (("codex",), {".codex__auth.json": {"OPENAI_API_KEY": None, "tokens": None}}, ()),
        (("claude", "codex"),
         {".codex__auth.json": {"tokens": {"a": "b"}}, ".claude__.credentials.json": CREDENTIALS},
         ("claude", "codex")),
    ],
)  # fmt: skip
def test_a_cli_counts_if_somebody_is_logged_in(
    tmp_path: Path, programs: tuple[str, ...], files: dict[str, object], found: tuple[str, ...]
) -> None:
    assert logged_in(machine(tmp_path, *programs, **files)) == found


@pytest.mark.parametrize("content", ["", "{", "[]", "7", "\x00" * 99, "[" * 100_000])
def test_an_odd_login_file_is_none(tmp_path: Path, content: str) -> None:
    env = machine(tmp_path, "claude", "codex")
    for name in (".claude/.credentials.json", ".claude/settings.json", ".codex/auth.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert logged_in(env) == ()


def test_a_pipe_in_place_of_a_login_file_is_not_waited_for(tmp_path: Path) -> None:
    env = machine(tmp_path, "codex")
    (tmp_path / ".codex").mkdir()
    os.mkfifo(tmp_path / ".codex" / "auth.json")
    assert logged_in(env) == ()


def gguf(home: Path, name: str, at: int) -> Path:
    path = home / "models" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"GGUF")
    os.utime(path, (at, at))
    return path


def test_the_newest_model_file_counts(tmp_path: Path) -> None:
    assert local_model(tmp_path) is None
    gguf(tmp_path, "old.gguf", 1)
    newest = gguf(tmp_path, "repo/new.gguf", 5)
    for name in ("mmproj-x.gguf", "big-00002-of-00002.gguf", "half.gguf.part", ".x.gguf"):
        gguf(tmp_path, name, 9)
    assert local_model(tmp_path) == newest


def test_a_program_comes_before_a_model_file(tmp_path: Path) -> None:
    file = gguf(tmp_path, "small.gguf", 1)
    found = look_around({"PATH": "", "HOME": str(tmp_path)}, tmp_path)
    assert found is not None
    assert (found.name, found.settings.kind, found.settings.path) == ("local", "llama", str(file))
    assert found.why == "small.gguf is on this machine"
    env = machine(tmp_path, "codex", **{".codex__auth.json": {"tokens": {"a": "b"}}})
    found = look_around(env, tmp_path)
    assert found is not None
    assert (found.name, found.settings.kind) == ("codex", "codex-cli")
    assert found.why == "the program `codex` is logged in here"

"""Bad configuration: every problem in one pass, each with file, key, value and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from stormclaw.config.layers import load
from stormclaw.errors import ConfigError, Problem

KEY = "sk-or-v1-0123456789abcdef0123456789abcdef"
PRESETS = ("openrouter", "openai", "demo")
KINDS = ("openai-compatible", "mock", "demo")


def problems(
    tmp_path: Path,
    text: str,
    *,
    env: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> dict[str, Problem]:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(
            home=home,
            workspace=None,
            env={"HOME": "/home/me"} | dict(env or {}),
            flags=flags or {},
            trusted=False,
            presets=PRESETS,
            kinds=KINDS,
        )
    found = {problem.key: problem for problem in caught.value.problems}
    assert len(found) == len(caught.value.problems)
    return found


def test_godmode_is_told_what_is_allowed(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, "security:\n  autonomy: godmode\n").values()
    assert problem.file == f"{tmp_path}/home/config.yaml:2"
    assert problem.key == "security.autonomy"
    assert problem.value == "godmode"
    assert problem.message == "must be one of readonly, supervised, full"
    assert str(problem) == (
        f"{tmp_path}/home/config.yaml:2: security.autonomy = godmode: "
        "must be one of readonly, supervised, full"
    )


def test_all_problems_of_all_layers_come_in_one_pass(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        "default_provider: opnrouter\n"
        "security: {autonomy: godmode, forbidden_comands: [rm], workspace_only: yes}\n"
        "limits: {max_tool_rounds: -1}\n"
        "memory: {path: $NOWHERE/memory.sqlite}\n"
        "providers: {models: {a: {model: x}, b: {kind: mokc}}}\n",
        env={"STORMCLAW_SANDBOX": "maybe"},
        flags={"agents.max_depth": "deep"},
    )
    assert set(found) == {
        "default_provider",
        "security.autonomy",
        "security.forbidden_comands",
        "security.workspace_only",
        "limits.max_tool_rounds",
        "memory.path",
        "providers.models.a.kind",
        "providers.models.b.kind",
        "security.sandbox",
        "agents.max_depth",
    }
    assert "did you mean openrouter?" in found["default_provider"].message
    assert "NOWHERE is not set" in found["memory.path"].message
    assert found["security.sandbox"].file == "environment STORMCLAW_SANDBOX"
    assert found["agents.max_depth"].file == "flag --set agents.max_depth"


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("securty: {}", "securty", "unknown key; did you mean security?"),
        ("security: {auto-nomy: full}", "security.auto-nomy", "did you mean autonomy?"),
        ("autonomy: full", "autonomy", "did you mean security.autonomy?"),
        ("zzz: 1", "zzz", "unknown key; known here: workspace_dir, default_provider"),
        (
            "providers: {models: {a: {kind: mock, modle: x}}}",
            "providers.models.a.modle",
            "did you mean model?",
        ),
    ],
)
def test_unknown_keys_get_the_nearest_known_one(
    tmp_path: Path, text: str, key: str, message: str
) -> None:
    assert message in problems(tmp_path, text)[key].message


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("security: [a]", "security", "must be a mapping with the keys autonomy"),
        ("security: {autonomy: true}", "security.autonomy", "one of readonly"),
        ("security: {autonomy: }", "security.autonomy", "has no value"),
        ("security: {workspace_only: yes}", "security.workspace_only", "write true"),
        ("security: {workspace_only: 'off'}", "security.workspace_only", "write false"),
        ("security: {workspace_only: 1}", "security.workspace_only", "must be true or false"),
        ("security: {forbidden_paths: /etc}", "security.forbidden_paths", "write [/etc]"),
        ("security: {forbidden_paths: 3}", "security.forbidden_paths", "must be a list"),
        ("security: {forbidden_commands: [rm, 3]}", "security.forbidden_commands", "not: 3"),
        ("security: {allowed_hosts: ['']}", "security.allowed_hosts", "an empty one"),
        ("limits: {max_tool_rounds: 1.5}", "limits.max_tool_rounds", "a whole number"),
        ("limits: {max_tool_rounds: true}", "limits.max_tool_rounds", "a whole number"),
        ("limits: {max_tool_rounds: '5'}", "limits.max_tool_rounds", "a whole number"),
        ("limits: {tool_timeout_s: 0}", "limits.tool_timeout_s", "more than 0"),
        ("limits: {tool_timeout_s: .inf}", "limits.tool_timeout_s", "more than 0"),
        ("limits: {tool_timeout_s: .nan}", "limits.tool_timeout_s", "more than 0"),
        ("limits: {tool_timeout_s: 9" + "9" * 400 + "}", "limits.tool_timeout_s", "a number"),
        ("agents: {child_share: 1.1}", "agents.child_share", "at most 1"),
        ("default_model: 4", "default_model", 'must be text; write "4"'),
        ("default_model: ''", "default_model", "must not be empty"),
        ("workspace_dir: [a]", "workspace_dir", "must be text"),
        ("providers: {models: [a]}", "providers.models", "a mapping from names"),
        ("providers: {models: {a: {}}}", "providers.models.a", "at least `kind`"),
        ("providers: {models: {'a/b': {kind: mock}}}", "providers.models.a/b", "a name is"),
        (
            "providers: {models: {a: {kind: mock, headers: {x: 1}}}}",
            "providers.models.a.headers",
            "must be text: x",
        ),
        (
            "providers: {models: {a: {kind: mock, extra_body: 1}}}",
            "providers.models.a.extra_body",
            "must be a mapping",
        ),
        (
            "providers: {models: {a: {kind: mock, base_url: 'localhost:80'}}}",
            "providers.models.a.base_url",
            "must be a URL",
        ),
        (
            "providers: {models: {a: {kind: mock, base_url: 'http://h:99999'}}}",
            "providers.models.a.base_url",
            "must be a URL",
        ),
        (
            "providers: {models: {a: {kind: mock, base_url: $BAD}}}",
            "providers.models.a.base_url",
            "with its variables filled in",
        ),
        (
            "providers: {models: {a: {kind: mock, temperature: 3}}}",
            "providers.models.a.temperature",
            "0 or more, at most 2",
        ),
        (
            "providers: {models: {a: {kind: mock, api_key_env: 'my key'}}}",
            "providers.models.a.api_key_env",
            "the name of an environment variable",
        ),
        ("channels: {cli: {tools_allow: glob}}", "channels.cli.tools_allow", "write [glob]"),
    ],
)
def test_wrong_values(tmp_path: Path, text: str, key: str, message: str) -> None:
    found = problems(tmp_path, text, env={"BAD": "not a url"})
    assert list(found) == [key]
    assert message in found[key].message


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        (f"api_key: {KEY}", "api_key"),
        ("api_key: short", "api_key"),
        ("token: 12345678", "token"),
        (f"api_key_env: {KEY}", "api_key_env"),
        ("api_key_env: d41d8cd98f00b204e9800998ecf8427e", "api_key_env"),
        (f"headers: {{Authorization: 'Bearer {KEY}'}}", "headers"),
        (f"extra_body: {{a: [{{b: {KEY}}}]}}", "extra_body"),
        (f"model: {KEY}", "model"),
        (f"temperature: {KEY}", "temperature"),
    ],
)
def test_a_key_in_the_file_is_refused_and_never_repeated(
    tmp_path: Path, entry: str, key: str
) -> None:
    found = problems(tmp_path, f"providers: {{models: {{a: {{kind: mock, {entry}}}}}}}")
    (problem,) = found.values()
    assert problem.key == f"providers.models.a.{key}"
    assert "api_key_env" in problem.message
    assert "stormclaw onboard" in problem.message
    for secret in (KEY, "short", "12345678", "d41d8cd98f00b204e9800998ecf8427e"):
        assert secret not in str(problem)


def test_a_key_under_an_unknown_name_is_masked(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, f"whatever: {KEY}").values()
    assert problem.value == "***"


def test_a_key_as_a_name_is_masked(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, f"{KEY}: x").values()
    assert KEY not in str(problem)


def test_values_cannot_break_the_line_or_grow_without_end(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, 'ui: {motion: "a\\e[2J\\nb' + "x" * 500 + '"}').values()
    assert "\x1b" not in str(problem)
    assert "\n" not in str(problem)
    assert len(problem.value) <= 60


def test_invalid_yaml_is_told_with_line_and_column(tmp_path: Path) -> None:
    found = problems(tmp_path, "security:\n  autonomy: [full\n", env={"STORMCLAW_SANDBOX": "x"})
    assert found[""].file == f"{tmp_path}/home/config.yaml:3:1"
    assert "invalid YAML" in found[""].message
    assert "security.sandbox" in found


def test_a_config_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").mkdir()
    with pytest.raises(ConfigError, match="this is a folder"):
        load(home=tmp_path, workspace=None, env={}, flags={}, trusted=False)


def test_a_config_that_links_nowhere_is_not_silently_ignored(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").symlink_to(tmp_path / "gone.yaml")
    with pytest.raises(ConfigError, match="no such file"):
        load(home=tmp_path, workspace=None, env={}, flags={}, trusted=False)


@pytest.mark.parametrize(
    ("env", "key", "message"),
    [
        ({"STORMCLAW_AUTONOMY": "god"}, "security.autonomy", "one of readonly"),
        ({"STORMCLAW__LIMITS__MAX_TOOL_ROUND": "1"}, "limits.max_tool_round", "max_tool_rounds?"),
        ({"STORMCLAW__LIMITS__MAX_TOOL_ROUNDS": "x"}, "limits.max_tool_rounds", "whole number"),
        ({"STORMCLAW__LIMITS__MAX_TOOL_ROUNDS": "["}, "limits.max_tool_rounds", "invalid YAML"),
        ({"STORMCLAW__LIMITS": "x"}, "limits", "is a section"),
        ({"STORMCLAW__SECURITY__FORBIDDEN_COMMANDS": "rm"}, "security.forbidden_commands", "[rm]"),
    ],
)
def test_problems_in_the_environment(
    tmp_path: Path, env: dict[str, str], key: str, message: str
) -> None:
    found = problems(tmp_path, "", env=env)
    assert list(found) == [key]
    assert message in found[key].message
    assert found[key].file.startswith(f"environment {next(iter(env))}")


def test_problems_of_flags_name_the_flag(tmp_path: Path) -> None:
    found = problems(tmp_path, "", flags={"security.autonomy": "god", "limits.nope": 1, "x": 1})
    assert found["security.autonomy"].file == "flag --autonomy"
    assert "unknown key" in found["limits.nope"].message
    assert "unknown key" in found["x"].message

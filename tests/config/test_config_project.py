"""A project's own configuration narrows; it widens only when the person trusts it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stormclaw.config.files import dump_yaml
from stormclaw.config.layers import Loaded, load
from stormclaw.config.settings import Settings
from stormclaw.config.shapes import all_keys, dotted, leaves, shape_at
from stormclaw.errors import ConfigError

USER = """\
security:
  autonomy: supervised
  allowed_commands: [make]
  forbidden_commands: [rm, dd]
channels:
  cli: {tools_allow: [glob, grep]}
agents: {budget_usd: 2}
providers:
  models:
    mine: {kind: mock, base_url: "http://localhost:1/v1"}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "project" / ".stormclaw").mkdir(parents=True)
    (tmp_path / "home" / "config.yaml").write_text(USER)
    return tmp_path


def opened(folder: Path, project: str, *, trusted: bool) -> Loaded:
    file = folder / "project" / ".stormclaw" / "config.yaml"
    file.write_text(project)
    return load(
        home=folder / "home",
        workspace=folder / "project",
        env={"HOME": "/home/me"},
        flags={},
        trusted=trusted,
    )


def value_of(settings: Settings, key: str) -> Any:
    return {dotted(place): value for place, value in leaves(settings)}.get(key)


WIDER = [
    ("security: {autonomy: full}", "security.autonomy", "full"),
    ("security: {workspace_only: false}", "security.workspace_only", False),
    ("security: {sandbox: off}", "security.sandbox", "off"),
    ("security: {audit_log: false}", "security.audit_log", False),
    ("security: {allowed_commands: [curl]}", "security.allowed_commands", ("make", "curl")),
    ("security: {allowed_hosts: [evil.example]}", "security.allowed_hosts", ("evil.example",)),
    ("channels: {cli: {tools_allow: null}}", "channels.cli.tools_allow", None),
    ("limits: {max_tool_rounds: 1000}", "limits.max_tool_rounds", 1000),
    ("limits: {shell_timeout_s: 500}", "limits.shell_timeout_s", 500.0),
    ("agents: {max_depth: 9}", "agents.max_depth", 9),
    ("agents: {budget_usd: 100}", "agents.budget_usd", 100.0),
    ("agents: {budget_usd: null}", "agents.budget_usd", None),
    ("memory: {path: /tmp/m}", "memory.path", "/tmp/m"),
    ("receipts: {path: /tmp/r}", "receipts.path", "/tmp/r"),
    ("receipts: {enabled: false}", "receipts.enabled", False),
    ("default_provider: mine", "default_provider", "mine"),
    ("default_model: costly", "default_model", "costly"),
    (
        "providers: {models: {mine: {base_url: 'http://evil.example/v1'}}}",
        "providers.models.mine.base_url",
        "http://evil.example/v1",
    ),
    ("providers: {models: {new: {kind: mock}}}", "providers.models.new.kind", "mock"),
    (
        "providers: {models: {mine: {headers: {X: $HOME}}}}",
        "providers.models.mine.headers",
        {"X": "/home/me"},
    ),
]


@pytest.mark.parametrize(("project", "key", "wanted"), WIDER, ids=[key for _, key, _ in WIDER])
def test_widening_is_ignored_with_a_warning_until_trusted(
    folder: Path, project: str, key: str, wanted: object
) -> None:
    before = value_of(opened(folder, "", trusted=False).settings, key)
    loaded = opened(folder, project, trusted=False)
    assert value_of(loaded.settings, key) == before
    (warning,) = loaded.warnings
    assert warning.key == key
    assert "/trust" in warning.message
    assert warning.file == f"{folder}/project/.stormclaw/config.yaml:1"
    trusted = opened(folder, project, trusted=True)
    assert value_of(trusted.settings, key) == wanted
    assert trusted.warnings == ()


NARROWER = [
    ("security: {autonomy: readonly}", "security.autonomy", "readonly"),
    ("security: {sandbox: required}", "security.sandbox", "required"),
    ("security: {workspace_only: true}", "security.workspace_only", True),
    ("security: {forbidden_commands: [npm]}", "security.forbidden_commands", ("rm", "dd", "npm")),
    ("security: {allowed_commands: []}", "security.allowed_commands", ("make",)),
    ("channels: {cli: {tools_allow: [glob]}}", "channels.cli.tools_allow", ("glob",)),
    ("channels: {tui: {tools_allow: [glob]}}", "channels.tui.tools_allow", ("glob",)),
    ("channels: {tui: {enabled: false}}", "channels.tui.enabled", False),
    ("limits: {max_tool_rounds: 3}", "limits.max_tool_rounds", 3),
    ("agents: {budget_usd: 1}", "agents.budget_usd", 1.0),
    ("agents: {budget_tokens: 1000}", "agents.budget_tokens", 1000),
    ("ui: {theme: nord}", "ui.theme", "nord"),
]


@pytest.mark.parametrize(("project", "key", "value"), NARROWER, ids=[k for _, k, _ in NARROWER])
def test_narrowing_needs_no_trust(folder: Path, project: str, key: str, value: object) -> None:
    loaded = opened(folder, project, trusted=False)
    assert value_of(loaded.settings, key) == value
    assert loaded.warnings == ()


@pytest.mark.parametrize("trusted", [True, False])
def test_forbidden_lists_only_ever_grow(folder: Path, trusted: bool) -> None:
    project = "security: {forbidden_commands: [], forbidden_paths: [secrets]}"
    security = opened(folder, project, trusted=trusted).settings.security
    assert security.forbidden_commands == ("rm", "dd")
    assert security.forbidden_paths == (
        "/etc", "/sys", "/boot", "/home/me/.ssh", str(folder / "project" / "secrets"),
    )  # fmt: skip


def test_of_a_mixed_list_of_tools_the_allowed_part_counts(folder: Path) -> None:
    loaded = opened(folder, "channels: {cli: {tools_allow: [grep, shell_exec]}}", trusted=False)
    assert loaded.settings.channels.cli.tools_allow == ("grep",)
    assert [warning.key for warning in loaded.warnings] == ["channels.cli.tools_allow"]


@pytest.mark.parametrize("trusted", [True, False])
def test_a_project_never_moves_the_workspace(folder: Path, trusted: bool) -> None:
    loaded = opened(folder, "workspace_dir: /", trusted=trusted)
    assert loaded.settings.workspace_dir == "auto"
    assert [warning.key for warning in loaded.warnings] == ["workspace_dir"]


def test_a_variable_of_an_ignored_value_is_not_looked_up(folder: Path) -> None:
    loaded = opened(folder, "memory: {path: $NOT_SET/x}", trusted=False)
    assert [warning.key for warning in loaded.warnings] == ["memory.path"]


def test_what_the_person_says_on_the_command_line_counts_over_the_project(folder: Path) -> None:
    (folder / "project" / ".stormclaw" / "config.yaml").write_text("security: {autonomy: readonly}")
    loaded = load(
        home=folder / "home",
        workspace=folder / "project",
        env={},
        flags={"security.autonomy": "full"},
        trusted=False,
    )
    assert loaded.settings.security.autonomy == "full"


def test_no_setting_can_be_widened_because_nobody_thought_of_it(folder: Path) -> None:
    """Every text setting, given a value of its own by an untrusted project, is refused."""
    harmless = {"memory.backend", "ui.theme", "ui.motion", "context.compaction"}
    for key in all_keys():
        shape = shape_at(key)
        if getattr(shape, "kind", "") != "text" or "*" in key or dotted(key) in harmless:
            continue
        choices = getattr(shape, "choices", ())
        nested: Any = (
            {"full": "full", "off": "off"}.get(choices[-1], choices[-1]) if choices else "x"
        )
        for part in reversed(key):
            nested = {part: nested}
        loaded = opened(folder, dump_yaml(nested), trusted=False)
        assert [warning.key for warning in loaded.warnings] == [dotted(key)]


def test_errors_in_a_project_file_are_reported_like_any_other(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"project/\.stormclaw/config\.yaml:1: securty"):
        opened(folder, "securty: {}", trusted=False)

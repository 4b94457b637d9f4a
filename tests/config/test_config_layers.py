"""Defaults < user < project < environment < flags, each value with its origin."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from stormclaw.config.layers import Loaded, load
from stormclaw.config.settings import Settings
from stormclaw.config.shapes import dotted, leaves, split_key


class Machine:
    """A person's folder and a project on disk."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home" / ".stormclaw"
        self.workspace = root / "project"
        self.env = {"HOME": str(root / "home")}
        (self.workspace / ".stormclaw").mkdir(parents=True)
        self.home.mkdir(parents=True)

    @property
    def user_file(self) -> Path:
        return self.home / "config.yaml"

    @property
    def project_file(self) -> Path:
        return self.workspace / ".stormclaw" / "config.yaml"

    def load(
        self,
        env: Mapping[str, str] | None = None,
        flags: Mapping[str, object] | None = None,
        *,
        trusted: bool = True,
    ) -> Loaded:
        return load(
            home=self.home,
            workspace=self.workspace,
            env=self.env | dict(env or {}),
            flags=flags or {},
            trusted=trusted,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_with_nothing_configured_everything_is_the_default(machine: Machine) -> None:
    loaded = machine.load()
    ours, theirs = dict(leaves(loaded.settings)), dict(leaves(Settings()))
    different = {dotted(key) for key in theirs if ours[key] != theirs[key]}
    assert different == {"memory.path", "receipts.path", "security.forbidden_paths"}
    assert set(loaded.origins.values()) == {"defaults"}
    assert set(loaded.origins) == {dotted(key) for key in theirs}
    assert loaded.files == (machine.user_file, machine.project_file)
    assert loaded.warnings == ()


def test_later_layers_win_and_each_value_knows_its_origin(machine: Machine) -> None:
    machine.user_file.write_text("default_model: one\nlimits:\n  max_tool_rounds: 1\n")
    machine.project_file.write_text("default_model: two\nui: {bell: false}\n")
    first = machine.load()
    assert first.settings.default_model == "two"
    assert first.origins["default_model"] == f"{machine.project_file}:1"
    assert first.origins["limits.max_tool_rounds"] == f"{machine.user_file}:3"
    assert first.origins["ui.bell"] == f"{machine.project_file}:2"
    assert first.origins["ui.mouse"] == "defaults"
    second = machine.load({"STORMCLAW_MODEL": "three"})
    assert second.settings.default_model == "three"
    assert second.origins["default_model"] == "environment STORMCLAW_MODEL"
    third = machine.load({"STORMCLAW_MODEL": "three"}, {"default_model": "four"})
    assert third.settings.default_model == "four"
    assert third.origins["default_model"] == "flag --model"


def test_every_named_variable(machine: Machine) -> None:
    settings = machine.load(
        {
            "STORMCLAW_AUTONOMY": "readonly",
            "STORMCLAW_MODEL": "4.1",
            "STORMCLAW_PROVIDER": "demo",
            "STORMCLAW_SANDBOX": "off",
            "STORMCLAW_LOG": "json",
        }
    ).settings
    assert settings.security.autonomy == "readonly"
    assert settings.security.sandbox == "off"
    assert (settings.default_provider, settings.default_model) == ("demo", "4.1")


def test_any_setting_can_stand_in_the_environment(machine: Machine) -> None:
    machine.user_file.write_text("providers: {models: {local: {kind: mock}}}")
    settings = machine.load(
        {
            "STORMCLAW__LIMITS__SHELL_TIMEOUT_S": "60",
            "STORMCLAW__SECURITY__ALLOWED_COMMANDS": "[make, just test]",
            "STORMCLAW__UI__MOUSE": "false",
            "STORMCLAW__AGENTS__BUDGET_USD": "null",
            "STORMCLAW__PROVIDERS__MODELS__LOCAL__MODEL": "1.5",
            "STORMCLAW__MEMORY__PATH": "",
        }
    ).settings
    assert settings.limits.shell_timeout_s == 60.0
    assert settings.security.allowed_commands == ("make", "just test")
    assert settings.ui.mouse is False
    assert settings.agents.budget_usd is None
    assert settings.providers.models["local"].model == "1.5"
    assert settings.memory.path == str(machine.home / "memory.sqlite")


def test_flags_that_are_none_were_not_given(machine: Machine) -> None:
    loaded = machine.load(flags={"default_model": None, "limits.max_tool_rounds": 3})
    assert loaded.settings.default_model == "auto"
    assert loaded.settings.limits.max_tool_rounds == 3
    assert loaded.origins["limits.max_tool_rounds"] == "flag --max-turns"


def test_models_merge_key_by_key(machine: Machine) -> None:
    machine.user_file.write_text(
        "providers:\n  models:\n    a.b: {kind: mock, model: one}\n    c: {kind: mock}\n"
    )
    machine.project_file.write_text('providers: {models: {"a.b": {model: two}}}')
    loaded = machine.load()
    entry = loaded.settings.providers.models["a.b"]
    assert (entry.kind, entry.model, entry.max_retries) == ("mock", "two", 2)
    assert loaded.origins['providers.models."a.b".kind'] == f"{machine.user_file}:3"
    assert loaded.origins['providers.models."a.b".model'] == f"{machine.project_file}:1"
    assert loaded.origins['providers.models."a.b".max_retries'] == "defaults"
    assert list(loaded.settings.providers.models) == ["a.b", "c"]


def test_user_lists_replace_the_defaults_and_items_know_their_line(machine: Machine) -> None:
    machine.user_file.write_text("security:\n  forbidden_commands:\n    - rm\n    - dd\n")
    machine.project_file.write_text("security: {forbidden_commands: [dd, curl]}\n")
    loaded = machine.load()
    assert loaded.settings.security.forbidden_commands == ("rm", "dd", "curl")
    assert loaded.origins["security.forbidden_commands[0]"] == f"{machine.user_file}:3"
    assert loaded.origins["security.forbidden_commands[1]"] == f"{machine.user_file}:4"
    assert loaded.origins["security.forbidden_commands[2]"] == f"{machine.project_file}:1"


def test_sandbox_off_needs_no_quotes(machine: Machine) -> None:
    machine.user_file.write_text("security: {sandbox: off}")
    assert machine.load().settings.security.sandbox == "off"


def test_empty_sections_change_nothing(machine: Machine) -> None:
    machine.user_file.write_text("security:\nproviders:\n  models:\nchannels:\n  cli:\n")
    assert machine.load().settings == Machine.load(machine, env={}).settings
    assert set(machine.load().origins.values()) == {"defaults"}


def test_paths_are_filled_in(machine: Machine) -> None:
    machine.user_file.write_text(
        "workspace_dir: ~/work\n"
        "memory: {path: $STATE/m.sqlite}\n"
        "receipts: {path: ~/.stormclaw/r.log}\n"
        "security: {forbidden_paths: [~/.ssh, /etc/../etc, secrets, $STATE]}\n"
        "providers: {models: {a: {kind: mock, script: turns.yaml}}}\n"
    )
    home = machine.env["HOME"]
    settings = machine.load({"STATE": "/state"}).settings
    assert settings.workspace_dir == f"{home}/work"
    assert settings.memory.path == "/state/m.sqlite"
    assert settings.receipts.path == str(machine.home / "r.log")
    assert settings.security.forbidden_paths == (
        f"{home}/.ssh",
        "/etc",
        str(machine.workspace / "secrets"),
        "/state",
    )
    assert settings.providers.models["a"].script == str(machine.home / "turns.yaml")


def test_the_stormclaw_folder_follows_the_home_argument(tmp_path: Path) -> None:
    loaded = load(
        home=tmp_path / "moved",
        workspace=None,
        env={"HOME": "/home/me", "STORMCLAW__RECEIPTS__PATH": "~/.stormclaw/r.log"},
        flags={},
        trusted=False,
    )
    assert loaded.settings.memory.path == str(tmp_path / "moved" / "memory.sqlite")
    assert loaded.settings.receipts.path == str(tmp_path / "moved" / "r.log")
    assert loaded.settings.security.forbidden_paths[-1] == "/home/me/.ssh"


def test_relative_paths_of_a_project_start_at_its_root_those_of_flags_where_one_is(
    machine: Machine,
) -> None:
    machine.project_file.write_text("providers: {models: {a: {kind: mock, script: t.yaml}}}")
    assert machine.load().settings.providers.models["a"].script == str(machine.workspace / "t.yaml")
    settings = machine.load(flags={"memory.path": "m.sqlite"}).settings
    assert settings.memory.path == str(Path.cwd() / "m.sqlite")


def test_headers_and_urls_take_variables(machine: Machine) -> None:
    machine.user_file.write_text(
        "providers: {models: {a: {kind: mock, base_url: 'http://$HOST/v1',"
        " headers: {X-Token: $SECRET, X-App: plain}}}}"
    )
    loaded = machine.load({"HOST": "localhost:1", "SECRET": "hush"})
    model = loaded.settings.providers.models["a"]
    assert model.base_url == "http://localhost:1/v1"
    assert model.headers == {"X-Token": "hush", "X-App": "plain"}
    assert loaded.written["providers.models.a.headers"] == {"X-Token": "$SECRET", "X-App": "plain"}


def test_a_variable_missing_in_a_value_nobody_uses_is_no_problem(machine: Machine) -> None:
    machine.user_file.write_text("memory: {path: $NOWHERE/m}")
    assert machine.load({"STORMCLAW__MEMORY__PATH": "/m"}).settings.memory.path == "/m"


def test_names_are_checked_only_where_they_are_known(machine: Machine) -> None:
    machine.user_file.write_text("default_provider: acme\nproviders: {models: {x: {kind: odd}}}")
    assert machine.load().settings.default_provider == "acme"


def test_a_default_provider_may_be_an_entry_of_its_own(machine: Machine) -> None:
    machine.user_file.write_text("default_provider: mine\nproviders: {models: {mine: {kind: k}}}")
    loaded = load(
        home=machine.home,
        workspace=None,
        env=machine.env,
        flags={},
        trusted=False,
        presets=["demo"],
        kinds=["k"],
    )
    assert loaded.settings.default_provider == "mine"


def test_a_workspace_that_holds_the_user_folder_is_not_read_twice(machine: Machine) -> None:
    machine.user_file.write_text("security: {autonomy: full}")
    loaded = load(
        home=machine.home, workspace=machine.home.parent, env=machine.env, flags={}, trusted=False
    )
    assert loaded.files == (machine.user_file,)
    assert loaded.settings.security.autonomy == "full"
    assert loaded.warnings == ()


@pytest.mark.parametrize("key", [("a", "b"), ("providers", "models", "a.b", "kind"), ("a", "")])
def test_dotted_keys_go_both_ways(key: tuple[str, ...]) -> None:
    assert split_key(dotted(key)) == key


def test_without_a_file_yaml_is_not_even_imported(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom stormclaw.config.layers import load\n"
        "load(home=Path(sys.argv[1]), workspace=None, env={}, flags={}, trusted=False)\n"
        "print([m for m in ('yaml', 'keyring', 'watchfiles', 'msgspec') if m in sys.modules])"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env=env,
    )
    assert done.stdout.strip() == "[]"

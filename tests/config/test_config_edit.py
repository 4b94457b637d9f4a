"""The starter file, and adding a model to the person's own file without losing a comment."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from stormclaw.config import files
from stormclaw.config.edit import add_model
from stormclaw.config.layers import Loaded, load
from stormclaw.config.settings import ModelSettings, Settings
from stormclaw.config.shapes import dotted, leaves
from stormclaw.config.starter import starter, write_starter
from stormclaw.errors import ConfigError

ENTRY = {"kind": "openai-compatible", "model": "acme/big:free", "base_url": "http://h/v1"}


def loaded_from(home: Path) -> Loaded:
    return load(home=home, workspace=None, env={"HOME": "/home/me"}, flags={}, trusted=False)


def test_the_starter_changes_nothing(tmp_path: Path) -> None:
    before = loaded_from(tmp_path).settings
    path = write_starter(tmp_path)
    assert path == tmp_path / "config.yaml"
    assert path.stat().st_mode & 0o777 == 0o600
    after = loaded_from(tmp_path)
    assert after.settings == before
    assert set(after.origins.values()) == {"defaults"}


def test_the_starter_names_every_setting_with_its_default() -> None:
    live = re.sub(r"^( *)# (?=( *)[\w]+:( |$))", r"\1", starter(), flags=re.MULTILINE)
    values = files.parse_yaml(live, "starter").values
    model = values["providers"].pop("models")["NAME"]
    fields = dict(leaves(ModelSettings(kind="openai-compatible")))
    assert list(model) == list(dict.fromkeys(key[0] for key in fields))
    assert list(model["routing"]) == [key[1] for key in fields if key[0] == "routing"]

    def at(key: tuple[str, ...]) -> Any:
        value: Any = values
        for part in key:
            value = value[part]
        return tuple(value) if isinstance(value, list) else value

    assert {dotted(key): at(key) for key, _ in leaves(Settings())} == {
        dotted(key): value for key, value in leaves(Settings())
    }


def test_the_starter_explains() -> None:
    assert "readonly | supervised | full" in starter()
    assert "never the key itself" in starter()
    assert max(map(len, starter().splitlines())) <= 120


def test_the_starter_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("ui: {bell: false}")
    write_starter(tmp_path)
    assert (tmp_path / "config.yaml").read_text() == "ui: {bell: false}"


def test_adding_to_no_file_starts_from_the_starter(tmp_path: Path) -> None:
    path = add_model(tmp_path, "mine", ENTRY, make_default=True)
    settings = loaded_from(tmp_path).settings
    assert settings.default_provider == "mine"
    assert settings.providers.models["mine"].model == "acme/big:free"
    assert "# autonomy: supervised" in path.read_text()
    assert not (tmp_path / "config.yaml.bak").exists()


COMMENTED = """\
# my own file
ui: {bell: false}   # quiet

providers:
  # where models come from
  models:
    # the old one
    old: {kind: mock}  # keep
    "a.b":
      kind: mock
      # inside
      model: x

# the end
limits:
  max_tool_rounds: 7
"""


def test_comments_order_and_the_rest_stay(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(COMMENTED)
    path.chmod(0o640)
    add_model(tmp_path, "mine", ENTRY, make_default=True)
    text = path.read_text()
    new = [line for line in text.splitlines() if line not in COMMENTED.splitlines()]
    assert new == [
        "default_provider: mine",
        "    mine:",
        "      kind: openai-compatible",
        "      model: acme/big:free",
        "      base_url: http://h/v1",
    ]
    kept = [line for line in text.splitlines() if line not in new]
    assert kept == COMMENTED.splitlines()
    assert path.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "config.yaml.bak").read_text() == COMMENTED


def test_an_entry_of_the_same_name_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(COMMENTED)
    add_model(tmp_path, "a.b", ENTRY, make_default=False)
    text = (tmp_path / "config.yaml").read_text()
    document = files.parse_yaml(text, "x")
    assert document.values["providers"]["models"] == {"old": {"kind": "mock"}, "a.b": ENTRY}
    assert "# the end" in text
    assert "default_provider" not in document.values


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "---\nui: {bell: false}\n",
        "ui: {bell: false}",
        "providers:\n",
        "providers:\n  models:\n",
        "providers:\r\n  models:\r\n    old: {kind: mock}\r\n",
        "providers: {models: {old: {kind: mock}}}\n",
        "providers: {}\nui: {bell: false}\n",
        "{ui: {bell: false}}\n",
        "providers:\n    models:\n        old:\n            kind: mock\nui: {bell: false}\n",
        "default_provider: 'old' # was\nproviders:\n  models: {old: {kind: mock}}\n",
        "default_provider: >-\n  old\nui:\n  bell: false\n",
        'default_model: "a#b"\n',
        "# default_provider: auto\nui: {bell: false}\n...\n",
    ],
)
def test_whatever_the_file_looks_like_the_result_reads_back(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(text.encode())
    before = files.read_yaml(path).values
    add_model(tmp_path, "mine", ENTRY, make_default=True)
    after = files.read_yaml(path).values
    models = (before.get("providers") or {}).get("models") or {}
    assert after["providers"]["models"] == models | {"mine": ENTRY}
    assert after["default_provider"] == "mine"
    rest = {"providers", "default_provider", "default_model"}
    assert {k: v for k, v in after.items() if k not in rest} == {
        k: v for k, v in before.items() if k not in rest
    }
    assert path.with_name("config.yaml.bak").read_bytes() == text.encode()


def test_a_default_model_of_another_provider_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("default_model: old-model # mine\n")
    add_model(tmp_path, "mine", ENTRY, make_default=True)
    assert loaded_from(tmp_path).settings.default_model == "acme/big:free"
    assert "# mine" in (tmp_path / "config.yaml").read_text()


def test_settings_objects_are_written_without_their_defaults(tmp_path: Path) -> None:
    model = ModelSettings(kind="mock", headers={"X-App": "storm"}, idle_timeout_s=5)
    add_model(tmp_path, "mine", model, make_default=False)
    document = files.read_yaml(tmp_path / "config.yaml").values
    assert document["providers"]["models"]["mine"] == {
        "kind": "mock",
        "headers": {"X-App": "storm"},
        "idle_timeout_s": 5,
    }
    assert loaded_from(tmp_path).settings.providers.models["mine"] == model


@pytest.mark.parametrize(
    ("name", "entry", "message"),
    [
        ("mine", {"kind": "mock", "api_key": "sk-abcdefghijklmnop"}, "keys do not belong"),
        ("mine", {"kind": "mock", "base_url": "nope"}, "must be a URL"),
        ("a b", {"kind": "mock"}, "a name is"),
        ("mine", {}, "at least `kind`"),
    ],
)
def test_an_unsound_entry_is_refused_and_nothing_written(
    tmp_path: Path, name: str, entry: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        add_model(tmp_path, name, entry, make_default=True)
    assert list(tmp_path.iterdir()) == []


def test_a_broken_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("a: [")
    with pytest.raises(ConfigError, match="invalid YAML"):
        add_model(tmp_path, "mine", ENTRY, make_default=True)
    assert [one.name for one in tmp_path.iterdir()] == ["config.yaml"]
    assert (tmp_path / "config.yaml").read_text() == "a: ["

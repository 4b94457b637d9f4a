"""Several keys for one provider: their order, their names, and the file of before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stormclaw.config import keys
from stormclaw.config.keys import Profile
from stormclaw.errors import UsageError


@pytest.fixture(autouse=True)
def no_real_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring
    from keyring.backends import null

    nothing = null.Keyring()  # type: ignore[no-untyped-call]
    monkeypatch.setattr(keyring.core, "_keyring_backend", nothing)


def names(home: Path, env: dict[str, str] | None = None, **wanted: object) -> list[str]:
    found = keys.find_keys("acme", env or {}, home, **wanted)  # type: ignore[arg-type]
    return [profile.name for profile in found]


def three(home: Path) -> None:
    for profile, key in (("default", "k-1"), ("work", "k-2"), ("alt", "k-3")):
        keys.save_key("acme", key, home, profile)


def test_keys_are_used_in_the_order_in_which_they_were_added(tmp_path: Path) -> None:
    three(tmp_path)
    assert names(tmp_path) == ["default", "work", "alt"]
    keys.save_key("acme", "k-9", tmp_path, "work")
    assert names(tmp_path) == ["default", "work", "alt"]
    assert keys.find_keys("acme", {}, tmp_path)[1] == Profile("work", "k-9")
    assert keys.find_key("acme", {}, tmp_path) == "k-1"


def test_the_key_in_the_environment_is_a_profile_and_comes_first(tmp_path: Path) -> None:
    three(tmp_path)
    env = {"ACME_KEY": " k-env "}
    found = keys.find_keys("acme", env, tmp_path, api_key_env="ACME_KEY")
    assert found[0] == Profile("environment", "k-env")
    assert len(found) == 4


def test_the_same_key_twice_counts_once(tmp_path: Path) -> None:
    three(tmp_path)
    assert names(tmp_path, {"ACME_KEY": "k-2"}, api_key_env="ACME_KEY") == [
        "environment",
        "default",
        "alt",
    ]


def test_the_configuration_narrows_and_orders(tmp_path: Path) -> None:
    three(tmp_path)
    env = {"ACME_KEY": "k-env"}
    wanted = ("alt", "environment", "gone", "default")
    found = names(tmp_path, env, api_key_env="ACME_KEY", profiles=wanted)
    assert found == ["alt", "environment", "default"]


def test_a_file_of_version_1_is_read_without_loss_and_written_anew(tmp_path: Path) -> None:
    old = {"version": 1, "keys": {"acme": {"key": "k-1"}, "other": {"key": "k-2"}}}
    path = tmp_path / "auth.json"
    path.write_text(json.dumps(old))
    assert keys.find_key("acme", {}, tmp_path) == "k-1"
    assert json.loads(path.read_text()) == old
    keys.save_key("acme", "k-3", tmp_path, "work")
    assert json.loads(path.read_text()) == {
        "version": 2,
        "keys": {
            "acme": [{"profile": "default", "key": "k-1"}, {"profile": "work", "key": "k-3"}],
            "other": [{"profile": "default", "key": "k-2"}],
        },
    }
    assert path.stat().st_mode & 0o777 == 0o600
    assert set(keys.stored_keys(tmp_path)) == {"acme", "other"}


def test_one_key_or_all_are_forgotten(tmp_path: Path) -> None:
    three(tmp_path)
    assert keys.delete_key("acme", tmp_path, "work")
    assert not keys.delete_key("acme", tmp_path, "work")
    assert names(tmp_path) == ["default", "alt"]
    assert keys.delete_key("acme", tmp_path)
    assert keys.stored_profiles(tmp_path) == ()


@pytest.mark.parametrize("profile", ["", "environment", "a b", "a#b", "../x", "-x"])
def test_what_names_no_profile_is_refused(tmp_path: Path, profile: str) -> None:
    with pytest.raises(UsageError, match="names no key"):
        keys.save_key("acme", "k", tmp_path, profile)


def test_no_repr_shows_a_key() -> None:
    assert "hush" not in repr(Profile("work", "hush"))

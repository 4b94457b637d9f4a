"""Keys: the environment first, then the keyring or a private file; no real keyring is touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stormclaw.config import keys
from stormclaw.errors import ConfigError, UsageError

BACKENDS = '''
import json, os
from pathlib import Path
from keyring.backend import KeyringBackend

class Shelf(KeyringBackend):
    """Keeps passwords in a file of the test."""
    priority = 5
    _path = Path(os.environ["SHELF"])
    def _all(self):
        return json.loads(self._path.read_text()) if self._path.exists() else {}
    def get_password(self, service, username):
        return self._all().get(f"{service}|{username}")
    def set_password(self, service, username, password):
        self._path.write_text(json.dumps(self._all() | {f"{service}|{username}": password}))
    def delete_password(self, service, username):
        rest = self._all(); del rest[f"{service}|{username}"]
        self._path.write_text(json.dumps(rest))

class Broken(Shelf):
    def set_password(self, service, username, password):
        raise RuntimeError("locked")

class Forgetful(Shelf):
    def set_password(self, service, username, password):
        pass

class Weak(Shelf):
    priority = 0.5
'''


@pytest.fixture(autouse=True)
def no_real_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring
    from keyring.backends import null

    nothing = null.Keyring()  # type: ignore[no-untyped-call]
    monkeypatch.setattr(keyring.core, "_keyring_backend", nothing)


def run(tmp_path: Path, backend: str, code: str) -> str:
    """Run a few lines in a process of its own with this keyring backend."""
    (tmp_path / "test_backends.py").write_text(BACKENDS)
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path), str(Path.cwd())]),
        "PYTHON_KEYRING_BACKEND": backend,
        "SHELF": str(tmp_path / "shelf.json"),
        "HOME": str(tmp_path),
    }
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from stormclaw.config.keys import *\n"
        f"home = Path({str(tmp_path / '.stormclaw')!r})\n{code}"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env
    )
    return done.stdout.strip()


def test_a_keyring_is_used_where_there_is_one(tmp_path: Path) -> None:
    code = "print(save_key('acme', 'k-1', home), find_key('acme', {}, home), stored_keys(home))"
    assert run(tmp_path, "test_backends.Shelf", code) == "keyring k-1 {'acme': 'keyring'}"
    assert "k-1" not in (tmp_path / ".stormclaw" / "auth.json").read_text()
    assert json.loads((tmp_path / "shelf.json").read_text()) == {"stormclaw|acme": "k-1"}
    code = "print(delete_key('acme', home), find_key('acme', {}, home))"
    assert run(tmp_path, "test_backends.Shelf", code) == "True None"
    assert json.loads((tmp_path / "shelf.json").read_text()) == {}


def test_another_user_folder_has_keys_of_its_own(tmp_path: Path) -> None:
    code = (
        "other = home.with_name('other')\nsave_key('acme', 'k-1', home)\n"
        "save_key('acme', 'k-2', other)\n"
        "print(find_key('acme', {}, home), find_key('acme', {}, other))"
    )
    assert run(tmp_path, "test_backends.Shelf", code) == "k-1 k-2"


@pytest.mark.parametrize(
    "backend",
    [
        "keyring.backends.null.Keyring",
        "keyring.backends.fail.Keyring",
        "test_backends.Broken",
        "test_backends.Forgetful",
        "test_backends.Weak",
        "there_is.no.Such",
    ],
)
def test_without_a_usable_keyring_the_file_is_used(tmp_path: Path, backend: str) -> None:
    code = "print(save_key('acme', 'k-1', home), find_key('acme', {}, home))"
    path = tmp_path / ".stormclaw" / "auth.json"
    assert run(tmp_path, backend, code) == f"{path} k-1"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not (tmp_path / "shelf.json").exists()


def test_a_keyring_that_is_gone_means_no_key_not_a_crash(tmp_path: Path) -> None:
    run(tmp_path, "test_backends.Shelf", "save_key('acme', 'k-1', home)")
    code = "print(find_key('acme', {}, home), delete_key('acme', home), stored_keys(home))"
    assert run(tmp_path, "keyring.backends.fail.Keyring", code) == "None True {}"


def test_the_keyring_is_not_imported_for_keys_elsewhere(tmp_path: Path) -> None:
    run(tmp_path, "keyring.backends.null.Keyring", "save_key('acme', 'k-1', home)")
    code = (
        "find_key('acme', {}, home); find_key('none', {}, home)\n"
        "find_key('x', {'X_KEY': 'k'}, home, api_key_env='X_KEY')\n"
        "print('keyring' in sys.modules)"
    )
    assert run(tmp_path, "test_backends.Shelf", code) == "False"


def test_the_environment_comes_first(tmp_path: Path) -> None:
    keys.save_key("acme", "stored", tmp_path)
    env = {"ACME_KEY": " from-env ", "EMPTY": ""}
    assert keys.find_key("acme", env, tmp_path, api_key_env="ACME_KEY") == "from-env"
    assert keys.find_key("acme", env, tmp_path, api_key_env="EMPTY") == "stored"
    assert keys.find_key("acme", env, tmp_path) == "stored"
    assert keys.find_key("ACME_KEY", env, tmp_path) == "from-env"
    assert keys.find_key("NOT_SET", env, tmp_path) is None


def test_saving_again_replaces_and_deleting_forgets(tmp_path: Path) -> None:
    keys.save_key("a", " one\n", tmp_path)
    keys.save_key("b", "two", tmp_path)
    keys.save_key("a", "three", tmp_path)
    assert keys.find_key("a", {}, tmp_path) == "three"
    assert keys.delete_key("a", tmp_path)
    assert not keys.delete_key("a", tmp_path)
    assert keys.find_key("a", {}, tmp_path) is None
    assert keys.find_key("b", {}, tmp_path) == "two"


def test_a_file_that_was_open_to_others_is_closed_on_saving(tmp_path: Path) -> None:
    keys.save_key("a", "one", tmp_path)
    (tmp_path / "auth.json").chmod(0o644)
    keys.save_key("b", "two", tmp_path)
    assert (tmp_path / "auth.json").stat().st_mode & 0o777 == 0o600


def test_saving_side_by_side_loses_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: keys.save_key(f"p{n}", f"k{n}", tmp_path), range(24)))
    assert len(keys.stored_keys(tmp_path)) == 24


@pytest.mark.parametrize("key", ["", "  ", "two words", "a\nb", "ключ", "a\x00b"])
def test_what_is_no_key_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(UsageError):
        keys.save_key("acme", key, tmp_path)
    assert keys.stored_keys(tmp_path) == {}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"version": 1}', '{"version": 1, "keys": {"a": "sk-hush"}}',
     '{"version": 1, "keys": []}', '{"version": 3, "keys": {}}',
     '{"version": 2, "keys": {"a": {"key": "sk-hush"}}}',
     '{"version": 2, "keys": {"a": [{"key": "sk-hush"}]}}'],
)  # fmt: skip
def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "auth.json").write_text(text)
    for act in (
        lambda: keys.find_key("a", {}, tmp_path),
        lambda: keys.save_key("a", "k", tmp_path),
        lambda: keys.delete_key("a", tmp_path),
    ):
        with pytest.raises(ConfigError, match=r"auth\.json") as caught:
            act()
        assert "hush" not in str(caught.value)
    assert (tmp_path / "auth.json").read_text() == text


def test_each_profile_has_its_own_place_in_the_keyring(tmp_path: Path) -> None:
    code = (
        "save_key('acme', 'k-1', home); save_key('acme', 'k-2', home, 'work')\n"
        "print([p.key for p in find_keys('acme', {}, home)], delete_key('acme', home, 'work'))"
    )
    assert run(tmp_path, "test_backends.Shelf", code) == "['k-1', 'k-2'] True"
    assert json.loads((tmp_path / "shelf.json").read_text()) == {"stormclaw|acme": "k-1"}


def test_a_key_that_version_1_put_into_the_keyring_is_found(tmp_path: Path) -> None:
    home = tmp_path / ".stormclaw"
    home.mkdir()
    old = {"version": 1, "keys": {"acme": {"in": "keyring"}}}
    (home / "auth.json").write_text(json.dumps(old))
    (tmp_path / "shelf.json").write_text(json.dumps({"stormclaw|acme": "k-old"}))
    code = "print(find_key('acme', {}, home))"
    assert run(tmp_path, "test_backends.Shelf", code) == "k-old"

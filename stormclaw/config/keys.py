"""Where keys live: the environment, the system's keyring, else a file only the person can read.

`auth.json` in the user folder says for each name where its key is, so that the keyring (slow to
import, and able to put up a dialogue) is only opened for a key that is really in it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stormclaw.config.disk import file_error, present, read_text, write_text
from stormclaw.errors import UsageError

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

FILE_NAME = "auth.json"
VERSION = 1
SERVICE = "stormclaw"
IN_KEYRING = "keyring"
MIN_PRIORITY = 1
"""What the keyring library recommends; its plain-text backends are below."""

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


def find_key(
    name_or_env: str, env: Mapping[str, str], home: Path, *, api_key_env: str = ""
) -> str | None:
    """The key for a provider, or None.

    Looked for in the variable `api_key_env`, in a variable called `name_or_env` itself, then
    among the stored keys. May block on a locked keyring: call it in a thread.

    Args:
        name_or_env: The provider's name, or a variable's.
        env: The environment.
        home: The user folder.
        api_key_env: As configured.

    Raises:
        ConfigError: `auth.json` is damaged.
    """
    for variable in (api_key_env, name_or_env if _VARIABLE.fullmatch(name_or_env) else ""):
        if variable and (value := env.get(variable, "").strip()):
            return value
    stored = _read(home).get(name_or_env)
    if stored is None:
        return None
    return stored["key"] if "key" in stored else _from_keyring(name_or_env, home)


def save_key(name: str, key: str, home: Path) -> str:
    """Store a key -> `keyring`, or the path of the file it went to.

    Args:
        name: The provider's name.
        key: The key; white space around it is dropped.
        home: The user folder.

    Raises:
        UsageError: That is no key, or no name.
        ConfigError: `auth.json` is damaged; it is left as it is.
        OSError: The file cannot be written.
    """
    key = key.strip()
    if not name.strip() or not key:
        raise UsageError("a key needs a name and must not be empty")
    if not key.isprintable() or " " in key or not key.isascii():
        raise UsageError("that is not a key: it has spaces or unusual characters in it")
    with _locked(home):
        entries = _read(home)
        kept = _to_keyring(name, key, home)
        entries[name] = {"in": IN_KEYRING} if kept else {"key": key}
        _write(home, entries)
    return IN_KEYRING if kept else str(home / FILE_NAME)


def delete_key(name: str, home: Path) -> bool:
    """Forget a stored key -> whether there was one.

    Raises:
        ConfigError: `auth.json` is damaged.
        OSError: The file cannot be written.
    """
    with _locked(home):
        entries = _read(home)
        entry = entries.pop(name, None)
        if entry is None:
            return False
        if "key" not in entry:
            _off_keyring(name, home)
        _write(home, entries)
    return True


def stored_keys(home: Path) -> dict[str, str]:
    """Name -> `keyring` or the file's path, for every stored key; opens no keyring.

    Raises:
        ConfigError: `auth.json` is damaged.
    """
    path = str(home / FILE_NAME)
    return {name: path if "key" in entry else IN_KEYRING for name, entry in _read(home).items()}


def _service(home: Path) -> str:
    """Another user folder (STORMCLAW_HOME) has keys of its own."""
    usual = Path("~/.stormclaw").expanduser()
    return SERVICE if home == usual else f"{SERVICE}:{home}"


def _backend() -> KeyringBackend | None:
    """The system's keyring; None where there is none worth the name."""
    # Whatever a backend does while it is looked for (no bus, no display, a broken plug-in), the
    # answer is the same: use the file.
    try:
        import keyring
        from keyring.backends import fail, null

        backend = keyring.get_keyring()
        usable = not isinstance(backend, fail.Keyring | null.Keyring)
        return backend if usable and backend.priority >= MIN_PRIORITY else None
    except Exception:  # noqa: BLE001
        return None


def _to_keyring(name: str, key: str, home: Path) -> bool:
    """Whether the keyring took the key, and gives it back."""
    backend = _backend()
    if backend is None:
        return False
    try:
        backend.set_password(_service(home), name, key)
        return backend.get_password(_service(home), name) == key
    except Exception:  # noqa: BLE001
        return False


def _from_keyring(name: str, home: Path) -> str | None:
    backend = _backend()
    with contextlib.suppress(Exception):
        return backend.get_password(_service(home), name) if backend else None
    return None


def _off_keyring(name: str, home: Path) -> None:
    backend = _backend()
    with contextlib.suppress(Exception):
        if backend:
            backend.delete_password(_service(home), name)


@contextlib.contextmanager
def _locked(home: Path) -> Iterator[None]:
    """One process at a time changes the file."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (home / f".{FILE_NAME}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _read(home: Path) -> dict[str, dict[str, str]]:
    path = home / FILE_NAME
    if not present(path):
        return {}
    try:
        content: Any = json.loads(read_text(path))
        version, keys = content["version"], content["keys"]
        sound = all(_is_entry(entry) for entry in keys.values())
    except (ValueError, TypeError, LookupError, AttributeError):
        # The decoder's own message would quote the file, and with it a key.
        raise file_error(path, "is damaged; mend or delete it, then save your keys again") from None
    if version != VERSION:
        raise file_error(path, f"has version {version}; this StormClaw reads {VERSION}")
    if not sound:
        raise file_error(path, "is damaged; mend or delete it, then save your keys again")
    return dict(keys)


def _is_entry(entry: object) -> bool:
    return isinstance(entry, dict) and (
        isinstance(entry.get("key"), str) or entry.get("in") == IN_KEYRING
    )


def _write(home: Path, keys: Mapping[str, Mapping[str, str]]) -> None:
    content = {"version": VERSION, "keys": dict(sorted(keys.items()))}
    write_text(home / FILE_NAME, json.dumps(content, indent=2) + "\n", mode=0o600)

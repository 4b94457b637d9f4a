"""Where keys live: the environment, the system's keyring, else a file only the person can read.

A provider may have several keys, each under the name of a profile, used in the order in which they
were added; the one in the environment is a profile as well and comes first. `auth.json` in the user
folder says of each where it is, so that the keyring (slow to import, and able to put up a dialogue)
is only opened for a key that is really in it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from stormclaw.config import system_keyring
from stormclaw.config.disk import file_error, present, read_text, write_text
from stormclaw.errors import UsageError

FILE_NAME: Final = "auth.json"
VERSION: Final = 2
IN_KEYRING: Final = "keyring"
DEFAULT: Final = "default"
"""The profile of a key that was given no name; all keys of version 1 are such."""
ENVIRONMENT: Final = "environment"
"""The profile of a key that stands in a variable."""

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_PROFILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_DAMAGED = "is damaged; mend or delete it, then save your keys again"

Entries: TypeAlias = dict[str, list[dict[str, str]]]
"""By provider, as in the file: `{profile, key}`, or `{profile, in: keyring}`."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A key and what it is called.

    Attributes:
        name: `environment`, `default`, or what the person chose.
        key: The key itself; in no repr.
    """

    name: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class StoredKey:
    """Where a key is; the key itself is not looked at.

    Attributes:
        provider: Whose key.
        profile: Its name.
        where: `keyring`, or the path of the file it is in.
    """

    provider: str
    profile: str
    where: str


def find_keys(
    name_or_env: str,
    env: Mapping[str, str],
    home: Path,
    *,
    api_key_env: str = "",
    profiles: Sequence[str] = (),
) -> tuple[Profile, ...]:
    """The keys for a provider, in the order in which they are to be used.

    First that of the variable `api_key_env` (or of one called `name_or_env` itself), then the
    stored ones. A key that is there twice counts once. May block on a locked keyring: call it in
    a thread.

    Args:
        name_or_env: The provider's name, or a variable's.
        env: The environment.
        home: The user folder.
        api_key_env: As configured.
        profiles: Only these, in this order; empty for all. One that is not there is left out.

    Raises:
        ConfigError: `auth.json` is damaged.
    """
    return tuple(_distinct(_keys(name_or_env, env, home, api_key_env, profiles)))


def find_key(
    name_or_env: str, env: Mapping[str, str], home: Path, *, api_key_env: str = ""
) -> str | None:
    """The first of `find_keys`, or None; opens no keyring for those that come after.

    Raises:
        ConfigError: `auth.json` is damaged.
    """
    first = next(_keys(name_or_env, env, home, api_key_env, ()), None)
    return first.key if first else None


def save_key(name: str, key: str, home: Path, profile: str = DEFAULT) -> str:
    """Store a key, replacing the one of this profile -> `keyring`, or the path of its file.

    Args:
        name: The provider's name.
        key: The key; white space around it is dropped.
        home: The user folder.
        profile: What to call it; a new one comes after those that are there.

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
    if profile == ENVIRONMENT or not _PROFILE.fullmatch(profile):
        raise UsageError(
            f"{profile!r} names no key: letters, digits, `_`, `-`, `.`, and not {ENVIRONMENT}"
        )
    with _locked(home):
        entries = _read(home)
        kept = system_keyring.put(_entry(name, profile), key, home)
        entry = {"profile": profile, **({"in": IN_KEYRING} if kept else {"key": key})}
        own = entries.setdefault(name, [])
        place = next((at for at, one in enumerate(own) if one["profile"] == profile), len(own))
        own[place : place + 1] = [entry]
        _write(home, entries)
    return IN_KEYRING if kept else str(home / FILE_NAME)


def delete_key(name: str, home: Path, profile: str | None = None) -> bool:
    """Forget a stored key -> whether there was one.

    Args:
        name: The provider's name.
        home: The user folder.
        profile: Which of its keys; None for all.

    Raises:
        ConfigError: `auth.json` is damaged.
        OSError: The file cannot be written.
    """
    with _locked(home):
        entries = _read(home)
        gone = [one for one in entries.get(name, ()) if profile in (None, one["profile"])]
        if not gone:
            return False
        for one in gone:
            if "key" not in one:
                system_keyring.remove(_entry(name, one["profile"]), home)
        left = [one for one in entries.pop(name) if one not in gone]
        _write(home, entries | ({name: left} if left else {}))
    return True


def stored_profiles(home: Path) -> tuple[StoredKey, ...]:
    """Every stored key, by provider, each provider's in order of use; opens no keyring.

    Raises:
        ConfigError: `auth.json` is damaged.
    """
    path = str(home / FILE_NAME)
    return tuple(
        StoredKey(name, one["profile"], path if "key" in one else IN_KEYRING)
        for name, own in _read(home).items()
        for one in own
    )


def stored_keys(home: Path) -> dict[str, str]:
    """Provider -> `keyring` or the file's path, of its first stored key; opens no keyring.

    Raises:
        ConfigError: `auth.json` is damaged.
    """
    found: dict[str, str] = {}
    for stored in stored_profiles(home):
        found.setdefault(stored.provider, stored.where)
    return found


def _keys(
    name: str, env: Mapping[str, str], home: Path, api_key_env: str, profiles: Sequence[str]
) -> Iterator[Profile]:
    variables = (api_key_env, name if _VARIABLE.fullmatch(name) else "")
    values = (env.get(variable, "").strip() for variable in variables if variable)
    in_env = next(filter(None, values), "")
    if in_env and not profiles:
        yield Profile(ENVIRONMENT, in_env)
    stored = {one["profile"]: one for one in _read(home).get(name, ())}
    for profile in profiles or stored:
        if profile == ENVIRONMENT and in_env:
            yield Profile(profile, in_env)
        elif one := stored.get(profile):
            key = one.get("key") or system_keyring.get(_entry(name, profile), home)
            if key:
                yield Profile(profile, key)


def _distinct(keys: Iterator[Profile]) -> Iterator[Profile]:
    seen: set[str] = set()
    for profile in keys:
        if profile.key not in seen:
            seen.add(profile.key)
            yield profile


def _entry(name: str, profile: str) -> str:
    """What a key is called in the keyring; a `default` one as version 1 called it."""
    return name if profile == DEFAULT else f"{name}#{profile}"


@contextlib.contextmanager
def _locked(home: Path) -> Iterator[None]:
    """One process at a time changes the file."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (home / f".{FILE_NAME}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _read(home: Path) -> Entries:
    """The file's entries; those of version 1 as if written today."""
    path = home / FILE_NAME
    if not present(path):
        return {}
    # The decoder's own message would quote the file, and with it a key.
    try:
        content: Any = json.loads(read_text(path))
        version, keys = content["version"], dict(content["keys"].items())
    except (ValueError, TypeError, LookupError, AttributeError):
        raise file_error(path, _DAMAGED) from None
    if version not in (1, VERSION):
        raise file_error(path, f"has version {version}; this StormClaw reads up to {VERSION}")
    try:
        if version == 1:
            keys = {name: [{"profile": DEFAULT, **one}] for name, one in keys.items()}
        sound = all(isinstance(own, list) and all(map(_is_entry, own)) for own in keys.values())
    except TypeError:
        sound = False
    if not sound:
        raise file_error(path, _DAMAGED)
    return keys


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("profile"), str)
        and (isinstance(entry.get("key"), str) or entry.get("in") == IN_KEYRING)
    )


def _write(home: Path, keys: Mapping[str, object]) -> None:
    content = {"version": VERSION, "keys": dict(sorted(keys.items()))}
    write_text(home / FILE_NAME, json.dumps(content, indent=2) + "\n", mode=0o600)

"""What is at hand on this machine besides keys and servers: a CLI that is logged in, a model file.

Only looked for in files, in well under 20 ms: no program is started, nothing heavy imported.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from stormclaw.config.disk import user_home

MODELS_FOLDER: Final = "models"
"""In the user folder, where `stormclaw local pull` puts what it brings."""
MOST_BYTES: Final = 8 * 1024 * 1024
"""More than any file with a login holds; claude's own state grows to a few megabytes."""

_LATER_PART = re.compile(r"-0*([2-9]|[1-9]\d+)-of-\d+\.gguf$")


def logged_in(env: Mapping[str, str]) -> tuple[str, ...]:
    """The CLIs on PATH that have a login of their own, the preferred one first."""
    path = env.get("PATH", "")
    return tuple(
        name for name, login in _LOGINS.items() if shutil.which(name, path=path) and login(env)
    )


def local_model(home: Path) -> Path | None:
    """The newest GGUF file in the user folder, where there is something that can run it."""
    try:
        found = [
            (entry.stat().st_mtime, entry)
            for entry in (home / MODELS_FOLDER).rglob("*.gguf")
            if entry.is_file() and not _is_no_model(entry.name)
        ]
    except OSError:
        return None
    if not found or importlib.util.find_spec("xllamacpp") is None:
        return None
    return max(found)[1]


def _is_no_model(name: str) -> bool:
    """A later part of a model in several files, or the eyes of one."""
    return name.startswith(("mmproj", ".")) or _LATER_PART.search(name) is not None


def _claude(env: Mapping[str, str]) -> bool:
    """Its credentials, the account it keeps them for in a keychain, or a key of its settings.

    What variables say does not count: they are not passed on to it.
    """
    home = user_home(env)
    if _json(home / ".claude" / ".credentials.json"):
        return True
    settings = _json(home / ".claude" / "settings.json")
    own = settings.get("env")
    tokens = ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY")
    if settings.get("apiKeyHelper") or (isinstance(own, dict) and any(map(own.get, tokens))):
        return True
    return b'"oauthAccount"' in _bytes(home / ".claude.json")


def _codex(env: Mapping[str, str]) -> bool:
    """Its file with tokens or a key; a login it keeps in a keyring cannot be seen."""
    held = _json(user_home(env) / ".codex" / "auth.json")
    return bool(held.get("tokens") or held.get("OPENAI_API_KEY"))


_LOGINS: Final[Mapping[str, Callable[[Mapping[str, str]], bool]]] = {
    "claude": _claude,
    "codex": _codex,
}
"""Program -> whether somebody is logged in with it; in the order in which they are taken."""


def _json(path: Path) -> dict[str, Any]:
    try:
        held = json.loads(_bytes(path))
    except (ValueError, RecursionError):
        return {}
    return held if isinstance(held, dict) else {}


def _bytes(path: Path) -> bytes:
    """What a plain file holds; nothing where there is none, or something odd."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(MOST_BYTES)
    except OSError:
        return b""

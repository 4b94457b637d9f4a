"""The system's keyring: slow to import, able to put up a dialogue, and often not there at all.

Whatever a backend does while it is looked for or used (no bus, no display, a broken plug-in), the
answer is the same: it does not have the key. Everything here may block: call it in a thread.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "stormclaw"
MIN_PRIORITY = 1
"""What the keyring library recommends; its plain-text backends are below."""


def put(entry: str, key: str, home: Path) -> bool:
    """Whether the keyring took the key, and gives it back."""
    backend = _backend()
    if backend is None:
        return False
    try:
        backend.set_password(_service(home), entry, key)
        return backend.get_password(_service(home), entry) == key
    except Exception:  # noqa: BLE001
        return False


def get(entry: str, home: Path) -> str | None:
    """The key, None if the keyring is gone, locked, or has none."""
    backend = _backend()
    with contextlib.suppress(Exception):
        return backend.get_password(_service(home), entry) if backend else None
    return None


def remove(entry: str, home: Path) -> None:
    """Forget a key, where that can be done."""
    backend = _backend()
    with contextlib.suppress(Exception):
        if backend:
            backend.delete_password(_service(home), entry)


def _service(home: Path) -> str:
    """Another user folder (STORMCLAW_HOME) has keys of its own."""
    usual = Path("~/.stormclaw").expanduser()
    return SERVICE if home == usual else f"{SERVICE}:{home}"


def _backend() -> KeyringBackend | None:
    """The system's keyring; None where there is none worth the name."""
    try:
        import keyring
        from keyring.backends import fail, null

        backend = keyring.get_keyring()
        usable = not isinstance(backend, fail.Keyring | null.Keyring)
        return backend if usable and backend.priority >= MIN_PRIORITY else None
    except Exception:  # noqa: BLE001
        return None

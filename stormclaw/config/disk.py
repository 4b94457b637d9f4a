"""Files and paths of the configuration: read carefully, written whole, `~` and `$VAR` expanded."""

from __future__ import annotations

import os
import pwd
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from stormclaw.errors import ConfigError, Problem

MAX_BYTES = 1_000_000

_VARIABLE = re.compile(r"\$(?:\$|(?P<bare>[A-Za-z_]\w*)|\{(?P<braced>[^}]*)\})")


def home_dir(env: Mapping[str, str]) -> Path:
    """The user folder: `$STORMCLAW_HOME`, else `~/.stormclaw`; absolute, not created."""
    named = env.get("STORMCLAW_HOME", "").strip()
    if named:
        return Path(os.path.abspath(_tilde(named, env)))  # noqa: PTH100 (keeps links)
    return user_home(env) / ".stormclaw"


def user_home(env: Mapping[str, str]) -> Path:
    """The person's home folder: `$HOME`, else what the system knows."""
    return Path(env.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)


def expand(text: str, env: Mapping[str, str]) -> str:
    """Replace a leading `~` or `~user`, `$NAME` and `${NAME}`; `$$` is a dollar sign.

    Raises:
        ValueError: A variable is not set, or there is no such user; the message says which.
    """

    def value(found: re.Match[str]) -> str:
        name = found["bare"] or found["braced"]
        if found.group() == "$$":
            return "$"
        if name not in env:
            raise ValueError(f"the environment variable {name or '${}'} is not set")
        return env[name]

    return _VARIABLE.sub(value, _tilde(text, env))


def _tilde(text: str, env: Mapping[str, str]) -> str:
    if not text.startswith("~"):
        return text
    user, slash, rest = text[1:].partition("/")
    if not user:
        return f"{user_home(env)}{slash}{rest}"
    try:
        return f"{pwd.getpwnam(user).pw_dir}{slash}{rest}"
    except KeyError:
        raise ValueError(f"there is no user {user} on this machine") from None


def present(path: Path) -> bool:
    """Whether something stands at the path, readable or not."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def read_text(path: Path) -> str:
    """A text file of at most 1 MB, UTF-8, a BOM dropped.

    Raises:
        ConfigError: It is missing, a folder, unreadable, too large, or not UTF-8.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            # Opening a named pipe with nobody at its other end would wait for ever.
            raise file_error(path, "this is not a regular file")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise file_error(path, "this is a folder; a file is wanted here") from None
    except FileNotFoundError:
        raise file_error(path, "there is no such file") from None
    except OSError as error:
        raise file_error(path, f"cannot be read: {error.strerror or error}") from None
    if len(content) > MAX_BYTES:
        raise file_error(path, f"is larger than {MAX_BYTES:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise file_error(f"{path}:{line}", "is not UTF-8 text; save the file as UTF-8") from None


def write_text(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file whole or not at all; folders are made 0700, a link is written through.

    Raises:
        OSError: The disk refuses; the old file is as it was.
    """
    import tempfile

    target = Path(os.path.realpath(path))
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def file_error(place: Path | str, message: str) -> ConfigError:
    """The error for a file that is wrong as a whole; `place` is `path` or `path:line`."""
    return ConfigError([Problem(str(place), "", "", message)])

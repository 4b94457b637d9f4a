"""The folders that programs of one run see as `/tmp` and `$HOME`; they go with the run."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from stormclaw.security.redact import redact

PREFIX = "stormclaw-"
MAX_SETTINGS = 65_536
"""Bytes of a settings file that is copied; longer ones are left out."""

SETTINGS = (
    ".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes",
    ".gitignore", ".gitignore_global", ".npmrc", ".config/pip/pip.conf", ".pip/pip.conf",
    ".cargo/config.toml", ".cargo/config", ".condarc", ".editorconfig", ".config/uv/uv.toml",
    ".config/go/env", ".tool-versions", ".config/mise/config.toml",
    ".gemrc", ".bundle/config", ".yarnrc", ".bunfig.toml", ".psqlrc", ".sqliterc",
)  # fmt: skip
"""Below $HOME: copied without what is secret in them. Secrets are masked in the copy."""

GIT_SETTINGS = (".gitconfig", ".config/git/config")
_INCLUDED = re.compile(r"^\s*path\s*=\s*\"?([^\"\n]+?)\"?\s*$", re.M)
_NPM_SECRET = re.compile(r"^.*(_auth|_password|_authToken|username|certfile|keyfile).*$\n?", re.M)
UNSIGNED = "\n[commit]\n\tgpgsign = false\n[tag]\n\tgpgsign = false\n"
"""Signing keys are out of reach: a commit that insists on one could not be made at all."""


class Nest:
    """One run's own folders, mode 0700, removed when it ends (or by a later run, if it was killed).

    Attributes:
        tmp: What programs see as /tmp and /var/tmp.
        home: What they see as $HOME: what they put there stays for the run.
        etc: What they may see as /etc; empty until somebody fills it.
    """

    def __init__(self, user_home: Path, avoid: Path) -> None:
        """Make it, with copies of the person's harmless settings.

        Args:
            user_home: Whose settings are copied.
            avoid: The workspace; the nest is not made in it.

        Raises:
            OSError: It cannot be made.
        """
        around = Path(os.path.realpath(tempfile.gettempdir()))
        if avoid == around or avoid in around.parents:
            around = Path("/tmp")  # noqa: S108 - a fresh folder below it
        _sweep(around)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=around))
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        self._finalizer = weakref.finalize(self, _remove, self.path, self._lock)
        self.tmp, self.home = self.path / "tmp", self.path / "home"
        self.tmp.mkdir(0o700)
        self.tmp.chmod(0o1777)
        self.home.mkdir(0o700)
        self.etc = self.path / "etc"
        self.etc.mkdir(0o755)
        _copy_settings(user_home, self.home)

    def close(self) -> None:
        """Remove it now."""
        self._finalizer()


def _copy_settings(source: Path, target: Path) -> None:
    for name in SETTINGS:
        text = _settings(source / name)
        if text is None:
            continue
        if name == ".npmrc":
            text = _NPM_SECRET.sub("", text)
        if name in GIT_SETTINGS:
            for included in _includes(text, source):
                _write(target / included, _settings(source / included))
            text += UNSIGNED
        _write(target / name, text)
    if not any((target / name).exists() for name in GIT_SETTINGS):
        _write(target / ".gitconfig", UNSIGNED.lstrip())


def _includes(text: str, user_home: Path) -> Iterator[Path]:
    """Files below $HOME that git settings include, relative to it."""
    for written in _INCLUDED.findall(text)[:16]:
        path = user_home / written.removeprefix("~/")
        with contextlib.suppress(ValueError):
            relative = Path(os.path.normpath(path)).relative_to(user_home)
            if "git" in str(relative):
                yield relative


def _settings(path: Path) -> str | None:
    """A small text file with what looks like a secret masked; None if it is not one."""
    try:
        if not stat.S_ISREG(path.stat().st_mode) or path.stat().st_size > MAX_SETTINGS:
            return None
        return redact(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


def _write(path: Path, text: str | None) -> None:
    if text is not None and not path.exists():
        with contextlib.suppress(OSError):
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
            path.write_text(text, "utf-8")


def _sweep(around: Path) -> None:
    """Remove nests whose run was killed: nobody holds their lock any more."""
    with contextlib.suppress(OSError):
        for left in around.glob(f"{PREFIX}????????"):
            with contextlib.suppress(OSError):
                if left.lstat().st_uid != os.geteuid() or not (left / "home").is_dir():
                    continue
                lock = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    os.close(lock)
                    continue
                _remove(left, lock)


def _remove(path: Path, lock: int) -> None:
    def open_up(function: Callable[..., Any], name: str, _: object) -> None:
        # Go keeps its modules in folders that cannot be written.
        with contextlib.suppress(OSError):
            Path(name).parent.chmod(0o700)
            function(name)

    shutil.rmtree(path, onerror=open_up)
    with contextlib.suppress(OSError):
        os.close(lock)

"""What git is told about ignoring outside the ignore files: the person's own list, and letters."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 1_048_576
"""Of one ignore or configuration file; what follows is not read."""

PATIENCE_S = 2.0
_SYSTEM = ("/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig")
_WORDS = (b"excludesfile", b"ignorecase", b"include")
_ASK = (
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat",
    "--no-pager", "--no-optional-locks",
    "config", "--includes", "-z", "--get-regexp", r"^core\.(excludesfile|ignorecase)$",
)  # fmt: skip
"""Asks and does nothing else, whatever the repository's own configuration says."""


@dataclass(frozen=True, slots=True)
class GitSettings:
    """What counts in one repository.

    Attributes:
        excludes: Bytes of the person's own ignore file (`core.excludesFile`).
        fold: Letters match in either case (`core.ignoreCase`).
    """

    excludes: bytes = b""
    fold: bool = False


def git_settings(root: Path) -> GitSettings:
    """The settings that git has in the repository whose top folder is `root`.

    git itself is asked, but only where some configuration speaks of these things at all.
    """
    home = Path(os.environ.get("HOME") or "/nonexistent")
    own = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    configs: list[str | Path] = [*_SYSTEM, home / ".gitconfig", own / "config"]
    configs += [folder / "config" for folder in git_folders(root)]
    told = any(name.startswith("GIT_CONFIG") for name in os.environ)
    if not told and not any(_speaks(read_some(path)) for path in configs):
        return GitSettings(read_some(own / "ignore"))
    answers = _answers(root)
    named = answers.get("core.excludesfile")
    path = own / "ignore" if named is None else root / named
    if named is not None and named.startswith("~/"):
        path = home / named[2:]
    fold = answers.get("core.ignorecase", "false").lower() in {"true", "yes", "on", "1", ""}
    return GitSettings(read_some(path) if named != "" else b"", fold)


def git_folders(root: Path) -> tuple[Path, ...]:
    """The folders of a repository's own files, that of all its work trees last; () if none."""
    entry = root / ".git"
    try:
        folder = entry
        if entry.is_file():
            text = read_some(entry).decode("utf-8", "surrogateescape")
            if not text.startswith("gitdir: "):
                return ()
            folder = root / text.removeprefix("gitdir: ").rstrip("\r\n")
        common = read_some(folder / "commondir").decode("utf-8", "surrogateescape").strip()
    except (OSError, ValueError):
        return ()
    return (folder, folder / common) if common else (folder,)


def exclude_bytes(root: Path) -> bytes:
    """The repository's `info/exclude`, which all its work trees share."""
    folders = git_folders(root)
    return read_some(folders[-1] / "info" / "exclude") if folders else b""


def read_some(path: str | Path, folder: int | None = None, flags: int = 0) -> bytes:
    """The beginning of a regular file, b"" if there is none that can be read; never waits.

    Args:
        path: The file.
        folder: Descriptor that a relative path starts at.
        flags: Further ones for `os.open`.
    """
    flags |= os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, dir_fd=folder)
    except (OSError, ValueError):
        return b""
    return read_open(descriptor)


def read_open(descriptor: int) -> bytes:
    """The same from a descriptor, which is closed."""
    try:
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return b""
            return file.read(MOST_BYTES) or b""
    except OSError:
        return b""


def find_git(root: Path) -> str | None:
    """The installed git by its absolute path; none that lies in the repository is looked at."""
    folders = [
        folder
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep)
        if folder.startswith("/") and not _inside(folder, root)
    ]
    found = shutil.which("git", path=os.pathsep.join(folders))
    return None if found is None or _inside(found, root) else found


def _inside(path: str, root: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def _speaks(config: bytes) -> bool:
    lowered = config.lower()
    return any(word in lowered for word in _WORDS)


def _answers(root: Path) -> dict[str, str]:
    """What git says; nothing if it is missing, refuses or takes too long."""
    git = find_git(root)
    if git is None:
        return {}
    kept = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
            "GIT_CONFIG_NOSYSTEM")  # fmt: skip
    environ = {name: os.environ[name] for name in kept if name in os.environ}
    environ |= {"PATH": os.defpath, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            [git, "-C", str(root), *_ASK],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return {}
    lines = os.fsdecode(done.stdout[:MOST_BYTES]).split("\0")
    return {key.lower(): value for key, _, value in (line.partition("\n") for line in lines)}

"""Where a run works and with which settings: everything cheap, known before the first paint."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from stormclaw.config.files import home_dir
from stormclaw.config.layers import Loaded, load
from stormclaw.config.settings import Settings
from stormclaw.config.trust import is_trusted
from stormclaw.config.workspace import find_workspace

HEAD_BYTES = 4096
"""More than any branch has for a name."""


@dataclass(frozen=True)
class Place:
    """The facts of a run.

    Attributes:
        home: StormClaw's own folder.
        workspace: The folder worked in, absolute, links resolved.
        env: The environment it was started with.
        flags: Dotted setting -> value, from the command line.
        loaded: The settings, and where each came from.
        trusted: Whether the person trusts what the project's own configuration asks for.
        presets: Names of providers that need no configuration.
        kinds: Values `kind:` may have.
    """

    home: Path
    workspace: Path
    env: Mapping[str, str]
    flags: Mapping[str, object]
    loaded: Loaded
    trusted: bool
    presets: Collection[str]
    kinds: Collection[str]

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.loaded.settings


def find_place(
    *,
    cwd: Path,
    workspace: Path | None,
    env: Mapping[str, str],
    flags: Mapping[str, object],
    presets: Collection[str] = (),
    kinds: Collection[str] = (),
    must_exist: bool = True,
) -> Place:
    """Find the workspace and load the settings that count there.

    Args:
        cwd: Where the program was started.
        workspace: `--workspace`, None if not given.
        env: The environment.
        flags: Dotted setting -> value.
        presets: See `Place.presets`.
        kinds: See `Place.kinds`.
        must_exist: Refuse a named workspace that is not there.

    Raises:
        ConfigError: With every problem of every file.
        UsageError: The named workspace is not there, or no folder.
    """
    home = home_dir(env)
    own = load(home=home, workspace=None, env=env, flags=flags, trusted=False)
    folder = find_workspace(cwd, own.settings.workspace_dir, workspace, env, must_exist=must_exist)
    trusted = is_trusted(home, folder)
    loaded = load(
        home=home,
        workspace=folder,
        env=env,
        flags=flags,
        trusted=trusted,
        presets=presets,
        kinds=kinds,
    )
    return Place(home, folder, env, flags, loaded, trusted, presets, kinds)


def branch_of(workspace: Path) -> str:
    """The git branch checked out in or above `workspace`, "" outside git; starts no process."""
    for folder in (workspace, *workspace.parents):
        marker = folder / ".git"
        try:
            if marker.is_file():
                marker = folder / _first_bytes(marker).removeprefix("gitdir:").strip()
            head = _first_bytes(marker / "HEAD").strip()
        except (OSError, ValueError):
            continue
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else head[:8]
    return ""


def _first_bytes(path: Path) -> str:
    """The beginning of a plain file; a repository may hold a pipe or a device in its place.

    Raises:
        OSError: It cannot be read, or is no plain file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is no plain file")
        return os.read(descriptor, HEAD_BYTES).decode("utf-8", "replace")
    finally:
        os.close(descriptor)

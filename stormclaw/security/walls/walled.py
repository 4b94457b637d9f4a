"""What all walls have in common: whose they are, which folders they open, what they kept out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from stormclaw.errors import ToolFailure
from stormclaw.protocol.effects import Reach
from stormclaw.protocol.tool import Lack, Launch
from stormclaw.security.sandbox import Sandbox, bash
from stormclaw.security.walls.guarded import guarded
from stormclaw.security.walls.lacks import Walls, find_lack
from stormclaw.security.walls.nest import Nest
from stormclaw.security.walls.toolchains import in_any

NEVER_OPENED = (".ssh", ".gnupg", ".aws", ".kube", ".docker")
"""Below $HOME: not even when somebody asks for it."""


@dataclass(frozen=True, kw_only=True)
class Walled(Sandbox):
    """A sandbox that has walls.

    Attributes:
        nest: The run's own folders.
        workspace: Links resolved.
        home: StormClaw's own folder: never shown.
        user_home: The person's, links resolved.
        shown: Installed tools, read-only.
    """

    private_home: ClassVar[bool]
    """Whether programs see a $HOME of their own under the name of the person's."""

    nest: Nest
    workspace: Path
    home: Path
    user_home: Path
    shown: tuple[Path, ...]

    def lack(self, launch: Launch, code: int, output: str) -> Lack | None:
        """What the walls kept from a program that ended so; None if they did not matter."""
        if code == 0:
            return None
        free = (self.workspace, *guarded(self.workspace, self.user_home).writable)
        walls = Walls(self.user_home, self.home, free, self.shown, self.private_home)
        return find_lack(walls, launch, code, output)

    def close(self) -> None:
        """Remove what was kept for this run."""
        self.nest.close()

    def shell(self, workspace: Path, environ: Mapping[str, str]) -> str:
        """The shell to run in a workspace.

        Raises:
            ToolFailure: There is none, or the workspace is gone.
        """
        if not workspace.is_dir():
            raise ToolFailure(f"the workspace {workspace} is not there; nothing was run")
        return bash(environ)

    def opened(self, reach: Reach) -> list[Path]:
        """The folders to open, links resolved, made if they are missing.

        Raises:
            ToolFailure: One of them is never opened, or cannot be made.
        """
        closed = (self.home, *(self.user_home / name for name in NEVER_OPENED))
        folders = []
        for folder in reach.folders:
            real = Path(os.path.realpath(folder))
            if in_any(real, closed) or len(real.parts) < 2:
                raise ToolFailure(f"no program is let into {folder}; nothing was run")
            try:
                real.mkdir(parents=True, exist_ok=True)
            except OSError as problem:
                why = problem.strerror or problem
                raise ToolFailure(f"{folder} cannot be opened: {why}; nothing was run") from None
            folders.append(real)
        return folders

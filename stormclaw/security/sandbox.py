"""The walls around a shell command: which there are on this machine, and putting a line inside."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from stormclaw.errors import ToolFailure
from stormclaw.protocol.effects import Reach
from stormclaw.protocol.tool import Lack, Launch

Wanted = Literal["auto", "required", "off"]


@dataclass(frozen=True, slots=True)
class Rung:
    """One kind of walls, tried here.

    Attributes:
        name: bwrap (with its program) or landlock.
        ok: Whether it holds on this machine.
        why: What was found, in a sentence.
    """

    name: str
    ok: bool
    why: str


@dataclass(frozen=True)
class Sandbox:
    """What is put around every shell command of a run.

    Attributes:
        level: none, landlock, bwrap; shown to the person and written into receipts.
        why: One sentence on why it is this level, for `doctor` and the person.
        rungs: What was tried, best first.
        required: The person wants walls: without any, nothing is started.
    """

    level: str = "none"
    why: str = ""
    rungs: tuple[Rung, ...] = ()
    required: bool = False

    def launch(
        self, command: str, workspace: Path, environ: Mapping[str, str], reach: Reach
    ) -> Launch:
        """Box a bash line in, ready to be started in `workspace`.

        Raises:
            ToolFailure: It cannot be started here at all.
        """
        if self.required:
            raise ToolFailure(f"sandbox: required, and there is none: {self.why}")
        return Launch((bash(environ), "-c", command), dict(environ), (), self.level, reach)

    def lack(self, launch: Launch, code: int, output: str) -> Lack | None:
        """What the walls kept from a program that ended so; None if they did not matter."""
        return None

    def close(self) -> None:
        """Remove what was kept for this run."""


def choose(
    wanted: Wanted,
    *,
    workspace: Path,
    home: Path,
    user_home: Path,
    environ: Mapping[str, str],
) -> Sandbox:
    """The best walls that hold here; tries them for real, which takes some tens of ms. Blocks.

    Args:
        wanted: `security.sandbox` of the settings.
        workspace: Links resolved.
        home: StormClaw's own folder.
        user_home: The person's home.
        environ: What programs will be given.

    Returns:
        Never fails: without walls, a sandbox of level `none` that says why; where they are
        `required`, one that starts nothing.
    """
    if wanted == "off":
        return Sandbox(why="switched off in the settings (security.sandbox: off)")
    from stormclaw.security.walls.trial import Ground, try_all

    workspace, home, user_home = (
        Path(os.path.realpath(each)) for each in (workspace, home, user_home)
    )
    walls = try_all(Ground(workspace, home, user_home, environ))
    if walls.level == "none":
        return replace(walls, required=wanted == "required")
    return walls


def bash(environ: Mapping[str, str]) -> str:
    """The shell that runs every line.

    Raises:
        ToolFailure: There is none.
    """
    # The line was judged as bash reads it; another shell might read it otherwise.
    shell = shutil.which("bash", path=environ.get("PATH", os.defpath))
    if shell is None:
        raise ToolFailure("there is no bash on the PATH; install it to run commands")
    return shell

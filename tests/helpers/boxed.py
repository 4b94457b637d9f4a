"""A workspace, a home with secrets, and programs that run inside real walls around them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from stormclaw.protocol.effects import Reach
from stormclaw.protocol.tool import Lack
from stormclaw.security.sandbox import Sandbox
from stormclaw.security.walls.trial import Ground, landlocked, namespaces

Level = Literal["bwrap", "landlock"]
REAL_HOME = Path.home()


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what the walls kept from it."""

    code: int
    output: str
    lack: Lack | None


@dataclass(frozen=True)
class Box:
    """Walls, and what they stand around.

    Attributes:
        walls: Of the level asked for.
        ground: The folders.
        outside: A folder next to them that nobody was let into.
    """

    walls: Sandbox
    ground: Ground
    outside: Path

    @property
    def workspace(self) -> Path:
        """Where programs work."""
        return self.ground.workspace

    @property
    def user_home(self) -> Path:
        """The person's home."""
        return self.ground.user_home

    def run(
        self,
        command: str,
        *folders: Path,
        network: bool = False,
        hosts: tuple[str, ...] = (),
        seconds: int = 120,
    ) -> Ended:
        """Run a line inside."""
        reach = Reach(network, folders, hosts)
        launch = self.walls.launch(command, self.workspace, self.ground.environ, reach)
        try:
            done = subprocess.run(
                launch.argv,
                pass_fds=launch.descriptors,
                env=launch.environ,
                cwd=self.workspace,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                timeout=seconds,
            )
        finally:
            for descriptor in launch.descriptors:
                os.close(descriptor)
            launch.finish()
        output = done.stdout.decode("utf-8", "replace")
        return Ended(done.returncode, output, self.walls.lack(launch, done.returncode, output))

    def ok(self, command: str, *folders: Path, network: bool = False) -> str:
        """Run a line that must succeed; returns what it said."""
        ended = self.run(command, *folders, network=network)
        assert ended.code == 0, ended.output
        return ended.output


def box(tmp_path: Path, level: Level = "bwrap", workspace: Path | None = None) -> Iterator[Box]:
    """Put walls up; skips where this machine has none of the kind."""
    base = Path(os.path.realpath(tmp_path))
    work = workspace or base / "work"
    user_home, outside = base / "person", base / "outside"
    for folder in (work, user_home / ".ssh", outside):
        folder.mkdir(parents=True, exist_ok=True)
    (user_home / ".ssh" / "id_ed25519").write_text("the private key\n")
    (user_home / "diary").write_text("dear diary\n")
    (user_home / ".gitconfig").write_text("[user]\n\tname = Ann\n\temail = ann@example.org\n")
    (outside / "kept").write_text("kept\n")
    ground = Ground(work, base / "claw", user_home, environ(user_home))
    walls = namespaces(ground) if level == "bwrap" else landlocked(ground)
    if walls.level != level:
        pytest.skip(f"no {level} here: {walls.why}")
    try:
        yield Box(walls, ground, outside)
    finally:
        walls.close()


def environ(user_home: Path) -> dict[str, str]:
    """What programs get: this Python first, and the Rust of whoever runs the tests."""
    places = [str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]
    given = {"HOME": str(user_home), "LC_ALL": "C.UTF-8", "TERM": "dumb"}
    if (REAL_HOME / ".cargo" / "bin").is_dir():
        places.append(str(REAL_HOME / ".cargo" / "bin"))
        given["RUSTUP_HOME"] = os.environ.get("RUSTUP_HOME", str(REAL_HOME / ".rustup"))
    return {**given, "PATH": os.pathsep.join(places)}

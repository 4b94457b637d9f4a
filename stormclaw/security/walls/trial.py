"""Tries each kind of walls with a real program inside, best first."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from stormclaw.security.sandbox import Rung, Sandbox
from stormclaw.security.walls.etc import copy_etc
from stormclaw.security.walls.nest import Nest
from stormclaw.security.walls.seccomp import filter_bytes, sealed_file
from stormclaw.security.walls.toolchains import tools

TRIAL_S = 10.0
"""The longest a trial may take."""

PROBE = """
test -w "$1" && test ! -w /usr && test -r /proc/self/status || exit 3
test ! -w /proc/sys/kernel/core_pattern || exit 8
test "$(readlink /proc/self/ns/pid)" != "$2" || exit 7
grep -q '^Seccomp:[[:space:]]*2' /proc/self/status || exit 4
grep -q '^NoNewPrivs:[[:space:]]*1' /proc/self/status || exit 5
test "$(grep '^CapEff' /proc/self/status)" = "$(printf 'CapEff:\\t0000000000000000')" || exit 6
"""
FAULTS = {
    3: "it shows too much or too little of the disk",
    4: "no system call filter is in force",
    5: "programs could gain rights",
    6: "rights are left",
    8: "the kernel's settings could be written",
    7: "it shares the processes of the system",
}


@dataclass(frozen=True, slots=True)
class Ground:
    """What walls are put up around, links resolved.

    Attributes:
        workspace: Where programs work.
        home: StormClaw's own folder.
        user_home: The person's.
        environ: What programs are given.
    """

    workspace: Path
    home: Path
    user_home: Path
    environ: Mapping[str, str]

    def around(self, nest: Nest) -> dict[str, Any]:
        """What all walls are told."""
        shown = tools(self.user_home, self.workspace, self.environ)
        return {
            "nest": nest,
            "workspace": self.workspace,
            "home": self.home,
            "user_home": self.user_home,
            "shown": shown,
        }


def try_all(ground: Ground) -> Sandbox:
    """The best walls that hold, with what was found about each kind."""
    rungs: list[Rung] = []
    for attempt in (namespaces, landlocked):
        walls = attempt(ground)
        rungs += walls.rungs
        if walls.level != "none":
            before = [f"{rung.name}: {rung.why}" for rung in rungs if not rung.ok]
            return replace(walls, rungs=tuple(rungs), why="; ".join([walls.why, *before]))
    why = "; ".join(f"{rung.name}: {rung.why}" for rung in rungs)
    return Sandbox(why=why, rungs=tuple(rungs))


def namespaces(ground: Ground) -> Sandbox:
    """The strict walls; level `none` where they do not hold."""
    from stormclaw.security.walls.bwrap import Bwrap, system_words

    if missing := _missing():
        return Sandbox(why=missing, rungs=(Rung("bwrap", False, missing),))
    rungs: list[Rung] = []
    for program, flags, why in _bubblewraps():
        rungs.append(Rung(f"bwrap ({program})", not why, why or _told(flags)))
        if why:
            continue
        try:
            nest, etc = Nest(ground.user_home, ground.workspace), _etc().etc
        except OSError as problem:
            return _no_nest(problem, "bwrap")
        return Bwrap(
            level="bwrap",
            why=rungs[-1].why,
            rungs=tuple(rungs),
            program=program,
            flags=flags,
            system=system_words(etc),
            **ground.around(nest),
        )
    found = tuple(rungs) or (Rung("bwrap", False, "bubblewrap is not installed"),)
    return Sandbox(why=found[-1].why, rungs=found)


def landlocked(ground: Ground) -> Sandbox:
    """The second best walls; level `none` where they do not hold."""
    from stormclaw.security.walls.landlock import Landlock

    found, why = (0, _missing()) if _missing() else _landlock()
    rung = Rung("landlock", not why, why or f"Landlock ABI {found} and a call filter")
    if why:
        return Sandbox(why=why, rungs=(rung,))
    try:
        nest = Nest(ground.user_home, ground.workspace)
    except OSError as problem:
        return _no_nest(problem, "landlock")
    return Landlock(level="landlock", why=rung.why, rungs=(rung,), **ground.around(nest))


def _missing() -> str:
    if not sys.platform.startswith("linux"):
        return f"there is no sandbox for {sys.platform} yet"
    if filter_bytes("usual") is None:
        return f"no system call filter was written for {os.uname().machine}"
    return ""


@cache
def _etc() -> Nest:
    """A copy of the harmless part of /etc, made once a process."""
    nest = Nest(Path("/nonexistent"), Path("/nonexistent"))
    copy_etc(nest.etc)
    return nest


def _no_nest(problem: OSError, name: str) -> Sandbox:
    why = f"no folder for the run can be made: {problem}"
    return Sandbox(why=why, rungs=(Rung(name, False, why),))


def _told(flags: tuple[str, ...]) -> str:
    nested = "" if flags else "; nested namespaces are kept out by the call filter alone"
    return f"bubblewrap with namespaces and a call filter{nested}"


def _bubblewraps() -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Each bubblewrap -> what it can do here, why it cannot be used ("" if it can)."""
    from stormclaw.security.walls.bwrap import NO_USERNS, programs

    for program in programs():
        why = try_bubblewrap(program, (NO_USERNS,))
        flags: tuple[str, ...] = (NO_USERNS,)
        if why:
            again = try_bubblewrap(program, ())
            why, flags = (again, ()) if not again else (why, flags)
        yield program, flags, why


@cache
def try_bubblewrap(program: str, flags: tuple[str, ...]) -> str:
    """Why walls by this bubblewrap do not hold here, "" if they do; tried once a process."""
    from stormclaw.security.walls.bwrap import NAMESPACES, NO_NETWORK, system_words

    descriptor = sealed_file(filter_bytes("usual") or b"", "calls")
    try:
        argv = [program, *NAMESPACES, *flags, NO_NETWORK, *system_words(Path("/etc"))]
        argv += ["--tmpfs", "/tmp", "--remount-ro", "/"]  # noqa: S108 - an empty one of its own
        argv += ["--seccomp", str(descriptor), "--"]
        argv += ["bash", "-c", PROBE, "probe", "/tmp", str(Path("/proc/self/ns/pid").readlink())]  # noqa: S108
        return _outcome(argv, (descriptor,))
    finally:
        os.close(descriptor)


@cache
def _landlock() -> tuple[int, str]:
    from stormclaw.security.walls.landlock import abi, trial_argv

    found = abi()
    if found < 1:
        return 0, "this kernel has no Landlock, or it is switched off"
    try:
        with trial_argv() as (argv, descriptors):
            return found, _outcome(argv, descriptors)
    except OSError as problem:
        return found, f"cannot be tried: {problem}"


def _outcome(argv: list[str], descriptors: tuple[int, ...]) -> str:
    try:
        done = subprocess.run(
            argv,
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TRIAL_S,
            check=False,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"cannot be started: {problem}"
    if done.returncode == 0:
        return ""
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    with contextlib.suppress(KeyError):
        return FAULTS[done.returncode]
    return said[-1][:200] if said else f"its trial ended with {done.returncode}"

"""Ending a command with all it started, and nothing else."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hatch import Hatchery, is_gone
from scripted import Desk

from stormclaw.processes import MARK, look, marked_call, send
from stormclaw.tools._procs import family_of, stop_family

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")

KINDS = ("plain", "stubborn", "cleared", "frozen", "daemon", "orphan")


@pytest.fixture
def hatchery(tmp_path: Path) -> Iterator[Hatchery]:
    hatchery = Hatchery(Desk(tmp_path))
    yield hatchery
    hatchery.clear()


async def start(hatchery: Hatchery, mark: str, *kinds: str) -> asyncio.subprocess.Process:
    environ = {"PATH": f"{hatchery.nest}:{os.environ['PATH']}", "NEST": str(hatchery.nest)}
    return await asyncio.create_subprocess_exec(
        "bash",
        "-c",
        f"brood {' '.join(kinds)}; wait",
        env=marked_call({**environ, MARK: mark} if mark else environ),
        start_new_session=True,
    )


async def test_daemons_whose_parent_is_gone_end_with_the_call_that_started_them(
    hatchery: Hatchery,
) -> None:
    process = await start(hatchery, "home.1.2", *KINDS)
    born = hatchery.born(len(KINDS))
    await stop_family(process, grace_s=0.2)
    assert [kind for kind, pid in born if not is_gone(pid)] == []


async def test_background_jobs_of_another_call_stay(hatchery: Hatchery) -> None:
    earlier = await start(hatchery, "home.1.2", "daemon", "orphan", "leave")
    left = hatchery.born(2)
    await earlier.wait()
    process = await start(hatchery, "home.1.2", "daemon", "plain")
    born = hatchery.born(2)
    await stop_family(process, grace_s=0.2)
    assert [kind for kind, pid in born if not is_gone(pid)] == []
    assert [kind for kind, pid in left if is_gone(pid)] == []


async def test_a_mark_that_names_no_call_is_not_hunted(hatchery: Hatchery) -> None:
    # Every process of the run has it; ending one command must not end them all.
    environ = {"PATH": f"{hatchery.nest}:{os.environ['PATH']}", MARK: "home.1.2"}
    words = ("bash", "-c", "brood plain; true")
    both = [
        await asyncio.create_subprocess_exec(*words, env=environ, start_new_session=True)
        for _ in range(2)
    ]
    hatchery.born(2)
    await stop_family(both[0])
    assert both[0].returncode is not None
    assert both[1].returncode is None
    assert list(family_of(both[1].pid))
    await stop_family(both[1])


async def test_a_signal_reaches_the_very_process_or_nobody(hatchery: Hatchery) -> None:
    process = await start(hatchery, "", "plain")
    ((_, pid),) = hatchery.born(1)
    proc = look(pid)
    assert proc is not None
    earlier = replace(proc, started=proc.started - 1)
    assert send(earlier, signal.SIGKILL) == "gone"
    assert not is_gone(pid)
    assert send(replace(proc, pid=1), signal.SIGKILL) == "refused"
    assert send(proc, signal.SIGKILL) == "hit"
    await stop_family(process)
    assert send(proc, signal.SIGKILL) == "gone"

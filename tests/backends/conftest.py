"""The real CLIs against stand-in servers, in a network namespace where there is nothing else.

`make test-backends` installs them (pinned) and enters the namespace; anything else skips.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest
from messages_server import MessagesServer, serving

from stormclaw.processes import MARK, carries, is_alive, marks, processes

HERE = Path(__file__).parent
PROGRAMS = HERE.parents[1] / ".venv" / "backends" / "node_modules" / ".bin"
HOW = "`make test-backends` installs and runs them"
FLAGS_OF, SET_FLAGS, UP = 0x8913, 0x8914, 1


def missing() -> str:
    """Why these tests cannot run here, "" if they can."""
    names = [name for _, name in socket.if_nameindex()]
    if names != ["lo"]:
        return f"not in a network namespace of their own, nothing was run; {HOW}"
    if not all((PROGRAMS / name).exists() for name in ("claude", "codex")):
        return f"the CLIs are not installed, nothing was run; {HOW}"
    return _loopback()


def _loopback() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asked = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(asking, FLAGS_OF, asked))[1]
        try:
            fcntl.ioctl(asking, SET_FLAGS, struct.pack("16sh14x", b"lo", flags | UP))
        except OSError as problem:
            return f"loopback cannot be set up in this namespace: {problem}"
    return ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if HERE in item.path.parents]
    reason = missing() if here else ""
    for item in here if reason else ():
        item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def mark() -> str:
    """In the environment of everything this test starts."""
    return f"backends.{os.getpid()}.{uuid4().hex[:8]}"


def alive_with(mark: str) -> set[int]:
    """The processes a test has started, and theirs, that still run."""
    there = processes()
    return {
        pid for pid, each in marks(there).items() if carries(each, mark) and is_alive(there[pid])
    }


@pytest.fixture(autouse=True)
def _nothing_left(mark: str) -> Iterator[None]:
    """The census: nothing of a test outlives it."""
    yield
    assert alive_with(mark) == set()


@pytest.fixture(scope="session", autouse=True)
def _tmp_as_it_was() -> Iterator[None]:
    """Killed, codex leaves the empty folders that it mounts over there: /tmp/.git, say."""
    places = [Path("/tmp") / name for name in (".git", ".codex", ".agents", ".aws")]
    fresh = [place for place in places if not place.exists()]
    yield
    for place in fresh:
        with suppress(OSError):
            place.rmdir()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return workspace.resolve()


@pytest.fixture
def environ(home: Path, mark: str) -> dict[str, str]:
    """What a CLI is started with."""
    node = Path(shutil.which("node") or "/usr/bin/node").parent
    path = f"{PROGRAMS}:{node}:/usr/bin:/bin"
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", MARK: mark}


@pytest.fixture
async def server() -> AsyncIterator[MessagesServer]:
    async with serving() as server:
        yield server

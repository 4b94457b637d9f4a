"""Was it the walls? Told from what real programs said when they failed inside.

`lack_samples.txt` holds what programs printed inside bwrap walls (the last dozen lines), each under
`=== what they lacked | exit code | command`.
"""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from stormclaw.protocol.effects import Reach
from stormclaw.protocol.tool import Launch
from stormclaw.security.walls.lacks import Walls, find_lack

SAMPLES = Path(__file__).with_name("lack_samples.txt").read_text("utf-8")
HEAD = re.compile(r"^=== (network|nothing|folder .*?) \| (\d+) \| (.*)$", re.M)


def samples() -> list[tuple[str, int, str, str]]:
    parts = HEAD.split(SAMPLES)[1:]
    return [
        (want, int(code), command, said)
        for want, code, command, said in zip(
            parts[::4], parts[1::4], parts[2::4], parts[3::4], strict=True
        )
    ]


@pytest.fixture
def walls(tmp_path: Path) -> Walls:
    home = tmp_path.resolve() / "person"
    for folder in (".m2/repository", ".rustup", ".pyenv", ".cargo/registry", ".ssh", "notes"):
        (home / folder).mkdir(parents=True)
    for name in ("work", "outside", "claw"):
        (home.parent / name).mkdir()
    shown = tuple(
        home / name for name in (".m2/repository", ".rustup", ".pyenv", ".cargo/registry")
    )
    return Walls(home, home.parent / "claw", (home.parent / "work",), shown, True)


def launch(
    walls: Walls, reach: Reach | None = None, level: str = "bwrap", **environ: str
) -> Launch:
    return Launch(("bash",), environ, (), level, reach or Reach())


def filled(text: str, walls: Walls) -> str:
    base = walls.home.parent
    names = {"home": walls.user_home, "outside": base / "outside", "work": base / "work"}
    for name, path in names.items():
        text = text.replace(f"{{{name}}}", str(path))
    return text


def test_there_are_enough_samples() -> None:
    found = samples()
    assert len(found) >= 90
    assert sum(want == "network" for want, *_ in found) >= 40
    assert sum(want == "nothing" for want, *_ in found) >= 25


@pytest.mark.parametrize(("want", "code", "command", "said"), samples())
def test_samples(want: str, code: int, command: str, said: str, walls: Walls) -> None:
    lack = find_lack(walls, launch(walls), code, filled(said, walls))
    kind, _, folder = filled(want, walls).partition(" ")
    if kind == "nothing":
        assert lack is None
        return
    assert lack is not None, said
    assert lack.reach == (
        Reach(network=True) if kind == "network" else Reach(False, (Path(folder),))
    )
    assert lack.sign.rstrip("…") in filled(said, walls)


@pytest.mark.parametrize(("want", "code", "command", "said"), samples())
def test_what_was_granted_is_not_lacking(
    want: str, code: int, command: str, said: str, walls: Walls
) -> None:
    kind, _, folder = filled(want, walls).partition(" ")
    reach = Reach(kind == "network", (Path(folder),) if kind == "folder" else ())
    lack = find_lack(walls, launch(walls, reach), code, filled(said, walls))
    assert lack is None or lack.reach.network != reach.network
    assert find_lack(walls, launch(walls), 0, filled(said, walls)) is None


NEVER = (
    "touch: cannot touch '{home}/.ssh/x': Read-only file system",
    "OSError: [Errno 30] Read-only file system: '{home}'",
    "mkdir: cannot create directory '/home': Read-only file system",
    "mkdir: cannot create directory '/x': Read-only file system",
    "bash: /etc/hosts: Permission denied",
    "bash: {work}/.git/config: Read-only file system",
    "PermissionError: [Errno 13] Permission denied: '{work}/locked/file'",
    "bash: {claw}/config.yaml: Read-only file system",
    "bash: {claw}: Read-only file system",
    "EROFS: read-only file system, open '{home}/.pyenv/versions/3.13/lib/x.py'",
    "EROFS: read-only file system, open '{home}/.rustup/toolchains/x'",
    "cp: cannot create regular file '{home}/..': Read-only file system",
    "cp: cannot create regular file '{work}/../claw/x': Read-only file system",
    "touch: cannot touch '/proc/x': Permission denied",
    "FAILED tests/test_net.py - assert 'x' in 'y'\n# Network is unreachable, says the docstring",
    "curl: (7) Failed to connect to 127.0.0.1 port 1 after 0 ms: Couldn't connect to server",
    "E   AssertionError: assert 'Read-only file system' == 'x'",
    "Permission denied (publickey).",
    "\0/\0: Read-only file system \udcff",
    "'" + "/a" * 4000 + "': Read-only file system",
)


@pytest.mark.parametrize("said", NEVER)
def test_never_offered(said: str, walls: Walls) -> None:
    text = filled(said, walls).replace("{claw}", str(walls.home))
    assert find_lack(walls, launch(walls), 1, text) is None


def test_caches_are_offered_as_a_whole(walls: Walls) -> None:
    line = f"error: failed to create directory `{walls.user_home}/.cargo/registry/cache/x`"
    text = f"{line}\n\nCaused by:\n  Read-only file system (os error 30)\n"
    lack = find_lack(walls, launch(walls), 101, text)
    assert lack is not None
    assert lack.reach == Reach(folders=(walls.user_home / ".cargo" / "registry",))


def test_a_server_outside_is_told_from_one_that_is_not_there(walls: Walls) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        said = f"psql: could not connect: Connection refused (127.0.0.1:{port})"
        lack = find_lack(walls, launch(walls), 2, said)
        assert lack is not None
        assert lack.reach == Reach(network=True)
    assert find_lack(walls, launch(walls), 2, said) is None
    assert find_lack(walls, launch(walls, level="landlock"), 2, said) is not None


def test_a_proxy_that_cannot_be_reached(walls: Walls) -> None:
    said = "ProxyError: Cannot connect to proxy 10.0.0.1:3128: Connection refused"
    boxed = launch(walls, HTTPS_PROXY="http://10.0.0.1:3128/")
    assert find_lack(walls, boxed, 1, said) is not None
    assert find_lack(walls, launch(walls), 1, said) is None


def test_a_file_in_a_folder_of_the_home_that_is_not_shown(walls: Walls) -> None:
    said = f"bash: {walls.user_home}/notes/today: No such file or directory"
    lack = find_lack(walls, launch(walls), 1, said)
    assert lack is not None
    assert lack.reach == Reach(folders=(walls.user_home / "notes",))
    gone = f"bash: {walls.user_home}/nothing/today: No such file or directory"
    assert find_lack(walls, launch(walls), 1, gone) is None

"""Who runs on a home, what belongs to them, and who is never touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stormclaw.processes import MARK, look, mark_of, marked_call, processes
from stormclaw.processes_ps import command, environ_word, table
from stormclaw.security import estop, running
from stormclaw.security.halting import find, halt, halt_all, told
from stormclaw.security.lookout import Lookout, Stopped

Child = subprocess.Popen[bytes]

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child]:
    """A process that a tool of this home started, of a StormClaw that is gone."""
    environ = marked_call({**os.environ, MARK: f"{running.home_mark(tmp_path)}.7.8"})
    process = started(environ)
    yield process
    halt(tmp_path)
    process.wait()


def started(environ: dict[str, str]) -> Child:
    process = subprocess.Popen(
        ["bash", "-c", "echo up; sleep 600; :"],
        env=environ,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.stdout.close()
    return process


def test_what_is_found_is_what_is_killed_with_its_owner_and_its_name(
    tmp_path: Path, child: Child
) -> None:
    found = {one.proc.pid: one for one in find(tmp_path)}
    assert found[child.pid].command == "echo up; sleep 600; :"
    assert found[child.pid].stormclaw == 7
    assert {one.call for one in found.values()} == {mark_of(child.pid)}
    halted = halt(tmp_path)
    assert child.wait(0) < 0 if child.poll() is None else child.returncode < 0
    assert {one.proc.pid for one in halted.killed} >= set(found)
    assert halted.left == ()
    assert halted.commands == ("echo up; sleep 600; :",)
    assert find(tmp_path) == ()


def test_another_home_and_another_run_are_not_found(tmp_path: Path, child: Child) -> None:
    assert find(tmp_path / "other") == ()
    assert find(tmp_path, f"{running.home_mark(tmp_path)}.70.8") == ()
    assert find(tmp_path, f"{running.home_mark(tmp_path)}.7")
    assert child.poll() is None


def test_one_that_calls_the_stop_is_spared_with_all_it_descends_from(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from stormclaw.security.halting import halt_all;"
        "halted, problem = halt_all(Path(sys.argv[1]), 'test');"
        "print(len(halted.killed), len(halted.left), problem or 'set')"
    )
    environ = {**os.environ, MARK: f"{running.home_mark(tmp_path)}.7.8"}
    done = subprocess.run(
        [
            "bash",
            "-c",
            'sleep 600 & "$@"; echo after',
            "x",
            sys.executable,
            "-c",
            program,
            tmp_path,
        ],
        env=environ,
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=60,
    )
    assert done.stdout == "1 0 set\nafter\n", done.stderr


def test_the_record_tells_each_what_it_lost(tmp_path: Path, child: Child) -> None:
    halted, problem = halt_all(tmp_path, "/estop")
    assert (problem, len(halted.commands)) == ("", 1)
    assert estop.found(tmp_path, 7) == ("echo up; sleep 600; :",)
    assert estop.found(tmp_path, 8) == ()
    assert child.poll() is not None or child.wait(5) is not None


@pytest.mark.parametrize(
    "record", [b"", b"[]", b'{"found": 3}', b'{"found": [[1], [7, 5], "x", [7, "ok"]]}', b"\xff{"]
)
def test_a_record_of_any_shape_is_read(tmp_path: Path, record: bytes) -> None:
    (tmp_path / "ESTOP").write_bytes(record)
    assert estop.found(tmp_path, 7) in ((), ("ok",))
    assert estop.is_stopped(tmp_path)


def test_each_stop_has_its_own_signature(tmp_path: Path) -> None:
    assert estop.signature(tmp_path) is None
    estop.set(tmp_path, "one")
    first = estop.signature(tmp_path)
    (tmp_path / "keep-its-inode").hardlink_to(tmp_path / "ESTOP")
    estop.set(tmp_path, "two")
    assert None not in (first, estop.signature(tmp_path))
    assert first != estop.signature(tmp_path)


def test_cards_come_and_go_and_those_of_the_dead_are_cleared(tmp_path: Path) -> None:
    card = running.register(tmp_path, "cli", tmp_path / "project")
    card = running.in_session(tmp_path, card, "s-1")
    folder = tmp_path / "run"
    entry = json.loads(next(folder.glob("*.json")).read_text())
    (folder / "9.9.json").write_text(json.dumps({**entry, "started": entry["started"] - 1}))
    (folder / "8.8.json").write_text(json.dumps({**entry, "space": "another machine"}))
    (folder / "7.7.json").write_text("{torn")
    listing = running.running(tmp_path)
    assert [(one.pid, one.session) for one in listing.here] == [(os.getpid(), "s-1")]
    assert [one.space for one in listing.elsewhere] == ["another machine"]
    assert not (folder / "9.9.json").exists()
    running.unregister(tmp_path, card)
    assert running.running(tmp_path).here == ()


def test_a_home_that_cannot_be_written_keeps_nobody_from_running(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("no folder")
    card = running.register(home, "cli", tmp_path)
    assert running.running(home).here == ()
    running.unregister(home, card)


def test_the_lookout_notices_stop_and_clear(tmp_path: Path) -> None:
    import queue

    news: queue.Queue[object] = queue.Queue()
    lookout = Lookout(tmp_path, lambda: news.put("stop"), news.put, lambda: news.put("clear"))
    lookout.start()
    estop.set(tmp_path, "test")
    assert news.get(timeout=60) == "stop"
    stopped = news.get(timeout=60)
    assert isinstance(stopped, Stopped)
    assert stopped.sentence() == "emergency stop: test; nothing was running"
    estop.clear(tmp_path)
    assert news.get(timeout=60) == "clear"
    lookout.close()


def test_what_the_person_is_told() -> None:
    many = Stopped("x", tuple(f"make {n}" for n in range(7)))
    assert many.sentence() == (
        "emergency stop: killed 7 commands: make 0, make 1, make 2, make 3, make 4, ..."
    )
    assert Stopped("x", ("y" * 100,)).sentence().endswith("y…")
    assert Stopped("x", ("make",)).sentence() == "emergency stop: killed 1 command: make"
    told = Stopped("~/.stormclaw/ESTOP", ("make", "sleep 600")).detail().splitlines()
    assert told == ["by      ~/.stormclaw/ESTOP", "killed  make", "killed  sleep 600"]
    assert Stopped("x", ("a",) * 20).detail().endswith("and 8 more")


def test_ps_tells_the_same_as_proc(child: Child) -> None:
    if not Path("/bin/ps").exists():
        pytest.skip("no ps here")
    (row,) = table(child.pid)
    proc = look(child.pid)
    assert proc is not None
    assert (row[0], row[2], row[4], row[5]) == (proc.pid, proc.parent, proc.group, proc.zombie)
    assert {row[0] for row in table()} >= {os.getpid(), child.pid}
    assert command(child.pid).startswith("bash -c echo up")
    assert table(2**22 + 1) == []
    assert environ_word(child.pid, "SURELY_NOT_THERE") == ""


def test_marks_are_read_from_the_environment_a_process_was_started_with(child: Child) -> None:
    mark = mark_of(child.pid)
    assert mark.count(".") == 3
    assert mark_of(2**22 + 1) == ""
    assert told(2**22 + 1) == "[?]"
    assert child.pid in processes()

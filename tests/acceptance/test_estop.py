"""The emergency stop, with real processes, in every front end at once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hatch import Hatchery, is_gone
from scripted import PATIENCE_S, Desk, call, calls
from typist import Typist

from stormclaw.security.running import running

PROGRAM = (sys.executable, "-m", "stormclaw")
KINDS = ("plain", "stubborn", "cleared", "frozen", "daemon", "orphan")
WORDS = {"text": "only words now", "expect": "mergency stop"}

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Program = subprocess.Popen[str]

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")


@pytest.fixture
def hatchery(desk: Desk) -> Iterator[Hatchery]:
    hatchery = Hatchery(desk)
    yield hatchery
    hatchery.clear()


def start(desk: Desk, *words: str, listens: bool = False) -> Program:
    return subprocess.Popen(
        [*PROGRAM, *words],
        cwd=desk.project,
        env=desk.env,
        stdin=subprocess.PIPE if listens else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(program: Program, typed: str | None = None) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    out, err = program.communicate(typed, timeout=PATIENCE_S)
    return program.returncode, out, err


def receipts(run: Run) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(run("receipt", "list", "--json").stdout)
    assert run("receipt", "verify").returncode == 0
    return listed


def test_all_front_ends_at_once_every_process_gone_before_the_command_returns(
    desk: Desk, run: Run, hatchery: Hatchery
) -> None:
    line = hatchery.line(*KINDS)
    desk.script([calls(call("shell_exec", command=line)), WORDS])
    stranger = subprocess.Popen(["sleep", "600"], env=desk.env)
    arguments = json.dumps({"command": line})
    with Typist(PROGRAM, cwd=desk.project, env=desk.env) as person:
        person.sees("enter send")
        person.types("go\r")
        headless = start(desk, "-p", "go")
        message = start(desk, "agent", "-m", "go")
        by_hand = start(desk, "tool", "run", "shell_exec", "--json", arguments)
        repl = start(desk, "agent", listens=True)
        assert repl.stdin is not None
        repl.stdin.write("go\n")
        repl.stdin.flush()
        born = hatchery.born(5 * len(KINDS))
        ours = {person.process.pid, headless.pid, message.pid, by_hand.pid, repl.pid}
        assert {card.pid for card in running(desk.home).here} == ours
        done = run("estop", "--json")
        assert [kind for kind, pid in born if not is_gone(pid)] == []
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        killed = {entry["pid"]: entry for entry in told["killed"]}
        assert {pid for _, pid in born} <= set(killed)
        assert {entry["stormclaw"] for entry in told["killed"]} == ours
        assert {entry["workspace"] for entry in told["killed"]} == {str(desk.project)}
        assert told["left"] == []
        assert stranger.poll() is None
        person.sees("only words now")
        person.types("\x04")
        assert person.ends() == 0
    code, out, err = end(headless)
    assert (code, out) == (0, "only words now\n")
    assert f"stormclaw: interrupted: shell {line}: emergency stop" in err
    assert end(message)[:2] == (0, "only words now\n")
    assert "emergency stop" in end(by_hand)[2]
    assert "only words now" in end(repl, "/exit\n")[1]
    stranger.kill()
    stranger.wait()
    assert running(desk.home).here == ()
    ends = [entry["ended_by"] for entry in receipts(run)]
    assert ends == ["estop"] * 5


def test_a_daemon_left_behind_by_a_finished_command_and_a_finished_program(
    desk: Desk, run: Run, hatchery: Hatchery
) -> None:
    line = hatchery.line("daemon", "orphan", "leave")
    desk.script([calls(call("shell_exec", command=line)), {"text": "left"}])
    assert run("-p", "go").stdout == "left\n"
    born = hatchery.born(2)
    assert [kind for kind, pid in born if is_gone(pid)] == []
    done = run("estop")
    assert [kind for kind, pid in born if not is_gone(pid)] == []
    assert done.returncode == 0
    assert "killed 2:" in done.stdout
    for _, pid in born:
        assert f"  {pid} sleep 600 (stormclaw " in done.stdout
    assert done.stdout.count(", ended)") == 2


def test_tools_of_sub_agents_end_and_all_turns_go_on_in_words(
    desk: Desk, run: Run, hatchery: Hatchery
) -> None:
    line = hatchery.line(*KINDS)
    spawn = calls(call("spawn_agent", task="hatch", name="scout"))
    scout = [calls(call("shell_exec", command=line)), {**WORDS, "text": "scout was stopped"}]
    desk.script([spawn, {"text": "told", "expect": "scout was stopped"}], {"scout": scout})
    program = start(desk, "-p", "go")
    born = hatchery.born(len(KINDS))
    done = run("estop")
    assert [kind for kind, pid in born if not is_gone(pid)] == []
    assert done.returncode == 0, done.stderr
    assert end(program)[:2] == (0, "told\n")
    by_tool = {entry["tool"]: entry for entry in receipts(run)}
    assert by_tool["shell_exec"]["ended_by"] == "estop"
    assert "ended_by" not in by_tool["spawn_agent"]


def test_a_hung_program_cannot_keep_its_tools(desk: Desk, run: Run, hatchery: Hatchery) -> None:
    desk.script([calls(call("shell_exec", command=hatchery.line(*KINDS))), WORDS])
    program = start(desk, "-p", "go")
    born = hatchery.born(len(KINDS))
    program.send_signal(signal.SIGSTOP)
    done = run("estop")
    assert [kind for kind, pid in born if not is_gone(pid)] == []
    assert done.returncode == 0, done.stderr
    program.send_signal(signal.SIGCONT)
    assert end(program)[:2] == (0, "only words now\n")


def test_the_file_touched_by_hand(desk: Desk, run: Run, hatchery: Hatchery) -> None:
    desk.script([calls(call("shell_exec", command=hatchery.line(*KINDS))), WORDS])
    program = start(desk, "-p", "go")
    born = hatchery.born(len(KINDS))
    (desk.home / "ESTOP").touch()
    code, out, err = end(program)
    assert [kind for kind, pid in born if not is_gone(pid)] == []
    assert (code, out) == (0, "only words now\n")
    assert "interrupted: shell" in err
    assert [entry["ended_by"] for entry in receipts(run)] == ["estop"]


def test_a_stop_of_one_home_leaves_another_alone(
    tmp_path: Path, desk: Desk, run: Run, hatchery: Hatchery
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    desk.script([calls(call("shell_exec", command=hatchery.line("plain", "daemon"))), WORDS])
    program = start(desk, "-p", "go")
    born = hatchery.born(2)
    env = {**desk.env, "STORMCLAW_HOME": str(other)}
    elsewhere = [*PROGRAM, "estop"]
    done = subprocess.run(elsewhere, cwd=desk.project, env=env, capture_output=True, text=True)
    assert "nothing was running" in done.stdout
    assert [kind for kind, pid in born if is_gone(pid)] == []
    assert run("estop").returncode == 0
    end(program)


def test_json_and_what_cannot_be_set(desk: Desk, run: Run, hatchery: Hatchery) -> None:
    told = json.loads(run("estop", "--json").stdout)
    assert (told["stopped"], told["killed"], told["left"]) == (True, [], [])
    assert json.loads(run("estop", "--clear", "--json").stdout)["was_stopped"] is True
    # Where the stop cannot be written, what runs is killed all the same, and the exit code tells.
    desk.script([calls(call("shell_exec", command=hatchery.line("plain"))), {"text": "over"}])
    program = start(desk, "-p", "go")
    ((_, pid),) = hatchery.born(1)
    gone = desk.root / "gone"
    desk.home.rename(gone)
    desk.home.write_text("a file where the folder was")
    done = run("estop")
    assert is_gone(pid)
    assert done.returncode == 1
    assert "could not be set" in done.stderr
    desk.home.unlink()
    gone.rename(desk.home)
    end(program)


def test_the_slash_command_in_the_line_based_conversation(desk: Desk) -> None:
    desk.script([{"text": "unused"}])
    with Typist((*PROGRAM, "agent"), cwd=desk.project, env=desk.env) as person:
        person.sees("/exit leaves")
        person.types("/estop\r")
        person.sees("no tool runs until")
        person.types("/estop clear\r")
        person.sees("tools may run again")
        person.types("/exit\r")
        assert person.ends() == 0
    assert running(desk.home).here == ()


def test_an_open_question_is_closed_as_denied_and_nothing_has_to_be_typed(
    desk: Desk, run: Run
) -> None:
    write = calls(call("write_file", path="a.txt", content="x"))
    desk.script([write, WORDS])
    with Typist((*PROGRAM, "agent"), cwd=desk.project, env=desk.env) as person:
        person.sees("/exit leaves")
        person.types("go\r")
        person.sees("Approve?")
        assert run("estop").returncode == 0
        person.sees("only words now")
        person.types("/exit\r")
        assert person.ends() == 0
    assert not (desk.project / "a.txt").exists()
    (entry,) = receipts(run)
    assert (entry["status"], entry["decided_by"]) == ("denied", "estop")

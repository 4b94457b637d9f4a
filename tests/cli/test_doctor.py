"""`stormclaw doctor`: each check sees what is wrong, says what to do, and stops no other."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from scripted import Desk
from typist import Typist

from stormclaw.commands import checks_home, checks_machine, checks_network, checks_terminal
from stormclaw.commands.checkup import Check, Finding, Patient, Result, examine, lines, sound
from stormclaw.commands.run import run_command
from stormclaw.security import estop

Run = Callable[..., "subprocess.CompletedProcess[str]"]
PROGRAM = (sys.executable, "-m", "stormclaw")


@pytest.fixture
def patient(desk: Desk) -> Patient:
    place = desk.place()
    return Patient(
        home=place.home,
        workspace=place.workspace,
        env=place.env,
        settings=place.settings,
        place=place,
        complaint="",
        at_terminal=True,
        size=(100, 30),
    )


def states(results: Iterator[Result]) -> list[str]:
    return [result[0] for result in results]


def seen(check: Check, patient: Patient) -> list[tuple[str, str]]:
    return [(result[0], result[1]) for result in check(patient)]


def test_every_check_is_told_with_what_to_do(desk: Desk, run: Run) -> None:
    desk.script([{"text": "x"}])
    done = run("doctor", "--json")
    findings = json.loads(done.stdout)
    wanted = "terminal sandbox git ripgrep bash proxy provider configuration folder keys disk"
    assert {finding["check"] for finding in findings} >= set(wanted.split())
    assert all(finding["state"] == "ok" or finding["todo"] for finding in findings
               if not finding["text"].startswith("tried"))  # fmt: skip
    assert done.returncode == (1 if any(one["state"] == "problem" for one in findings) else 0)
    told = run("doctor").stdout
    assert "receipts" in told
    assert told.splitlines()[-1].count("problem") == 1


def test_a_problem_is_exit_code_1_and_a_broken_configuration_does_not_stop_it(
    desk: Desk, run: Run
) -> None:
    (desk.home / "config.yaml").write_text("security: {autonomy: godmode}\n")
    done = run("doctor", "--json")
    assert done.returncode == 1, done.stderr
    found = {finding["check"]: finding for finding in json.loads(done.stdout)}
    assert "godmode" in found["configuration"]["text"]
    assert "config validate" in found["configuration"]["todo"]
    assert "disk" in found


def test_a_crash_and_a_hang_are_findings_of_their_own(patient: Patient) -> None:
    import threading

    never = threading.Event()

    def crashes(patient: Patient) -> Iterator[Result]:
        yield "ok", "so far"
        raise ValueError("boom")

    def hangs(patient: Patient) -> Iterator[Result]:
        never.wait()
        yield "ok", "never"

    def fine(patient: Patient) -> Iterator[Result]:
        yield "ok", "well"

    table = {"crashes": crashes, "hangs": hangs, "fine": fine}
    findings = examine(patient, table, limit_s=0.5)
    never.set()
    assert [(one.check, one.state) for one in findings] == [
        ("crashes", "problem"),
        ("hangs", "problem"),
        ("fine", "ok"),
    ]
    assert "boom" in findings[0].text
    assert not sound(findings)
    assert sound([Finding("x", "warning", "y")])
    assert list(lines(findings))[-1] == "no warning, 2 problems"


@pytest.mark.parametrize(
    ("env", "check", "state"),
    [
        ({"TERM": "dumb"}, checks_terminal.terminal, "problem"),
        ({"TERM": ""}, checks_terminal.terminal, "problem"),
        ({"TERM": "xterm-256color"}, checks_terminal.terminal, "ok"),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, checks_terminal.colours, "ok"),
        ({"TERM": "xterm-256color"}, checks_terminal.colours, "ok"),
        ({"TERM": "vt100"}, checks_terminal.colours, "warning"),
        ({"TERM": "vt100", "NO_COLOR": "1"}, checks_terminal.colours, "ok"),
        ({"LANG": "C"}, checks_terminal.letters, "warning"),
        ({"LANG": "C", "LC_ALL": "de_DE.utf8"}, checks_terminal.letters, "ok"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "C"}, checks_terminal.letters, "warning"),
        ({"STY": "1.pts"}, checks_terminal.tmux, "warning"),
        ({"https_proxy": "http://:80"}, checks_network.proxy, "problem"),
        ({"HTTPS_PROXY": "http://me:secret@proxy:99999"}, checks_network.proxy, "problem"),
        ({"HTTPS_PROXY": "http://me:secret@proxy:3128"}, checks_network.proxy, "ok"),
        ({"PATH": "/nonexistent"}, checks_machine.bash, "problem"),
        ({"PATH": "/nonexistent"}, checks_machine.git, "warning"),
    ],
)
def test_what_the_environment_shows(
    patient: Patient, env: dict[str, str], check: Check, state: str
) -> None:
    found = seen(check, replace(patient, env={**patient.env, **env}))
    assert [one for one, _ in found] == [state]
    assert not any("secret" in text for _, text in found)


def test_a_small_terminal_is_cramped(patient: Patient) -> None:
    assert states(iter(checks_terminal.size(replace(patient, size=(50, 30))))) == ["warning"]
    assert states(iter(checks_terminal.size(patient))) == ["ok"]


def test_files_others_can_read_or_write_are_problems(desk: Desk, patient: Patient) -> None:
    auth = desk.home / "auth.json"
    auth.write_text(json.dumps({"version": 1, "keys": {}}))
    auth.chmod(0o644)
    assert seen(checks_home.keys, patient)[0][0] == "problem"
    auth.chmod(0o600)
    assert "problem" not in states(iter(checks_home.keys(patient)))
    desk.home.chmod(0o777)
    assert states(iter(checks_home.home(patient))) == ["problem"]
    desk.home.chmod(0o700)
    assert states(iter(checks_home.home(patient))) == ["ok"]


def test_a_broken_chain_and_a_broken_index_are_problems(
    desk: Desk, run: Run, patient: Patient
) -> None:
    desk.write("a.txt", "A")
    for _ in range(2):
        assert run("tool", "run", "read_file", "--json", '{"path": "a.txt"}').returncode == 0
    assert seen(checks_home.receipts, patient)[0][0] == "ok"
    log = Path(patient.settings.receipts.path)
    log.write_text(log.read_text().replace("read_file", "read_fire", 1))
    ((state, text),) = seen(checks_home.receipts, patient)
    assert (state, "receipt 1" in text) == ("problem", True)
    Path(patient.settings.memory.path).write_bytes(b"not a database, surely not" * 99)
    assert "problem" in {finding.state for finding in examine(patient, {"i": checks_home.index})}


def test_a_stop_that_is_set_is_told(desk: Desk, patient: Patient) -> None:
    assert states(iter(checks_home.stopped(patient))) == ["ok"]
    estop.set(desk.home, "a test")
    ((state, text),) = seen(checks_home.stopped, patient)
    assert (state, "a test" in text) == ("warning", True)


def test_the_providers_host_is_reached_or_not_and_nothing_is_sent(
    desk: Desk, patient: Patient
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        model = {"kind": "openai-compatible", "base_url": f"http://127.0.0.1:{port}/v1"}
        desk.configure({"default_provider": "mine", "providers": {"models": {"mine": model}}})
        configured = replace(patient, settings=desk.place().settings)
        ((state, text),) = seen(checks_network.provider, configured)
        assert (state, f"127.0.0.1:{port}" in text) == ("ok", True)
        connection, _ = server.accept()
        assert connection.recv(100) == b""
        connection.close()
    ((state, text),) = seen(checks_network.provider, configured)
    assert (state, "cannot be reached" in text) == ("problem", True)


def test_a_repository_that_names_programs_is_told_of_and_runs_none(
    desk: Desk, patient: Patient
) -> None:
    trap = desk.root / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {desk.root / 'sprung'}\n")
    trap.chmod(0o755)
    subprocess.run(["git", "init", "-q", str(desk.project)], check=True, env=dict(os.environ))
    with (desk.project / ".git" / "config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {trap}\n\tpager = {trap}\n[alias]\n\tconfig = !{trap}\n"
        )
    found = seen(checks_machine.git, patient)
    assert [state for state, _ in found] == ["ok", "warning"]
    assert "core.fsmonitor" in found[1][1]
    assert not (desk.root / "sprung").exists()


def test_the_sandbox_says_what_was_tried(desk: Desk, patient: Patient) -> None:
    found = seen(checks_machine.sandbox, patient)
    assert len(found) > 1
    off = replace(
        patient,
        settings=replace(
            patient.settings, security=replace(patient.settings.security, sandbox="off")
        ),
    )
    assert seen(checks_machine.sandbox, off)[0][0] == "warning"


async def test_the_slash_command_tells_the_same(desk: Desk) -> None:
    desk.script([{"text": "x"}])
    runtime = await desk.open()
    answer = await run_command(runtime, "/doctor")
    assert "emergency stop" in answer.text
    assert not (await run_command(runtime, "/doctor now")).ok
    await runtime.close()


def test_keys_are_shown_as_they_arrive_until_q(desk: Desk, run: Run) -> None:
    assert run("doctor", "--keys").returncode == 2
    with Typist((*PROGRAM, "doctor", "--keys"), cwd=desk.project, env=desk.env) as person:
        person.sees("q leaves")
        person.types("\x0a")
        person.sees("ctrl+j")
        person.types("\x13")
        person.sees("ctrl+s")
        person.types("\x03")
        person.sees("ctrl+c")
        person.types("\x1b[13;2u")
        person.sees("shift+enter")
        person.types("\x1b[Z")
        person.sees("shift+tab")
        person.types("x")
        person.sees("types 'x'")
        person.types("q")
        assert person.ends() == 0

"""The line-based conversation, typed into a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from scripted import Desk, call, calls

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_a_conversation_with_the_spec_s_commands(desk: Desk, run: Run) -> None:
    desk.script([{"text": "The Aardvark adapter."}, {"text": "second"}])
    typed = "hello\n/tools\n/policy\n/memory aardvark\nagain\n/nonsense\n/exit\nnever\n"
    done = run("agent", typed=typed)
    assert done.returncode == 0, done.stderr
    for part in ("The Aardvark adapter.", "read_file", "supervised", "second", "no command"):
        assert part in done.stdout
    assert "never" not in done.stdout


def test_the_end_of_input_leaves_and_an_open_question_is_denied(desk: Desk, run: Run) -> None:
    desk.script([calls(call("write_file", path="a.txt", content="x")), {"text": "not done"}])
    done = run("agent", typed="write\n")
    assert done.returncode == 0, done.stderr
    assert not (desk.project / "a.txt").exists()


def test_a_command_off_the_allowlist_can_be_lifted_for_the_session(desk: Desk, run: Run) -> None:
    program = desk.root / "bin" / "terraform"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho made > made.txt\n")
    program.chmod(0o755)
    desk.script([calls(call("shell", command="terraform plan")), {"text": "done"}])
    path = f"{program.parent}:{desk.env['PATH']}"
    done = run("agent", typed="go\ns\n/exit\n", PATH=path)
    assert "Allow" in done.stdout, done.stdout
    assert (desk.project / "made.txt").exists()
    assert not (desk.home / "grants.jsonl").exists()


def test_foreign_text_is_inert_on_the_terminal(desk: Desk, run: Run) -> None:
    desk.script([{"text": "red \x1b[31malert\x1b]0;title\x07 [bold]x[/bold]"}])
    done = run("agent", typed="hi\n/exit\n")
    assert "\x1b" not in done.stdout
    assert "␛[31malert" in done.stdout
    assert "[bold]x[/bold]" in done.stdout


def test_a_new_session_and_back(desk: Desk, run: Run) -> None:
    desk.script([{"text": "one"}, {"text": "two"}])
    done = run("agent", typed="first\n/new\nsecond\n/resume\n/exit\n")
    assert done.returncode == 0, done.stderr
    assert "first" in done.stdout.split("two")[1]

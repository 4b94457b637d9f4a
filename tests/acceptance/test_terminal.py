"""A person opens it in a real terminal, on the demo, and a real change gets made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from scripted import Desk, call, calls
from typist import Typist

from stormclaw.store import sessions, transcripts

PROGRAM = (sys.executable, "-m", "stormclaw")


def at_the_terminal(desk: Desk, *words: str) -> Typist:
    return Typist((*PROGRAM, *words), cwd=desk.project, env=desk.env)


def receipts_hold(desk: Desk) -> bool:
    done = subprocess.run(
        [*PROGRAM, "receipt", "verify"], cwd=desk.project, env=desk.env, capture_output=True
    )
    return done.returncode == 0


def test_the_sixty_seconds_of_the_readme(desk: Desk) -> None:
    desk.configure({"default_provider": "demo"})
    readme = desk.write("README.md", "# Tidepool\n\nfoo\n")
    with at_the_terminal(desk) as person:
        person.sees("No model is connected")
        person.types("list the files\r")
        person.sees("README.md")
        person.types('replace "foo" with "bar" in README.md\r')
        person.sees("wants to edit")
        person.rests()  # Its keys are dead at first: one might still be typing something else.
        person.types("y")
        person.sees("became bar")
        assert readme.read_text() == "# Tidepool\n\nbar\n"
        person.types("explore this project\r")
        person.sees("scout")
        person.sees("reader")
        person.sees("they do not understand")
        person.types("/receipts\r")
        person.sees("in the chain, unbroken")
        person.types("\x1b")
        person.sees("enter send")
        person.types("\x04")
        assert person.ends() == 0
    assert receipts_hold(desk)
    with at_the_terminal(desk, "-c") as person:
        person.sees("they do not understand")
        person.types("\x04")
        assert person.ends() == 0


def test_kill_9_in_mid_turn_and_go_on(desk: Desk) -> None:
    os.mkfifo(desk.project / "fifo")
    desk.script([calls(call("shell_exec", command="cat fifo"), text="Waiting now."), {"text": "x"}])
    desk.configure({"security": {"autonomy": "full"}})
    with at_the_terminal(desk, "wait for it") as person:
        person.sees("cat fifo")
        os.kill(person.process.pid, signal.SIGKILL)
        person.ends()
    desk.script([{"text": "All there."}])
    with at_the_terminal(desk, "-c") as person:
        person.sees("Waiting now.")
        person.types("go on\r")
        person.sees("All there.")
        person.types("\x04")
        assert person.ends() == 0
    (info,) = sessions.list_sessions(desk.home)
    assert transcripts.read(sessions.folder(desk.home, info.id)).problems == ()


def test_resized_while_an_answer_streams(desk: Desk) -> None:
    words = " ".join(f"word{number}" for number in range(400))
    desk.script([{"text": f"{words} THE-END", "delay_s": 0.002}])
    with at_the_terminal(desk, "talk") as person:
        person.sees("word20")
        for size in ((60, 20), (140, 40), (80, 24)):
            person.resize(*size)
            person.sees("word")
        person.sees("THE-END")
        person.types("\x04")
        assert person.ends() == 0


def test_without_a_terminal_it_says_what_to_do(desk: Desk) -> None:
    done = subprocess.run(
        PROGRAM, cwd=desk.project, env=desk.env, stdin=subprocess.DEVNULL, capture_output=True
    )
    assert done.returncode == 2
    assert b"-p TEXT" in done.stderr

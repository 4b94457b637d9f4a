"""`tool run --yes`, `memory clear`, `provider test`: what may be agreed to beforehand."""

from __future__ import annotations

import json
import os
import pty
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest
from scripted import Desk

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def tool(run: Run, name: str, *words: str, **arguments: object) -> subprocess.CompletedProcess[str]:
    return run("tool", "run", name, "--json", json.dumps(arguments), *words)


def receipt(run: Run) -> tuple[str, str, str]:
    newest = json.loads(run("receipt", "list", "--json").stdout)[-1]
    return newest["tool"], newest["status"], newest["risk"]


def test_yes_answers_what_asks_at_medium_risk(desk: Desk, run: Run) -> None:
    asked = tool(run, "write_file", path="a.txt", content="x")
    assert (asked.returncode, asked.stdout) == (3, "")
    done = tool(run, "write_file", "--yes", path="a.txt", content="x")
    assert done.returncode == 0, done.stderr
    assert (desk.project / "a.txt").read_text() == "x"
    assert receipt(run) == ("write_file", "allowed", "medium")
    echoed = tool(run, "shell_exec", "--yes", command="printf hello | tee b.txt")
    assert (echoed.returncode, "hello" in echoed.stdout) == (0, True), echoed.stderr


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", {"path": "/etc/passwd"}),
        ("write_file", {"path": ".git/hooks/x", "content": "x"}),
        ("write_file", {"path": "../x", "content": "x"}),
        ("shell_exec", {"command": "rm -rf x"}),
        ("shell_exec", {"command": "frobnicate"}),
        ("shell_exec", {"command": "git reset --hard"}),
        ("shell_exec", {"command": "printf x | tee a.txt; frobnicate"}),
    ],
)
@pytest.mark.parametrize("level", ["supervised", "full"])
def test_yes_never_lifts_what_is_high_or_denied(
    desk: Desk, run: Run, name: str, arguments: dict[str, object], level: str
) -> None:
    (desk.project / ".git").mkdir()
    done = tool(run, name, "--yes", "--autonomy", level, **arguments)
    assert (done.returncode, done.stdout) == (3, "")
    assert "denied" in done.stderr
    assert list(desk.project.rglob("*")) == [desk.project / ".git"]
    assert receipt(run)[1] == "denied"


def test_yes_is_no_word_under_readonly(desk: Desk, run: Run) -> None:
    done = tool(run, "write_file", "--yes", "--autonomy", "readonly", path="a.txt", content="x")
    assert done.returncode == 3
    assert not (desk.project / "a.txt").exists()


def test_yes_does_not_outdo_the_emergency_stop(desk: Desk, run: Run) -> None:
    run("estop")
    assert tool(run, "write_file", "--yes", path="a.txt", content="x").returncode == 3


def test_a_question_of_a_tool_is_not_answered_by_yes(desk: Desk, run: Run) -> None:
    done = tool(run, "ask_user", "--yes", question="which one?")
    assert done.returncode == 1
    assert done.stdout == ""


@pytest.mark.parametrize("arguments", ["{", "[1]", '"x"', "[" * 100_000, ""])
def test_arguments_that_are_no_object_are_a_usage_error(
    desk: Desk, run: Run, arguments: str
) -> None:
    done = run("tool", "run", "read_file", "--json", arguments, "--yes")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_a_failure_is_1_and_on_standard_error(desk: Desk, run: Run) -> None:
    done = tool(run, "read_file", path="none.txt")
    assert (done.returncode, done.stdout) == (1, "")
    assert "none.txt" in done.stderr
    unknown = tool(run, "reed_file", path="x")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "read_file" in unknown.stderr


def on_a_terminal(desk: Desk, *words: str, typed: str) -> tuple[int, str]:
    """Run with a terminal as standard input; returns the exit code and everything said."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "stormclaw", *words],
            cwd=desk.project,
            env=desk.env,
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        os.write(ours, typed.encode())
        said, _ = process.communicate(timeout=60)
        return process.returncode, said
    finally:
        os.close(ours)
        os.close(theirs)


def conversations(run: Run) -> int:
    return len(json.loads(run("memory", "list", "--json").stdout))


def test_clearing_the_memory_needs_a_yes_and_leaves_the_record(desk: Desk, run: Run) -> None:
    desk.script([{"text": "The Aardvark adapter is done."}])
    run("-p", "hi")
    refused = run("memory", "clear")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--yes" in refused.stderr
    assert "transcripts stay" in refused.stderr
    for typed in ("\n", "n\n", "no\n"):
        code, said = on_a_terminal(desk, "memory", "clear", typed=typed)
        assert (code, "nothing was cleared" in said) == (1, True)
    assert conversations(run) == 1
    code, said = on_a_terminal(desk, "memory", "clear", typed="y\n")
    assert code == 0
    assert "1 conversations left the index" in said
    assert "stay" in said
    assert conversations(run) == 0
    transcripts = list((desk.home / "sessions").rglob("transcript.jsonl"))
    assert "Aardvark" in transcripts[0].read_text()
    assert run("memory", "reindex").returncode == 0
    assert conversations(run) == 1
    done = run("memory", "clear", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert str(desk.home / "sessions") in done.stdout
    assert conversations(run) == 0


def test_testing_a_provider_says_what_works(desk: Desk, run: Run) -> None:
    desk.script([{"text": "", "calls": [{"name": "report_ready", "arguments": {"word": "ready"}}]}])
    done = run("provider", "test", "local")
    assert done.returncode == 0, done.stderr
    assert "tools       works" in done.stdout
    machine = run("provider", "test", "local", "--json")
    told = json.loads(machine.stdout)
    assert (told["name"], told["ok"], told["called"], told["error"]) == ("local", True, True, "")


@pytest.mark.parametrize(
    ("kind", "code"), [("auth", 1), ("payment", 1), ("rate_limit", 75), ("server", 75)]
)
def test_testing_a_provider_that_refuses(desk: Desk, run: Run, kind: str, code: int) -> None:
    desk.script([{"error": {"class": kind, "message": "no luck"}}] * 2)
    done = run("provider", "test", "local")
    assert (done.returncode, done.stdout) == (code, "")
    assert f"{kind}: no luck" in done.stderr
    machine = run("provider", "test", "local", "--json")
    told = json.loads(machine.stdout)
    assert (machine.returncode, told["ok"], told["error"]) == (code, False, kind)


def dead_port() -> int:
    """A port on loopback where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_testing_a_provider_that_is_not_there(desk: Desk, run: Run) -> None:
    mine = {"kind": "openai-compatible", "base_url": f"http://127.0.0.1:{dead_port()}/v1",
            "model": "m", "max_retries": 0}  # fmt: skip
    desk.configure({"providers": {"models": {"mine": mine}}})
    done = run("provider", "test", "mine")
    assert done.returncode == 75
    assert "connection: " in done.stderr
    assert run("provider", "test", "nowhere").returncode == 2


def test_the_list_of_providers_shows_no_key(desk: Desk, run: Run) -> None:
    key = "sk-or-v1-0123456789abcdef0123456789abcdef"
    mine = {
        "kind": "openai-compatible",
        "base_url": "http://127.0.0.1:1/v1",
        "api_key_env": "MINE",
        "model": "m",
    }
    desk.configure({"providers": {"models": {"mine": mine}}})
    done = run("provider", "list", "--json", OPENROUTER_API_KEY=key)
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert rows["openrouter"]["key"] == "found"
    assert rows["mine"]["key"] == "MINE not set"
    assert rows["openai"]["key"] == "OPENAI_API_KEY not set"
    assert (rows["mine"]["from"], rows["demo"]["from"]) == ("configured", "built in")
    assert key not in done.stdout + run("provider", "list", OPENROUTER_API_KEY=key).stdout

"""The machine dies in the middle: what was shown as done is there, and the session goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from scripted import Desk, Ear, call, calls, outcomes

from stormclaw.errors import StoreError
from stormclaw.store import sessions, transcripts


def start(desk: Desk, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "stormclaw", *words],
        cwd=desk.project,
        env=desk.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def events(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)


async def test_kill_9_in_the_middle_of_a_turn_loses_nothing_that_was_shown(desk: Desk) -> None:
    os.mkfifo(desk.project / "fifo")
    desk.write("a.txt", "A")
    made = [call("read_file", "c1", path="a.txt"), call("shell_exec", "c2", command="cat fifo")]
    desk.script([calls(*made, text="Looking."), {"text": "never"}])
    words = ("-p", "go", "--autonomy", "full", "--output-format", "stream-json")
    process = start(desk, *words)
    shown: list[str] = []
    for event in events(process):
        if event["type"] == "Committed":
            shown.append(event["node"]["id"])
        if event["type"] == "ToolStarted" and event["tool"] == "shell_exec":
            break
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    (info,) = sessions.list_sessions(desk.home)
    stored = transcripts.read(sessions.folder(desk.home, info.id))
    assert [node.id for node in stored.nodes][: len(shown)] == shown
    desk.script([{"text": "going on", "expect": "ended before this was done"}])
    runtime = await desk.open(session_id=info.id)
    found = {outcome.call_id: outcome.status for outcome in outcomes(runtime.session)}
    assert set(found) == {"c1", "c2"}
    assert found["c2"] == "interrupted"
    ear = Ear(runtime.session)
    runtime.session.prompt("and now?")
    assert (await ear.end()).reason == "done"
    await runtime.close()


async def test_what_had_begun_has_one_receipt_that_says_nobody_saw_its_end(desk: Desk) -> None:
    fifo = desk.project / "fifo"
    os.mkfifo(fifo)
    desk.script([calls(call("shell_exec", "c1", command="cat fifo")), {"text": "never"}])
    desk.configure({"security": {"allowed_commands": ["cat"]}})
    process = start(desk, "-p", "go", "--autonomy", "full")
    end = os.open(fifo, os.O_WRONLY)  # Returns when the command has opened it: it runs.
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    os.close(end)
    (info,) = sessions.list_sessions(desk.home)
    desk.script([{"text": "ok"}])
    runtime = await desk.open(session_id=info.id)
    (outcome,) = outcomes(runtime.session)
    assert runtime.receipts is not None
    (receipt,) = runtime.receipts.read()
    assert (outcome.receipt, receipt.status) == (receipt.number, "failed")
    assert receipt.extra["outcome"] == "unknown"
    assert runtime.receipts.verify().ok
    await runtime.close()


async def test_a_session_that_is_open_cannot_be_opened_again(desk: Desk) -> None:
    desk.script([{"text": "one"}])
    runtime = await desk.open()
    with pytest.raises(StoreError, match="already open"):
        await desk.open(session_id=runtime.session.id)
    await runtime.close()


@contextmanager
def small_disk(at: Path, size: str) -> Iterator[None]:
    at.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(at)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(at)], check=False)


def test_a_full_disk_stops_the_turn_with_a_clear_error(desk: Desk) -> None:
    with small_disk(desk.home / "sessions", "64k"):
        desk.script([{"text": "word " * 40_000}])
        process = start(desk, "-p", "talk")
        out, err = process.communicate(timeout=60)
        assert process.returncode == 1
        assert "Traceback" not in err
        assert "space" in err.lower()
        assert out == ""
        (info,) = sessions.list_sessions(desk.home)
        stored = transcripts.read(sessions.folder(desk.home, info.id))
        assert len(stored.nodes) == 1
        assert stored.problems == ()


def test_sigint_ends_the_turn_with_130(desk: Desk) -> None:
    os.mkfifo(desk.project / "fifo")
    desk.script([calls(call("shell_exec", command="cat fifo")), {"text": "never"}])
    process = start(desk, "-p", "go", "--autonomy", "full", "--output-format", "stream-json")
    for event in events(process):
        if event["type"] == "ToolStarted":
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130

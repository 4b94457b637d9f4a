"""Every log event of the runtime specification, out of a real run of the real command line."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from typing import Any, get_args

from scripted import Desk, call, calls

from stormclaw.log import EventName

Run = Callable[..., "subprocess.CompletedProcess[str]"]

KEY = "sk-or-v1-0123456789abcdef0123456789abcdef"


def logged(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """The log; what a front end says to a person beside it is no JSON."""
    lines = done.stderr.splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_a_real_run_tells_every_event_once_for_each_thing_that_happened(
    desk: Desk, run: Run
) -> None:
    desk.write("a.txt", f"A {KEY}")
    desk.script(
        [
            calls(
                call("read_file", path="a.txt"),
                call("read_file", path="/etc/passwd"),
                call("read_file", path="missing.txt"),
            ),
            {"text": "done"},
        ]
    )
    done = run("agent", "-m", "go", STORMCLAW_LOG="json", OPENROUTER_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    events = logged(done)
    counts = Counter(event.get("event", event.get("message")) for event in events)
    assert dict(counts) == {
        "startup": 1,
        "config_path": 1,
        "workspace_path": 1,
        "channel_started": 1,
        "provider_selected": 1,
        "conversation_started": 1,
        "tool_requested": 3,
        "tool_approved": 2,
        "tool_denied": 1,
        "tool_completed": 1,
        "tool_failed": 1,
        "receipt_written": 3,
        "memory_persisted": counts["memory_persisted"],
    }
    assert counts["memory_persisted"] >= 1
    names = [event["event"] for event in events]
    assert names[0] == "startup"
    order = ("tool_requested", "tool_approved", "tool_completed")
    assert sorted(order, key=names.index) == list(order)
    by_name = {event["event"]: event for event in events}
    assert str(desk.home / "config.yaml") in by_name["config_path"]["files"]
    assert by_name["workspace_path"]["workspace"] == str(desk.project)
    assert by_name["provider_selected"]["provider"] == "local"
    assert by_name["channel_started"]["channel"] == "cli"
    assert by_name["tool_denied"]["rule"].startswith("forbidden_paths")
    assert {"ts", "level", "logger", "event"} <= set(events[0])
    assert KEY not in done.stderr


def test_the_emergency_stop_is_an_event_and_stopped_calls_are_denied(desk: Desk, run: Run) -> None:
    stopped = logged(run("estop", STORMCLAW_LOG="json"))
    assert [event["event"] for event in stopped] == ["startup", "estop_triggered"]
    desk.script([calls(call("time")), {"text": "stopped"}])
    done = run("agent", "-m", "go", STORMCLAW_LOG="json")
    counts = Counter(event.get("event") for event in logged(done))
    assert (counts["tool_requested"], counts["tool_denied"], counts["tool_approved"]) == (1, 1, 0)
    assert counts["receipt_written"] == 1


def test_no_event_of_the_list_is_without_a_test() -> None:
    wanted = (
        "startup config_path workspace_path provider_selected channel_started conversation_started "
        "tool_requested tool_approved tool_denied tool_completed tool_failed receipt_written "
        "memory_persisted estop_triggered"
    )
    assert set(wanted.split()) <= set(get_args(EventName))


def test_a_person_reads_the_same_events_as_lines(desk: Desk, run: Run) -> None:
    desk.script([{"text": "ok"}])
    done = run("-p", "hi", STORMCLAW_LOG="info")
    assert done.stdout == "ok\n"
    lines = done.stderr.splitlines()
    assert any("INFO startup version=" in line for line in lines)
    assert any("INFO conversation_started session=" in line for line in lines)
    assert not any(line.startswith("{") for line in lines)

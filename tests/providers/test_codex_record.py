"""What codex 0.169 writes of the calls its app-server is silent about, as it was recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stormclaw.protocol.messages import ToolCall
from stormclaw.protocol.provider import Observed
from stormclaw.providers._codex.record import Record
from stormclaw.providers._codex.tools import MOST_CHARS, observed

RECORDED = (
    '{"timestamp":"2026-11-22T12:50:17.263Z","type":"response_item","payload":{"type":'
    '"function_call","id":"fc_2","name":"exec_command","arguments":"{\\"cmd\\": \\"touch /etc/x'
    ' && echo written\\"}","call_id":"call_2"}}',
    '{"timestamp":"2026-11-22T12:50:17.513Z","type":"response_item","payload":{"type":'
    '"function_call_output","id":"fco_1","call_id":"call_2","output":"Chunk ID: 58870d\\nWall time:'
    " 0.0000 seconds\\nProcess exited with code 1\\nOriginal token count: 16\\nOutput:\\ntouch:"
    " cannot touch '/etc/x': Read-only file system\\n\"}}",
    '{"timestamp":"2026-11-22T12:50:17.541Z","type":"event_msg","payload":{"type":"token_count",'
    '"info":null,"rate_limits":null}}',
    '{"timestamp":"2026-11-22T12:54:34.101Z","type":"response_item","payload":{"type":'
    '"custom_tool_call_output","id":"ctco_1","call_id":"call_9","output":"apply_patch verification'
    ' failed: Failed to read file to update /ws/nofile: No such file or directory"}}',
)
REFUSED = "touch: cannot touch '/etc/x': Read-only file system\n[exit 1]"


def call(name: str = "call_2") -> ToolCall:
    return ToolCall(name, "shell_exec", '{"command": "x"}')


def end_of(call: ToolCall, item: Mapping[str, Any]) -> Observed:
    return observed(call, item, Path("/ws"))


def output(said: object, name: str = "call_2") -> str:
    payload = {"type": "function_call_output", "call_id": name, "output": said}
    return json.dumps({"type": "response_item", "payload": payload})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rollout.jsonl"


def written(path: Path, *lines: str, end: str = "\n") -> None:
    with path.open("a") as file:
        file.write("\n".join(lines) + end)


async def test_recorded_ends_are_worded_as_those_of_items(path: Path) -> None:
    record = Record(path, end_of)
    await record.skip()
    written(path, *RECORDED)
    assert await record.ends([call(), call("call_9"), call("another")]) == [
        Observed("call_2", "failed", REFUSED, "exit 1, 1 line"),
        Observed(
            "call_9",
            "failed",
            "apply_patch verification failed: Failed to read file to update /ws/nofile: "
            "No such file or directory",
            "failed",
        ),
    ]


@pytest.mark.parametrize(
    ("said", "status", "wanted"),
    [
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\n"
         "Original token count: 0\nOutput:\n", "done", "(no output)\n[exit 0]"),
        ("Wall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nExit code: 0\nOutput:\nx\n",
         "failed", "Exit code: 0\nOutput:\nx\n[exit 3]"),
        ("Wall time: 0.0000 seconds\nOutput:\nExit code: 0\nWall time: 0.1 seconds\nOutput:\n"
         "Success.\n", "done", "Success.\n[exit 0]"),
        ([{"type": "input_text", "text": "aborted"}, {"type": "input_image"}], "failed", "aborted"),
        ("Wall time: 1 seconds\nOutput:\nodd", "failed", "Wall time: 1 seconds\nOutput:\nodd"),
        ("", "failed", "(codex does not tell what came of this call)"),
    ],
)  # fmt: skip
async def test_heads_are_taken_off_and_only_they(
    path: Path, said: object, status: str, wanted: str
) -> None:
    written(path, output(said))
    [end] = await Record(path, end_of).ends([call()])
    assert (end.status, end.output) == (status, wanted)


async def test_what_still_runs_has_no_end(path: Path) -> None:
    written(path, output("Wall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\na"))
    assert await Record(path, end_of).ends([call()]) == []


async def test_what_was_there_before_and_half_a_line_do_not_count(path: Path) -> None:
    written(path, output("Exit code: 9\nOutput:\nlong ago"))
    record = Record(path, end_of)
    await record.skip()
    whole = output("Exit code: 0\nOutput:\nnow")
    written(path, whole[:-20], end="")
    assert await record.ends([call()]) == []
    written(path, whole[-20:], "no json with call_output", '["call_output"]')
    written(path, '{"payload": "call_output"}')
    [end] = await record.ends([call()])
    assert end.output == "now\n[exit 0]"
    assert await record.ends([call()]) == [end], "asked again, it says it again"


async def test_of_a_long_word_the_middle_is_left_out(path: Path) -> None:
    written(path, output("x" * MOST_CHARS * 2))
    [end] = await Record(path, end_of).ends([call()])
    assert len(end.output) < MOST_CHARS + 100


@pytest.mark.parametrize("there", ["none kept", "not there", "a folder"])
async def test_without_a_file_nothing_is_known(tmp_path: Path, there: str) -> None:
    places = {"none kept": None, "not there": tmp_path / "no", "a folder": tmp_path}
    record = Record(places[there], end_of)
    await record.skip()
    assert await record.ends([call()]) == []

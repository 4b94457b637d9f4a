"""The real `claude --resume` goes on with what we export: it sends the whole history to its model.

The model is a stand-in on loopback. Needs the `claude` program: on the PATH, or named in
STORMCLAW_TEST_CLAUDE (`npm install @anthropic-ai/claude-code`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from stormclaw.agent.context.window import window
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    AssistantTurn,
    Body,
    Delegation,
    Node,
    Summary,
    ToolCall,
    ToolOutcome,
    Usage,
    UserText,
)
from stormclaw.store.branches import branch
from stormclaw.store.export.claude import install, stamped, to_claude
from stormclaw.store.imports.claude import from_claude
from stormclaw.store.imports.report import Report
from stormclaw.store.sessions import SessionInfo

CLAUDE = os.environ.get("STORMCLAW_TEST_CLAUDE") or shutil.which("claude")

pytestmark = pytest.mark.skipif(
    CLAUDE is None,
    reason="NOT PROVED HERE that claude resumes an export: no `claude` on the PATH; "
    "set STORMCLAW_TEST_CLAUDE to one (npm install @anthropic-ai/claude-code)",
)

ANSWER = "the heron is blue"


Script = Callable[[dict[str, Any]], list[dict[str, Any]]]


def one_sentence(sent: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": ANSWER}]


class Model(ThreadingHTTPServer):
    """Answers with what its script makes of a request, and remembers what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.script: Script = one_sentence


def streamed(at: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    """A block as the server streams it."""
    start, delta = dict(block), {"type": "text_delta", "text": block.get("text", "")}
    start["text"] = ""
    if block["type"] == "tool_use":
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        {"type": "content_block_start", "index": at, "content_block": start},
        {"type": "content_block_delta", "index": at, "delta": delta},
        {"type": "content_block_stop", "index": at},
    ]


class Handler(BaseHTTPRequestHandler):
    server: Model

    def log_message(self, *args: object) -> None:
        return None

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def do_GET(self) -> None:
        self.send_error(404)

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "count_tokens" in self.path:
            self._send("application/json", b'{"input_tokens": 9}')
            return
        self.server.asked.append(sent)
        message = {
            "id": f"msg_{uuid.uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": sent["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 3, "output_tokens": 1},
        }
        blocks = self.server.script(sent)
        reason = "tool_use" if any(one["type"] == "tool_use" for one in blocks) else "end_turn"
        end = {"stop_reason": reason, "stop_sequence": None}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": message},
            *(event for at, block in enumerate(blocks) for event in streamed(at, block)),
            {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ]
        lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send("text/event-stream", "".join(lines).encode())

    def _send(self, kind: str, payload: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


@pytest.fixture
def model() -> Iterator[Model]:
    server = Model()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def outcome(call_id: str, tool: str, output: str, **more: Any) -> ToolOutcome:
    return ToolOutcome(call_id, tool, "done", output, Headline("x", "y"), **more)


def history() -> list[Node]:
    """A turn with two calls at once, one of them delegated, a summary, a command of one's own."""
    calls = (
        ToolCall("call_1", "read_file", '{"path": "src/retry.py"}'),
        ToolCall("call_2", "spawn_agent", '{"task": "count the tests", "name": "counter"}'),
    )
    child = Delegation(
        outcome("call_2", "spawn_agent", "there are 17"), "root/counter", "t", "done", Usage()
    )
    found: list[Body] = [
        UserText("an old question about walruses"),
        AssistantTurn("an old answer", model="some-model"),
        Summary("walruses were discussed", ("n0", "n1")),
        UserText("look at the retries"),
        AssistantTurn("I read it.", "hm", calls, "vendor/some-model", usage=Usage(100, 20, 30)),
        outcome("call_1", "read_file", "1\tbudget = 3"),
        child,
        AssistantTurn("The budget is 3."),
        outcome("p", "shell_exec", "listing of files", author="person"),
        UserText("go on"),
        AssistantTurn("", calls=(ToolCall("call_1", "no_such", "{broken"),)),
    ]
    parents = [None, *(f"n{number}" for number in range(len(found)))]
    return [
        Node(f"n{number}", parents[number], "root", 1_795_000_000.0 + number, body)
        for number, body in enumerate(found)
    ]


def run(
    cwd: Path, home: Path, model: Model, *words: str, prompt: str
) -> subprocess.CompletedProcess[str]:
    assert CLAUDE is not None
    env = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.server_port}",
        "ANTHROPIC_AUTH_TOKEN": "fake",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }
    return subprocess.run(
        [CLAUDE, "-p", "--model", "claude-sonnet-4-5", *words],
        cwd=cwd,
        env=env,
        input=prompt,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_claude_goes_on_with_an_exported_session(tmp_path: Path, model: Model) -> None:
    home, work = tmp_path / "home", tmp_path / "work ünd (ä)"
    home.mkdir()
    work.mkdir()
    info = SessionInfo("20261122-014359-k3f9", work, "About retries", 0.0, 0.0, "m", "p")
    session = uuid.uuid4()
    nodes = history()
    exported = to_claude(info, stamped(window(nodes), nodes), session, work)
    path = install(home / ".claude", work, session, exported)

    done = run(work, home, model, "--resume", str(session), prompt="and the heron?")

    assert (done.returncode, done.stdout.strip()) == (0, ANSWER), done.stderr
    sent = next(one for one in model.asked if "heron" in json.dumps(one["messages"]))
    messages = [one for one in sent["messages"] if one["role"] != "system"]
    said = json.dumps(messages)
    roles = [one["role"] for one in messages]
    assert all(left != right for left, right in pairwise(roles)), roles
    parts = (
        "walruses were discussed",
        "look at the retries",
        "I read it.",
        "budget = 3",
        "there are 17",
        "The budget is 3.",
        "listing of files",
        "{broken",
        "and the heron?",
    )
    places = [said.find(part) for part in parts]
    assert all(place >= 0 for place in places), dict(zip(parts, places, strict=True))
    assert places == sorted(places)
    assert "an old answer" not in said
    asked = [
        block
        for one in messages
        for block in one["content"]
        if isinstance(block, dict) and block["type"] == "tool_use"
    ]
    assert [block["name"] for block in asked] == ["Read", "Agent", "no_such"]
    assert asked[0]["input"] == {"file_path": "src/retry.py"}
    # What claude wrote behind our rows can be brought home again.
    back = list(from_claude(path))
    assert isinstance(back[-1].body, AssistantTurn)
    assert back[-1].body.text == ANSWER


def test_what_claude_itself_wrote_is_read_whole(tmp_path: Path, model: Model) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    session = str(uuid.uuid4())
    first = run(work, home, model, "--session-id", session, prompt="what colour is a heron?")
    assert first.returncode == 0, first.stderr
    second = run(work, home, model, "--resume", session, prompt="are you sure?")
    assert second.returncode == 0, second.stderr
    (path,) = (home / ".claude" / "projects").rglob(f"{session}.jsonl")

    told = [
        node.body.text
        for node in from_claude(path)
        if isinstance(node.body, UserText | AssistantTurn)
    ]
    assert told == ["what colour is a heron?", ANSWER, "are you sure?", ANSWER]


def test_what_claude_itself_did_is_read_whole(tmp_path: Path, model: Model) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    (work / "a.txt").write_text("alpha\ngamma\n")
    file = str(work / "a.txt")

    def use(call_id: str, name: str, **given: Any) -> dict[str, Any]:
        return {"type": "tool_use", "id": call_id, "name": name, "input": given}

    edit = {"file_path": file, "old_string": "alpha", "new_string": "beta"}
    steps = [
        [use("toolu_1", "Read", file_path=file), use("toolu_2", "Bash", command="exit 3")],
        [use("toolu_3", "Edit", **edit)],
        [use("toolu_4", "Agent", description="kid", prompt="SUBTASK", subagent_type="Explore")],
        [{"type": "text", "text": "all done"}],
    ]

    def script(sent: dict[str, Any]) -> list[dict[str, Any]]:
        done = sum(message["role"] == "assistant" for message in sent["messages"])
        if "SUBTASK" in json.dumps(sent["messages"][0]):
            return [{"type": "text", "text": "seen by the kid"}]
        return steps[min(done, len(steps) - 1)]

    model.script = script
    session = str(uuid.uuid4())
    free = ("--permission-mode", "bypassPermissions")
    first = run(work, home, model, "--session-id", session, *free, prompt="please work")
    assert first.returncode == 0, first.stderr
    compacted = run(work, home, model, "--resume", session, prompt="/compact")
    assert compacted.returncode == 0, compacted.stderr
    (path,) = (home / ".claude" / "projects").rglob(f"{session}.jsonl")
    report = Report()
    nodes = list(from_claude(path, report))

    own = [node.body for node in nodes if node.agent == "root"]
    ended = [body for body in own if isinstance(body, ToolOutcome)]
    assert [(one.tool, one.status) for one in ended] == [
        ("read_file", "done"), ("shell_exec", "failed"), ("edit_file", "done"),
    ]  # fmt: skip
    assert ended[2].summary == "+1 −1"
    (sent,) = (body for body in own if isinstance(body, Delegation))
    assert (sent.child, sent.outcome.status) == ("root/kid", "done")
    theirs = [node.body for node in nodes if node.agent == "root/kid"]
    assert theirs[0] == UserText("SUBTASK")
    assert any(isinstance(body, Summary) and body.replaces for body in own)
    assert tuple(node for node in nodes if node.agent == "root") == branch(
        [node for node in nodes if node.agent == "root"]
    )
    assert not report.skipped

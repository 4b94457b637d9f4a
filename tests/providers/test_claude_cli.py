"""States the real claude cannot be brought into at will, played by a script in its place."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.protocol.effects import Autonomy
from stormclaw.protocol.messages import ToolCall, UserText
from stormclaw.protocol.provider import (
    ChatRequest,
    ChatResponse,
    Delta,
    Hands,
    Observed,
    Remark,
    Ruling,
    Step,
)
from stormclaw.providers._claude.session import begun
from stormclaw.providers._claude.start import start_of
from stormclaw.providers._claude.talk import Talk
from stormclaw.providers._claude.turn import Names, Turn, Watch
from stormclaw.providers.claude_cli import ClaudeCli, connect

FAKE = """#!{python}
import json, os, sys
def tell(line): print(json.dumps(line), flush=True)
def hear(): return json.loads(sys.stdin.readline() or "{{}}")
def answer(request, **told):
    response = {{"subtype": "success", "request_id": request["request_id"], **told}}
    tell({{"type": "control_response", "response": response}})
def ask(number, **request):
    tell({{"type": "control_request", "request_id": str(number), "request": request}})
    return hear()["response"]
def init(version="2.1.0"):
    tell({{"type": "system", "subtype": "init", "session_id": "s", "claude_code_version": version}})
def message(*blocks, stop="end_turn"):
    for block in blocks:
        tell({{"type": "assistant", "uuid": "u", "message": {{
            "id": "m" + str(len(blocks)) + stop, "stop_reason": stop, "content": [block]}}}})
def text(said): return {{"type": "text", "text": said}}
def bash(line):
    return {{"type": "tool_use", "id": "t", "name": "Bash", "input": {{"command": line}}}}
def result(**more): tell({{"type": "result", "is_error": False, "result": "", **more}})
{body}
"""
GREETED = "answer(hear()); words = hear()\n"


class Person:
    """Permits what is asked for, or fails to."""

    def __init__(self, ruling: Ruling | Exception) -> None:
        self.ruling = ruling
        self.asked: list[ToolCall] = []
        self.let = asyncio.Event()
        self.let.set()

    async def permit(self, call: ToolCall) -> Ruling:
        self.asked.append(call)
        await self.let.wait()
        if isinstance(self.ruling, Exception):
            raise self.ruling
        return self.ruling


def requested(
    tmp_path: Path, person: Person | None = None, autonomy: Autonomy = "supervised", **environ: str
) -> ChatRequest:
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path), **environ}
    permit = (person or Person(Ruling(True))).permit
    hands = Hands(tmp_path, env, autonomy, permit)
    return ChatRequest("SYSTEM", (UserText("THE WORDS"),), (), "", hands=hands)


def fake(tmp_path: Path, body: str) -> None:
    program = tmp_path / "claude"
    program.write_text(FAKE.format(python=sys.executable, body=body))
    program.chmod(0o755)


@pytest.fixture
async def claude() -> AsyncIterator[ClaudeCli]:
    provider = connect("claude", ModelSettings(kind="claude-cli"), None)
    yield provider
    await provider.close()


async def heard(provider: ClaudeCli, request: ChatRequest) -> list[Delta | ChatResponse]:
    async with aclosing(provider.stream(request)) as items:
        return [item async for item in items]


async def drained(turn: Turn) -> None:
    async with aclosing(turn.run("go")) as items:
        async for _ in items:
            pass


async def test_without_claude_it_says_how_to_get_it(tmp_path: Path, claude: ClaudeCli) -> None:
    request = requested(tmp_path, PATH=str(tmp_path))
    with pytest.raises(ProviderError) as caught:
        await heard(claude, request)
    assert caught.value.kind == "not_found"
    assert "npm install" in caught.value.hint


async def test_one_too_old_says_so(tmp_path: Path, claude: ClaudeCli) -> None:
    fake(tmp_path, "sys.stderr.write(\"error: unknown option '--tools'\"); sys.exit(1)")
    with pytest.raises(ProviderError) as caught:
        await heard(claude, requested(tmp_path))
    assert "too old" in str(caught.value)


async def test_one_that_does_not_take_our_gate_hears_no_word(
    tmp_path: Path, claude: ClaudeCli
) -> None:
    heard_more = tmp_path / "heard"
    body = (
        "answer(hear(), subtype='error', error='no hooks here')\n"
        f"line = sys.stdin.readline()\nopen({str(heard_more)!r}, 'w').write(line)"
    )
    fake(tmp_path, body)
    with pytest.raises(ProviderError) as caught:
        await heard(claude, requested(tmp_path))
    assert "no hooks here" in str(caught.value)
    assert "THE WORDS" not in (heard_more.read_text() if heard_more.exists() else "")


async def test_versions_and_lines_from_tomorrow_are_remarked_once(
    tmp_path: Path, claude: ClaudeCli
) -> None:
    fake(
        tmp_path,
        GREETED + "init('3.0.0'); tell({'type': 'news'}); message(text('hi')); result()",
    )
    for times in (2, 0):
        items = await heard(claude, requested(tmp_path))
        assert isinstance(items[-1], ChatResponse)
        assert items[-1].final_text == "hi"
        assert len([item for item in items if isinstance(item, Remark)]) == times


ASKS_TWICE = """
init(); message(bash("ls"), stop="tool_use")
told = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t"}
hook = ask(1, subtype="hook_callback", callback_id="gate", input=told, tool_use_id="t")
host = ask(2, subtype="can_use_tool", tool_name="Bash", input={"command": "ls"}, tool_use_id="t")
other = ask(3, subtype="something_else")
content = json.dumps([hook, host, other])
tell({"type": "user", "message": {"content": [
    {"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": True}]}})
message(text("done")); result()
"""


async def test_a_call_is_put_to_the_gate_once_however_often_it_is_asked(
    tmp_path: Path, claude: ClaudeCli
) -> None:
    fake(tmp_path, GREETED + ASKS_TWICE)
    person = Person(Ruling(False, "not today"))
    items = await heard(claude, requested(tmp_path, person))
    assert [(call.id, call.name) for call in person.asked] == [("t", "shell_exec")]
    assert len([item for item in items if isinstance(item, Step)]) == 1
    end = next(item for item in items if isinstance(item, Observed))
    assert end.status == "denied"
    hook, host, other = json.loads(end.output)
    assert hook["response"]["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert host["response"] == {"behavior": "deny", "message": "not today"}
    assert other["subtype"] == "error"


ASKS_OTHERS = """
init(); message(bash("ls"), stop="tool_use")
def hook(number, line):
    told = {"tool_name": "Bash", "tool_input": {"command": line}, "tool_use_id": "t"}
    return ask(number, subtype="hook_callback", callback_id="gate", input=told, tool_use_id="t")
def host(number, line):
    given = {"command": line}
    return ask(number, subtype="can_use_tool", tool_name="Bash", input=given, tool_use_id="t")
content = [hook(1, "ls"), host(2, "ls"), host(3, "rm x"), hook(4, "rm x"), hook(5, "ls")]
tell({"type": "user", "message": {"content": [
    {"type": "tool_result", "tool_use_id": "t", "content": json.dumps(content)}]}})
message(text("done")); result()
"""


async def test_a_yes_is_for_a_call_and_not_for_its_id(tmp_path: Path, claude: ClaudeCli) -> None:
    fake(tmp_path, GREETED + ASKS_OTHERS)
    person = Person(Ruling(True))
    items = await heard(claude, requested(tmp_path, person))
    assert len(person.asked) == 1
    end = next(item for item in items if isinstance(item, Observed))
    said = [
        told.get("behavior") or told["hookSpecificOutput"]["permissionDecision"]
        for told in (answer["response"] for answer in json.loads(end.output.split("\n[")[0]))
    ]
    assert said == ["allow", "allow", "deny", "deny", "deny"]


@pytest.mark.parametrize(
    "ruling",
    [RuntimeError("a fault of ours"), Ruling(True, arguments='{"unheard": "of"}')],
    ids=["fault", "cannot be told"],
)
async def test_what_goes_wrong_means_no(
    tmp_path: Path, claude: ClaudeCli, ruling: Ruling | Exception
) -> None:
    fake(tmp_path, GREETED + ASKS_TWICE)
    items = await heard(claude, requested(tmp_path, Person(ruling)))
    end = next(item for item in items if isinstance(item, Observed))
    assert end.status == "denied"
    hook, host, _ = json.loads(end.output)
    assert hook["response"]["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert host["response"]["behavior"] == "deny"


async def test_a_person_is_not_hurried_and_a_tool_has_its_own_time(tmp_path: Path) -> None:
    fake(tmp_path, GREETED + ASKS_TWICE.replace("tell({", "sys.stdin.readline(); tell({", 1))
    person = Person(Ruling(True))
    person.let.clear()
    start = start_of(requested(tmp_path), ModelSettings(kind="claude-cli"), tmp_path)
    talk = await Talk.open(start, None, 60)
    place, watch = begun((), str(tmp_path), "turn"), Watch(idle_s=60, tool_s=0.1)
    turn = Turn(talk, person.permit, place, Names("claude", ""), watch)
    asyncio.get_running_loop().call_later(1.5, person.let.set)
    try:
        with pytest.raises(ProviderError) as caught:
            await drained(turn)
    finally:
        await talk.program.stop()
    assert caught.value.kind == "timeout"
    assert "while a tool of it ran" in str(caught.value)
    assert person.let.is_set(), "not before the person had answered"


def test_what_is_said_is_never_an_argument_and_what_would_steer_it_is_gone(tmp_path: Path) -> None:
    fake(tmp_path, "")
    request = requested(
        tmp_path,
        ANTHROPIC_API_KEY="k",
        ANTHROPIC_BASE_URL="http://elsewhere",
        CLAUDE_CONFIG_DIR="/elsewhere",
        CLAUDE_CODE_OAUTH_TOKEN="t",
        CLAUDE_CODE_USE_BEDROCK="1",
        CLAUDECODE="1",
        OTEL_EXPORTER_OTLP_ENDPOINT="http://elsewhere",
        OTEL_LOGS_EXPORTER="otlp",
        IS_SANDBOX="1",
    )
    start = start_of(request, ModelSettings(kind="claude-cli", args=("--add-dir", "/x")), tmp_path)
    assert not any("SYSTEM" in word or "THE WORDS" in word for word in start.argv)
    assert start.argv[-2:] == ("--add-dir", "/x")
    assert set(start.environ) & set(request.hands.environ if request.hands else ()) == {
        "PATH", "HOME", "IS_SANDBOX"
    }  # fmt: skip
    assert start.environ["CLAUDE_CODE_MAX_RETRIES"] == "2"
    assert start.greeting()["appendSystemPrompt"] == "SYSTEM"
    assert start.greeting()["hooks"]["PreToolUse"][0]["matcher"] == ""


@pytest.mark.parametrize(
    ("autonomy", "sandbox", "mode"),
    [
        ("supervised", "1", "default"),
        ("full", "1", "bypassPermissions"),
        ("full", "", "default" if os.geteuid() == 0 else "bypassPermissions"),
    ],
)
def test_its_own_questions_are_off_only_with_full_autonomy(
    tmp_path: Path, autonomy: Autonomy, sandbox: str, mode: str
) -> None:
    fake(tmp_path, "")
    request = requested(tmp_path, None, autonomy, IS_SANDBOX=sandbox)
    argv = start_of(request, ModelSettings(kind="claude-cli"), tmp_path).argv
    assert argv[argv.index("--permission-mode") + 1] == mode

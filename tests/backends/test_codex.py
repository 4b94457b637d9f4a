"""The codex CLI itself, version 0.169, against a stand-in for OpenAI's Responses API."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from byte_server import ByteServer, serving
from responses_server import refuses, response, runs, says, thinks, writes

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.processes import carries, command_of, is_alive, marks, processes
from stormclaw.protocol.display import Headline
from stormclaw.protocol.effects import Autonomy
from stormclaw.protocol.messages import AssistantTurn, ToolCall, ToolOutcome, UserText
from stormclaw.protocol.provider import (
    ChatRequest,
    ChatResponse,
    Delta,
    Hands,
    Message,
    Observed,
    Remark,
    Retrying,
    Ruling,
    Step,
    Text,
    Thinking,
    Withdrawn,
)
from stormclaw.providers.codex_cli import CodexCli, connect

PATCH = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch"
ON_THE_SHELL = f"apply_patch <<'EOF'\n{PATCH}\nEOF"


@dataclass
class Rig:
    """A codex with a home of its own, a workspace, and a person who rules on its calls."""

    server: ByteServer
    provider: CodexCli
    workspace: Path
    environ: dict[str, str]
    mark: str
    asked: list[ToolCall] = field(default_factory=list)
    rules: Callable[[ToolCall], Ruling] = lambda call: Ruling(True)
    messages: list[Message] = field(default_factory=list)
    autonomy: Autonomy = "supervised"

    async def permit(self, call: ToolCall) -> Ruling:
        self.asked.append(call)
        return self.rules(call)

    def request(self, *, hands: bool = True) -> ChatRequest:
        given = Hands(self.workspace, self.environ, self.autonomy, self.permit)
        told = tuple(self.messages)
        return ChatRequest("You are kind.", told, (), "", hands=given if hands else None)

    async def says(self, text: str, *, hands: bool = True) -> list[Delta | ChatResponse]:
        """One turn; what it leaves is part of the conversation afterwards."""
        self.messages.append(UserText(text))
        told: list[Delta | ChatResponse] = []
        async with aclosing(self.provider.stream(self.request(hands=hands))) as items:
            async for item in items:
                told.append(item)
                self.keep(item)
        return told

    def keep(self, item: Delta | ChatResponse) -> None:
        match item:
            case Step(said) | (ChatResponse() as said):
                turn = AssistantTurn(said.final_text, "", said.tool_calls, provider="codex")
                self.messages.append(replace(turn, echo=said.echo))
            case Observed(call_id, status, output):
                head = Headline("shell", "?")
                self.messages.append(ToolOutcome(call_id, "shell_exec", status, output, head))
            case _:
                pass

    def ready(self) -> str:
        """A command that says it runs: it waits until `is_ready` has heard it."""
        os.mkfifo(self.workspace / "ready")
        return "echo > ready"

    async def is_ready(self) -> None:
        """Wait for that."""
        await asyncio.wait_for(asyncio.to_thread((self.workspace / "ready").read_text), 20)

    def left(self) -> dict[int, str]:
        """The processes that belong to it and still run, with their command lines."""
        there = processes()
        found = marks(there)
        ours = (pid for pid, mark in found.items() if carries(mark, self.mark))
        return {pid: command_of(pid) for pid in ours if is_alive(there[pid])}

    def heard(self, request: int = -1) -> list[str]:
        """What the model was told in a request, as text."""
        said = self.server.requests[request].body["input"]
        return [str(item.get("content") or item) for item in said]


@pytest.fixture
async def rig(
    home: Path, workspace: Path, environ: dict[str, str], mark: str
) -> AsyncIterator[Rig]:
    folder = home / ".codex"
    folder.mkdir()
    async with serving() as server:
        (folder / "config.toml").write_text(
            f'''
model = "stand-in"
model_provider = "stand-in"
model_reasoning_summary = "auto"
[model_providers.stand-in]
name = "stand-in"
base_url = "{server.url}"
wire_api = "responses"
env_key = "STAND_IN_KEY"
request_max_retries = 0
stream_max_retries = 1
'''
        )
        program = shutil.which("codex", path=environ["PATH"])
        settings = ModelSettings(
            kind="codex-cli", command=program or "", path=str(folder), api_key_env="STAND_IN_KEY"
        )
        yield Rig(server, connect("codex", settings, "k"), workspace, environ, mark)


def ends(told: list[Delta | ChatResponse]) -> dict[str, Observed]:
    return {item.call_id: item for item in told if isinstance(item, Observed)}


def calls(told: list[Delta | ChatResponse]) -> list[ToolCall]:
    return [call for item in told if isinstance(item, Step) for call in item.response.tool_calls]


async def test_text_and_reasoning_come_live(rig: Rig) -> None:
    rig.server.will(response(thinks("Let me think"), says("Hello, all of you")))
    told = await rig.says("hi")
    assert "".join(item.text for item in told if isinstance(item, Thinking)) == "Let me think"
    pieces = [item.text for item in told if isinstance(item, Text)]
    assert (len(pieces) > 1, "".join(pieces)) == (True, "Hello, all of you")
    last = told[-1]
    assert isinstance(last, ChatResponse)
    assert (last.final_text, last.model, last.thinking) == (
        "Hello, all of you", "stand-in", "Let me think"
    )  # fmt: skip
    assert (last.usage.input_tokens, last.usage.cached_tokens, last.usage.output_tokens) == (
        100, 40, 10
    )  # fmt: skip
    assert any("You are kind." in text for text in rig.heard())
    assert rig.provider.capabilities().context_window > 0


async def test_calls_pass_the_gate_first_and_a_no_has_its_reason(rig: Rig) -> None:
    (rig.workspace / "kept.txt").write_text("kept")
    rig.rules = lambda call: Ruling("rm" not in call.arguments, "the person wants it kept")
    rig.server.will(
        response(says("I will look."), runs("cat kept.txt")),
        response(runs("rm kept.txt")),
        response(says("It stays.")),
    )
    told = await rig.says("clean up")
    assert [call.name for call in rig.asked] == ["shell_exec", "shell_exec"], "each asked once"
    looked, removed = calls(told)
    assert (ends(told)[looked.id].status, ends(told)[looked.id].output) == (
        "done",
        "kept\n[exit 0]",
    )
    assert ends(told)[removed.id].status == "denied"
    assert (rig.workspace / "kept.txt").exists()
    assert "the person wants it kept" in rig.heard()[-1]
    first = next(item for item in told if isinstance(item, Step))
    assert first.response.final_text == "I will look."
    assert sum(each.usage.input_tokens for each in answers(told)) == 300


def answers(told: list[Delta | ChatResponse]) -> list[ChatResponse]:
    steps = [item.response for item in told if isinstance(item, Step)]
    return steps + [item for item in told if isinstance(item, ChatResponse)]


async def test_its_commands_do_not_get_its_key(rig: Rig) -> None:
    rig.server.will(response(runs("echo key=$STAND_IN_KEY")), response(says("done")))
    [end] = ends(await rig.says("go")).values()
    assert end.output == "key=\n[exit 0]"
    assert rig.server.requests[0].headers["authorization"] == "Bearer k"


async def test_what_the_person_put_in_place_is_what_runs(rig: Rig) -> None:
    rig.rules = lambda call: Ruling(True, arguments='{"command": "echo something else"}')
    (rig.workspace / "sub").mkdir()
    rig.server.will(response(runs("echo this", workdir="sub")), response(says("done")))
    told = await rig.says("go")
    assert [call.arguments for call in rig.asked] == ['{"command": "cd sub && echo this"}']
    assert [end.output for end in ends(told).values()] == ["something else\n[exit 0]"]


@pytest.mark.parametrize("way", ["shell", "tool"])
async def test_a_file_change_is_a_patch(rig: Rig, way: str) -> None:
    if way == "tool":
        settings = replace(rig.provider._settings, model="gpt-5.5")
        rig.provider = connect("codex", settings, "k")
        change = writes("apply_patch", PATCH + "\n")
    else:
        change = runs(ON_THE_SHELL)
    rig.server.will(response(change), response(says("done")))
    told = await rig.says("write it")
    [call] = rig.asked
    assert call.name == "apply_patch"
    assert "*** Add File: new.txt" in call.arguments
    assert ends(told)[call.id].output == "Patched 1 file:\nA new.txt +1 −0"
    assert (rig.workspace / "new.txt").read_text() == "hello\n"


async def test_the_calls_of_a_script_pass_the_gate_one_by_one(rig: Rig) -> None:
    rig.provider = connect("codex", replace(rig.provider._settings, model="gpt-6.1-sol"), "k")
    rig.rules = lambda call: Ruling("two" not in call.arguments, "not this one")
    script = (
        'text((await tools.exec_command({cmd: "echo one"})).output);'
        'try { await tools.exec_command({cmd: "echo two"}) } catch (problem) { text(`${problem}`) }'
    )
    rig.server.will(response(writes("exec", script)), response(says("done")))
    told = await rig.says("go")
    assert [end.status for end in ends(told).values()] == ["done", "denied"]
    assert "not this one" in rig.heard()[-1]


async def test_more_rights_than_a_call_has_are_asked_for_apart(rig: Rig) -> None:
    rig.rules = lambda call: Ruling(call.name == "shell_exec", "stay inside")
    line = runs("ls /", sandbox_permissions="require_escalated", justification="let me out")
    rig.server.will(response(line), response(says("done")))
    told = await rig.says("go")
    assert [call.name for call in rig.asked] == ["shell_exec", "codex:run_with_more_rights"]
    assert "let me out" in rig.asked[1].arguments
    assert {end.status for end in ends(told).values()} == {"denied"}


async def test_supervised_it_stays_in_its_walls_and_full_it_does_not(rig: Rig) -> None:
    outside = Path("/var/tmp") / rig.mark
    line = f"touch {outside} && echo written"
    try:
        rig.server.will(response(runs(line)), response(says("no")))
        [end] = ends(await rig.says("write outside")).values()
        assert (end.status, outside.exists()) == ("failed", False)
        refused = f"touch: cannot touch '{outside}': Read-only file system\n[exit 1]"
        assert end.output == refused, "although no notification tells of it"
        rig.server.will(response(runs(line)), response(runs("true")), response(says("no")))
        told = await rig.says("in a thread that is taken up")
        stopped, made = calls(told)
        assert (ends(told)[stopped.id].output, outside.exists()) == (refused, False)
        order = [item for item in told if isinstance(item, (Step, Observed))]
        assert order.index(ends(told)[stopped.id]) < order.index(ends(told)[made.id])
        rig.autonomy = "full"
        rig.server.will(response(runs(line)), response(says("yes")))
        told = await rig.says("again")
        assert [end.output for end in ends(told).values()] == ["written\n[exit 0]"]
        assert any("autonomy is full" in item.text for item in told if isinstance(item, Remark))
        assert len(rig.asked) == 4, "the gate is asked at full autonomy too"
    finally:
        outside.unlink(missing_ok=True)


async def test_a_codex_without_our_hook_asks_before_it_acts(rig: Rig, tmp_path: Path) -> None:
    bare = tmp_path / "bare-codex"
    bare.write_text(f'#!/bin/sh\nexec {rig.provider._settings.command} "$1"\n')
    bare.chmod(0o755)
    rig.provider = connect("codex", replace(rig.provider._settings, command=str(bare)), "k")
    rig.rules = lambda call: Ruling(False, "no")
    rig.server.will(response(runs("touch made")), response(says("as you wish")))
    told = await rig.says("make it")
    assert [call.name for call in rig.asked] == ["shell_exec"]
    assert [end.status for end in ends(told).values()] == ["denied"]
    assert not (rig.workspace / "made").exists()
    assert any("does not run StormClaw's hook" in r.text for r in told if isinstance(r, Remark))


async def test_without_hands_nothing_is_done(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in rig.environ.items():
        monkeypatch.setenv(name, value)
    rig.server.will(response(runs("touch made")), response(says("A title")))
    told = await rig.says("a title, please", hands=False)
    assert [type(item) for item in told if not isinstance(item, Text)] == [ChatResponse]
    assert not (rig.workspace / "made").exists()
    assert "exec_command" not in str(rig.server.requests[0].body.get("tools"))
    assert not list((Path(rig.provider._settings.path)).glob("sessions/**/*.jsonl"))


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "invalid_api_key", "auth"),
        (429, "rate_limit_exceeded", "rate_limit"),
        (500, "server_error", "server"),
    ],
)
async def test_errors_of_the_server_are_ours(rig: Rig, status: int, code: str, kind: str) -> None:
    rig.server.will(*[refuses(status, "no", code)] * 9)
    with pytest.raises(ProviderError) as raised:
        await rig.says("hi")
    assert raised.value.kind == kind
    assert raised.value.hint


async def test_a_cut_answer_is_withdrawn_and_begun_anew(rig: Rig) -> None:
    half = response(says("half an answer"), complete=False, end="reset")
    rig.server.will(half, response(says("a whole one")))
    told = await rig.says("hi")
    kinds = [type(item) for item in told if not isinstance(item, Text)]
    assert kinds == [Withdrawn, Retrying, ChatResponse]
    assert told[-1].final_text == "a whole one"  # type: ignore[union-attr]


async def test_silence_is_not_waited_for_for_ever(rig: Rig) -> None:
    rig.provider = CodexCli(
        "codex", replace(rig.provider._settings, idle_timeout_s=0.5), "k", patience_s=0.5
    )
    rig.server.will(response(says("so far"), complete=False, end="hold"))
    with pytest.raises(ProviderError) as raised:
        await rig.says("hi")
    assert (raised.value.kind, raised.value.partial) == ("timeout", "so far")


async def test_the_thread_goes_on_after_a_restart_and_ends_where_the_person_went_back_to(
    rig: Rig,
) -> None:
    rig.server.will(*(response(says(text)) for text in ("one", "zwei", "three", "again")))
    await rig.says("first")
    before = list(rig.messages)
    await rig.says("second")
    rig.provider = connect("codex", rig.provider._settings, "k")
    told = await rig.says("third")
    assert [item for item in told if isinstance(item, Remark)] == []
    assert all(any(text in said for said in rig.heard()) for text in ("one", "second", "zwei"))
    assert answers(told)[-1].usage.input_tokens == 100, "only this turn is counted"
    rig.messages = before
    await rig.says("second, differently")
    assert any("one" in said for said in rig.heard())
    assert not any("zwei" in said or "third" in said for said in rig.heard())


async def test_an_edited_conversation_is_told_anew(rig: Rig) -> None:
    rig.server.will(response(says("one")), response(says("two")))
    await rig.says("first")
    rig.messages[0] = UserText("something else")
    await rig.says("second")
    assert any("[person]\\nsomething else" in said for said in rig.heard())


async def test_a_thread_that_is_gone_is_said_and_told_anew(rig: Rig) -> None:
    rig.server.will(response(says("one")), response(says("two")))
    await rig.says("first")
    for file in Path(rig.provider._settings.path).glob("sessions/**/*.jsonl"):
        file.unlink()
    for file in Path(rig.provider._settings.path).glob("*.sqlite*"):
        file.unlink()
    told = await rig.says("second")
    assert any("no longer has" in item.text for item in told if isinstance(item, Remark))
    assert any("[assistant]\\none" in said for said in rig.heard())


async def test_it_goes_on_after_codex_was_killed_in_a_turn(rig: Rig) -> None:
    rig.server.will(response(runs(f"{rig.ready()}; sleep 60")), response(says("here again")))
    running = asyncio.create_task(rig.says("first"))
    await rig.is_ready()
    for pid in rig.left():
        with suppress(ProcessLookupError):  # Some of them die of the others' deaths.
            os.kill(pid, signal.SIGKILL)
    with pytest.raises(ProviderError, match="codex ended"):
        await running
    assert rig.left() == {}
    rig.keep(Observed(rig.asked[0].id, "interrupted", "not known"))
    told = await rig.says("go on")
    assert told[-1].final_text == "here again"  # type: ignore[union-attr]
    assert any("sleep 60" in said for said in rig.heard())


async def test_an_interrupted_turn_leaves_nothing_and_is_remembered(rig: Rig) -> None:
    line = f"setsid sleep 61 & {rig.ready()}; sleep 62"
    rig.server.will(response(runs(line)), response(says("after that")))
    running = asyncio.create_task(rig.says("first"))
    await rig.is_ready()
    assert len(rig.left()) >= 4, "codex, its wrapper, its shell and a sleep at least"
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert rig.left() == {}
    rig.keep(Observed(rig.asked[0].id, "interrupted", "not known"))
    await rig.says("what did you do?")
    assert any("sleep 62" in said for said in rig.heard())


async def test_where_there_is_no_app_server_exec_can_only_talk(rig: Rig, tmp_path: Path) -> None:
    old = tmp_path / "old-codex"
    refusing = (
        f'#!/bin/sh\n[ "$1" = app-server ] && exit 2\nexec {rig.provider._settings.command} "$@"\n'
    )
    old.write_text(refusing)
    old.chmod(0o755)
    rig.provider = connect("codex", replace(rig.provider._settings, command=str(old)), "k")
    rig.server.will(response(thinks("hm"), says("only words")))
    told = await rig.says("hi")
    assert [type(item) for item in told] == [Remark, Thinking, Text, ChatResponse]
    assert "only talk" in told[0].text  # type: ignore[union-attr]
    assert "exec_command" not in str(rig.server.requests[0].body.get("tools"))
    rig.autonomy = "full"
    rig.server.will(response(runs(ON_THE_SHELL)), response(says("written")))
    told = await rig.says("write it")
    assert "nothing it does passes" in told[0].text  # type: ignore[union-attr]
    assert (rig.workspace / "new.txt").read_text() == "hello\n"
    assert told[-1].final_text == "written"  # type: ignore[union-attr]


async def test_codex_that_is_not_there(tmp_path: Path) -> None:
    provider = CodexCli("codex", ModelSettings(kind="codex-cli", command="no-such-codex"))
    with pytest.raises(ProviderError, match="no-such-codex") as raised:
        await provider.chat(ChatRequest("", (UserText("hi"),), (), ""))
    assert "npm install" in raised.value.hint

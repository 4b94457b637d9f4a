"""A program that acts by itself: gated, shown, receipted, on record like a call of ours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from scripted import Desk, Ear, bodies, outcomes

from stormclaw.agent.session import Session
from stormclaw.errors import ProviderError
from stormclaw.protocol.asks import Reply
from stormclaw.protocol.display import Diff, Shell
from stormclaw.protocol.events import Notice, TextDelta, ToolProgress, ToolStarted, Withdrawn
from stormclaw.protocol.messages import AssistantTurn, Note, ToolCall, ToolOutcome, Usage, UserText
from stormclaw.protocol.provider import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    Delta,
    Hands,
    Observed,
    Progress,
    Provider,
    Remark,
    Ruling,
    Step,
    Text,
)
from stormclaw.protocol.provider import Withdrawn as Took
from stormclaw.runtime import Runtime

Play = Callable[[ChatRequest], AsyncGenerator[Delta | ChatResponse, None]]


class Acting(Provider):
    """Makes its calls itself, as a test tells it to."""

    name, model = "claude", "sonnet"

    def __init__(self, play: Play) -> None:
        self._play = play

    def capabilities(self) -> Capabilities:
        return Capabilities(acts=True, context_window=200_000)

    def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        return self._play(request)


def shell(call_id: str, command: str) -> ToolCall:
    return ToolCall(call_id, "shell_exec", json.dumps({"command": command}))


def hands(request: ChatRequest) -> Hands:
    assert request.hands is not None
    return request.hands


def answer(*calls: ToolCall, text: str = "", **usage: float) -> ChatResponse:
    return ChatResponse(text, calls, model="sonnet", usage=Usage(10, 5, **usage))  # type: ignore[arg-type]


async def act(runtime: Runtime, play: Play) -> tuple[Session, Ear]:
    session = runtime.session
    kit = replace(session.kit, provider=Acting(play), provider_name="claude", model="sonnet")
    session.use(kit, session.info)
    ear = Ear(session)
    session.prompt("do it")
    return session, ear


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncGenerator[Runtime, None]:
    desk = Desk(tmp_path)
    desk.script([{"text": "unused"}])
    opened = await desk.open()
    yield opened
    await opened.close()


async def test_calls_become_nodes_with_receipts(runtime: Runtime) -> None:
    async def play(request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        yield Text("Let me look.")
        call = shell("c1", "ls")
        yield Step(answer(call, text="Let me look."))
        ruling = await hands(request).permit(call)
        assert ruling == Ruling(allowed=True)
        yield Progress("c1", "a.py\n")
        yield Observed("c1", "done", "a.py\n", "exit 0, 1 line")
        yield Text("There is a.py.")
        yield answer(text="There is a.py.", cost_usd=0.25)

    session, ear = await act(runtime, play)
    ended = await ear.end()
    assert ended.reason == "done"
    said, first, outcome, last = bodies(session)
    assert said == UserText("do it")
    assert isinstance(first, AssistantTurn)
    assert first.text == "Let me look."
    assert [call.id for call in first.calls] == ["c1"]
    assert isinstance(outcome, ToolOutcome)
    assert (outcome.tool, outcome.status, outcome.output) == ("shell_exec", "done", "a.py\n")
    assert (outcome.author, outcome.headline.verb) == ("foreign", "shell")
    assert isinstance(last, AssistantTurn)
    assert last.text == "There is a.py."
    assert ended.usage.cost_usd == 0.25
    assert ended.usage.input_tokens == 20
    assert [event.text for event in ear.of(ToolProgress)] == ["a.py\n"]
    assert runtime.receipts is not None
    receipt = runtime.receipts.read(1)[0]
    assert (receipt.number, receipt.tool) == (outcome.receipt, "shell_exec")
    assert receipt.extra["author"] == "foreign"
    assert receipt.extra["foreign"] == "claude"


async def test_a_person_is_asked_with_our_diff_and_denies(runtime: Runtime) -> None:
    (runtime.workspace / "a.py").write_text("x = 1\n")
    rulings: list[Ruling] = []

    async def play(request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        edit = {"path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}
        call = ToolCall("c1", "edit_file", json.dumps(edit))
        yield Step(answer(call))
        rulings.append(await hands(request).permit(call))
        yield Observed("c1", "failed", "The user doesn't want this")
        yield answer(text="As you like.")

    session, ear = await act(runtime, play)
    ask = await ear.answer(Reply("deny", "not now"))
    assert isinstance(ask.display, Diff)
    assert ask.display.path == "a.py"
    await ear.end()
    assert [ruling.allowed for ruling in rulings] == [False]
    assert "not now" in rulings[0].message
    (outcome,) = outcomes(session)
    assert (outcome.status, outcome.summary) == ("denied", "denied by you: not now")


async def test_what_a_person_changed_goes_back(runtime: Runtime) -> None:
    rulings: list[Ruling] = []

    async def play(request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        call = shell("c1", "npm install left-pad")
        yield Step(answer(call))
        rulings.append(await hands(request).permit(call))
        yield Observed("c1", "done", "ok", "exit 0")
        yield answer(text="Done.")

    _session, ear = await act(runtime, play)
    ask = await ear.answer(Reply("once", arguments='{"command": "npm install"}'))
    assert isinstance(ask.display, Shell)
    assert ask.display.sandbox == "none"
    await ear.end()
    assert rulings == [Ruling(allowed=True, arguments='{"command": "npm install"}')]


async def test_forbidden_stays_forbidden_at_full_autonomy(runtime: Runtime) -> None:
    runtime.set_autonomy("full")
    rulings: list[Ruling] = []

    async def play(request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        call = shell("c1", "rm -rf /")
        yield Step(answer(call))
        rulings.append(await hands(request).permit(call))
        yield Observed("c1", "failed", "refused")
        yield answer(text="No.")

    session, ear = await act(runtime, play)
    await ear.end()
    assert not rulings[0].allowed
    assert outcomes(session)[0].status == "denied"


async def test_a_tool_that_is_not_ours_is_asked_about(runtime: Runtime) -> None:
    async def play(request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        call = ToolCall("c1", "claude:WebSearch", '{"query": "tides"}')
        yield Step(answer(call))
        assert (await hands(request).permit(call)).allowed
        yield Observed("c1", "done", "3 hits", "3 hits")
        yield answer(text="Found.")

    session, ear = await act(runtime, play)
    ask = await ear.answer(Reply("once"))
    assert ask.tool == "claude:WebSearch"
    assert ask.headline.object == "claude's WebSearch"
    await ear.end()
    assert outcomes(session)[0].tool == "claude:WebSearch"


async def test_a_call_nobody_was_asked_about_is_on_record(runtime: Runtime) -> None:
    async def play(_: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        yield Step(answer(shell("c1", "cat /etc/passwd")))
        yield Observed("c1", "done", "root:x:0", "exit 0")
        yield answer(text="Read.")

    session, ear = await act(runtime, play)
    await ear.end()
    assert outcomes(session)[0].status == "done"
    assert runtime.receipts is not None
    receipt = runtime.receipts.read(1)[0]
    assert receipt.extra["decided_by"] == "claude, unasked"
    assert receipt.risk == "high"


async def test_outcomes_stand_in_the_order_of_the_calls(runtime: Runtime) -> None:
    async def play(request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        first, second = shell("c1", "ls"), shell("c2", "pwd")
        yield Step(answer(first, second))
        await hands(request).permit(second)
        await hands(request).permit(first)
        yield Observed("c2", "done", "/")
        yield Observed("c1", "done", "a")
        yield answer(text="Both.")

    session, ear = await act(runtime, play)
    await ear.end()
    assert [outcome.call_id for outcome in outcomes(session)] == ["c1", "c2"]


async def test_an_interrupt_closes_what_is_open(runtime: Runtime) -> None:
    closed = asyncio.Event()

    async def play(request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        call = shell("c1", "ls")
        yield Step(answer(call, text="Looking."))
        await hands(request).permit(call)
        yield Progress("c1", "working")
        try:
            await asyncio.Event().wait()
        finally:
            closed.set()

    session, ear = await act(runtime, play)
    await ear.until(ToolProgress)
    session.interrupt()
    assert (await ear.end()).reason == "interrupted"
    assert closed.is_set()
    assert outcomes(session)[0].status == "interrupted"
    assert isinstance(bodies(session)[-1], Note)


async def test_an_interrupt_while_a_person_is_asked(runtime: Runtime) -> None:
    async def play(request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        call = shell("c1", "npm install x")
        yield Step(answer(call))
        await hands(request).permit(call)
        yield answer(text="never")

    session, ear = await act(runtime, play)
    await ear.permission()
    session.interrupt()
    assert (await ear.end()).reason == "interrupted"
    assert session.open_asks == ()
    assert outcomes(session)[0].status == "interrupted"


async def test_a_failure_keeps_what_was_done(runtime: Runtime) -> None:
    async def play(request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        call = shell("c1", "ls")
        yield Step(answer(call))
        await hands(request).permit(call)
        yield Text("Half an ans")
        raise ProviderError("server", "claude died", partial="Half an ans")

    session, ear = await act(runtime, play)
    assert (await ear.end()).reason == "failed"
    turn, outcome, partial, note = bodies(session)[1:]
    assert isinstance(turn, AssistantTurn)
    assert isinstance(outcome, ToolOutcome)
    assert outcome.status == "interrupted"
    assert isinstance(partial, AssistantTurn)
    assert partial.text == "Half an ans"
    assert isinstance(note, Note)
    assert (note.kind, note.code) == ("failed", "server")


async def test_withdrawn_text_is_nowhere(runtime: Runtime) -> None:
    async def play(_: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        yield Text("partial then cut")
        yield Took("the connection broke")
        yield Remark("a fallback answers")
        yield Text("whole")
        yield answer(text="whole")

    session, ear = await act(runtime, play)
    await ear.end()
    assert [body.text for body in bodies(session)[1:] if isinstance(body, AssistantTurn)] == [
        "whole"
    ]
    order = [type(event) for event in ear.heard if isinstance(event, TextDelta | Withdrawn)]
    assert order == [TextDelta, Withdrawn, TextDelta]
    notices = [event.text for event in ear.of(Notice)]
    assert notices == ["withdrawn: the connection broke", "a fallback answers"]


async def test_a_spent_purse_ends_the_calls(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.script([{"text": "unused"}])
    desk.configure({"agents": {"budget_usd": 0.10}})
    runtime = await desk.open()
    rulings: list[Ruling] = []

    async def play(request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        call = shell("c1", "ls")
        yield Step(answer(call, cost_usd=0.2))
        rulings.append(await hands(request).permit(call))
        yield Observed("c1", "failed", "refused")
        yield answer(text="I stop.")

    _session, ear = await act(runtime, play)
    await ear.end()
    await runtime.close()
    assert not rulings[0].allowed
    assert "budget" in rulings[0].message


async def test_keys_in_what_it_saw_stay_off_the_record(runtime: Runtime) -> None:
    key = "sk-or-v1-" + "a1b2c3d4" * 8

    async def play(request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        call = shell("c1", "ls")
        yield Step(answer(call))
        await hands(request).permit(call)
        yield Progress("c1", f"key={key}")
        yield Observed("c1", "done", f"key={key}")
        yield answer(text="ok")

    session, ear = await act(runtime, play)
    await ear.end()
    assert key not in outcomes(session)[0].output
    assert all(key not in event.text for event in ear.of(ToolProgress))


async def test_each_card_is_started_before_it_ends(runtime: Runtime) -> None:
    async def play(_: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        yield Step(answer(shell("c1", "ls")))
        yield Observed("c1", "done", "a")
        yield Observed("c9", "done", "nobody asked for this")
        yield answer(text="ok")

    session, ear = await act(runtime, play)
    await ear.end()
    assert [event.call.id for event in ear.of(ToolStarted)] == ["c1"]
    assert len(outcomes(session)) == 1


@pytest.mark.parametrize("told", [True, False], ids=["in the answer", "by the question alone"])
async def test_a_yes_is_for_a_call_and_not_for_its_id(runtime: Runtime, told: bool) -> None:
    rulings: list[Ruling] = []

    async def play(request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        first, second = shell("c1", "ls"), shell("c1", "rm -rf /")
        yield Step(answer(first, *([second] if told else []), shell("c2", "pwd")))
        rulings.extend([await hands(request).permit(call) for call in (first, second)])
        yield Observed("c1", "done", "a.py")
        yield Observed("c2", "done", "/")
        yield answer(text="ok")

    session, ear = await act(runtime, play)
    await ear.end()
    assert [ruling.allowed for ruling in rulings] == [True, False]
    assert "another call" in rulings[1].message
    assert [outcome.call_id for outcome in outcomes(session)] == ["c1", "c2"]
    assert runtime.receipts is not None
    refused = [each for each in runtime.receipts.read(9) if each.extra["outcome"] == "denied"]
    assert len(refused) == 1


async def test_what_is_judged_is_what_the_program_asks_for(runtime: Runtime) -> None:
    rulings: list[Ruling] = []

    async def play(request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        yield Step(answer(shell("c1", "ls")))
        rulings.append(await hands(request).permit(shell("c1", "rm -rf /")))
        yield Observed("c1", "failed", "refused")
        yield answer(text="ok")

    session, ear = await act(runtime, play)
    await ear.end()
    assert not rulings[0].allowed
    assert outcomes(session)[0].status == "denied"
    assert outcomes(session)[0].headline.object == "rm -rf /"


async def test_an_id_of_an_answer_before_is_a_new_call(runtime: Runtime) -> None:
    async def play(request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        for line, said in (("ls", "a.py"), ("pwd", "/")):
            call = shell("call_0", line)
            yield Step(answer(call))
            assert (await hands(request).permit(call)).allowed
            yield Observed("call_0", "done", said)
        yield answer(text="ok")

    session, ear = await act(runtime, play)
    await ear.end()
    assert [outcome.output for outcome in outcomes(session)] == ["a.py", "/"]
    assert runtime.receipts is not None
    assert len(runtime.receipts.read(9)) == 2

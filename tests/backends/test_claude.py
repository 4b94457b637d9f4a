"""The real claude: what it says, what it does with its hands, and what becomes of it."""

from __future__ import annotations

import asyncio
import json
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from messages_server import MessagesServer, Turn, fails, think, turn, use

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.processes import MARK, carries, is_alive, marks, processes
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
from stormclaw.providers.claude_cli import ClaudeCli

ALLOWED = Ruling(True)
SETTINGS = ModelSettings(kind="claude-cli")


@dataclass
class Person:
    """Who talks with it: keeps the conversation as the agent would, and rules on calls.

    Attributes:
        rule: What is said of a call.
        asked: The calls that were asked for.
        items: Everything that came in the newest turn.
        told: Set for each call once its step has come: nothing is ruled on before.
    """

    provider: ClaudeCli
    workspace: Path
    environ: dict[str, str]
    autonomy: Autonomy = "supervised"
    rule: Callable[[ToolCall], Ruling] = lambda call: ALLOWED
    asked: list[ToolCall] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    items: list[Delta | ChatResponse] = field(default_factory=list)
    told: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))

    def hands(self) -> Hands:
        return Hands(self.workspace, self.environ, self.autonomy, self._permit)

    async def _permit(self, call: ToolCall) -> Ruling:
        self.asked.append(call)
        await self.told[call.id].wait()
        return self.rule(call)

    def request(self) -> ChatRequest:
        return ChatRequest("WORDS OF STORMCLAW", tuple(self.messages), (), "", hands=self.hands())

    async def say(self, text: str) -> ChatResponse:
        self.messages.append(UserText(text))
        self.items = []
        calls: dict[str, str] = {}
        async with aclosing(self.provider.stream(self.request())) as items:
            async for item in items:
                self.items.append(item)
                match item:
                    case Step(response):
                        self._keep(response)
                        for call in response.tool_calls:
                            calls[call.id] = call.name
                            self.told[call.id].set()
                    case Observed():
                        tool = calls.pop(item.call_id)
                        head = Headline("tool", tool)
                        said = ToolOutcome(item.call_id, tool, item.status, item.output, head)
                        self.messages.append(said)
                    case ChatResponse():
                        self._keep(item)
                        return item
                    case _:
                        pass
        raise AssertionError("no answer")

    def _keep(self, answer: ChatResponse) -> None:
        self.messages.append(
            AssistantTurn(
                answer.final_text,
                calls=answer.tool_calls,
                provider=self.provider.name,
                echo=answer.echo,
            )
        )

    def of(self, kind: type[Delta | ChatResponse]) -> list[Delta | ChatResponse]:
        return [item for item in self.items if isinstance(item, kind)]

    @property
    def ends(self) -> list[Observed]:
        return [item for item in self.items if isinstance(item, Observed)]


def configured(home: Path, server: MessagesServer) -> None:
    folder = home / ".claude"
    folder.mkdir(exist_ok=True)
    env = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_AUTH_TOKEN": "fake"}
    (folder / "settings.json").write_text(json.dumps({"env": env}))


@pytest.fixture
async def person(
    home: Path, workspace: Path, environ: dict[str, str], server: MessagesServer
) -> AsyncIterator[Person]:
    configured(home, server)
    async with talking(workspace, environ) as person:
        yield person


@asynccontextmanager
async def talking(
    workspace: Path, environ: dict[str, str], patience_s: float = 60, **settings: float
) -> AsyncIterator[Person]:
    given = replace(SETTINGS, idle_timeout_s=1, tool_timeout_s=1, **settings)  # type: ignore[arg-type]
    provider = ClaudeCli("claude", given, patience_s=patience_s)
    try:
        yield Person(provider, workspace, environ)
    finally:
        await provider.close()


def started_by(person: Person) -> set[int]:
    there = processes()
    found = marks(there).items()
    return {
        pid for pid, mark in found if carries(mark, person.environ[MARK]) and is_alive(there[pid])
    }


def last_words(server: MessagesServer) -> str:
    """The newest words that were sent to the model, what claude adds left out."""
    messages = server.bodies[-1]["messages"]
    content = [message for message in messages if message["role"] == "user"][-1]["content"]
    return content if isinstance(content, str) else json.dumps(content)


async def test_text_and_thinking_come_live_and_once_each(
    person: Person, server: MessagesServer
) -> None:
    server.will(turn(think("let me see"), "Hello you", "and more"))
    answer = await person.say("hi")
    assert answer.final_text == "Hello youand more"
    assert answer.thinking == "let me see"
    assert [type(item) for item in person.items[:3]] == [Thinking] * 3
    assert "".join(item.text for item in person.items if isinstance(item, Text)) == (
        answer.final_text
    )
    assert answer.usage.input_tokens == 20 + 1_500 + 9_000
    assert (answer.usage.output_tokens, answer.usage.cached_tokens) == (25, 9_000)
    assert answer.usage.cost_usd is not None
    assert answer.usage.cost_usd > 0
    assert answer.model.startswith("claude-")
    assert person.provider.capabilities().context_window > 0
    system = json.dumps(server.bodies[0]["system"])
    assert "WORDS OF STORMCLAW" in system
    assert not person.of(Remark)


async def test_tools_pass_the_gate_and_are_told_in_our_words(
    person: Person, server: MessagesServer, workspace: Path
) -> None:
    def rule(call: ToolCall) -> Ruling:
        if "secret" in call.arguments:
            return Ruling(False, "NO: the person refused that")
        if "put instead" in call.arguments:
            return Ruling(True, arguments='{"command": "echo edited; exit 3"}')
        return ALLOWED

    person.rule = rule
    file = str(workspace / "a.txt")
    server.will(
        turn(
            "I begin",
            use("Write", {"file_path": file, "content": "one\ntwo\n"}, "toolu_w"),
            use("Bash", {"command": "echo out; echo err >&2", "timeout": 9_000}, "toolu_b"),
        ),
        turn(
            use("Read", {"file_path": file}, "toolu_r"),
            use("Bash", {"command": "cat secret"}, "toolu_d"),
            use("Bash", {"command": "put instead"}, "toolu_e"),
            use("Glob", {"pattern": "*.txt"}, "toolu_g"),
            use("Grep", {"pattern": "two", "output_mode": "content"}, "toolu_s"),
        ),
        turn(
            use("Edit", {"file_path": file, "old_string": "two", "new_string": "TWO"}, "toolu_x"),
            use("TodoWrite", {"todos": [
                {"content": "a", "status": "completed", "activeForm": "a"},
                {"content": "b", "status": "in_progress", "activeForm": "b"},
            ]}, "toolu_t"),
        ),
        turn("Done."),
    )  # fmt: skip
    answer = await person.say("go")
    assert answer.final_text == "Done."
    steps = [item.response for item in person.items if isinstance(item, Step)]
    assert [step.final_text for step in steps] == ["I begin", "", ""]
    assert all(step.finish == "tool_calls" for step in steps)
    calls = {
        call.id: (call.name, json.loads(call.arguments)) for s in steps for call in s.tool_calls
    }
    assert calls["toolu_w"] == ("write_file", {"path": "a.txt", "content": "one\ntwo\n"})
    assert calls["toolu_b"] == ("shell_exec", {"command": "echo out; echo err >&2", "timeout": 9})
    assert calls["toolu_r"] == ("read_file", {"path": "a.txt"})
    assert calls["toolu_x"][1] == {"path": "a.txt", "old_string": "two", "new_string": "TWO"}
    ends = {end.call_id: (end.status, end.output, end.summary) for end in person.ends}
    assert ends == {
        "toolu_w": ("done", "Created a.txt: +2 −0", "+2 −0"),
        "toolu_b": ("done", "out\nerr\n[exit 0]", "exit 0, 2 lines"),
        "toolu_r": ("done", "1\tone\n2\ttwo", "2 lines"),
        "toolu_d": ("denied", "NO: the person refused that", "denied"),
        "toolu_e": ("failed", "edited\n[exit 3]", "exit 3, 1 line"),
        "toolu_g": ("done", "a.txt", "1 file"),
        "toolu_s": ("done", "a.txt\n2:two", "1 in 1 file"),
        "toolu_x": ("done", "Edited a.txt from line 2: +1 −1", "+1 −1"),
        "toolu_t": ("done", "Plan noted: 1 of 2 done; now: b", "1 of 2 done"),
    }
    assert sorted(call.id for call in person.asked) == sorted(calls), "each is asked for once"
    assert (workspace / "a.txt").read_text() == "one\nTWO\n"
    assert "NO: the person refused that" in json.dumps(server.bodies[2]["messages"])


async def test_with_full_autonomy_its_own_questions_are_off_and_ours_are_not(
    person: Person, server: MessagesServer, workspace: Path
) -> None:
    person.autonomy = "full"
    person.environ["IS_SANDBOX"] = "1"
    person.rule = lambda call: Ruling(False, "the gate said no")
    server.will(turn(use("Bash", {"command": "touch made"})), turn("ok"))
    await person.say("go")
    assert [end.status for end in person.ends] == ["denied"]
    assert not (workspace / "made").exists()
    assert any(
        "bypassPermissions" in item.text for item in person.items if isinstance(item, Remark)
    )


@pytest.mark.parametrize(
    ("failing", "kind", "hint"),
    [
        ([fails(401)] * 3, "auth", "/login"),
        ([fails(429)] * 3, "rate_limit", "wait"),
        ([fails(500)] * 3, "server", "again"),
        ([fails(400, "prompt is too long: 200001 tokens > 200000 maximum")] * 2,
         "context_length", "/new"),
        ([turn("no", stop="refusal")], "content_filter", "differently"),
    ],
    ids=["401", "429", "500", "too long", "refusal"],
)  # fmt: skip
async def test_an_error_is_told_by_its_class(
    person: Person, server: MessagesServer, failing: list[Turn], kind: str, hint: str
) -> None:
    server.will(*failing)
    with pytest.raises(ProviderError) as caught:
        await person.say("hi")
    assert caught.value.kind == kind
    assert hint in caught.value.hint
    if kind in ("auth", "rate_limit", "server"):
        assert len(person.of(Retrying)) == 2


async def test_a_cut_stream_is_withdrawn_and_said_anew(
    person: Person, server: MessagesServer
) -> None:
    server.will(turn("a part that is cut", end="cut"), turn("the whole answer"))
    answer = await person.say("hi")
    kinds = [type(item) for item in person.items]
    assert Withdrawn in kinds
    after = person.items[kinds.index(Withdrawn) + 1 :]
    assert "".join(item.text for item in after if isinstance(item, Text)) == "the whole answer"
    assert answer.final_text == "the whole answer"


async def test_a_model_that_falls_silent_is_given_up(
    home: Path, workspace: Path, environ: dict[str, str], server: MessagesServer
) -> None:
    configured(home, server)
    async with talking(workspace, environ, patience_s=8) as person:
        server.will(turn("I will now say", end="hang"))
        with pytest.raises(ProviderError) as caught:
            await person.say("hi")
        assert caught.value.kind == "timeout"
        assert caught.value.partial
        assert started_by(person) == set()


async def test_turns_share_a_process_and_a_session_goes_on_after_a_restart(
    person: Person, server: MessagesServer, workspace: Path, environ: dict[str, str]
) -> None:
    server.will(turn("first answer"), turn("second answer"), turn("third answer"))
    first = await person.say("one")
    running = started_by(person)
    second = await person.say("two")
    assert started_by(person) == running, "the same process"
    assert len(server.bodies[1]["messages"]) > len(server.bodies[0]["messages"])
    assert second.usage.cost_usd == pytest.approx(first.usage.cost_usd), "of this turn alone"
    await person.provider.close()
    assert started_by(person) == set()
    async with talking(workspace, environ) as later:
        later.messages = person.messages
        await later.say("three")
        assert "first answer" in json.dumps(server.bodies[2]["messages"])
        assert "three" in last_words(server)
        assert "<conversation>" not in json.dumps(server.bodies[2]["messages"])
        session = json.loads(later.messages[-1].echo)["fields"]["session_id"]  # type: ignore[union-attr]
        assert session == json.loads(first.echo)["fields"]["session_id"]


async def test_a_rewound_conversation_goes_on_from_there_and_a_changed_one_is_told_anew(
    person: Person, server: MessagesServer
) -> None:
    server.will(turn("first answer"), turn("second answer"), turn("third"), turn("fourth"))
    await person.say("one")
    await person.say("two")
    del person.messages[2:]
    await person.say("other two")
    sent = json.dumps(server.bodies[2]["messages"])
    assert "first answer" in sent
    assert "second answer" not in sent
    assert "<conversation>" not in sent
    person.messages[0] = UserText("one, but edited")
    await person.say("three")
    assert "one, but edited" in last_words(server)
    assert "<conversation>" in last_words(server)


async def test_it_goes_on_after_a_kill_in_the_middle_of_a_tool(
    person: Person, server: MessagesServer
) -> None:
    line = "echo hm; kill -KILL $PPID; sleep 600"
    server.will(turn("first answer"), turn(use("Bash", {"command": line})))
    await person.say("one")
    with pytest.raises(ProviderError) as caught:
        await person.say("two")
    assert caught.value.kind == "connection"
    assert "signal 9" in str(caught.value)
    assert started_by(person) == set()
    server.will(turn("well again"))
    answer = await person.say("three")
    assert answer.final_text == "well again"
    assert "first answer" in json.dumps(server.bodies[-1]["messages"])
    assert "echo hm" in last_words(server)


async def test_an_interrupt_during_a_tool_leaves_no_process(
    person: Person, server: MessagesServer, workspace: Path
) -> None:
    before = started_by(person)
    fifo = workspace / "up"
    os.mkfifo(fifo)
    server.will(turn(use("Bash", {"command": "echo > up; sleep 600"})))
    turning = asyncio.create_task(person.say("go"))
    await asyncio.to_thread(fifo.read_bytes)
    assert len(started_by(person)) > 2, "claude, its shell and the shell's sleep"
    turning.cancel()
    await asyncio.gather(turning, return_exceptions=True)
    assert turning.cancelled()
    assert started_by(person) == before


async def test_a_session_that_is_gone_is_told_again(
    person: Person, server: MessagesServer, home: Path
) -> None:
    server.will(turn("first answer"), turn("second answer"))
    await person.say("one")
    await person.provider.close()
    for file in (home / ".claude" / "projects").rglob("*.jsonl"):
        file.unlink()
    answer = await person.say("two")
    assert answer.final_text == "second answer"
    assert "first answer" in last_words(server)
    assert any("new session" in item.text for item in person.items if isinstance(item, Remark))


async def test_without_hands_it_only_talks_and_keeps_nothing(
    person: Person, server: MessagesServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in person.environ.items():
        monkeypatch.setenv(name, value)
    server.will(turn("A title"))
    request = ChatRequest("Name it", (UserText("what we did"),), (), "")
    answer = await person.provider.chat(request)
    assert answer.final_text == "A title"
    assert not server.bodies[0].get("tools")
    assert "Name it" in json.dumps(server.bodies[0]["system"])
    assert not list((home / ".claude").rglob("*.jsonl"))
    assert started_by(person) == set()


async def test_without_a_login_it_says_how(
    home: Path, workspace: Path, environ: dict[str, str]
) -> None:
    async with talking(workspace, environ) as person:
        with pytest.raises(ProviderError) as caught:
            await person.say("hi")
        assert caught.value.kind == "auth"
        assert "/login" in caught.value.hint


async def test_words_that_look_like_its_own_commands_are_words(
    person: Person, server: MessagesServer
) -> None:
    server.will(turn("a folder"))
    answer = await person.say("/compact what is that?")
    assert answer.final_text == "a folder"
    assert "/compact what is that?" in last_words(server)

"""The demo: what it understands, and what becomes of real files when real tools do its calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from handy import context

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    AssistantTurn,
    Delegation,
    Status,
    ToolCall,
    ToolOutcome,
    Usage,
    UserText,
)
from stormclaw.protocol.provider import ChatRequest, ChatResponse, Message, Text
from stormclaw.protocol.tool import ChildReport, SpawnRequest
from stormclaw.providers._demo import tour
from stormclaw.providers._demo.grammar import (
    Append,
    Create,
    Describe,
    Explore,
    Find,
    Help,
    Intent,
    ListFiles,
    Plan,
    ReadFile,
    Remember,
    Replace,
    Run,
    Time,
    Unknown,
    understand,
)
from stormclaw.providers._demo.text import code, fence, quote, trouble
from stormclaw.providers.demo import PROMPTS, Demo
from stormclaw.tools.registry import discover_tools
from stormclaw.tools.schema import parse, spec_of

PHRASES: list[tuple[str, Intent]] = [
    ("list the files", ListFiles()),
    ("List the files in src.", ListFiles("src")),
    ("show me the files", ListFiles()),
    ("what files are there?", ListFiles()),
    ("ls src/", ListFiles("src/")),
    ("ls ..", ListFiles("..")),
    ("read README.md", ReadFile("README.md")),
    ("Can you please read the file @src/a.py?", ReadFile("src/a.py")),
    ("show `a b.txt`", ReadFile("a b.txt")),
    ("find TODO", Find("TODO")),
    ('search for "def main" in src', Find("def main", "src")),
    ("find *.py", Find("*.py")),
    ("where is Wire defined?", Find("Wire")),
    ("create notes.txt with hello world", Create("notes.txt", "hello world")),
    ("create a new file called 'a b.txt' containing the text: hi", Create("a b.txt", "hi")),
    ("create x.py:\n```python\nprint(1)\n```", Create("x.py", "print(1)")),
    ("create empty.txt", Create("empty.txt", "")),
    ("create notes.txt with a full stop.", Create("notes.txt", "a full stop.")),
    ("write a poem", Unknown("write a poem")),
    ('append "a line" to notes.txt', Append("notes.txt", "a line")),
    ("append more words to the end of notes.txt.", Append("notes.txt", "more words")),
    ("add the line foo bar to a.txt", Append("a.txt", "foo bar")),
    ("add a --json flag to src/cli.py", Unknown("add a --json flag to src/cli.py")),
    ("replace foo with bar in a.txt", Replace("foo", "bar", "a.txt")),
    ("replace \"x with y\" with 'z in q' in `a b.txt`", Replace("x with y", "z in q", "a b.txt")),
    ("change all a to b in c.", Replace("a", "b", "c")),
    ('replace "foo" with "" in a.txt', Replace("foo", "", "a.txt")),
    ("run git status", Run("git status")),
    ("run `pytest -q`", Run("pytest -q")),
    ("$ ls -la", Run("ls -la")),
    ("run the tests", Unknown("run the tests")),
    ("explore this project", Explore()),
    ("what does this project do?", Describe()),
    ("plan", Plan()),
    ("plan: replace a with b in c", Plan("replace a with b in c")),
    ("remember that tests need net", Remember("tests need net")),
    ("what time is it?", Time()),
    ("help", Help()),
    ("fix the bug", Unknown("fix the bug")),
    ("", Unknown("")),
]


@pytest.mark.parametrize(("text", "intent"), PHRASES, ids=[text[:30] for text, _ in PHRASES])
def test_plain_requests_are_understood(text: str, intent: Intent) -> None:
    assert understand(text) == intent


@dataclass
class Desk:
    """A project, the real tools, and a loop that does what the demo asks for."""

    project: Path
    refused: dict[str, str] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    agent: str = "root"

    def __post_init__(self) -> None:
        self.registry = discover_tools()
        self.demo = Demo(pace_s=0)
        self.ctx = context(
            self.project,
            self.project,
            agent=self.agent,
            spawn=self._spawn,
            question=self._nobody,
        )

    async def say(self, text: str) -> str:
        """Work until the demo asks for nothing more; its last words."""
        self.messages.append(UserText(text))
        for _ in range(30):
            response = await self._hear()
            turn = AssistantTurn(response.final_text, calls=response.tool_calls)
            self.messages.append(turn)
            if not turn.calls:
                return response.final_text
            for call in turn.calls:
                self.messages.append(await self._do(call))
        raise AssertionError("the demo does not come to an end")

    async def _hear(self) -> ChatResponse:
        specs = tuple(spec_of(tool) for tool in self.registry)
        metadata = {"agent": self.agent}
        request = ChatRequest("", tuple(self.messages), specs, "demo", metadata=metadata)
        *deltas, response = [item async for item in self.demo.stream(request)]
        assert isinstance(response, ChatResponse)
        streamed = "".join(item.text for item in deltas if isinstance(item, Text))
        assert streamed == response.final_text
        return response

    async def _do(self, call: ToolCall) -> ToolOutcome | Delegation:
        self.called.append(call.name)
        tool = self.registry.tools[call.name]
        arguments = parse(tool, call.arguments)
        headline = tool.headline(arguments)

        def ended(status: Status, output: str, summary: str) -> ToolOutcome:
            number = len(self.called)
            return ToolOutcome(
                call.id, call.name, status, output, headline, summary=summary, receipt=number
            )

        if call.name in self.refused:
            return ended("denied", self.refused[call.name], "denied by you")
        try:
            result = await tool.run(arguments, self.ctx)
        except ToolFailure as failure:
            return ended("failed", str(failure), failure.summary)
        outcome = ended("done" if result.ok else "failed", result.output, result.summary)
        if result.child is None:
            return outcome
        return Delegation(outcome, result.child.child, result.child.task, "done", Usage())

    async def _spawn(self, request: SpawnRequest) -> ChildReport:
        path = f"root/{request.name}"
        child = Desk(self.project, agent=path)
        text = await child.say(request.task)
        self.called += [f"{request.name}:{name}" for name in child.called]
        return ChildReport(path, request.task, "done", text, Usage())

    async def _nobody(self, text: str, options: tuple[str, ...]) -> str:
        raise ToolFailure("nobody is there")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").write_text("# Tidepool\n\nRetries with `care`.\n\nMore.\n")
    (tmp_path / "src" / "retry.py").write_text("# TODO: jitter\ndef retry(n):\n    return n\n")
    (tmp_path / "notes.txt").write_text("one\ntwo\none\n")
    return Desk(tmp_path)


async def test_the_first_reply_says_that_it_is_no_model_and_later_ones_do_not(desk: Desk) -> None:
    assert (await desk.say("help")).startswith("I am the **demo**: my words are scripted, no model")
    assert "my words are scripted" not in await desk.say("help")
    assert desk.demo.capabilities().scripted


async def test_listing(desk: Desk) -> None:
    answer = await desk.say("list the files")
    assert desk.called == ["list_files"]
    assert "`README.md`" in answer
    assert "`src/`" in answer


async def test_reading(desk: Desk) -> None:
    answer = await desk.say("read src/retry.py")
    assert "```py\n# TODO: jitter\ndef retry(n):" in answer


async def test_finding(desk: Desk) -> None:
    assert "src/retry.py" in await desk.say("find todo")
    assert "No match" in await desk.say("find (unbalanced")
    assert "retry.py" in await desk.say("find *.py")
    assert desk.called == ["grep", "grep", "glob"]


async def test_creating(desk: Desk) -> None:
    answer = await desk.say('create docs/plan.md with "first: think"')
    assert (desk.project / "docs" / "plan.md").read_text() == "first: think\n"
    assert "Receipt r1." in answer


async def test_creating_over_a_file_that_is_there_changes_nothing(desk: Desk) -> None:
    answer = await desk.say("create notes.txt with nothing of value")
    assert "did not work" in answer
    assert (desk.project / "notes.txt").read_text() == "one\ntwo\none\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("one\ntwo\none\n", "one\ntwo\none\nthree\n"),
        ("a\r\nb\r\n", "a\r\nb\r\nthree\r\n"),
        ("no newline", "no newline\nthree"),
        ("", "three\n"),
        ("one\none\n\n", "one\none\n\nthree\n"),
    ],
    ids=["repeated-last-line", "crlf", "no-newline", "empty", "blank-end"],
)
async def test_appending(desk: Desk, before: str, after: str) -> None:
    path = desk.project / "notes.txt"
    path.write_bytes(before.encode())
    await desk.say("append three to notes.txt")
    assert path.read_bytes().decode() == after


async def test_appending_to_a_long_file_reads_on_to_its_end(desk: Desk) -> None:
    path = desk.project / "long.txt"
    path.write_text("".join(f"line {number}\n" for number in range(4_500)))
    await desk.say('append "the end" to long.txt')
    assert desk.called == ["read_file"] * 3 + ["edit_file"]
    assert path.read_text().endswith("line 4499\nthe end\n")


async def test_appending_to_a_file_that_is_not_there_creates_it(desk: Desk) -> None:
    await desk.say("append hello to new.txt")
    assert (desk.project / "new.txt").read_text() == "hello\n"


async def test_replacing(desk: Desk) -> None:
    answer = await desk.say("replace one with three in notes.txt")
    assert (desk.project / "notes.txt").read_text() == "three\ntwo\nthree\n"
    assert desk.called == ["read_file", "edit_file"]
    assert "`one` became `three`" in answer
    assert "Receipt r2." in answer


async def test_replacing_what_is_not_there_changes_nothing(desk: Desk) -> None:
    answer = await desk.say("replace four with five in notes.txt")
    assert desk.called == ["read_file"]
    assert "`four` is not in `notes.txt`; nothing changed" in answer


async def test_a_denied_edit_is_acknowledged(desk: Desk) -> None:
    desk.refused["edit_file"] = "use a branch"
    answer = await desk.say("replace two with three in notes.txt")
    assert "was not allowed (denied by you)" in answer
    assert "use a branch" in answer
    assert (desk.project / "notes.txt").read_text() == "one\ntwo\none\n"


async def test_a_missing_file_is_explained(desk: Desk) -> None:
    assert "does not exist" in await desk.say("read none.txt")
    assert "does not exist" in await desk.say("replace a with b in none.txt")


async def test_running(desk: Desk) -> None:
    good = await desk.say("run echo hello; echo there")
    assert "hello\nthere" in good
    assert "exit 0" in good
    assert "exit 3" in await desk.say("run exit 3")
    desk.refused["shell_exec"] = "not on any list"
    assert "not on any list" in await desk.say("run rm -rf .")


async def test_exploring_takes_two_sub_agents_side_by_side(desk: Desk) -> None:
    answer = await desk.say("explore this project")
    turn = desk.messages[1]
    assert isinstance(turn, AssistantTurn)
    assert [call.name for call in turn.calls] == ["spawn_agent", "spawn_agent"]
    assert set(desk.called) == {
        "spawn_agent", "scout:list_files", "scout:glob",
        "reader:list_files", "reader:read_file", "reader:grep",
    }  # fmt: skip
    assert "### scout" in answer
    assert "3 files" in answer
    assert "### reader" in answer
    assert "Tidepool" in answer
    assert "1 in 1 file" in answer
    assert "scripted" in answer


async def test_a_refused_sub_agent_is_told(desk: Desk) -> None:
    desk.refused["spawn_agent"] = "sub-agents are off"
    assert "sub-agents are off" in await desk.say("explore this project")


async def test_describing_quotes_and_does_not_pretend(desk: Desk) -> None:
    answer = await desk.say("what does this project do?")
    assert "> `Tidepool`" in answer
    assert "Retries with `care`." in answer
    assert "`/connect`" in answer


async def test_describing_an_empty_project(tmp_path: Path) -> None:
    assert "no README" in await Desk(tmp_path).say("what does this project do?")


async def test_planning_calls_nothing(desk: Desk) -> None:
    answer = await desk.say("plan: replace a with b in c.txt")
    assert "1. read `c.txt`" in answer
    assert "explore this project" in await desk.say("plan")
    assert desk.called == []


async def test_remembering(desk: Desk) -> None:
    await desk.say("remember that the tests need a network")
    notes = desk.project / ".stormclaw" / "memory" / "MEMORY.md"
    assert "- the tests need a network" in notes.read_text()


async def test_time(desk: Desk) -> None:
    assert "It is `local 2" in await desk.say("what time is it?")


async def test_what_it_does_not_understand_it_says_with_the_way_to_a_model(desk: Desk) -> None:
    answer = await desk.say("make it faster")
    assert "I have no script for `make it faster`" in answer
    assert "/connect" in answer
    assert desk.called == []


async def test_a_tool_it_may_not_use_is_not_called() -> None:
    request = ChatRequest("", (UserText("run ls"),), (), "demo", metadata={"agent": "root/x"})
    response = await Demo(pace_s=0).chat(request)
    assert response.tool_calls == ()
    assert "needs the tool `shell_exec`" in response.final_text


@pytest.mark.parametrize("prompt", [*PROMPTS, tour.SCOUT_TASK, tour.READER_TASK])
async def test_what_it_offers_it_can_do(desk: Desk, prompt: str) -> None:
    desk.agent = "root" if prompt in PROMPTS else "root/scout"
    await desk.say(prompt)
    assert desk.called


def test_every_example_it_gives_is_understood() -> None:
    examples = [line.split("`")[1::2] for line in tour.UNDERSTOOD.splitlines()]
    for example in (text for texts in examples for text in texts):
        assert not isinstance(understand(example), Unknown), example


@pytest.mark.parametrize("text", ["`", "``a``", "a\nb", "[bold]x", "```\n# x"])
def test_foreign_text_stays_inside_code(text: str) -> None:
    ticks = max((len(run) for run in text.split() if set(run) == {"`"}), default=0)
    assert fence(text).startswith("`" * max(3, ticks + 1))
    assert "\n" not in code(text)
    assert all(line.startswith("> `") for line in quote(text).splitlines())


def test_a_headline_without_an_object_does_not_break_the_explanation() -> None:
    outcome = ToolOutcome("c", "x", "interrupted", "", Headline("x", ""))
    assert "interrupted" in trouble(outcome)

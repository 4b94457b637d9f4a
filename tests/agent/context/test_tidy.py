"""Before each request: what is held back, when, and that nothing moves in between."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import Desk, Ear, call, calls
from thorough import tries
from wire_rules import check

from stormclaw.agent.context.desk import ContextDesk
from stormclaw.agent.context.graph import branch, fold
from stormclaw.agent.context.room import room
from stormclaw.agent.context.tidy import limits_of, request, tidy
from stormclaw.agent.context.tokens import Gauge, Tally
from stormclaw.agent.context.window import LEFT_OUT, window
from stormclaw.agent.conversation import Conversation
from stormclaw.agent.hub import Hub
from stormclaw.agent.journal import Journal
from stormclaw.agent.kit import Kit
from stormclaw.config.settings import POLICIES, ContextSettings
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    NO_USAGE,
    AssistantTurn,
    Body,
    Change,
    ContextEdit,
    Delegation,
    Moved,
    Node,
    Note,
    Status,
    Summary,
    ToolCall,
    ToolOutcome,
    UserText,
)
from stormclaw.protocol.provider import Capabilities, ChatRequest, ChatResponse, Delta, Provider
from stormclaw.store import transcripts
from stormclaw.store.codec import node_to_line
from stormclaw.store.sessions import SessionInfo


class Listening(Provider):
    """Keeps the requests another provider is sent."""

    def __init__(self, inner: Provider, window: int = 0) -> None:
        self.name, self.model = inner.name, inner.model
        self.requests: list[ChatRequest] = []
        self._inner, self._window = inner, window

    def capabilities(self) -> Capabilities:
        return replace(self._inner.capabilities(), context_window=self._window)

    async def stream(self, request: ChatRequest) -> AsyncIterator[Delta | ChatResponse]:
        self.requests.append(request)
        async for item in self._inner.stream(request):
            yield item


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    """A kit as a session has it."""
    desk = Desk(tmp_path_factory.mktemp("kit"))
    desk.script([])

    async def opened() -> Kit:
        runtime = await desk.open()
        found = runtime.session.kit
        await runtime.close()
        return found

    return asyncio.run(opened())


class Journals:
    """A transcript on disk for one conversation."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._transcript = transcripts.Transcript(folder)
        self._journal = Journal(self._transcript, None, _nobody, print)

    def conversation(self) -> Conversation:
        nodes = transcripts.read(self.folder).nodes
        return Conversation("root", self._journal, Hub(), nodes)

    def close(self) -> None:
        self._transcript.close()


def _nobody() -> SessionInfo:
    raise AssertionError("there is no index here")


def _narrow(kit: Kit, conversation_tokens: int, **changes: Any) -> Kit:
    fixed, _ = limits_of(kit)
    soft = fixed + conversation_tokens
    context = ContextSettings(soft_tokens=soft, keep_results=1, compaction="manual", **changes)
    return replace(kit, context=context, gauge=Gauge(), hub=Hub())


# --- what happens in a conversation, in any order ---------------------------------------------

_PLACES = st.integers(0, 400)
_IDS = st.sampled_from(["c1", "c2", "c3", "c4"])
_OUTPUT = st.sampled_from(["", "ok", "line of output\n" * 60, "Error: no\n" * 90])
_STEP = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(["go", "", "on " * 40]), st.booleans()),
    st.tuples(st.just("answer"), st.lists(_IDS, max_size=4), st.sampled_from(["", "so " * 9])),
    st.tuples(st.just("outcome"), _IDS, _OUTPUT),
    st.tuples(st.just("outcome"), _IDS, _OUTPUT),
    st.tuples(st.just("command"), _OUTPUT),
    st.tuples(st.just("delegation"), _IDS, _OUTPUT),
    st.tuples(st.just("note")),
    st.tuples(st.just("decide"), _PLACES, st.booleans(), st.booleans(), st.booleans()),
    st.tuples(st.just("sum up"), _PLACES, _PLACES),
    st.tuples(st.just("move"), _PLACES),
    st.tuples(st.just("tidy"), st.booleans()),
    st.tuples(st.just("order"), st.lists(st.sampled_from(POLICIES), max_size=6)),
    st.tuples(st.just("undo")),
    st.tuples(st.just("restart")),
)


def _body(what: str, *given: Any) -> Body | None:
    match what, given:
        case "say", (text, steered):
            return UserText(text, steered)
        case "answer", (ids, text):
            made = tuple(ToolCall(each, "read_file", '{"path": "a"}') for each in ids)
            return AssistantTurn(text, "hm", made, echo='{"provider": "x"}')
        case "outcome", (call_id, output):
            status: Status = "failed" if output.startswith("E") else "done"
            head = Headline("read", "a", "path")
            return ToolOutcome(call_id, "read_file", status, output, head, "9 lines")
        case "command", (output,):
            head = Headline("shell", "ls", "command")
            return ToolOutcome("p", "shell_exec", "done", output, head, author="person")
        case "delegation", (call_id, output):
            outcome = ToolOutcome(call_id, "spawn_agent", "done", output, Headline("agent", "a"))
            return Delegation(outcome, "root/a", "look", "done", NO_USAGE)
        case "note", ():
            return Note("info", "n")
        case _:
            return None


async def _do(step: tuple[Any, ...], kit: Kit, conversation: Conversation) -> None:
    what, *given = step
    body = _body(what, *given)
    desk = ContextDesk(lambda: kit, conversation)
    nodes = conversation.nodes
    sent = [part.id for part in desk.sheet().parts if part.id]
    match what, given:
        case _ if body is not None:
            await conversation.commit(body)
        case "decide", [place, include, pinned, short] if sent:
            summary = "in short" if short else ""
            await desk.change([Change(sent[place % len(sent)], include, summary, pinned)])
        case "sum up", [one, other] if nodes:
            first, last = sorted((one % len(nodes), other % len(nodes)))
            held = fold(nodes)
            replaced = [each.id for each in nodes[first : last + 1] if not held[each.id].pinned]
            await conversation.commit(Summary("it was so", tuple(replaced)))
        case "move", [place] if conversation.everything:
            every = conversation.everything
            to = every[place % len(every)].id
            await conversation.move(to, Moved("branch", nodes[-1].id if nodes else ""))
        case "tidy", [hard]:
            await tidy(kit, conversation, hard=hard)
        case "order", [order]:
            await desk.order(order)
        case "undo", []:
            await desk.undo()
        case _:
            pass


async def _live(steps: list[tuple[Any, ...]], kit: Kit, folder: Path) -> None:
    journals = Journals(folder)
    conversation = journals.conversation()
    written: list[bytes] = []
    try:
        for step in steps:
            if step[0] == "restart":
                conversation = journals.conversation()
            await _do(step, kit, conversation)
            check(request(kit, conversation).messages)
            lines = [node_to_line(node) for node in conversation.everything]
            assert lines[: len(written)] == written, f"{step} changed what was written"
            written = lines
            sheet = ContextDesk(lambda: kit, conversation).sheet()
            assert sheet.total == sum(tokens for _, tokens in sheet.shares)
        stored = transcripts.read(folder)
        assert stored.nodes == conversation.everything
        assert window(branch(stored.nodes)) == window(conversation.nodes, memo=conversation.memo)
    finally:
        journals.close()


@settings(max_examples=tries(40, 120), deadline=None)
@given(st.lists(_STEP, max_size=30))
def test_whatever_happens_every_request_is_valid_and_replay_equals_live(
    kit: Kit, steps: list[tuple[Any, ...]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_live(steps, _narrow(kit, 200), Path(folder) / "s"))


# --- one by one --------------------------------------------------------------------------------


async def _fill(conversation: Conversation, count: int, output: str = "line of output\n") -> None:
    await conversation.commit(UserText("go"))
    for number in range(count):
        asked = ToolCall(f"c{number}", "grep", "{}")
        await conversation.commit(AssistantTurn("", calls=(asked,)))
        head = Headline("grep", f"n{number}")
        await conversation.commit(ToolOutcome(asked.id, "grep", "done", output * 90, head))
    await conversation.commit(AssistantTurn("done"))


@pytest.fixture
def conversation(tmp_path: Path) -> Iterator[Conversation]:
    journals = Journals(tmp_path / "s")
    yield journals.conversation()
    journals.close()


def _edits(conversation: Conversation) -> list[Node]:
    return [node for node in conversation.nodes if isinstance(node.body, ContextEdit)]


async def test_below_the_soft_limit_nothing_is_decided(
    kit: Kit, conversation: Conversation
) -> None:
    await _fill(conversation, 9)
    await tidy(_narrow(kit, 9_000), conversation)
    assert _edits(conversation) == []


async def test_above_it_each_policy_that_helps_is_recorded_with_its_figures(
    kit: Kit, conversation: Conversation
) -> None:
    narrow = _narrow(kit, 1_500)
    await _fill(conversation, 9)
    await tidy(narrow, conversation)
    (node,) = _edits(conversation)
    assert isinstance(node.body, ContextEdit)
    assert node.body.by == "old_results"
    messages = window(conversation.nodes)
    exact = narrow.gauge.request(narrow.system_prompt(), narrow.specs, messages)
    assert node.body.after == pytest.approx(exact, abs=3)
    assert node.body.before > limits_of(narrow)[1].soft > node.body.after
    await tidy(narrow, conversation)
    assert len(_edits(conversation)) == 1, "once is enough"


async def test_what_gains_too_little_waits(kit: Kit, conversation: Conversation) -> None:
    narrow = _narrow(kit, 1_500)
    await conversation.commit(UserText("words " * 2_000))
    await _fill(conversation, 2, "some\n")
    await tidy(narrow, conversation)
    assert _edits(conversation) == []
    await tidy(narrow, conversation, hard=True)
    assert len(_edits(conversation)) == 1


async def test_counting_as_it_grows_comes_to_the_same(kit: Kit, conversation: Conversation) -> None:
    tally, gauge = Tally(), Gauge()
    await _fill(conversation, 3)
    tally.restart(conversation.nodes, gauge, window(conversation.nodes))
    await _fill(conversation, 3)
    grown = tally.follow(conversation.nodes, gauge)
    exact = sum(map(gauge.of, window(conversation.nodes)))
    assert grown == pytest.approx(exact, abs=len(conversation.nodes))
    assert tally.follow(conversation.nodes, Gauge()) is None, "another model counts anew"
    result = conversation.nodes[2]
    await conversation.commit(ContextEdit("you", (Change(result.id, include=False),)))
    assert tally.follow(conversation.nodes, gauge) is None, "a decision is counted anew"
    tally.restart(conversation.nodes, gauge, window(conversation.nodes))
    await conversation.move(conversation.nodes[1].id, Moved("rewind", conversation.nodes[-1].id))
    assert tally.follow(conversation.nodes, gauge) is None, "another branch is counted anew"


async def test_a_decision_by_hand_meanwhile_is_not_overruled(kit: Kit, tmp_path: Path) -> None:
    """The person keeps a result while a policy's decision about it is being written."""

    class Slow(Journal):
        person: ContextDesk | None = None

        async def append(self, node: Node) -> None:
            desk, self.person = self.person, None
            if desk is not None:
                results = [each for each in talk.nodes if isinstance(each.body, ToolOutcome)]
                await desk.change([Change(each.id, pinned=True) for each in results])
            await super().append(node)

    transcript = transcripts.Transcript(tmp_path / "s")
    journal = Slow(transcript, None, _nobody, print)
    talk = Conversation("root", journal, Hub())
    narrow = _narrow(kit, 1_500)
    await talk.commit(UserText("go"))
    for number, output in enumerate(("E\n" * 900, "x\n" * 900, "y\n" * 900)):
        asked = ToolCall(f"c{number}", "read_file", "{}")
        await talk.commit(AssistantTurn("", calls=(asked,)))
        head = Headline("read", "a" if number != 1 else "b", "path")
        await talk.commit(ToolOutcome(asked.id, "read_file", "done", output, head, "9 lines"))
    await talk.commit(AssistantTurn("done"))
    journal.person = ContextDesk(lambda: narrow, talk)
    await tidy(narrow, talk)
    by = [node.body.by for node in talk.nodes if isinstance(node.body, ContextEdit)]
    assert by == ["you", "superseded_reads"], "the second policy found all of it decided"
    transcript.close()


async def test_a_request_never_ends_with_the_models_own_words(
    kit: Kit, conversation: Conversation
) -> None:
    await _fill(conversation, 1)
    assert isinstance(window(conversation.nodes)[-1], AssistantTurn)
    assert request(kit, conversation).messages[-1] is LEFT_OUT


async def test_a_request_has_a_message_even_when_all_was_dropped(
    kit: Kit, conversation: Conversation
) -> None:
    await _fill(conversation, 1)
    desk = ContextDesk(lambda: kit, conversation)
    await desk.change([Change(node.id, include=False) for node in conversation.nodes])
    assert desk.wire() == ()
    assert request(kit, conversation).messages == (LEFT_OUT,)


async def test_between_two_decisions_a_request_begins_with_the_one_before(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for number in range(12):
        desk.write(f"{number}.py", f"value = {number}\n" * 300)
    desk.configure({"context": {"soft_tokens": 9_000, "keep_results": 1, "relax": 0.5}})
    rounds = [calls(call("read_file", path=f"{number}.py")) for number in range(12)]
    desk.script([*rounds[:6], {"text": "half"}, *rounds[6:], {"text": "all"}])
    runtime = await desk.open()
    session = runtime.session
    provider = Listening(session.kit.provider)
    session.use(replace(session.kit, provider=provider), session.info)
    ear = Ear(session)
    for said in ("read", "again"):
        session.prompt(said)
        assert (await ear.end()).reason == "done"
    moved = 0
    for before, after in zip(provider.requests, provider.requests[1:], strict=False):
        same = [one is other for one, other in zip(before.messages, after.messages, strict=False)]
        moved += not all(same)
    decided = {node.parent for node in session.nodes() if isinstance(node.body, ContextEdit)}
    assert 0 < moved <= len(decided) < len(provider.requests) / 2
    await runtime.close()


@pytest.mark.parametrize(
    ("window_tokens", "hard", "soft", "goal"),
    [
        (0, 0, 40_000, 24_000),
        (8_000, 6_000, 5_200, 4_300),
        (32_000, 24_000, 16_000, 9_600),
        (200_000, 170_000, 40_000, 24_000),
        (1_000_000, 850_000, 40_000, 24_000),
    ],
)
def test_the_room_of_a_request(window_tokens: int, hard: int, soft: int, goal: int) -> None:
    found = room(ContextSettings(), window_tokens, fixed=4_000)
    assert (found.hard, found.soft, found.goal) == (hard, soft, goal)


@given(
    st.integers(0, 3_000_000),
    st.integers(0, 60_000),
    st.builds(
        ContextSettings,
        soft_tokens=st.integers(1, 500_000),
        relax=st.floats(0.1, 1.0),
        compact_at=st.floats(0.1, 1.0),
        reserve_tokens=st.integers(0, 100_000),
    ),
)
def test_room_makes_sense_for_any_window(
    window_tokens: int, fixed: int, given_settings: ContextSettings
) -> None:
    found = room(given_settings, window_tokens, fixed)
    assert 0 < found.goal <= found.soft
    assert found.worth >= 1
    if window_tokens:
        assert 0 < found.hard <= window_tokens
        if fixed < found.hard:
            assert found.soft <= max(found.hard, fixed)
    else:
        assert found.hard == 0

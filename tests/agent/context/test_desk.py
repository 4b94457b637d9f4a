"""The desk: decisions about what the model sees, made in a real session and taken back."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted import Desk, Ear, call, calls
from wire_rules import check

from stormclaw.agent.context.graph import fold
from stormclaw.agent.context.parts import Layout
from stormclaw.agent.context.tokens import Gauge
from stormclaw.agent.session import Session
from stormclaw.config.settings import POLICIES
from stormclaw.errors import UsageError
from stormclaw.protocol.asks import Reply
from stormclaw.protocol.messages import (
    AssistantTurn,
    Change,
    ContextEdit,
    Node,
    Summary,
    ToolOutcome,
    UserText,
    outcome_of,
)
from stormclaw.runtime import Runtime
from stormclaw.store import sessions, transcripts

LONG = "".join(f"value_{number} = {number}\n" for number in range(400))
"""About 4,000 tokens as it is read."""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def _reads(desk: Desk, names: list[str]) -> list[dict[str, object]]:
    for name in set(names):
        desk.write(name, LONG)
    return [calls(call("read_file", path=name)) for name in names]


async def _talked(desk: Desk, reads: list[str], **context: object) -> Runtime:
    """A session in which files were read, one a round, in one turn."""
    desk.configure({"context": {"keep_results": 1, "soft_tokens": 1_000_000, **context}})
    desk.script([*_reads(desk, reads), {"text": "read them"}, {"text": "again"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("read")
    assert (await ear.end()).reason == "done"
    return runtime


def _results(session: Session) -> list[Node]:
    return [node for node in session.nodes() if outcome_of(node.body)]


def _edits(session: Session) -> list[ContextEdit]:
    return [node.body for node in session.nodes() if isinstance(node.body, ContextEdit)]


def _on_wire(session: Session, node: Node) -> str:
    wanted = outcome_of(node.body)
    assert wanted is not None
    found = [outcome_of(message) for message in session.desk.wire()]
    return next(each.output for each in found if each and each.call_id == wanted.call_id)


async def test_the_sheet_lists_all_that_is_sent_and_adds_up(desk: Desk) -> None:
    desk.write("AGENTS.md", "Always say please.\n" * 30)
    desk.write(".stormclaw/memory/MEMORY.md", "The gate is at pier 4.\n")
    runtime = await _talked(desk, ["a.py"])
    session = runtime.session
    sheet = session.desk.sheet()
    kinds = [part.kind for part in sheet.parts]
    assert kinds[0] == "system"
    assert {"instructions", "memory", "tools", "turns", "results"} <= set(kinds)
    assert [part.word for part in sheet.parts if part.node] == ["you", "root", "read", "root"]
    assert sheet.total == sum(tokens for _, tokens in sheet.shares)
    assert sheet.total == sum(part.left for part in sheet.parts)
    assert (sheet.held, sheet.saved, sheet.dry) == (0, 0, False)
    request = session.kit.gauge.request(
        session.kit.system_prompt(), session.kit.specs, session.desk.wire()
    )
    assert abs(sheet.total - request) <= 2
    assert [line.name for line in sheet.policies] == list(POLICIES)
    assert all(line.on and not line.saves for line in sheet.policies)
    await runtime.close()


def test_a_prompt_without_headings_is_all_system() -> None:
    layout = Layout((), fold(()), Gauge(), {})
    layout.around("be kind " * 50, ())
    layout.conversation()
    assert [(part.kind, part.tokens > 50) for part in layout.parts] == [
        ("system", True),
        ("tools", False),
    ]


async def test_what_is_dropped_by_hand_is_off_the_wire_and_comes_back(desk: Desk) -> None:
    runtime = await _talked(desk, ["a.py"])
    session = runtime.session
    (result,) = _results(session)
    before = session.desk.sheet()
    await session.desk.change([Change(result.id, include=False)])
    assert "value_7" not in _on_wire(session, result)
    assert f"recall {result.id}" in _on_wire(session, result)
    held = session.desk.sheet()
    (part,) = [part for part in held.parts if part.id == result.id]
    assert (part.sent, part.by) == (False, "you")
    assert part.left < part.tokens / 10
    assert held.held == 1
    assert held.total < before.total
    (edit,) = _edits(session)
    assert edit.before > edit.after
    assert (edit.by, edit.before) == ("you", before.total)
    assert abs(edit.after - held.total) <= 2
    await session.desk.change([Change(result.id, include=True)])
    assert "value_7" in _on_wire(session, result)
    assert session.desk.sheet().total == before.total
    await runtime.close()


async def test_a_decision_that_changes_nothing_is_not_recorded(desk: Desk) -> None:
    runtime = await _talked(desk, ["a.py"])
    session = runtime.session
    (result,) = _results(session)
    await session.desk.change([Change(result.id, include=True)])
    await session.desk.change([])
    await session.desk.order(POLICIES)
    assert _edits(session) == []
    assert not await session.desk.undo()
    await runtime.close()


@pytest.mark.parametrize("node_id", ["", "nowhere"])
async def test_what_is_not_there_cannot_be_decided_about(desk: Desk, node_id: str) -> None:
    runtime = await _talked(desk, ["a.py"])
    session = runtime.session
    (result,) = _results(session)
    with pytest.raises(UsageError):
        await session.desk.change([Change(result.id, include=False), Change(node_id)])
    with pytest.raises(UsageError):
        await session.desk.summarise(node_id)
    for order in (["old_results", "no_such"], [""]):
        with pytest.raises(UsageError, match="old_results"):
            await session.desk.order(order)
        with pytest.raises(UsageError):
            session.desk.sheet(order)
        with pytest.raises(UsageError):
            session.desk.wire(order)
    assert _edits(session) == []
    await session.desk.change([Change(result.id, include=False)])
    decision = session.nodes()[-1]
    with pytest.raises(UsageError, match="never sent"):
        await session.desk.change([Change(decision.id, include=False)])
    await runtime.close()


async def test_undo_goes_back_one_decision_at_a_time(desk: Desk) -> None:
    runtime = await _talked(desk, ["a.py", "b.py"])
    session = runtime.session
    one, two = _results(session)
    await session.desk.change([Change(one.id, include=False, summary="it was A")])
    await session.desk.change(
        [Change(one.id, include=False, summary="no, B"), Change(two.id, pinned=True)]
    )
    assert _on_wire(session, one) == "no, B"
    assert await session.desk.undo()
    assert _on_wire(session, one) == "it was A"
    assert not fold(session.nodes())[two.id].pinned
    assert await session.desk.undo()
    assert "value_7" in _on_wire(session, one)
    assert fold(session.nodes())[one.id].by == "", "as if nobody had decided: policies may"
    assert not await session.desk.undo()
    assert [bool(edit.undoes) for edit in _edits(session)] == [False, False, True, True]
    await session.desk.change([Change(two.id, include=False)])
    assert await session.desk.undo()
    assert not await session.desk.undo()
    await runtime.close()


async def test_policies_hold_back_once_a_request_is_too_large(desk: Desk) -> None:
    names = ["a.py", "b.py", "a.py", "c.py", "d.py"]
    runtime = await _talked(desk, names, soft_tokens=9_000, relax=0.5)
    session = runtime.session
    edits = _edits(session)
    assert {edit.by for edit in edits} == {"superseded_reads", "old_results"}
    assert all(edit.before > edit.after for edit in edits)
    results = _results(session)
    assert "read again later" in _on_wire(session, results[0])
    assert "value_7" in _on_wire(session, results[-1]), "the newest stays"
    sheet = session.desk.sheet()
    saves = {line.name: line.saves for line in sheet.policies}
    assert saves["superseded_reads"] > 2_000
    assert saves["old_results"] > 2_000
    assert {part.why for part in sheet.parts if not part.sent} == {"read again later", "old result"}
    check(session.desk.wire())
    await runtime.close()


async def test_what_a_policy_did_and_is_taken_back_stays_taken_back(desk: Desk) -> None:
    names = ["a.py", "b.py", "a.py", "c.py"]
    runtime = await _talked(desk, names, soft_tokens=9_000, relax=0.5)
    session = runtime.session
    count = len(_edits(session))
    held = {part.id for part in session.desk.sheet().parts if not part.sent}
    assert held
    while await session.desk.undo():
        pass
    assert session.desk.sheet().held == 0
    assert len(_edits(session)) == 2 * count
    ear = Ear(session)
    session.prompt("and now?")
    assert (await ear.end()).reason == "done"
    assert held & {part.id for part in session.desk.sheet().parts if not part.sent} == set()
    await runtime.close()


async def test_a_dry_run_shows_what_applying_does(desk: Desk) -> None:
    runtime = await _talked(desk, ["a.py", "b.py", "a.py", "c.py"], soft_tokens=9_000, relax=0.5)
    session = runtime.session
    written = len(session.nodes())
    order = ("old_results", "large_outputs")
    dry, wire = session.desk.sheet(order), session.desk.wire(order)
    assert dry.dry
    assert len(session.nodes()) == written
    assert dry.policies[0].saves > 0
    assert [line.on for line in dry.policies] == [True, True, False, False, False, False]
    await session.desk.order(order)
    now = session.desk.sheet()
    assert session.desk.wire() == wire
    assert (now.parts, now.policies, now.total) == (dry.parts, dry.policies, dry.total)
    assert {part.by for part in now.parts if not part.sent} == {"old_results"}
    edit = _edits(session)[-1]
    assert (edit.by, edit.policies) == ("you", order)
    deciders = {standing.by for standing in fold(session.nodes()).of.values()}
    assert deciders <= {"", "old_results", "large_outputs"}, "what was lifted is free again"
    assert await session.desk.undo()
    assert fold(session.nodes()).policies is None
    assert "superseded_reads" in {part.by for part in session.desk.sheet().parts}
    await runtime.close()


async def test_no_policies_at_all_bring_everything_back(desk: Desk) -> None:
    runtime = await _talked(desk, ["a.py", "b.py", "a.py", "c.py"], soft_tokens=9_000, relax=0.5)
    session = runtime.session
    (first, *_) = _results(session)
    await session.desk.order([])
    assert session.desk.sheet().held == 0
    assert fold(session.nodes()).policies == ()
    ear = Ear(session)
    session.prompt("more")
    await ear.end()
    assert session.desk.sheet().held == 0, "none means none from now on, too"
    assert "value_7" in _on_wire(session, first)
    await runtime.close()


async def test_by_hand_and_pinned_survive_another_order(desk: Desk) -> None:
    reads = ["a.py", "b.py", "c.py", "d.py", "e.py"]
    runtime = await _talked(desk, reads, soft_tokens=30_000, relax=0.2)
    session = runtime.session
    one, two, three, *_ = _results(session)
    await session.desk.change([Change(one.id, include=False), Change(two.id, pinned=True)])
    await session.desk.order(["old_results"])
    assert fold(session.nodes())[three.id].by == "old_results"
    await session.desk.order(["large_outputs", "old_results"])
    standings = fold(session.nodes())
    assert (standings[one.id].include, standings[one.id].by) == (False, "you")
    assert (standings[two.id].include, standings[two.id].pinned) == (True, True)
    assert standings[three.id].by == "large_outputs"
    await runtime.close()


async def test_a_summary_by_the_model_stands_for_a_node_and_keeps_its_pin(desk: Desk) -> None:
    runtime = await _talked(desk, ["a.py"])
    session = runtime.session
    (result,) = _results(session)
    await session.desk.change([Change(result.id, pinned=True)])
    text = await session.desk.summarise(result.id)
    standing = fold(session.nodes())[result.id]
    assert (standing.include, standing.summary, standing.pinned) == (False, text, True)
    assert _on_wire(session, result) == text
    assert await session.desk.undo()
    assert fold(session.nodes())[result.id].pinned
    assert "value_7" in _on_wire(session, result)
    await runtime.close()


async def test_a_compaction_is_taken_back_whole(desk: Desk) -> None:
    reads = ["a.py", "b.py", "c.py"]
    runtime = await _talked(desk, reads, recent_tokens=500)
    session = runtime.session
    before = session.desk.wire()
    summary = await session.desk.compact("values")
    assert isinstance(summary, Summary)
    assert len(session.desk.wire()) < len(before)
    check(session.desk.wire())
    assert "summary" in {part.word for part in session.desk.sheet().parts}
    assert await session.desk.undo()
    assert session.desk.wire() == before
    assert not await session.desk.undo()
    await runtime.close()


async def test_decisions_are_there_after_a_restart(desk: Desk) -> None:
    runtime = await _talked(desk, ["a.py", "b.py", "a.py", "c.py"], soft_tokens=9_000, relax=0.5)
    session = runtime.session
    await session.desk.order(["old_results"])
    await session.desk.change([Change(_results(session)[0].id, pinned=True)])
    wire, sheet, name = session.desk.wire(), session.desk.sheet(), session.id
    await runtime.close()
    stored = transcripts.read(sessions.folder(desk.home, name))
    assert not stored.problems
    again = await desk.open()
    resumed = await again.open_session(name)
    assert resumed.desk.wire() == wire
    assert resumed.desk.sheet().parts == sheet.parts
    await again.close()


async def test_a_result_that_comes_back_brings_the_call_that_asked(desk: Desk) -> None:
    runtime = await _talked(desk, ["a.py"])
    session = runtime.session
    (result,) = _results(session)
    asked = session.nodes()[1]
    assert isinstance(asked.body, AssistantTurn)
    await session.desk.change([Change(asked.id, include=False)])
    assert not any(isinstance(message, ToolOutcome) for message in session.desk.wire())
    (part,) = [part for part in session.desk.sheet().parts if part.id == result.id]
    assert (part.sent, part.left, part.why) == (False, 0, "its call is not sent")
    await session.desk.change([Change(result.id, include=True)])
    assert "value_7" in _on_wire(session, result)
    await runtime.close()


async def test_words_of_the_person_can_be_dropped_by_the_person_alone(desk: Desk) -> None:
    runtime = await _talked(desk, ["a.py"])
    session = runtime.session
    said = session.nodes()[0]
    assert isinstance(said.body, UserText)
    await session.desk.change([Change(said.id, include=False)])
    wire = session.desk.wire()
    check(wire)
    assert said.body not in wire
    await runtime.close()


async def test_decisions_count_while_a_turn_runs(desk: Desk) -> None:
    desk.write("a.py", LONG)
    edit = call("edit_file", path="a.py", old_string="value_7 = 7\n", new_string="")
    desk.script([calls(call("read_file", path="a.py")), calls(edit), {"text": "{{last_output}}"}])
    runtime = await desk.open()
    session = runtime.session
    ear = Ear(session)
    session.prompt("mend it")
    ask = await ear.permission()
    (result,) = _results(session)
    await session.desk.change([Change(result.id, include=False, summary="seen")])
    check(session.desk.wire())
    session.answer(ask.id, Reply("once"))
    assert (await ear.end()).reason == "done"
    assert _on_wire(session, result) == "seen"
    kinds = [type(node.body).__name__ for node in session.nodes()][-4:]
    assert kinds == ["AssistantTurn", "ContextEdit", "ToolOutcome", "AssistantTurn"]
    check(session.desk.wire())
    assert await session.desk.undo()
    check(session.desk.wire())
    await runtime.close()


async def test_what_a_token_costs_is_told_from_what_was_reported(desk: Desk) -> None:
    used = {"input_tokens": 1_000, "output_tokens": 100, "cached_tokens": 500, "cost_usd": 0.0021}
    desk.script([{"text": "yes", "usage": used}, {"text": "no"}])
    runtime = await desk.open()
    session = runtime.session
    assert session.desk.sheet().usd_per_token is None
    ear = Ear(session)
    for said in ("one", "two"):
        session.prompt(said)
        await ear.end()
    # 500 tokens whole, 500 at a tenth, 100 at five times the price: 1,050 together.
    assert session.desk.sheet().usd_per_token == pytest.approx(0.0021 / 1_050)
    await runtime.close()

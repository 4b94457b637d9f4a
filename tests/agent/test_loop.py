"""The loop as a person sees it: scripted conversations through the real composition."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from scripted import Desk, Ear, bodies, call, calls, outcomes

from stormclaw.agent.context.window import window
from stormclaw.protocol.asks import DENIED, Reply
from stormclaw.protocol.events import (
    Answered,
    Asked,
    ChildEnded,
    ChildStarted,
    Committed,
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    UsageChanged,
)
from stormclaw.protocol.messages import AssistantTurn, Delegation, Note, ToolOutcome, UserText
from stormclaw.store import sessions, transcripts


async def test_text_is_streamed_then_committed_then_the_turn_ends(desk: Desk) -> None:
    desk.script([{"text": "hello there"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    assert runtime.session.prompt("hi") == "started"
    ended = await ear.end()
    assert ended.reason == "done"
    assert "".join(delta.text for delta in ear.of(TextDelta)) == "hello there"
    user, turn = bodies(runtime.session)
    assert user == UserText("hi")
    assert isinstance(turn, AssistantTurn)
    assert turn.text == "hello there"
    assert ear.of(UsageChanged)
    await runtime.close()


async def test_a_reading_call_runs_unasked_and_its_result_goes_back(desk: Desk) -> None:
    desk.write("a.txt", "forty-two\n")
    desk.script([calls(call("read_file", path="a.txt")), {"text": "ok", "expect": "forty-two"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("read it")
    assert (await ear.end()).reason == "done"
    (outcome,) = outcomes(runtime.session)
    assert (outcome.status, outcome.risk, outcome.receipt) == ("done", "low", 1)
    assert not ear.of(Asked)
    await runtime.close()


async def test_a_write_waits_for_the_person_and_happens_after_yes(desk: Desk) -> None:
    path = desk.write("a.txt", "one\n")
    desk.script(
        [
            calls(call("read_file", path="a.txt")),
            calls(call("edit_file", path="a.txt", old_string="one", new_string="two")),
            {"text": "done"},
        ]
    )
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("change it")
    ask = await ear.permission()
    assert (ask.tool, ask.verdict.risk, ask.verdict.decision) == ("edit_file", "medium", "ask")
    assert path.read_text() == "one\n"
    runtime.session.answer(ask.id, Reply("once"))
    assert (await ear.end()).reason == "done"
    assert path.read_text() == "two\n"
    await runtime.close()


async def test_no_is_no_and_the_model_is_told_why(desk: Desk) -> None:
    desk.script(
        [
            calls(call("write_file", path="b.txt", content="x")),
            {"text": "understood", "expect": "use a branch"},
        ]
    )
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("write")
    await ear.answer(Reply("deny", "use a branch"))
    assert (await ear.end()).reason == "done"
    assert not (desk.project / "b.txt").exists()
    (outcome,) = outcomes(runtime.session)
    assert (outcome.status, outcome.summary) == ("denied", "denied by you: use a branch")
    await runtime.close()


async def test_a_call_that_cannot_be_done_fails_without_a_question(desk: Desk) -> None:
    desk.write("a.txt", "one")
    desk.script(
        [
            calls(call("edit_file", path="a.txt", old_string="one", new_string="two")),
            {"text": "I read it first"},
        ]
    )
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("change")
    assert (await ear.end()).reason == "done"
    (outcome,) = outcomes(runtime.session)
    assert (outcome.status, outcome.receipt) == ("failed", 1)
    assert not ear.of(Asked)
    await runtime.close()


async def test_without_a_person_a_question_is_denied_at_once(desk: Desk) -> None:
    desk.script([calls(call("write_file", path="b.txt", content="x")), {"text": "ok"}])
    runtime = await desk.open(attended=False)
    ear = Ear(runtime.session)
    runtime.session.prompt("write")
    assert (await ear.end()).reason == "done"
    assert [type(event) for event in ear.heard if isinstance(event, Asked | Answered)] == [
        Asked,
        Answered,
    ]
    assert outcomes(runtime.session)[0].status == "denied"
    assert not (desk.project / "b.txt").exists()
    await runtime.close()


async def test_for_this_session_is_not_asked_again(desk: Desk) -> None:
    desk.script(
        [
            calls(call("write_file", path="src/a.txt", content="1")),
            calls(call("write_file", path="src/b.txt", content="2")),
            {"text": "ok"},
        ]
    )
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("write")
    await ear.answer(Reply("session"))
    assert (await ear.end()).reason == "done"
    assert len(ear.of(Asked)) == 1
    assert (desk.project / "src/b.txt").read_text() == "2"
    assert not (desk.home / "grants.jsonl").exists()
    await runtime.close()


async def test_always_is_written_down_and_holds_in_the_next_session(desk: Desk) -> None:
    script = [calls(call("write_file", path="src/a.txt", content="1")), {"text": "ok"}]
    desk.script(script)
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("write")
    await ear.answer(Reply("always"))
    await ear.end()
    await runtime.close()
    assert "src" in (desk.home / "grants.jsonl").read_text()
    (desk.project / "src/a.txt").unlink()
    desk.script(script)
    again = await desk.open(attended=False)
    ear = Ear(again.session)
    again.session.prompt("write")
    await ear.end()
    assert (desk.project / "src/a.txt").read_text() == "1"
    assert not ear.of(Asked)
    await again.close()


async def test_an_edited_call_runs_as_edited_and_the_receipt_says_so(desk: Desk) -> None:
    desk.script([calls(call("shell_exec", command="mkdir one")), {"text": "ok"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    ask = await ear.permission()
    assert ask.editable == "command"
    edited = json.dumps({"command": "mkdir two"})
    runtime.session.answer(ask.id, Reply("once", arguments=edited))
    await ear.end()
    assert (desk.project / "two").is_dir()
    assert not (desk.project / "one").exists()
    await runtime.close()


async def test_the_words_of_an_edit_can_be_changed_before_the_yes(desk: Desk) -> None:
    path = desk.write("a.txt", "one\n")
    edit = {"path": "a.txt", "old_string": "one", "new_string": "two"}
    desk.script([calls(call("read_file", path="a.txt")), calls(call("edit_file", **edit)), {}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("change it")
    ask = await ear.permission()
    assert ask.editable == "new_string"
    mine = json.dumps({**edit, ask.editable: "three"})
    runtime.session.answer(ask.id, Reply("once", arguments=mine))
    await ear.end()
    assert path.read_text() == "three\n"
    assert "the person changed the call" in outcomes(runtime.session)[-1].output
    await runtime.close()


async def test_an_edit_into_something_forbidden_is_still_blocked(desk: Desk) -> None:
    keep = desk.write("keep.txt", "x")
    desk.script([calls(call("shell_exec", command="mkdir one")), {"text": "ok"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    ask = await ear.permission()
    runtime.session.answer(ask.id, Reply("once", arguments='{"command": "rm keep.txt"}'))
    await ear.end()
    assert keep.exists()
    assert outcomes(runtime.session)[0].status == "denied"
    await runtime.close()


async def test_lookers_run_side_by_side_and_outcomes_keep_the_models_order(desk: Desk) -> None:
    desk.write("a.txt", "A")
    desk.write("b.txt", "B")
    made = [call("read_file", "c1", path="a.txt"), call("read_file", "c2", path="b.txt")]
    desk.script([calls(*made), {"text": "ok"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("read both")
    await ear.end()
    kinds = [type(event) for event in ear.heard if isinstance(event, ToolStarted | ToolEnded)]
    assert kinds == [ToolStarted, ToolStarted, ToolEnded, ToolEnded]
    assert [outcome.call_id for outcome in outcomes(runtime.session)] == ["c1", "c2"]
    await runtime.close()


async def test_writers_run_in_order(desk: Desk) -> None:
    made = [
        call("write_file", "c1", path="x/a.txt", content="1"),
        call("write_file", "c2", path="x/b.txt", content="2"),
    ]
    desk.script([calls(*made), {"text": "ok"}])
    desk.configure({"security": {"autonomy": "full"}})
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("write both")
    await ear.end()
    order = [
        (
            type(event).__name__,
            event.call.id if isinstance(event, ToolStarted) else event.outcome.call_id,
        )
        for event in ear.heard
        if isinstance(event, ToolStarted | ToolEnded)
    ]
    assert order == [
        ("ToolStarted", "c1"),
        ("ToolEnded", "c1"),
        ("ToolStarted", "c2"),
        ("ToolEnded", "c2"),
    ]
    await runtime.close()


async def test_unknown_tools_and_broken_arguments_are_told_and_receipted(desk: Desk) -> None:
    made: list[dict[str, Any]] = [
        {"name": "fly", "arguments": {}, "id": "c1"},
        {"name": "read_file", "arguments": '{"path": ', "id": "c2"},
        {"name": "read_file", "arguments": {"pfad": "a"}, "id": "c3"},
    ]
    desk.script([calls(*made), {"text": "ok"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    assert (await ear.end()).reason == "done"
    failed = outcomes(runtime.session)
    assert [outcome.status for outcome in failed] == ["failed"] * 3
    assert {outcome.receipt for outcome in failed} == {1, 2, 3}
    assert "there is no tool" in failed[0].output
    assert "path" in failed[2].output
    await runtime.close()


async def test_interrupt_while_text_streams_keeps_what_was_shown(desk: Desk) -> None:
    desk.script([{"text": "one two three four", "chunk": 4, "delay_s": 0.01}, {"text": "again"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("talk")
    shown = (await ear.until(TextDelta)).text
    runtime.session.interrupt()
    ended = await ear.end()
    assert ended.reason == "interrupted"
    _, partial, note = bodies(runtime.session)
    assert isinstance(partial, AssistantTurn)
    assert partial.text.startswith(shown)
    assert note == Note("interrupted", "interrupted by you")
    runtime.session.prompt("again")
    assert (await ear.end()).reason == "done"
    await runtime.close()


async def test_interrupt_while_a_command_runs_leaves_a_valid_conversation(desk: Desk) -> None:
    made = [call("shell_exec", "c1", command="cat fifo"), call("shell_exec", "c2", command="ls")]
    desk.script([calls(*made), {"text": "later", "expect": "interrupted"}])
    desk.configure({"security": {"autonomy": "full"}})
    import os

    os.mkfifo(desk.project / "fifo")
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    await ear.until(ToolStarted)
    runtime.session.interrupt()
    assert (await ear.end()).reason == "interrupted"
    found = outcomes(runtime.session)
    assert [(o.call_id, o.status) for o in found] == [("c1", "interrupted"), ("c2", "interrupted")]
    assert [o.receipt for o in found] == [1, 2]
    runtime.session.prompt("and now")
    assert (await ear.end()).reason == "done"
    await runtime.close()


async def test_interrupt_while_a_question_is_open_closes_it_as_denied(desk: Desk) -> None:
    desk.script([calls(call("write_file", path="b.txt", content="x")), {"text": "ok"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("write")
    ask = await ear.ask()
    runtime.session.interrupt()
    assert (await ear.end()).reason == "interrupted"
    closed = ear.of(Answered)
    assert [(event.ask_id, event.reply) for event in closed] == [(ask.id, DENIED)]
    assert not runtime.session.answer(ask.id, Reply("once"))
    assert not (desk.project / "b.txt").exists()
    await runtime.close()


async def test_a_prompt_during_a_turn_waits_and_can_be_taken_back(desk: Desk) -> None:
    desk.script(
        [calls(call("write_file", path="b.txt", content="x")), {"text": "1"}, {"text": "2"}]
    )
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("first")
    ask = await ear.ask()
    assert runtime.session.prompt("second") == "queued"
    assert runtime.session.prompt("third") == "queued"
    assert runtime.session.unqueue() == "third"
    assert runtime.session.queued == ("second",)
    runtime.session.answer(ask.id, Reply("once"))
    await ear.until(TurnEnded)
    await ear.end()
    said = [body.text for body in bodies(runtime.session) if isinstance(body, UserText)]
    assert said == ["first", "second"]
    await runtime.close()


async def test_steering_goes_in_after_the_running_batch(desk: Desk) -> None:
    desk.script(
        [
            calls(call("write_file", path="b.txt", content="x")),
            {"text": "changed course", "expect": "use tabs"},
        ]
    )
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("write")
    ask = await ear.ask()
    assert runtime.session.steer("use tabs")
    runtime.session.answer(ask.id, Reply("once"))
    assert (await ear.end()).reason == "done"
    found = [type(body).__name__ for body in bodies(runtime.session)]
    assert found == ["UserText", "AssistantTurn", "ToolOutcome", "UserText", "AssistantTurn"]
    await runtime.close()


async def test_provider_errors_end_the_turn_and_are_part_of_the_record(desk: Desk) -> None:
    desk.script([{"text": "half", "error": {"class": "timeout", "message": "no word for 60s"}}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("talk")
    assert (await ear.end()).reason == "failed"
    _, partial, note = bodies(runtime.session)
    assert isinstance(partial, AssistantTurn)
    assert partial.text == "half"
    assert isinstance(note, Note)
    assert (note.kind, note.code, note.text) == ("failed", "timeout", "no word for 60s")
    await runtime.close()


async def test_the_limit_of_rounds_asks_a_person_and_stops_without_one(desk: Desk) -> None:
    desk.write("a.txt", "A")
    turns = [calls(call("read_file", path="a.txt", limit=n + 1)) for n in range(6)]
    desk.script([*turns, {"text": "end"}])
    desk.configure({"limits": {"max_tool_rounds": 2}})
    runtime = await desk.open(attended=False)
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    assert (await ear.end()).reason == "limit"
    assert len(outcomes(runtime.session)) == 2
    await runtime.close()


async def test_a_spent_budget_ends_the_turn(desk: Desk) -> None:
    desk.write("a.txt", "A")
    usage = {"input_tokens": 600, "output_tokens": 1}
    desk.script([{**calls(call("read_file", path="a.txt")), "usage": usage}, {"text": "no"}])
    desk.configure({"agents": {"budget_tokens": 500}})
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    assert (await ear.end()).reason == "limit"
    note = bodies(runtime.session)[-1]
    assert isinstance(note, Note)
    assert "500 tokens" in note.text
    await runtime.close()


async def test_the_same_call_again_and_again_is_pointed_out(desk: Desk) -> None:
    desk.write("a.txt", "A")
    same = calls(call("read_file", path="a.txt"))
    desk.script([same, same, {**same, "text": ""}, {"text": "ok", "expect": "3 times"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    assert (await ear.end()).reason == "done"
    await runtime.close()


async def test_sub_agents_work_side_by_side_and_leave_one_node_each(desk: Desk) -> None:
    desk.write("a.txt", "A")
    spawns = [
        call("spawn_agent", "c1", task="look at a", name="scout"),
        call("spawn_agent", "c2", task="write b", name="fixer"),
    ]
    desk.script(
        [calls(*spawns), {"text": "both done"}],
        {
            "scout": [calls(call("read_file", path="a.txt")), {"text": "it says A"}],
            "fixer": [calls(call("write_file", path="b.txt", content="B")), {"text": "written"}],
        },
    )
    runtime = await desk.open()
    session = runtime.session
    ear = Ear(session)
    session.prompt("explore")
    ask = await ear.permission()
    assert ask.agent == "root/fixer"
    session.answer(ask.id, Reply("once"))
    assert (await ear.end()).reason == "done"
    assert {event.child for event in ear.of(ChildStarted)} == {"root/scout", "root/fixer"}
    assert {event.reason for event in ear.of(ChildEnded)} == {"done"}
    delegations = [body for body in bodies(session) if isinstance(body, Delegation)]
    assert [(d.child, d.outcome.output) for d in delegations] == [
        ("root/scout", "it says A"),
        ("root/fixer", "written"),
    ]
    assert set(session.children()) == {"root/scout", "root/fixer"}
    assert isinstance(bodies(session, "root/scout")[0], UserText)
    await runtime.close()


async def test_stopping_a_child_leaves_the_parent_at_work(desk: Desk) -> None:
    desk.script(
        [calls(call("spawn_agent", task="write b", name="fixer")), {"text": "went on"}],
        {"fixer": [calls(call("write_file", path="b.txt", content="B")), {"text": "never"}]},
    )
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    await ear.ask()
    assert runtime.session.interrupt("root/fixer")
    assert (await ear.end()).reason == "done"
    (delegation,) = (b for b in bodies(runtime.session) if isinstance(b, Delegation))
    assert delegation.reason == "interrupted"
    assert not (desk.project / "b.txt").exists()
    await runtime.close()


async def test_interrupting_the_parent_stops_its_children(desk: Desk) -> None:
    desk.script(
        [calls(call("spawn_agent", task="write b", name="fixer")), {"text": "never"}],
        {"fixer": [calls(call("write_file", path="b.txt", content="B")), {"text": "never"}]},
    )
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    await ear.ask()
    runtime.session.interrupt()
    assert (await ear.end()).reason == "interrupted"
    assert [event.reason for event in ear.of(ChildEnded)] == ["interrupted"]
    assert runtime.session.running_children == ()
    await runtime.close()


async def test_children_get_at_most_the_tools_they_are_given(desk: Desk) -> None:
    desk.script(
        [calls(call("spawn_agent", task="try", name="scout", tools=["Read"])), {"text": "ok"}],
        {
            "scout": [
                calls(call("write_file", path="b.txt", content="B")),
                {"text": "no", "expect": "no tool"},
            ]
        },
    )
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    assert (await ear.end()).reason == "done"
    (started,) = ear.of(ChildStarted)
    assert started.tools == ("read_file",)
    await runtime.close()


async def test_nesting_is_limited(desk: Desk) -> None:
    spawn = calls(call("spawn_agent", task="deeper", name="n"))
    desk.script([spawn, {"text": "ok"}], {"*": [spawn, {"text": "end", "expect": "deep"}]})
    desk.configure({"agents": {"max_depth": 1}})
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    assert (await ear.end()).reason == "done"
    assert len(ear.of(ChildStarted)) == 1
    await runtime.close()


async def test_estop_denies_before_anything_runs(desk: Desk) -> None:
    desk.write("a.txt", "A")
    desk.script([calls(call("read_file", path="a.txt")), {"text": "stopped", "expect": "stop"}])
    (desk.home / "ESTOP").touch()
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    assert (await ear.end()).reason == "done"
    assert outcomes(runtime.session)[0].status == "denied"
    await runtime.close()


async def test_a_command_of_the_persons_own_runs_unasked_and_reaches_the_model(desk: Desk) -> None:
    desk.script([{"text": "seen"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.shell("mkdir made-by-me")
    ended = await ear.until(ToolEnded)
    assert (ended.outcome.author, ended.outcome.status) == ("person", "done")
    await runtime.session.idle()
    assert (desk.project / "made-by-me").is_dir()
    runtime.session.prompt("what did I do?")
    assert (await ear.end()).reason == "done"
    told = window(runtime.session.nodes())[0]
    assert isinstance(told, UserText)
    assert "I ran `mkdir made-by-me`" in told.text
    await runtime.close()


async def test_what_is_forbidden_is_forbidden_to_the_person_too(desk: Desk) -> None:
    keep = desk.write("keep.txt", "x")
    desk.script([{"text": "ok"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.shell("rm keep.txt")
    assert (await ear.until(ToolEnded)).outcome.status == "denied"
    assert keep.exists()
    await runtime.close()


async def test_what_is_committed_is_on_disk_already(desk: Desk) -> None:
    desk.script([{"text": "hello"}])
    runtime = await desk.open()
    session = runtime.session
    ear = Ear(session)
    session.prompt("hi")
    committed = await ear.until(Committed)
    folder = sessions.folder(desk.home, session.id)
    assert committed.node in transcripts.read(folder).nodes
    await ear.end()
    await runtime.close()
    assert transcripts.read(folder).nodes == session.nodes()


async def test_a_resumed_session_goes_on_with_everything(desk: Desk) -> None:
    desk.script([{"text": "first answer"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("first question")
    await ear.end()
    before, session_id = runtime.session.nodes(), runtime.session.id
    await runtime.close()
    desk.script([{"text": "second answer"}])
    again = await desk.open(session_id=session_id)
    assert again.session.nodes() == before
    assert again.session.title == "first question"
    ear = Ear(again.session)
    again.session.prompt("second question")
    assert (await ear.end()).reason == "done"
    assert len(again.session.nodes()) == 4
    await again.close()


async def test_events_reach_every_listener_and_text_merges_for_a_slow_one(desk: Desk) -> None:
    desk.script([{"text": "a b c d e f g h", "chunk": 1}])
    runtime = await desk.open()
    slow = runtime.session.events()
    ear = Ear(runtime.session)
    runtime.session.prompt("talk")
    await ear.end()
    merged = [event for event in slow.waiting() if isinstance(event, TextDelta)]
    assert [delta.text for delta in merged] == ["a b c d e f g h"]
    await runtime.close()


async def test_every_outcome_in_the_record_has_its_call(desk: Desk) -> None:
    desk.write("a.txt", "A")
    desk.script([calls(call("read_file", "c1", path="a.txt")), {"text": "ok"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    await ear.end()
    asked = {c.id for b in bodies(runtime.session) if isinstance(b, AssistantTurn) for c in b.calls}
    answered = {b.call_id for b in bodies(runtime.session) if isinstance(b, ToolOutcome)}
    assert asked == answered == {"c1"}
    await asyncio.sleep(0)
    await runtime.close()


async def test_a_key_in_a_command_does_not_reach_the_receipts(desk: Desk) -> None:
    key = "sk-or-v1-0123456789abcdef0123456789abcdef"
    desk.script([calls(call("shell_exec", command=f"echo {key}")), {"text": "ok"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    await ear.end()
    await runtime.close()
    assert "0123456789abcdef" not in (desk.home / "tool_receipts.log").read_text()

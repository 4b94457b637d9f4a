"""/compact: what it says, what it refuses, and that `u` brings everything back."""

from __future__ import annotations

import asyncio
from typing import Any

from compacting import conversation_of, notices, summaries, talked
from scripted import Desk, Ear, call, calls

from stormclaw.agent.context.window import window
from stormclaw.commands.run import find, run_command
from stormclaw.protocol.asks import Reply
from stormclaw.protocol.messages import UserText
from stormclaw.runtime import Runtime


async def opened(desk: Desk, *turns: dict[str, Any], **context: Any) -> Runtime:
    desk.configure({"context": {"recent_tokens": 300, **context}})
    desk.script(list(turns))
    return await desk.open()


async def test_it_says_what_went_and_what_came(desk: Desk) -> None:
    usage = {"input_tokens": 900, "output_tokens": 9, "cost_usd": 0.0123}
    runtime = await opened(desk, {"text": "The port is 8080.", "usage": usage})
    conversation = conversation_of(runtime)
    await talked(conversation, 20)
    ear = Ear(runtime.session)
    answer = await run_command(runtime, "/compact  the port ")
    assert answer.ok
    (summary,) = summaries(conversation.nodes)
    assert summary.focus == "the port"
    before, after = f"{summary.before / 1000:.1f}k", f"{summary.after / 1000:.1f}k"
    assert answer.text == (
        f"{len(summary.replaces)} messages, {before} -> {after} tokens, $0.0123; "
        "/context shows them, u there brings them back"
    )
    assert notices(ear)[0].startswith(f"summing up {len(summary.replaces)} messages, ")
    await runtime.close()


async def test_with_nothing_old_enough_it_says_so(desk: Desk) -> None:
    runtime = await opened(desk, {"text": "never asked"})
    answer = await run_command(runtime, "/compact")
    assert (answer.ok, answer.text) == (
        True,
        "nothing is old enough to be summed up: the newest part always stays",
    )
    await runtime.close()


async def test_switched_off_it_is_refused(desk: Desk) -> None:
    runtime = await opened(desk, {"text": "never asked"}, compaction="off")
    await talked(conversation_of(runtime), 20)
    answer = await run_command(runtime, "/compact")
    assert not answer.ok
    assert "context.compaction" in answer.text
    assert summaries(runtime.session.nodes()) == []
    await runtime.close()


async def test_while_a_turn_runs_it_is_refused(desk: Desk) -> None:
    runtime = await opened(
        desk, calls(call("write_file", path="b.txt", content="x")), {"text": "understood"}
    )
    await talked(conversation_of(runtime), 20)
    ear = Ear(runtime.session)
    runtime.session.prompt("write")
    ask = await ear.permission()
    answer = await run_command(runtime, "/compact")
    assert (answer.ok, answer.text.partition(":")[0]) == (False, "a turn is running")
    runtime.session.answer(ask.id, Reply("deny"))
    await ear.end()
    assert summaries(runtime.session.nodes()) == []
    await runtime.close()


async def test_an_undo_brings_back_what_went(desk: Desk) -> None:
    runtime = await opened(desk, {"text": "First."}, {"text": "Second."}, {"text": "Third."})
    conversation, held = conversation_of(runtime), runtime.session.desk
    await talked(conversation, 10)
    whole = window(conversation.nodes)
    await run_command(runtime, "/compact")
    once = window(conversation.nodes)
    await talked(conversation, 10, begin=10)
    longer = window(conversation.nodes)
    await run_command(runtime, "/compact")
    twice = window(conversation.nodes)
    assert len(once) < len(whole)
    assert len(twice) < len(longer)
    # The second is taken back: the first stands again, and what came after it.
    assert await held.undo()
    assert window(conversation.nodes) == longer
    # And once more: everything.
    assert await held.undo()
    assert window(conversation.nodes) == (*whole, *longer[len(once) :])
    assert not await held.undo()
    # It can be asked for anew.
    answer = await run_command(runtime, "/compact")
    assert answer.ok
    first = window(conversation.nodes)[0]
    assert isinstance(first, UserText)
    assert "Third." in first.text
    assert "First." not in first.text
    assert [f"do thing {number}" in first.text for number in range(18)] == [True] * 18
    await runtime.close()


async def test_interrupted_by_leaving_it_changes_nothing(desk: Desk) -> None:
    runtime = await opened(desk, {"text": "one two three", "delay_s": 600.0})
    conversation = conversation_of(runtime)
    await talked(conversation, 20)
    before = conversation.everything
    ear = Ear(runtime.session)
    work = asyncio.create_task(run_command(runtime, "/compact"))
    while not any(text.startswith("summing up") for text in notices(ear)):
        await asyncio.sleep(0)
    work.cancel()
    await asyncio.wait([work])
    assert work.cancelled()
    assert conversation.everything == before
    await runtime.close()


async def test_esc_stops_it_and_what_was_said_meanwhile_waits(desk: Desk) -> None:
    runtime = await opened(desk, {"text": "one two three", "delay_s": 600.0})
    conversation, session = conversation_of(runtime), runtime.session
    await talked(conversation, 20)
    before = conversation.everything
    ear = Ear(session)
    work = asyncio.create_task(run_command(runtime, "/compact"))
    while not any(text.startswith("summing up") for text in notices(ear)):
        await asyncio.sleep(0)
    assert session.busy
    assert session.prompt("by the way") == "queued"
    assert not (await run_command(runtime, "/compact")).ok
    assert session.interrupt()
    answer = await work
    assert (answer.ok, answer.text) == (False, "stopped: nothing was summed up")
    await session.idle()
    assert conversation.everything == before
    assert session.queued == ("by the way",)
    await runtime.close()


async def test_what_was_said_meanwhile_comes_after_it(desk: Desk) -> None:
    runtime = await opened(desk, {"text": "Summed up.", "delay_s": 0.01}, {"text": "Here I am."})
    conversation, session = conversation_of(runtime), runtime.session
    await talked(conversation, 20)
    ear = Ear(session)
    work = asyncio.create_task(run_command(runtime, "/compact"))
    while not any(text.startswith("summing up") for text in notices(ear)):
        await asyncio.sleep(0)
    assert session.prompt("by the way") == "queued"
    assert (await work).ok
    assert (await ear.end()).reason == "done"
    kinds = [type(node.body).__name__ for node in conversation.nodes[-3:]]
    assert kinds == ["Summary", "UserText", "AssistantTurn"]
    await runtime.close()


async def test_leaving_meanwhile_leaves_the_record_whole(desk: Desk) -> None:
    runtime = await opened(desk, {"text": "one two three", "delay_s": 600.0})
    await talked(conversation_of(runtime), 20)
    before, session_id = conversation_of(runtime).everything, runtime.session.id
    ear = Ear(runtime.session)
    work = asyncio.create_task(run_command(runtime, "/compact"))
    while not any(text.startswith("summing up") for text in notices(ear)):
        await asyncio.sleep(0)
    await runtime.close()
    assert not (await work).ok
    again = await desk.open(session_id=session_id)
    assert conversation_of(again).everything == before
    await again.close()


def test_help_has_it() -> None:
    command = find("compact")
    assert command is not None
    assert (command.usage, command.summary) == ("[FOCUS]", "Sum up what is old; the originals stay")

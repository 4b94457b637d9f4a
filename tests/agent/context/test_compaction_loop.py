"""Compaction where nobody asks for it: at a share of the window, and when a provider has enough."""

from __future__ import annotations

import json
from typing import Any

from byte_server import ByteServer, Reply, answer, delta, fragment, serving, stream
from compacting import conversation_of, notices, summaries, talked
from scripted import Desk, Ear, call, calls, outcomes

from stormclaw.agent.context.compaction import make_room, on_wire
from stormclaw.agent.context.window import window
from stormclaw.protocol.messages import ContextEdit, Note, Summary, UserText
from stormclaw.runtime import Runtime

RULE = "Rule: never touch main.py."
TOO_LONG = answer({"error": {"message": "no", "code": "context_length_exceeded"}}, 400)
SUMMING = "Sum up this record."


def said(text: str) -> Reply:
    return stream(delta(text), delta(finish="stop"))


def reads(path: str, call_id: str) -> Reply:
    return stream(
        fragment("read_file", json.dumps({"path": path}), id=call_id, index=0),
        delta(finish="tool_calls"),
    )


async def opened(desk: Desk, server: ByteServer, window_tokens: int, **context: Any) -> Runtime:
    model = {
        "kind": "openai-compatible", "base_url": server.url, "model": "any", "max_retries": 0,
        "context_window": window_tokens,
    }  # fmt: skip
    desk.configure(
        {
            "default_provider": "here",
            "providers": {"models": {"here": model}},
            "context": {"recent_tokens": 600, "policies": [], **context},
        }
    )
    return await desk.open()


def purposes(server: ByteServer) -> list[str]:
    """What each request was for."""
    last = [str(request.body["messages"][-1]["content"]) for request in server.requests]
    return ["summing" if text.startswith(SUMMING) else "turn" for text in last]


async def test_at_a_share_of_the_window_it_happens_by_itself(desk: Desk) -> None:
    async with serving() as server:
        runtime = await opened(desk, server, 12_000)
        conversation = conversation_of(runtime)
        await conversation.commit(UserText(RULE))
        await talked(conversation, 30, size=1200)
        ear = Ear(runtime.session)
        server.will(said("Much was read."), said("Going on."))
        runtime.session.prompt("go on")
        assert (await ear.end()).reason == "done"
        assert purposes(server) == ["summing", "turn"]
        (summary,) = summaries(conversation.nodes)
        assert summary.after < 0.75 * 12_000 < summary.before
        sent = server.requests[1].body["messages"]
        assert RULE in sent[1]["content"]
        assert "Much was read." in sent[1]["content"]
        assert sent[-1]["content"] == "go on"
        assert any(text.startswith("summing up") for text in notices(ear))
        # The next turn has room: nothing more is summed up.
        server.will(said("Still here."))
        runtime.session.prompt("and on")
        await ear.end()
        assert purposes(server) == ["summing", "turn", "turn"]
        await runtime.close()


async def test_a_long_turn_is_cut_in_its_middle_and_goes_on(desk: Desk) -> None:
    async with serving() as server:
        for number in range(8):
            desk.write(f"f{number}.txt", f"line of file {number}\n" * 200)
        runtime = await opened(desk, server, 12_000)
        ear = Ear(runtime.session)
        calls_made = [reads(f"f{number}.txt", f"c{number}") for number in range(8)]
        middle = said("Files 0 to some were read.")
        server.will(*calls_made[:6], middle, *calls_made[6:], said("All read."))
        runtime.session.prompt(RULE)
        ended = await ear.end()
        found = summaries(conversation_of(runtime).nodes)
        assert ended.reason == "done", purposes(server)
        assert len(found) == 1, purposes(server)
        assert "The last of these is what is being worked on" in found[0].text
        assert RULE in found[0].text
        assert [outcome.status for outcome in outcomes(runtime.session)] == ["done"] * 8
        await runtime.close()


async def test_manual_means_by_hand(desk: Desk) -> None:
    async with serving() as server:
        runtime = await opened(desk, server, 12_000, compaction="manual")
        await talked(conversation_of(runtime), 30, size=1200)
        ear = Ear(runtime.session)
        server.will(said("Going on."))
        runtime.session.prompt("go on")
        await ear.end()
        assert purposes(server) == ["turn"]
        assert summaries(conversation_of(runtime).nodes) == []
        await runtime.close()


async def test_a_provider_that_has_enough_gets_less(desk: Desk) -> None:
    async with serving() as server:
        runtime = await opened(desk, server, 0)
        conversation = conversation_of(runtime)
        await conversation.commit(UserText(RULE))
        await talked(conversation, 30)
        ear = Ear(runtime.session)
        server.will(TOO_LONG, said("Much was read."), said("Going on."))
        runtime.session.prompt("go on")
        assert (await ear.end()).reason == "done"
        assert purposes(server) == ["turn", "summing", "turn"]
        sizes = [len(json.dumps(request.body)) for request in server.requests]
        assert sizes[2] < sizes[0]
        assert RULE in server.requests[2].body["messages"][1]["content"]
        await runtime.close()


async def test_policies_come_before_a_model_is_asked(desk: Desk) -> None:
    async with serving() as server:
        runtime = await opened(desk, server, 0, policies=["old_results"])
        conversation = conversation_of(runtime)
        await talked(conversation, 40, size=1500)
        ear = Ear(runtime.session)
        server.will(TOO_LONG, said("Going on."))
        runtime.session.prompt("go on")
        assert (await ear.end()).reason == "done"
        assert purposes(server) == ["turn", "turn"]
        assert any(isinstance(node.body, ContextEdit) for node in conversation.nodes)
        await runtime.close()


async def test_after_three_times_too_long_the_person_is_told(desk: Desk) -> None:
    async with serving() as server:
        runtime = await opened(desk, server, 0)
        conversation = conversation_of(runtime)
        await talked(conversation, 60, size=3000)
        ear = Ear(runtime.session)
        server.will(*[TOO_LONG] * 40)
        runtime.session.prompt("go on")
        assert (await ear.end()).reason == "failed"
        assert purposes(server).count("turn") <= 4
        assert purposes(server).count("summing") <= 9
        last = conversation.nodes[-1].body
        assert isinstance(last, Note)
        assert last.code == "context_length"
        await runtime.close()


async def test_one_enormous_message_ends_the_turn_and_not_the_session(desk: Desk) -> None:
    async with serving() as server:
        runtime = await opened(desk, server, 0)
        ear = Ear(runtime.session)
        server.will(TOO_LONG, said("Hello."))
        runtime.session.prompt("x" * 100_000)
        assert (await ear.end()).reason == "failed"
        assert purposes(server) == ["turn"]
        await runtime.close()


async def test_make_room_says_when_nothing_is_left(desk: Desk) -> None:
    desk.configure({"context": {"recent_tokens": 300}})
    desk.script([{"text": f"Account {number}."} for number in range(20)])
    runtime = await desk.open()
    conversation, kit = conversation_of(runtime), runtime.session.kit
    await talked(conversation, 20, size=3000)
    sizes: list[int] = []
    for _ in range(20):
        sizes.append(len(str(window(conversation.nodes))))
        if not await make_room(kit, conversation):
            break
    else:
        raise AssertionError("there is always more to go")
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) > 1
    assert sizes[-1] < sizes[0] / 2
    assert "do thing 19" in str(window(conversation.nodes))
    await runtime.close()


async def test_a_provider_with_little_room_gets_less_than_what_usually_stays(desk: Desk) -> None:
    desk.configure({"context": {"policies": []}})
    desk.script([{"text": "Account."}])
    runtime = await desk.open()
    conversation, kit = conversation_of(runtime), runtime.session.kit
    await talked(conversation, 20, size=1200)
    assert on_wire(kit, conversation.nodes) < kit.context.recent_tokens
    assert await make_room(kit, conversation)
    assert len(summaries(conversation.nodes)) == 1
    await runtime.close()


async def test_a_sub_agent_sums_up_its_own(desk: Desk) -> None:
    desk.configure({"context": {"recent_tokens": 200, "policies": []}})
    for number in range(4):
        desk.write(f"f{number}.txt", f"line of file {number}\n" * 100)
    look = [calls(call("read_file", f"r{number}", path=f"f{number}.txt")) for number in range(4)]
    too_long = {"error": {"class": "context_length", "message": "too long"}}
    account = {"text": "Three files were read.", "when": SUMMING}
    desk.script(
        [calls(call("spawn_agent", task="read four files", name="scout")), {"text": "ok"}],
        {"scout": [*look, too_long, account, {"text": "All four hold lines."}]},
    )
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    assert (await ear.end()).reason == "done"
    (summary,) = summaries(runtime.session.nodes("root/scout"))
    assert "Three files were read." in summary.text
    assert "read four files" in summary.text
    assert summaries(runtime.session.nodes()) == []
    assert "All four hold lines." in outcomes(runtime.session)[0].output
    wire = window(runtime.session.nodes("root/scout"))
    assert isinstance(wire[0], UserText)
    assert not any(isinstance(message, Summary) for message in wire)
    await runtime.close()

"""Compaction against a model server that says exactly these bytes, and through a crash."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from itertools import pairwise
from typing import Any

from byte_server import ByteServer, answer, delta, serving, stream
from compacting import conversation_of, kit_of, notices, talked
from scripted import Desk, Ear

from stormclaw.agent.context.compaction import compact
from stormclaw.agent.context.window import window
from stormclaw.protocol.messages import Summary, UserText
from stormclaw.runtime import Runtime

TOO_LONG = answer(
    {
        "error": {
            "message": "maximum context length is 8192 tokens",
            "code": "context_length_exceeded",
        }
    },
    400,
)


def said(text: str) -> Any:
    return stream(
        delta(text),
        delta(finish="stop"),
        {"choices": [], "usage": {"prompt_tokens": 700, "completion_tokens": 7}},
    )


async def opened(desk: Desk, server: ByteServer, **more: Any) -> Runtime:
    model = {"kind": "openai-compatible", "base_url": server.url, "model": "any", "max_retries": 0}
    desk.configure(
        {
            "default_provider": "here",
            "providers": {"models": {"here": {**model, **more}}},
            "context": {"recent_tokens": 300},
        }
    )
    return await desk.open()


def asked(server: ByteServer) -> list[str]:
    """The words of the person in each request."""
    return [request.body["messages"][-1]["content"] for request in server.requests]


async def test_the_request_is_plain_and_each_try_after_too_long_is_shorter(desk: Desk) -> None:
    async with serving() as server:
        runtime = await opened(desk, server, context_window=32_000)
        await talked(conversation_of(runtime), 60, size=3000)
        server.will(TOO_LONG, TOO_LONG, said("It fits now."))
        summary = await compact(kit_of(runtime), conversation_of(runtime), focus="the port")
        assert summary is not None
        assert "It fits now." in summary.text
        assert (summary.model, summary.usage.input_tokens) == ("served-model", 700)
        assert kit_of(runtime).purse.usage.input_tokens == 700
        first, second, third = asked(server)
        assert len(first) > 2 * len(second) > 4 * len(third)
        assert len(first) < 4 * 32_000
        for request in server.requests:
            system, user = request.body["messages"]
            assert "never an instruction to you" in system["content"]
            assert "the port" in user["content"].partition("<material ")[0]
            assert "tools" not in request.body
            assert "metadata" not in request.body
        mark = first.partition("<")[2].partition(">")[0]
        assert first.endswith(f"</{mark}>")
        assert mark not in second
        await runtime.close()


async def test_what_never_fits_is_put_together_without_a_model(desk: Desk) -> None:
    async with serving() as server:
        runtime = await opened(desk, server)
        await talked(conversation_of(runtime), 20)
        server.will(TOO_LONG, TOO_LONG, TOO_LONG, said("a fourth time"))
        summary = await compact(kit_of(runtime), conversation_of(runtime))
        assert summary is not None
        assert summary.model == ""
        assert len(server.requests) == 3
        assert "do thing 3" in summary.text
        await runtime.close()


async def test_an_answer_that_breaks_off_is_asked_for_again(desk: Desk) -> None:
    async with serving() as server:
        runtime = await opened(desk, server)
        await talked(conversation_of(runtime), 20)
        half = stream(delta("Half of"), done=False, end="reset")
        server.will(half, said("All of it."))
        summary = await compact(kit_of(runtime), conversation_of(runtime))
        assert summary is not None
        assert "All of it." in summary.text
        assert "Half of" not in summary.text
        await runtime.close()


async def test_an_interrupt_lets_go_of_the_server(desk: Desk) -> None:
    async with serving() as server:
        runtime = await opened(desk, server)
        conversation = conversation_of(runtime)
        await talked(conversation, 20)
        before = conversation.everything
        server.will(stream(delta("Half of"), done=False, end="hold"))
        ear = Ear(runtime.session)
        work = asyncio.create_task(compact(kit_of(runtime), conversation))
        await server.waiting.wait()
        work.cancel()
        await asyncio.wait([work])
        assert work.cancelled()
        await asyncio.wait_for(server.gone.wait(), 60)
        assert conversation.everything == before
        assert not any("without a model" in text for text in notices(ear))
        server.will(said("Later."))
        summary = await compact(kit_of(runtime), conversation)
        assert summary is not None
        assert "Later." in summary.text
        await runtime.close()


async def test_after_it_the_model_gets_the_text_and_the_newest_words(desk: Desk) -> None:
    async with serving() as server:
        runtime = await opened(desk, server)
        conversation = conversation_of(runtime)
        await conversation.commit(UserText("Rule: use tabs."))
        await talked(conversation, 20)
        server.will(said("The port is 8080."), said("Going on."))
        assert await compact(kit_of(runtime), conversation) is not None
        ear = Ear(runtime.session)
        runtime.session.prompt("and now?")
        assert (await ear.end()).reason == "done"
        sent = server.requests[-1].body["messages"]
        roles = [message["role"] for message in sent]
        assert roles[:2] == ["system", "user"]
        assert all(one != two or one == "tool" for one, two in pairwise(roles))
        assert "The port is 8080." in sent[1]["content"]
        assert "Rule: use tabs." in sent[1]["content"]
        assert sent[-1] == {"role": "user", "content": "and now?"}
        assert len(json.dumps(sent)) < 20_000
        await runtime.close()


CRASH = """
import asyncio, os, signal, sys
from pathlib import Path
from scripted import Desk
from stormclaw.agent.context.compaction import compact

async def main():
    desk = Desk.__new__(Desk)
    desk.root = Path(sys.argv[1])
    desk.home = desk.root / "home" / ".stormclaw"
    desk.project = desk.root / "project"
    desk.env = {"HOME": str(desk.root / "home"), "STORMCLAW_HOME": str(desk.home),
                "PATH": os.environ["PATH"], "LANG": "C.UTF-8",
                "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
    runtime = await desk.open(session_id=sys.argv[2])
    conversation = runtime.session._conversation

    async def die(body):
        os.kill(os.getpid(), signal.SIGKILL)

    conversation.commit = die
    await compact(runtime.session.kit, conversation)

asyncio.run(main())
"""


async def test_a_crash_between_answer_and_record_loses_the_summary_alone(desk: Desk) -> None:
    desk.configure({"context": {"recent_tokens": 300}})
    desk.script([{"text": "Lost account."}])
    runtime = await desk.open()
    await talked(conversation_of(runtime), 10)
    before, session_id = conversation_of(runtime).everything, runtime.session.id
    await runtime.close()
    helpers = next(path for path in sys.path if path.endswith("helpers"))
    crashed = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", CRASH, str(desk.root), session_id],
        env={**desk.env, "PYTHONPATH": helpers},
        capture_output=True,
        check=False,
    )
    assert crashed.returncode == -signal.SIGKILL, crashed.stderr.decode()
    again = await desk.open(session_id=session_id)
    conversation = conversation_of(again)
    assert conversation.everything == before
    assert again.session.problems == ()
    summary = await compact(again.session.kit, conversation)
    assert isinstance(summary, Summary)
    assert len(window(conversation.nodes)) < len(window(before))
    await again.close()

"""A command the walls stopped: the person is asked, and only the person can open them."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from scripted import Desk, Ear, call, calls, outcomes

from stormclaw.protocol.asks import DENIED, Permission, Reply
from stormclaw.protocol.display import Shell
from stormclaw.runtime import Runtime

SCRIPT = """\
import socket
try:
    socket.create_connection(("127.0.0.1", {port}), 5)
    print("reached")
except ConnectionRefusedError:
    socket.getaddrinfo("host.invalid", 80)
"""


@pytest.fixture
def server() -> Iterator[int]:
    """The port of something that listens on this machine, outside all walls."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


async def opened(desk: Desk, port: int, *, attended: bool = True, **security: Any) -> Runtime:
    desk.write("fetch.py", SCRIPT.format(port=port))
    desk.script([calls(call("shell_exec", command="python3 fetch.py")), {"text": "ok"}])
    desk.configure({"security": security})
    runtime = await desk.open(attended=attended)
    await runtime.session.kit.walls.ready()
    if runtime.sandbox.level != "bwrap":
        await runtime.close()
        pytest.skip(f"walls that keep the network out are needed here: {runtime.sandbox.why}")
    return runtime


def receipts(desk: Desk) -> list[dict[str, Any]]:
    lines = (desk.home / "tool_receipts.log").read_text().splitlines()
    return [json.loads(line) for line in lines]


def shell(ask: Permission) -> Shell:
    assert isinstance(ask.display, Shell)
    return ask.display


async def test_asked_again_with_what_it_lacked_and_run_with_just_that(
    desk: Desk, server: int
) -> None:
    runtime = await opened(desk, server)
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    first = await ear.permission()
    assert not shell(first).network
    runtime.session.answer(first.id, Reply("once"))
    second = await ear.permission()
    assert shell(second).network
    assert second.verdict.reason.startswith("the sandbox kept it from the network")
    runtime.session.answer(second.id, Reply("once"))
    await ear.end()
    (outcome,) = outcomes(runtime.session)
    await runtime.close()
    assert (outcome.status, "reached" in outcome.output) == ("done", True)
    one, two = receipts(desk)
    assert (one["status"], two["status"]) == ("failed", "allowed")
    assert ("network" in one, two["network"]) == (False, True)
    assert two["sandbox"] == "bwrap"


async def test_no_leaves_what_it_was_and_tells_the_model(desk: Desk, server: int) -> None:
    runtime = await opened(desk, server)
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    runtime.session.answer((await ear.permission()).id, Reply("once"))
    runtime.session.answer((await ear.permission()).id, DENIED)
    await ear.end()
    (outcome,) = outcomes(runtime.session)
    await runtime.close()
    assert outcome.status == "denied"
    assert "host.invalid" in outcome.output or "name resolution" in outcome.output
    assert "not run again with the network" in outcome.output
    assert [receipt["status"] for receipt in receipts(desk)] == ["failed", "denied"]


async def test_an_edited_command_is_what_is_asked_about_again(desk: Desk, server: int) -> None:
    runtime = await opened(desk, server)
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    edited = json.dumps({"command": "python3 ./fetch.py"})
    runtime.session.answer((await ear.permission()).id, Reply("once", arguments=edited))
    second = await ear.permission()
    assert second.call.arguments == edited
    assert shell(second).command == "python3 ./fetch.py"
    runtime.session.answer(second.id, Reply("once"))
    await ear.end()
    (outcome,) = outcomes(runtime.session)
    await runtime.close()
    assert "reached" in outcome.output
    one, two = receipts(desk)
    assert one["args_hash"] == two["args_hash"]


async def test_full_autonomy_asks_all_the_same(desk: Desk, server: int) -> None:
    runtime = await opened(desk, server, autonomy="full")
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    ask = await ear.permission()
    assert shell(ask).network
    runtime.session.answer(ask.id, DENIED)
    await ear.end()
    await runtime.close()


async def test_with_nobody_there_nothing_is_opened(desk: Desk, server: int) -> None:
    runtime = await opened(desk, server, attended=False, autonomy="full")
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    await ear.end()
    (outcome,) = outcomes(runtime.session)
    await runtime.close()
    assert outcome.status == "failed"
    assert len(receipts(desk)) == 1


async def test_always_holds_for_that_command_in_the_next_session(desk: Desk, server: int) -> None:
    runtime = await opened(desk, server, autonomy="full")
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    runtime.session.answer((await ear.permission()).id, Reply("always"))
    await ear.end()
    await runtime.close()
    runtime = await opened(desk, server, attended=False, autonomy="full")
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    await ear.end()
    (outcome,) = outcomes(runtime.session)
    await runtime.close()
    assert "reached" in outcome.output


async def test_configured_commands_have_the_network_at_once(desk: Desk, server: int) -> None:
    runtime = await opened(
        desk, server, attended=False, autonomy="full", sandbox_network=["python3 fetch.py"]
    )
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    await ear.end()
    (outcome,) = outcomes(runtime.session)
    await runtime.close()
    assert "reached" in outcome.output

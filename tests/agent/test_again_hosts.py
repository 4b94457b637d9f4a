"""A command that asked for a host nobody listed: that host is offered, and no more than that."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from scripted import Desk, Ear, call, calls, outcomes

from stormclaw.protocol.asks import DENIED, Permission, Reply
from stormclaw.protocol.display import Shell
from stormclaw.protocol.effects import Grant
from stormclaw.runtime import Runtime

LINE = "test -e marked && echo second || { touch marked; curl -sSf https://registry.example/x; }"
"""Asks for a host in the first run, and for none in the second."""

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")


async def opened(desk: Desk, **security: Any) -> Runtime:
    desk.script([calls(call("shell_exec", command=LINE)), {"text": "ok"}])
    desk.configure({"security": {"autonomy": "full", "sandbox_hosts": ["pypi.org"], **security}})
    runtime = await desk.open(attended=True)
    await runtime.session.kit.walls.ready()
    if runtime.sandbox.level != "bwrap":
        await runtime.close()
        pytest.skip(f"walls that tell hosts apart are needed here: {runtime.sandbox.why}")
    return runtime


def receipts(desk: Desk) -> list[dict[str, Any]]:
    lines = (desk.home / "tool_receipts.log").read_text().splitlines()
    return [json.loads(line) for line in lines]


def hosts(ask: Permission) -> tuple[str, ...]:
    assert isinstance(ask.display, Shell)
    assert not ask.display.network
    return ask.display.hosts


async def test_the_host_is_offered_and_the_second_run_has_it(desk: Desk) -> None:
    runtime = await opened(desk)
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    ask = await ear.permission()
    assert hosts(ask) == ("pypi.org", "registry.example")
    kept = "the sandbox kept it from network to registry.example: asked for registry.example"
    assert ask.verdict.reason == kept
    assert ask.verdict.grants == (Grant("network-host", "registry.example"),)
    runtime.session.answer(ask.id, Reply("once"))
    await ear.end()
    (outcome,) = outcomes(runtime.session)
    await runtime.close()
    assert (outcome.status, outcome.output.splitlines()[0]) == ("done", "second")
    one, two = receipts(desk)
    assert (one["status"], one["hosts"]) == ("failed", ["pypi.org"])
    assert (two["status"], two["hosts"]) == ("allowed", ["pypi.org", "registry.example"])
    assert ("network" in one, "network" in two) == (False, False)


async def test_no_leaves_it_and_tells_the_model(desk: Desk) -> None:
    runtime = await opened(desk)
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    runtime.session.answer((await ear.permission()).id, DENIED)
    await ear.end()
    (outcome,) = outcomes(runtime.session)
    await runtime.close()
    assert outcome.status == "denied"
    assert "kept this command from talking to registry.example" in outcome.output
    assert "not run again with network to registry.example" in outcome.output


async def test_always_holds_for_that_host_from_then_on(desk: Desk) -> None:
    runtime = await opened(desk)
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    runtime.session.answer((await ear.permission()).id, Reply("always"))
    await ear.end()
    await runtime.close()
    (grant,) = (desk.home / "grants.jsonl").read_text().splitlines()
    assert json.loads(grant)["kind"] == "network-host"
    (desk.project / "marked").touch()
    runtime = await opened(desk)
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    await ear.end()
    await runtime.close()
    assert receipts(desk)[-1]["hosts"] == ["pypi.org", "registry.example"]
    assert receipts(desk)[-1]["decided_by"] == "policy"


async def test_without_a_list_the_whole_network_is_meant(desk: Desk) -> None:
    runtime = await opened(desk, sandbox_hosts=[])
    (desk.project / "marked").touch()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    await ear.end()
    await runtime.close()
    (receipt,) = receipts(desk)
    assert receipt["network"] is True
    assert "hosts" not in receipt

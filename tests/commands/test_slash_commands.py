"""Slash commands return data; a front end without a screen shows it as text."""

from __future__ import annotations

import pytest
from scripted import Desk, Ear, call, calls

from stormclaw.commands.ages import age
from stormclaw.commands.run import commands, find, run_command
from stormclaw.protocol.command import Answer, OpenSession, Quit, SwitchModel
from stormclaw.protocol.effects import Grant
from stormclaw.runtime import Runtime
from stormclaw.security import estop

NAMES = (
    "agents",
    "clear",
    "compact",
    "connect",
    "context",
    "cost",
    "doctor",
    "estop",
    "exit",
    "export",
    "find",
    "fork",
    "help",
    "memory",
    "model",
    "new",
    "policy",
    "receipts",
    "redo",
    "rename",
    "resume",
    "rewind",
    "theme",
    "tools",
    "tree",
    "trust",
    "undo",
    "verify",
)
MOVING = {"estop", "undo", "redo", "rename"}
"""They change what the others tell, or need a word more; see test_history_commands.py."""


async def spoken(desk: Desk) -> Runtime:
    desk.write("a.txt", "A")
    desk.script(
        [
            calls(call("read_file", path="a.txt"), call("spawn_agent", task="look", name="scout")),
            {
                "text": "The Aardvark adapter is done.",
                "usage": {"input_tokens": 1200, "output_tokens": 30, "cost_usd": 0.02},
            },
        ],
        {"scout": [{"text": "seen"}]},
    )
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go on with the adapter")
    assert (await ear.end()).reason == "done"
    return runtime


def cells(answer: Answer) -> str:
    rows = answer.table.rows if answer.table else ()
    return "\n".join("  ".join(row) for row in rows)


def test_the_commands_there_are() -> None:
    assert tuple(commands()) == NAMES
    quit_ = find("quit")
    assert quit_ is not None
    assert quit_.name == "exit"
    assert all(command.summary for command in commands().values())


async def test_unknown_commands_name_the_nearest(desk: Desk) -> None:
    desk.script([{"text": "ok"}])
    runtime = await desk.open()
    answer = await run_command(runtime, "/recipts")
    assert not answer.ok
    assert "/receipts" in answer.text
    await runtime.close()


async def test_what_each_command_tells_about_a_session(desk: Desk) -> None:
    runtime = await spoken(desk)
    told = {name: await run_command(runtime, f"/{name}") for name in NAMES if name not in MOVING}
    assert all(answer.ok for answer in told.values()), told
    assert "read_file" in cells(told["tools"])
    assert "supervised" in told["policy"].text
    assert str(desk.project) in told["policy"].text
    assert "forbidden_commands  rm" in cells(told["policy"])
    assert "a.txt" in cells(told["receipts"])
    assert "2 receipts, chain unbroken" in told["verify"].text
    assert "root/scout" in cells(told["agents"])
    assert "$0.02" in told["cost"].text
    assert "/receipts" in cells(told["help"])
    assert told["exit"].change == Quit()
    assert told["new"].change == OpenSession()
    assert "go on with the adapter" in cells(told["resume"])
    await runtime.close()


async def test_memory_searches_all_conversations(desk: Desk) -> None:
    runtime = await spoken(desk)
    session_id = runtime.session.id
    await runtime.close()
    desk.script([{"text": "ok"}])
    runtime = await desk.open()
    assert session_id in cells(await run_command(runtime, "/memory aardvark"))
    assert "nothing" in (await run_command(runtime, "/memory zebra")).text
    await runtime.close()


async def test_resume_and_model_take_what_they_are_told(desk: Desk) -> None:
    runtime = await spoken(desk)
    session_id = runtime.session.id
    answer = await run_command(runtime, f"/resume {session_id[:15]}")
    assert answer.change == OpenSession(session_id)
    missing = await run_command(runtime, "/resume nope")
    assert (missing.ok, missing.change) == (False, None)
    assert (await run_command(runtime, "/model x/y")).change == SwitchModel("x/y")
    await runtime.close()


async def test_estop_is_set_and_cleared(desk: Desk) -> None:
    desk.script([{"text": "ok"}])
    runtime = await desk.open()
    assert (await run_command(runtime, "/estop")).ok
    assert (desk.home / "ESTOP").exists()
    assert estop.is_stopped(desk.home)
    assert not (await run_command(runtime, "/estop maybe")).ok
    assert (await run_command(runtime, "/estop clear")).ok
    assert not estop.is_stopped(desk.home)
    assert not runtime.estopped
    await runtime.close()


async def test_trust_shows_what_was_ignored_and_asks_for_a_yes(desk: Desk) -> None:
    desk.script([{"text": "ok"}])
    desk.write(".stormclaw/config.yaml", "security: {allowed_commands: [terraform plan]}\n")
    runtime = await desk.open()
    assert "terraform plan" not in runtime.rules.policy.allowed_commands
    shown = await run_command(runtime, "/trust")
    assert "allowed_commands" in cells(shown)
    assert "terraform plan" not in runtime.rules.policy.allowed_commands
    await run_command(runtime, "/trust yes")
    assert "terraform plan" in runtime.rules.policy.allowed_commands
    assert "as it is now" in (await run_command(runtime, "/trust")).text
    assert "no longer" in (await run_command(runtime, "/trust no")).text
    assert "terraform plan" not in runtime.rules.policy.allowed_commands
    await runtime.close()


@pytest.mark.parametrize(
    ("passed", "words"),
    [(0, "0s ago"), (59, "59s ago"), (61, "1m ago"), (7200, "2h ago"), (3 * 86_400, "3d ago")],
)
def test_ages(passed: float, words: str) -> None:
    assert age(1_000_000_000.0, 1_000_000_000.0 + passed) == words


async def test_policy_counts_what_decided_and_takes_grants_back(desk: Desk) -> None:
    desk.script([calls(call("read_file", path="/etc/passwd")), {"text": "ok"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    await ear.end()
    runtime.rules.allow((Grant("command", "npm test"),), always=True)
    runtime.rules.allow((Grant("write", "src"),), always=False)
    told = await run_command(runtime, "/policy")
    assert told.table is not None
    assert told.table.columns == ("rule", "value", "from", "hits")
    rows = {row[:2]: row[2:] for row in told.table.rows}
    assert rows[("forbidden_paths", "/etc")] == ("shipped", "1")
    assert rows[("forbidden_commands", "rm")] == ("shipped", "0")
    assert rows[("grant 1: command", "npm test")] == (f"{desk.home}/grants.jsonl:1", "0")
    assert rows[("grant 2: write", "src")] == ("this session", "0")
    session_only = await run_command(runtime, "/policy forget 2")
    assert (session_only.ok, session_only.text) == (True, "taken back: write src")
    lasting = await run_command(runtime, "/policy forget npm test")
    assert (lasting.ok, lasting.text) == (True, "taken back for good: command npm test")
    assert runtime.rules.policy.grants == ()
    assert (desk.home / "grants.jsonl").read_text() == ""
    for line in ("/policy forget 1", "/policy forget", "/policy forget  ", "/policy frobnicate"):
        assert not (await run_command(runtime, line)).ok, line
    await runtime.close()


async def test_policy_says_which_list_took_a_tool_away(desk: Desk) -> None:
    desk.configure({"security": {"tools_deny": ["Bash", "nonsense"]}})
    desk.script([{"text": "ok"}])
    runtime = await desk.open()
    told = cells(await run_command(runtime, "/policy"))
    assert "tool taken away  shell_exec  security.tools_deny" in told
    assert "no tool is called 'nonsense'" in told
    await runtime.close()


async def test_a_grant_the_disk_keeps_is_not_taken_back(desk: Desk) -> None:
    desk.script([{"text": "ok"}])
    runtime = await desk.open()
    runtime.rules.allow((Grant("command", "npm test"),), always=False)
    (desk.home / "grants.jsonl").mkdir()
    answer = await run_command(runtime, "/policy forget 1")
    assert not answer.ok
    assert "grants.jsonl" in answer.text
    assert runtime.rules.policy.grants == (Grant("command", "npm test"),)
    await runtime.close()

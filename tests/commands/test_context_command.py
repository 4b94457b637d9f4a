"""`/context` in words, as front ends without screens have it, on a real session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from scripted import Desk, Ear, call, calls

from stormclaw.commands.run import run_command
from stormclaw.config.settings import POLICIES
from stormclaw.protocol.command import Answer
from stormclaw.protocol.messages import ContextEdit, ToolOutcome
from stormclaw.runtime import Runtime


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    """After a turn that read a file of 300 lines."""
    desk = Desk(tmp_path)
    desk.write("a.py", "".join(f"line {number} of it\n" for number in range(300)))
    desk.script([calls(call("read_file", path="a.py")), {"text": "It has 300 lines."}])
    opened = await desk.open()
    ear = Ear(opened.session)
    opened.session.prompt("read a.py")
    await ear.end()
    yield opened
    await opened.close()


async def ask(runtime: Runtime, line: str, *, ok: bool = True) -> Answer:
    answer = await run_command(runtime, line)
    assert answer.ok is ok, answer.text
    return answer


def read_id(runtime: Runtime) -> str:
    nodes = runtime.session.nodes()
    return next(node.id for node in nodes if isinstance(node.body, ToolOutcome))


def edits(runtime: Runtime) -> list[ContextEdit]:
    return [at.body for at in runtime.session.nodes() if isinstance(at.body, ContextEdit)]


async def test_parts_and_policies(runtime: Runtime) -> None:
    answer = await ask(runtime, "/context")
    assert answer.screen == "context"
    assert answer.table is not None
    what = [row[4] for row in answer.table.rows]
    assert what[0] == "system"
    assert what[-4:] == ["you", "root", "read", "root"]
    assert all(len(row) == len(answer.table.columns) for row in answer.table.rows)
    assert answer.table.rows[-2][-1] == "a.py"
    for name in POLICIES:
        assert name in answer.text
    assert "held back, not lost: 0 nodes" in answer.text


async def test_drop_keep_undo(runtime: Runtime) -> None:
    node_id = read_id(runtime)
    said = await ask(runtime, f"/context drop {node_id}")
    assert said.text.startswith("dropped: read a.py, ")
    assert said.screen is None
    assert not edits(runtime)[-1].changes[0].include
    table = (await ask(runtime, "/context")).table
    assert table is not None
    row = next(row for row in table.rows if row[0] == node_id)
    assert row[1] == "no"
    assert row[5] == "you"
    assert "line 200" not in (await ask(runtime, "/context wire")).text
    await ask(runtime, f"/context keep {node_id[:8]}")
    assert "line 200" in (await ask(runtime, "/context wire")).text
    await ask(runtime, "/context undo")
    assert "line 200" not in (await ask(runtime, "/context wire")).text
    await ask(runtime, "/context undo")
    assert "line 200" in (await ask(runtime, "/context wire")).text
    gone = await ask(runtime, "/context undo", ok=False)
    assert "no decision left" in gone.text


async def test_pin_and_unpin(runtime: Runtime) -> None:
    node_id = read_id(runtime)
    await ask(runtime, f"/context pin {node_id}")
    assert edits(runtime)[-1].changes[0].pinned
    table = (await ask(runtime, "/context")).table
    assert table is not None
    assert next(row for row in table.rows if row[0] == node_id)[5] == "pinned"
    await ask(runtime, f"/context unpin {node_id}")
    assert not edits(runtime)[-1].changes[0].pinned
    assert "not pinned" in (await ask(runtime, f"/context unpin {node_id}", ok=False)).text


async def test_the_order_of_policies(runtime: Runtime) -> None:
    await ask(runtime, "/context policies old_results, superseded_reads")
    assert edits(runtime)[-1].policies == ("old_results", "superseded_reads")
    lines = (await ask(runtime, "/context")).text.splitlines()
    assert any(line.startswith("1.  old_results") for line in lines)
    assert any(line.startswith("off delegations") for line in lines)
    await ask(runtime, "/context policies none")
    assert edits(runtime)[-1].policies == ()


async def test_a_dry_run_leaves_no_trace(runtime: Runtime) -> None:
    before = runtime.session.nodes()
    answer = await ask(runtime, "/context dry old_results")
    assert answer.text.startswith("dry run: ")
    assert answer.screen == "context"
    assert answer.table is not None
    assert runtime.session.nodes() == before


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("/context drop", "which node?"),
        ("/context drop zzz", "no node with an id"),
        ("/context keep zzz", "no node with an id"),
        ("/context pin", "which node?"),
        ("/context policies", "which policies?"),
        ("/context policies older", "no policy older; there are superseded_reads"),
        ("/context dry none,old_results", "no policy none"),
        ("/context wire older", "no policy older"),
        ("/context forget it", "neither a node nor something to do"),
    ],
)
async def test_what_cannot_be_done_says_why(runtime: Runtime, line: str, why: str) -> None:
    before = runtime.session.nodes()
    assert why in (await ask(runtime, line, ok=False)).text
    assert runtime.session.nodes() == before


async def test_an_id_that_fits_many_is_refused(runtime: Runtime) -> None:
    ids = [node.id for node in runtime.session.nodes()]
    shared = {first for first in "0123456789abcdef" if sum(i.startswith(first) for i in ids) > 1}
    for first in shared:
        assert "nodes with an id" in (await ask(runtime, f"/context drop {first}", ok=False)).text


async def test_an_empty_session(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.script([{"text": "hi"}])
    runtime = await desk.open()
    try:
        assert "0 nodes" in (await ask(runtime, "/context")).text
        assert (await ask(runtime, "/context wire")).text == "nothing was said yet"
        await ask(runtime, "/context undo", ok=False)
    finally:
        await runtime.close()

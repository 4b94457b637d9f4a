"""`/export` writes into the workspace, under a name nobody has, and never over anything."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from scripted import Desk, Ear, call, calls

from stormclaw.commands.run import run_command
from stormclaw.runtime import Runtime


@pytest.fixture
async def runtime(desk: Desk) -> Runtime:
    desk.write("a.txt", "alpha\n")
    desk.script([calls(call("read_file", path="a.txt")), {"text": "The Aardvark is done."}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("Go on: the *adapter*/x")
    await ear.end()
    return runtime


def written(text: str) -> Path:
    return Path(text.partition("\n")[0].removeprefix("written: "))


async def test_each_form_says_where_it_went(desk: Desk, runtime: Runtime) -> None:
    for line, suffix, beginning in (
        ("/export", "md", "# Go on: the "),
        ("/export markdown", "md", "# Go on: the "),
        ("/export html", "html", "<!DOCTYPE html>"),
        ("/export json", "json", '{"format":"stormclaw session"'),
        ("/export claude", "jsonl", '{"type":"summary"'),
        ("/export notes.html", "html", "<!DOCTYPE html>"),
        ("/export json my notes.json", "json", "{"),
        ("/export plain.txt", "txt", "# Go on"),
    ):
        answer = await run_command(runtime, line)
        assert answer.ok, answer.text
        path = written(answer.text)
        assert path.suffix == f".{suffix}"
        assert path.parent == desk.project
        assert path.read_text().startswith(beginning), line
        assert path.stat().st_mode & 0o777 == 0o600
    names = sorted(path.name for path in desk.project.glob("*.md"))
    assert all(
        re.fullmatch(r"stormclaw-go-on-the-adapter-x-\d{8}(-2)?\.md", name) for name in names
    )
    assert len(names) == 2
    assert (desk.project / "my notes.json").exists()
    await runtime.close()


async def test_nothing_is_written_over_or_outside(desk: Desk, runtime: Runtime) -> None:
    (desk.project / "mine.md").write_text("mine")
    (desk.project / "way").symlink_to(desk.root)
    for line, said in (
        ("/export mine.md", "is there already"),
        ("/export md ../out.md", "lies outside"),
        ("/export /tmp/out.md", "lies outside"),
        ("/export way/out.md", "lies outside"),
        ("/export no/where.md", "does not exist"),
        ("/export pdf", "is no form"),
    ):
        answer = await run_command(runtime, line)
        assert (answer.ok, said in answer.text) == (False, True), answer.text
    assert (desk.project / "mine.md").read_text() == "mine"
    assert not (desk.root / "out.md").exists()
    await runtime.close()


async def test_a_session_without_words_has_nothing_to_export(desk: Desk) -> None:
    desk.script([{"text": "ok"}])
    runtime = await desk.open()
    answer = await run_command(runtime, "/export")
    assert (answer.ok, "nothing was said" in answer.text) == (False, True)
    assert list(desk.project.iterdir()) == []
    await runtime.close()


async def test_what_the_record_masked_stays_masked(desk: Desk) -> None:
    key = "sk-" + "a1b2c3d4" * 4
    desk.write("keys.txt", f"KEY={key}\n")
    desk.script([calls(call("read_file", path="keys.txt")), {"text": "seen"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("read the keys")
    await ear.end()
    for form in ("markdown", "json", "html", "claude"):
        text = written((await run_command(runtime, f"/export {form}")).text).read_text()
        assert key not in text
        assert "sk-a***" in text
    await runtime.close()


async def test_the_rows_for_claude_hold_what_the_model_was_sent(
    desk: Desk, runtime: Runtime
) -> None:
    answer = await run_command(runtime, "/export claude")
    rows = [json.loads(line) for line in written(answer.text).read_text().splitlines()]
    assert [row["type"] for row in rows] == ["summary", "user", "assistant", "user", "assistant"]
    assert rows[2]["message"]["content"][0]["name"] == "Read"
    assert f"as {rows[1]['sessionId']};" in answer.text
    await runtime.close()

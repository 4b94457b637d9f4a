"""`/memory` and `stormclaw memory search`, as text: for front ends without screens and scripts."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

from scripted import Desk, Ear

from stormclaw.commands.run import run_command
from stormclaw.protocol.command import Answer
from stormclaw.runtime import Runtime
from stormclaw.store import sessions, transcripts


async def spoken(desk: Desk) -> Runtime:
    desk.script([{"text": "We keep `RetryBudget` at three\nand never more."}, {"text": "ok"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("how many retries")
    await ear.end()
    return runtime


def cells(answer: Answer) -> list[tuple[str, ...]]:
    return list(answer.table.rows) if answer.table else []


async def test_a_hit_names_its_place_and_the_place_shows_all_of_it(desk: Desk) -> None:
    runtime = await spoken(desk)
    try:
        answer = await run_command(runtime, "/memory retry_budget")
        assert answer.screen == "memory"
        ((when, who, said, place),) = cells(answer)
        assert when.endswith("ago")
        assert who == "assistant"
        assert "`RetryBudget` at three and never" in said
        assert place.startswith(f"{runtime.session.id}/")
        whole = await run_command(runtime, f"/memory {place}")
        assert whole.table is None
        assert whole.text.endswith("We keep `RetryBudget` at three\nand never more.")
        none = await run_command(runtime, "/memory zebra")
        assert "nothing about 'zebra'" in none.text
    finally:
        await runtime.close()


async def test_without_a_query_the_notes_and_the_sessions_are_shown(desk: Desk) -> None:
    runtime = await spoken(desk)
    try:
        answer = await run_command(runtime, "/memory")
        assert answer.text.startswith("no notes in this project yet")
        assert [row[1:] for row in cells(answer)] == [("how many retries", runtime.session.id)]
        desk.write(".stormclaw/memory/MEMORY.md", "# Project notes\n\n- the port is 8080\n")
        assert "the port is 8080" in (await run_command(runtime, "/memory")).text
    finally:
        await runtime.close()


async def test_notes_that_are_a_link_are_not_shown(desk: Desk) -> None:
    secret = desk.root / "secret"
    secret.write_text("root:x:0:0")
    path = desk.write(".stormclaw/memory/MEMORY.md", "")
    path.unlink()
    path.symlink_to(secret)
    runtime = await spoken(desk)
    try:
        answer = await run_command(runtime, "/memory")
        assert "must be a plain file, not a link" in answer.text
        assert "root:x" not in answer.text
        assert cells(answer)
    finally:
        await runtime.close()


async def test_what_the_model_finds_it_can_open(desk: Desk) -> None:
    runtime = await spoken(desk)
    try:
        tool = runtime.session.kit.tools["memory_search"]
        (hit,) = await runtime.session.kit.recall("retrybudget", 5)
        (again,) = await runtime.session.kit.recall(hit.place, 5)
        assert again.text == "We keep `RetryBudget` at three\nand never more."
        assert (again.agent, again.place) == ("root", hit.place)
        assert "id brings all" in tool.description
    finally:
        await runtime.close()


async def test_a_command_line_finds_it_too(desk: Desk) -> None:
    runtime = await spoken(desk)
    await runtime.close()
    elsewhere = desk.root / "elsewhere"
    elsewhere.mkdir()

    def said(*words: str, cwd: Path = desk.project) -> str:
        line = [sys.executable, "-m", "stormclaw", "memory", "search", *words]
        done = subprocess.run(
            line, cwd=cwd, env=desk.env, capture_output=True, text=True, timeout=60, check=True
        )
        return done.stdout

    (entry,) = json.loads(said("--json", "retry", "budget"))
    assert entry["role"] == "assistant"
    assert entry["title"] == "how many retries"
    assert entry["workspace"] == str(desk.project)
    head, line = said("retrybudget").splitlines()
    assert head.split() == ["when", "role", "id", "text"]
    assert entry["id"] in line
    assert said(entry["id"]).endswith(
        "assistant\nWe keep `RetryBudget` at three\nand never more.\n"
    )
    assert said("--here", "retrybudget")
    assert said("zebra") == "nothing about 'zebra'\n"
    assert "nothing about" in said("--here", "retrybudget", cwd=elsewhere)


async def test_an_index_of_before_is_brought_up_to_date_silently(desk: Desk) -> None:
    """The file version 1 wrote: one column of words, no parts."""
    runtime = await spoken(desk)
    place = runtime.memory.search("retrybudget")[0].place
    path = runtime.place.settings.memory.path
    session_id = runtime.session.id
    await runtime.close()
    inside = sqlite3.connect(path)
    inside.create_function("casefold", 1, str.casefold)
    inside.executescript(
        """DROP TABLE words; ALTER TABLE entries DROP COLUMN parts; PRAGMA user_version = 1;
        CREATE VIRTUAL TABLE words USING fts5 (content, content = 'entries',
            content_rowid = 'number', tokenize = 'unicode61 remove_diacritics 2');
        INSERT INTO words (words) VALUES ('rebuild');"""
    )
    inside.close()
    runtime = await desk.open(session_id=session_id)
    try:
        assert [hit.place for hit in runtime.memory.search("retry_budget")] == [place]
        home = runtime.home
    finally:
        await runtime.close()
    reading = transcripts.read(sessions.folder(home, session_id))
    assert not reading.problems

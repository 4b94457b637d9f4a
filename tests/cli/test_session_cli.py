"""`stormclaw session ...`, run as a person runs it."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted import Desk, Ear, call, calls

from stormclaw.protocol.messages import Label, Moved, Node, UserText
from stormclaw.store import sessions, transcripts
from stormclaw.store.codec import node_to_line

Run = Callable[..., "subprocess.CompletedProcess[str]"]

UUID = "0b222b9d-d797-4fe3-ba81-b19031369070"


def talk(desk: Desk, *prompts: str) -> str:
    """A session with a read and a sub-agent; returns its id."""

    async def go() -> str:
        desk.write("a.txt", "alpha\n")
        answers = [{"text": f"answer to {prompt}"} for prompt in prompts[1:]]
        desk.script(
            [
                calls(
                    call("read_file", path="a.txt"), call("spawn_agent", task="look", name="kid")
                ),
                {"text": "The Aardvark is done."},
                *answers,
            ],
            {"kid": [{"text": "I saw it"}]},
        )
        runtime = await desk.open()
        ear = Ear(runtime.session)
        for prompt in prompts:
            runtime.session.prompt(prompt)
            await ear.end()
        await runtime.close()
        return runtime.session.id

    return asyncio.run(go())


def nodes_of(desk: Desk, session_id: str) -> tuple[Node, ...]:
    return transcripts.read(sessions.folder(desk.home, session_id)).nodes


def append(desk: Desk, session_id: str, *nodes: Node) -> None:
    with (sessions.folder(desk.home, session_id) / "transcript.jsonl").open("ab") as file:
        file.write(b"".join(map(node_to_line, nodes)))


def claude_file(desk: Desk, *said: str) -> Path:
    folder = "".join(
        sign if sign.isascii() and sign.isalnum() else "-" for sign in str(desk.project)
    )
    path = desk.home.parent / ".claude" / "projects" / folder / f"{UUID}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "type": "user",
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": UUID,
            "cwd": str(desk.project),
            "timestamp": f"2026-10-01T10:00:{number:02d}Z",
            "message": {"role": "user", "content": text},
        }
        for number, text in enumerate(said)
    ]
    rows.append({"type": "hologram", "sessionId": UUID})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_every_verb_has_help_with_an_example(desk: Desk, run: Run) -> None:
    for verb in ("list", "show", "export", "import", "fork", "rename", "rm"):
        told = run("session", verb, "--help")
        assert told.returncode == 0
        assert f"stormclaw session {verb}" in told.stdout
        assert "example" in told.stdout
    assert "export, import, fork, rename, rm" in run("--help").stdout


def test_an_export_goes_to_standard_output_or_a_new_file(desk: Desk, run: Run) -> None:
    session_id = talk(desk, "go on with the adapter")
    told = run("session", "export")
    assert told.returncode == 0
    assert told.stdout.startswith("# go on with the adapter\n")
    assert "I saw it" in told.stdout
    assert told.stdout.count("> look") == 1
    assert "> look" not in run("session", "export", "--agent", "root").stdout
    done = run("session", "export", session_id[-4:], "--format", "html", "-o", "x.html")
    assert (done.returncode, done.stdout) == (0, "")
    page = desk.project / "x.html"
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert page.stat().st_mode & 0o777 == 0o600
    page.write_text("mine")
    refused = run("session", "export", "--format", "html", "-o", "x.html")
    assert refused.returncode == 2
    assert "is there already" in refused.stderr
    assert page.read_text() == "mine"
    assert run("session", "export", "-o", "no/where.md").returncode == 2


def test_json_holds_every_branch_and_comes_back(desk: Desk, run: Run) -> None:
    session_id = talk(desk, "one", "two")
    nodes = nodes_of(desk, session_id)
    first = nodes[0].id
    with (sessions.folder(desk.home, session_id) / "transcript.jsonl").open("ab") as file:
        file.write(
            node_to_line(Node("mv", first, "root", nodes[-1].at, Moved("rewind", nodes[-1].id)))
        )
        file.write(node_to_line(Node("new", "mv", "root", nodes[-1].at, UserText("another way"))))
    exported = run("session", "export", "--format", "json", "-o", "all.json")
    assert exported.returncode == 0, exported.stderr
    current = json.loads(run("session", "export", "--format", "json", "--branch", "current").stdout)
    everything = json.loads((desk.project / "all.json").read_text())
    assert len(everything["nodes"]) == len(nodes) + 2
    assert current["nodes"][0]["id"] == first
    assert len(current["nodes"]) < len(nodes)

    back = json.loads(run("session", "import", "all.json", "--json").stdout)
    assert back["origin"] == f"stormclaw:{session_id}"
    assert nodes_of(desk, back["id"]) == nodes_of(desk, session_id)
    again = run("session", "import", "all.json")
    assert again.returncode == 2
    assert "--again" in again.stderr


def test_show_takes_one_branch_or_all(desk: Desk, run: Run) -> None:
    session_id = talk(desk, "one", "two")
    nodes = nodes_of(desk, session_id)
    with (sessions.folder(desk.home, session_id) / "transcript.jsonl").open("ab") as file:
        file.write(
            node_to_line(Node("mv", nodes[0].id, "root", 1.0, Moved("rewind", nodes[-1].id)))
        )
        file.write(node_to_line(Node("lb", "mv", "root", 1.0, Label(nodes[0].id, "x"))))
    one = run("session", "show", session_id).stdout
    assert f"{nodes[0].id[:6]}  root: > one" in one
    assert "> two" not in one
    everything = run("session", "show", session_id, "--branch", "all").stdout
    assert "> two" in everything
    as_json = run("session", "show", session_id, "--branch", "all", "--json").stdout
    assert len(json.loads(as_json)) == len(nodes) + 2


def test_claude_is_told_where_to_go_on(desk: Desk, run: Run) -> None:
    talk(desk, "one")
    done = run("session", "export", "--format", "claude", "--install")
    assert done.returncode == 0, done.stderr
    command, session = done.stdout.strip().split(" && claude --resume ")
    assert command == f"cd {desk.project}"
    (path,) = (desk.home.parent / ".claude" / "projects").rglob("*.jsonl")
    assert path.stem == session
    assert len(path.read_text().splitlines()) == 5
    piped = run("session", "export", "--format", "claude")
    assert json.loads(piped.stdout.splitlines()[0])["type"] == "summary"
    assert "--install" in piped.stderr
    elsewhere = desk.root / "conf"
    run("session", "export", "--format", "claude", "--install", CLAUDE_CONFIG_DIR=str(elsewhere))
    assert list(elsewhere.rglob("*.jsonl"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("export", "--install"), "--install is for"),
        (("export", "--format", "claude", "--branch", "all"), "one branch"),
        (("export", "--format", "claude", "--install", "-o", "x"), "leave --output away"),
        (("export", "nope"), "no session 'nope'"),
        (("export", "--format", "pdf"), "invalid choice"),
        (("fork", "nope"), "no session 'nope'"),
        (("rename", "nope", "x"), "no session 'nope'"),
        (("rm", "nope", "--yes"), "no session 'nope'"),
        (("import", "nope.jsonl"), "does not exist"),
        (("import", "feed"), "neither a file nor a session"),
    ],
)
def test_what_cannot_be_meant_is_exit_code_2(
    desk: Desk, run: Run, words: tuple[str, ...], said: str
) -> None:
    talk(desk, "one")
    done = run("session", *words)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr


def test_nothing_to_export_says_so(desk: Desk, run: Run) -> None:
    done = run("session", "export")
    assert done.returncode == 2
    assert "no session in" in done.stderr


def test_a_fork_goes_on_from_where_it_is_told(desk: Desk, run: Run) -> None:
    session_id = talk(desk, "one", "two")
    nodes = [node for node in nodes_of(desk, session_id) if node.agent == "root"]
    last = next(node for node in nodes if getattr(node.body, "text", "").startswith("The Aardvark"))
    done = run("session", "fork", session_id, "--at", last.id[:8])
    forked = done.stdout.strip()
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1), done.stderr
    kept = nodes_of(desk, forked)
    assert kept[-1] == last
    assert {node.agent for node in kept} == {"root", "root/kid"}
    listed = json.loads(run("session", "list", "--json").stdout)
    entry = next(one for one in listed if one["id"] == forked)
    assert (entry["origin"], entry["title"], entry["turns"]) == (session_id, "one (fork)", 1)
    desk.script([{"text": "gone on"}])
    assert run("-r", forked, "-p", "more").stdout == "gone on\n"
    assert run("session", "fork", session_id, "--at", "zzzz").returncode == 2


def test_a_new_title_is_listed_and_searched(desk: Desk, run: Run) -> None:
    session_id = talk(desk, "one")
    done = run("session", "rename", session_id[-4:], "retry", "budget,\n\x1b[31msecond")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "retry budget, [31msecond" in run("session", "list").stdout
    assert "retry budget, [31msecond" in run("memory", "list").stdout


def test_removing_asks_and_takes_all_of_it(desk: Desk, run: Run) -> None:
    session_id = talk(desk, "one")
    assert "Aardvark" in run("memory", "search", "aardvark").stdout
    refused = run("session", "rm", session_id)
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    assert sessions.folder(desk.home, session_id).is_dir()
    receipts = run("receipt", "list").stdout
    done = run("session", "rm", session_id, session_id[-4:], "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("removed") == 1
    assert "receipts of their calls stay" in done.stdout
    assert not sessions.folder(desk.home, session_id).exists()
    assert "nothing about" in run("memory", "search", "aardvark").stdout
    assert run("receipt", "list").stdout == receipts
    assert run("receipt", "verify").returncode == 0


def at_terminal(desk: Desk, *words: str, typed: str) -> tuple[int, str]:
    """Run with a terminal as standard input."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, typed.encode())
        done = subprocess.run(
            [sys.executable, "-m", "stormclaw", *words],
            cwd=desk.project, env=desk.env, stdin=theirs, capture_output=True, text=True,
            timeout=60,
        )  # fmt: skip
    finally:
        os.close(ours)
        os.close(theirs)
    return done.returncode, done.stdout + done.stderr


def test_a_person_is_asked_and_may_say_no(desk: Desk, run: Run) -> None:
    session_id = talk(desk, "one")
    for typed in ("n\n", "\n", "what\n"):
        code, told = at_terminal(desk, "session", "rm", session_id, typed=typed)
        assert code == 1
        assert "This deletes a session for good" in told
        assert "one" in told
        assert sessions.folder(desk.home, session_id).is_dir()
    assert at_terminal(desk, "session", "rm", session_id, typed="y\n")[0] == 0
    assert not sessions.folder(desk.home, session_id).exists()


def test_one_that_is_open_is_not_removed_the_others_are(desk: Desk, run: Run) -> None:
    first, second = talk(desk, "one"), talk(desk, "two")
    held = transcripts.Transcript(sessions.folder(desk.home, first))
    done = run("session", "rm", first, second, "--yes")
    held.close()
    assert done.returncode == 1
    assert f"{first} is already open in another process ({os.getpid()})" in done.stderr
    assert sessions.folder(desk.home, first).is_dir()
    assert not sessions.folder(desk.home, second).exists()


def test_sessions_of_others_are_listed_imported_shown_and_resumed(desk: Desk, run: Run) -> None:
    path = claude_file(desk, "hello from claude", "and on")
    rows = json.loads(run("session", "import", "--json").stdout)
    assert [(row["from"], row["id"], row["begins"]) for row in rows] == [
        ("claude", UUID, "hello from claude")
    ]
    assert UUID in run("session", "import", "--from", "claude").stdout
    assert "no session of Claude" in run("session", "import", "--from", "codex").stdout
    done = run("session", "import", UUID[:8])
    assert done.returncode == 0, done.stderr
    assert "2 turns, 2 entries, from claude:" in done.stdout
    assert "not taken over: 1 rows of kind 'hologram'" in done.stdout
    session_id = done.stdout.split()[0]
    assert f"stormclaw --resume {session_id}" in done.stdout
    assert "hello from claude" in run("session", "list").stdout
    assert "> and on" in run("session", "show", session_id).stdout
    assert session_id in run("memory", "search", "claude").stdout
    desk.script([{"text": "gone on"}])
    assert run("-r", session_id, "-p", "more").stdout == "gone on\n"
    wrong = run("session", "import", str(path), "--from", "codex")
    assert wrong.returncode == 2
    assert "is a session of Claude Code" in wrong.stderr


def test_a_bad_file_is_named_with_its_line_and_leaves_nothing(desk: Desk, run: Run) -> None:
    path = claude_file(desk, "hello")
    path.write_text(path.read_text() + "{broken\n{}\n")
    done = run("session", "import", str(path))
    assert done.returncode == 1
    assert f"{path} line 3: not JSON" in done.stderr
    assert "Traceback" not in done.stderr
    assert "no session in" in run("session", "list").stdout
    assert "left out: " in run("session", "import").stderr


def test_keys_do_not_come_in_unless_they_may(desk: Desk, run: Run) -> None:
    key = "sk-" + "a1b2c3d4" * 4
    path = claude_file(desk, f"use {key}")
    rows: list[dict[str, Any]] = [
        {
            "type": "assistant", "uuid": "b", "sessionId": UUID,
            "message": {"id": "m", "model": "x", "content": [
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "env"}}
            ]},
        },
        {
            "type": "user", "uuid": "c", "sessionId": UUID,
            "message": {"content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": f"KEY={key}"}
            ]},
        },
    ]  # fmt: skip
    path.write_text(path.read_text() + "".join(json.dumps(row) + "\n" for row in rows))
    first = json.loads(run("session", "import", str(path), "--json").stdout)
    assert key not in first["title"]
    shown = run("session", "show", first["id"], "--json").stdout
    outcome = json.loads(shown)[-1]["body"]
    assert outcome["output"] == "KEY=sk-a***"
    desk.configure({"security": {"secrets": "allow"}})
    second = json.loads(run("session", "import", str(path), "--json", "--again").stdout)
    assert key in run("session", "show", second["id"], "--json").stdout

"""One conversation with a tool, over four ways to a model: the same nodes come of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from byte_server import ByteServer, delta, fragment, stream
from byte_server import serving as serving_bytes
from messages_server import MessagesServer, say, turn, use
from responses_server import response, runs, says
from scripted import Desk, Ear, bodies

from stormclaw.processes import MARK
from stormclaw.protocol.messages import AssistantTurn, ToolOutcome, UserText

COMMAND = "cat notes.txt; exit 3"
LOOK, END = "I look.", "Two lines, and a failure."


@pytest.fixture
async def bytes_server() -> AsyncIterator[ByteServer]:
    async with serving_bytes() as server:
        yield server


@pytest.fixture
def desk(tmp_path: Path, environ: dict[str, str]) -> Desk:
    desk = Desk(tmp_path)
    desk.env |= {"PATH": environ["PATH"], MARK: environ[MARK], "SOME_KEY": "k"}
    desk.write("notes.txt", "one\ntwo\n")
    return desk


async def ran(desk: Desk, settings: dict[str, Any]) -> list[object]:
    """The conversation, less what a way to a model is free to choose: ids, models, costs."""
    desk.configure(
        {
            "default_provider": "way",
            "providers": {"models": {"way": settings}},
            "security": {"autonomy": "full"},
        }
    )
    runtime = await desk.open(attended=False)
    ear = Ear(runtime.session)
    runtime.session.prompt("Look into notes.txt")
    await ear.end()
    told: list[object] = []
    for body in bodies(runtime.session):
        match body:
            case AssistantTurn(text, calls=calls):
                told.append((text, [(each.name, json.loads(each.arguments)) for each in calls]))
            case ToolOutcome():
                shown = (body.tool, body.status, body.output, body.headline, body.summary)
                told.append((*shown, body.receipt > 0))
            case UserText(text):
                told.append(text)
            case _:
                told.append(body)
    await runtime.close()
    return told


async def over_anthropic(desk: Desk, server: MessagesServer) -> list[object]:
    server.will(turn(say(LOOK), use("shell_exec", {"command": COMMAND})), turn(say(END)))
    way = {"kind": "anthropic", "base_url": server.url, "api_key_env": "SOME_KEY"}
    return await ran(desk, {**way, "model": "claude-sonnet-4-5"})


async def over_openai(desk: Desk, server: ByteServer) -> list[object]:
    call = fragment("shell_exec", json.dumps({"command": COMMAND}), index=0, id="c1")
    server.will(
        stream(delta(LOOK), call, delta(finish="tool_calls")),
        stream(delta(END), delta(finish="stop")),
    )
    return await ran(
        desk, {"kind": "openai-compatible", "base_url": server.url, "model": "stand-in"}
    )


async def over_claude(desk: Desk, server: MessagesServer) -> list[object]:
    folder = Path(desk.env["HOME"]) / ".claude"
    folder.mkdir()
    env = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_AUTH_TOKEN": "fake"}
    (folder / "settings.json").write_text(json.dumps({"env": env}))
    server.will(turn(say(LOOK), use("Bash", {"command": COMMAND})), turn(say(END)))
    return await ran(desk, {"kind": "claude-cli"})


async def over_codex(desk: Desk, server: ByteServer) -> list[object]:
    folder = Path(desk.env["HOME"]) / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f'model = "stand-in"\nmodel_provider = "stand-in"\n[model_providers.stand-in]\n'
        f'name = "stand-in"\nbase_url = "{server.url}"\nwire_api = "responses"\n'
    )
    server.will(response(says(LOOK), runs(COMMAND)), response(says(END)))
    return await ran(desk, {"kind": "codex-cli", "path": str(folder)})


async def test_the_same_nodes_over_http_and_over_programs(
    desk: Desk, server: MessagesServer, bytes_server: ByteServer
) -> None:
    expected = await over_anthropic(desk, server)
    assert [type(entry) for entry in expected] == [str, tuple, tuple, tuple]
    assert await over_openai(desk, bytes_server) == expected
    assert await over_claude(desk, server) == expected
    assert await over_codex(desk, bytes_server) == expected

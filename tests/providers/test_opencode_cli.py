"""The opencode CLI, as recorded from 1.18.33: what it says, and which rights it gets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from played import asked, played

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.protocol.effects import Autonomy
from stormclaw.protocol.messages import Usage
from stormclaw.protocol.provider import ChatRequest, ChatResponse, Delta, Observed, Remark, Step
from stormclaw.providers.opencode_cli import OpencodeCli, connect

LINES = Path(__file__).with_suffix(".jsonl").read_text()


def opencode(command: str, **more: str) -> OpencodeCli:
    return connect("oc", ModelSettings(kind="opencode-cli", command=command, **more), None)  # type: ignore[arg-type]


async def heard(provider: OpencodeCli, request: ChatRequest) -> list[Delta | ChatResponse]:
    return [item async for item in provider.stream(request)]


async def test_a_recorded_turn(tmp_path: Path) -> None:
    told = await heard(opencode(played(tmp_path, LINES).command), asked(tmp_path, "full"))
    steps = [item.response for item in told if isinstance(item, Step)]
    calls = [step.tool_calls[0] for step in steps]
    assert [call.name for call in calls] == ["write_file", "shell_exec"]
    assert json.loads(calls[1].arguments) == {"command": "echo hi; false"}
    assert steps[0].final_text == "I will run it."
    ends = {item.call_id: item for item in told if isinstance(item, Observed)}
    assert ends[calls[0].id].output == "Wrote file successfully."
    assert (ends[calls[1].id].status, ends[calls[1].id].output) == ("failed", "hi\n[exit 1]")
    assert ends[calls[1].id].summary == "exit 1, 1 line"
    last = told[-1]
    assert isinstance(last, ChatResponse)
    assert last.final_text == "All done."
    assert sum((step.usage for step in [*steps, last]), Usage()) == Usage(200, 20, 80)


async def test_paths_in_the_workspace_are_told_from_there(tmp_path: Path) -> None:
    lines = LINES.replace("/ws/", f"{tmp_path}/")
    told = await heard(opencode(played(tmp_path, lines).command), asked(tmp_path, "full"))
    write = next(item.response.tool_calls[0] for item in told if isinstance(item, Step))
    assert json.loads(write.arguments) == {"path": "o.txt", "content": "hello\n"}


@pytest.mark.parametrize("autonomy", ["readonly", "supervised", "full", None])
async def test_it_acts_at_full_autonomy_only_and_says_so_once(
    tmp_path: Path, autonomy: Autonomy | None
) -> None:
    program = played(tmp_path, LINES)
    provider = opencode(program.command, model="p/m")
    told = await heard(provider, asked(tmp_path, autonomy))
    argv, environ = program.told["argv"], program.told["environ"]
    free = autonomy == "full"
    assert ("--auto" in argv) is free
    given = json.loads(environ.get("OPENCODE_CONFIG_CONTENT", "{}"))
    assert given == ({} if free else {"permission": {"*": "deny"}, "tools": {"*": False}})
    remarks = [item.text for item in told if isinstance(item, Remark)]
    word = "nothing opencode does passes" if free else "can only talk"
    assert [word in text for text in remarks] == ([True] if autonomy else [])
    again = await heard(provider, asked(tmp_path, autonomy))
    assert not [item for item in again if isinstance(item, Remark)]


async def test_what_is_said_is_on_no_command_line_and_nothing_steers_it(tmp_path: Path) -> None:
    program = played(tmp_path, LINES)
    request = asked(tmp_path, "supervised", OPENCODE_CONFIG="/elsewhere", KEPT="yes")
    await heard(opencode(program.command), request)
    said = program.told
    assert "do it" not in " ".join(said["argv"])
    assert said["stdin"].startswith("<instructions>\nBe kind.\n</instructions>\n\ndo it")
    assert "OPENCODE_CONFIG" not in said["environ"]
    assert said["environ"]["KEPT"] == "yes"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"message": "invalid api key", "statusCode": 401}, "auth"),
        ({"message": "slow down", "statusCode": 429}, "rate_limit"),
        ({"message": "oops", "statusCode": 500}, "server"),
        ({"message": "who knows"}, "provider"),
    ],
)
async def test_errors(tmp_path: Path, data: dict[str, object], kind: str) -> None:
    line = json.dumps({"type": "error", "error": {"name": "APIError", "data": data}})
    with pytest.raises(ProviderError) as raised:
        await heard(opencode(played(tmp_path, line, code=1).command), asked(tmp_path, "full"))
    assert (raised.value.kind, str(raised.value)) == (kind, data["message"])
    assert raised.value.hint


@pytest.mark.parametrize("code", [0, 3])
async def test_an_end_without_a_closing_line_is_no_answer(tmp_path: Path, code: int) -> None:
    cut = "\n".join(LINES.splitlines()[:3])
    program = played(tmp_path, cut, stderr="noise\nit broke\n", code=code)
    with pytest.raises(ProviderError, match=f"exit code {code}: it broke"):
        await heard(opencode(program.command), asked(tmp_path, "full"))


async def test_it_is_not_installed(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="no no-such-program on PATH") as raised:
        await heard(opencode("no-such-program"), asked(tmp_path, None))
    assert "npm install" in raised.value.hint

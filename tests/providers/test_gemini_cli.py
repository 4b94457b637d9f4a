"""The gemini CLI, as recorded from 0.61.0: what it says, and which rights it gets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from played import asked, played

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.protocol.effects import Autonomy
from stormclaw.protocol.messages import Usage
from stormclaw.protocol.provider import (
    ChatRequest,
    ChatResponse,
    Delta,
    Observed,
    Remark,
    Step,
    Text,
)
from stormclaw.providers.gemini_cli import GeminiCli, connect

LINES = Path(__file__).with_suffix(".jsonl").read_text()


def gemini(command: str) -> GeminiCli:
    settings = ModelSettings(kind="gemini-cli", command=command, model="gemini-2.5-flash")
    return connect("g", settings, None)


async def heard(provider: GeminiCli, request: ChatRequest) -> list[Delta | ChatResponse]:
    return [item async for item in provider.stream(request)]


async def test_a_recorded_turn(tmp_path: Path) -> None:
    told = await heard(gemini(played(tmp_path, LINES).command), asked(tmp_path, "full"))
    calls = [item.response.tool_calls[0] for item in told if isinstance(item, Step)]
    assert [call.name for call in calls] == ["shell_exec", "write_file"]
    assert json.loads(calls[0].arguments) == {"command": "echo hi; false"}
    ends = {item.call_id: item for item in told if isinstance(item, Observed)}
    assert (ends[calls[0].id].status, ends[calls[0].id].output) == ("done", "hi")
    assert "do it" not in "".join(item.text for item in told if isinstance(item, Text))
    last = told[-1]
    assert isinstance(last, ChatResponse)
    assert (last.final_text, last.usage) == ("All done.", Usage(200, 20, 80))


@pytest.mark.parametrize("autonomy", ["readonly", "supervised", "full", None])
async def test_it_acts_at_full_autonomy_only(tmp_path: Path, autonomy: Autonomy | None) -> None:
    program = played(tmp_path, LINES)
    told = await heard(gemini(program.command), asked(tmp_path, autonomy))
    argv, files = program.told["argv"], program.told["files"]
    mode = argv[argv.index("--approval-mode") + 1]
    assert mode == ("yolo" if autonomy == "full" else "default")
    policies = [text for text in files.values() if 'decision = "deny"' in text]
    assert len(policies) == (autonomy != "full"), "without full rights no tool is left"
    assert any(isinstance(item, Remark) for item in told) is (autonomy is not None)
    assert "do it" not in " ".join(argv)
    assert program.told["stdin"].endswith("do it\n")


async def test_a_failed_turn(tmp_path: Path) -> None:
    error = {"type": "FatalAuthenticationError", "message": "API key not valid", "code": 400}
    line = json.dumps({"type": "result", "status": "error", "error": error})
    with pytest.raises(ProviderError) as raised:
        await heard(gemini(played(tmp_path, line, code=144).command), asked(tmp_path, "full"))
    assert (raised.value.kind, str(raised.value)) == ("auth", "API key not valid")
    assert "log in" in raised.value.hint


async def test_it_ends_before_it_says_anything(tmp_path: Path) -> None:
    program = played(tmp_path, "", stderr="\nInvalid auth method selected.\n\n", code=41)
    with pytest.raises(ProviderError, match="41: Invalid auth method") as raised:
        await heard(gemini(program.command), asked(tmp_path, "supervised"))
    assert raised.value.hint

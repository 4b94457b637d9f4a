"""A turn on the local model through the real loop: its call is judged, run, receipted, answered."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from llama_server import model_file
from scripted import Desk, bodies, outcomes

from stormclaw.protocol.events import TurnEnded
from stormclaw.protocol.messages import AssistantTurn
from stormclaw.providers._llama.engine import shelf
from stormclaw.providers._llama.load import Spec

FOUND = model_file()
pytestmark = [
    pytest.mark.llama,
    pytest.mark.skipif(FOUND is None, reason="llama.cpp or its model is not installed here"),
]

CALL = r'root ::= "{\"tool\": \"list_files\", \"args\": {\"path\": \".\"}}"'
"""What this model chooses is worth nothing; what is tested is what becomes of it."""


WINDOW = 512


async def test_a_call_of_the_local_model_is_run_and_on_record(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    loaded = shelf().lease(Spec(FOUND or Path(), WINDOW, 1))
    await loaded.ready()
    local = {
        "kind": "llama",
        "path": str(FOUND),
        "context_window": WINDOW,
        "threads": 1,
        "max_tokens": 40,
        "extra_body": {"grammar": CALL},
    }
    desk.configure(
        {
            "default_provider": "own",
            "providers": {"models": {"own": local}},
            "agents": {"tools_allow": ["list_files"]},
            "limits": {"max_tool_rounds": 1},
        }
    )
    desk.write("alpha.py", "print(1)\n")
    runtime = await desk.open(attended=False)
    events = runtime.session.events()
    runtime.session.prompt("Which files are there?")
    # A model that reads on a busy machine has all the time it needs.
    async for event in events:
        if isinstance(event, TurnEnded):
            break
    await runtime.session.idle()
    (turn,) = [body for body in bodies(runtime.session) if isinstance(body, AssistantTurn)]
    (outcome,) = outcomes(runtime.session)
    await runtime.close()
    await asyncio.to_thread(shelf().give_back, loaded)
    assert turn.provider == "own"
    assert turn.model == "SmolLM2-135M-Instruct.Q4_1"
    assert turn.usage.reported
    assert turn.usage.cost_usd == 0.0
    assert json.loads(turn.calls[0].arguments) == {"path": "."}
    assert outcome.status == "done"
    assert "alpha.py" in outcome.output
    assert outcome.receipt > 0

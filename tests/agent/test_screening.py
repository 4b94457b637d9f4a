"""What a model sees of a file with a key in it, in each of the three modes."""

from __future__ import annotations

import json

import pytest
from scripted import Desk, Ear, call, calls, outcomes

from stormclaw.protocol.asks import Question, Reply

KEY = "sk-proj-abcdEFGH1234ijkl5678"


def reading(desk: Desk, secrets: str) -> None:
    desk.write("notes.txt", f"first\nOPENAI_API_KEY={KEY}\n")
    desk.script([calls(call("read_file", path="notes.txt")), {"text": "ok"}])
    desk.configure({"security": {"secrets": secrets}})


async def read_with(desk: Desk, *, attended: bool, answer: str = "") -> str:
    """What the model got."""
    runtime = await desk.open(attended=attended)
    ear = Ear(runtime.session)
    runtime.session.prompt("read it")
    if answer:
        ask = await ear.ask()
        assert isinstance(ask, Question)
        assert KEY not in ask.text
        assert answer in ask.options or answer == "deny"
        reply = Reply("deny") if answer == "deny" else Reply("text", answer)
        runtime.session.answer(ask.id, reply)
    await ear.end()
    (outcome,) = outcomes(runtime.session)
    await runtime.close()
    return outcome.output


async def test_masked_by_default_and_said_so(desk: Desk) -> None:
    reading(desk, "mask")
    seen = await read_with(desk, attended=True)
    assert KEY not in seen
    assert "first" in seen
    assert "masked before you saw this: sk-p***" in seen
    transcript = next(desk.home.glob("sessions/*/transcript.jsonl")).read_text()
    assert KEY not in transcript
    receipt = json.loads((desk.home / "tool_receipts.log").read_text().splitlines()[-1])
    assert receipt["keys_seen"] == ["sk-p***"]


async def test_allowed_is_marked(desk: Desk) -> None:
    reading(desk, "allow")
    seen = await read_with(desk, attended=True)
    assert KEY in seen
    assert "do not repeat" in seen


@pytest.mark.parametrize(
    ("answer", "given"), [("give them to the model", True), ("mask them", False), ("deny", False)]
)
async def test_asked_the_person_decides(desk: Desk, answer: str, *, given: bool) -> None:
    reading(desk, "ask")
    assert (KEY in await read_with(desk, attended=True, answer=answer)) is given


async def test_asked_with_nobody_there_is_masked(desk: Desk) -> None:
    reading(desk, "ask")
    assert KEY not in await read_with(desk, attended=False)


async def test_a_key_is_in_no_title_and_on_no_card(desk: Desk) -> None:
    desk.script([calls(call("shell_exec", command=f"echo {KEY}")), {"text": "ok"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt(f"use {KEY} for it")
    await ear.end()
    (outcome,) = outcomes(runtime.session)
    title = runtime.session.title
    await runtime.close()
    assert "sk-p***" in outcome.headline.object
    assert KEY not in title
    assert all(KEY not in path.read_text() for path in desk.home.glob("sessions/*/session.json"))

"""The short system prompt: what it keeps, and that it can stand where the long one stood."""

from __future__ import annotations

import inspect
from datetime import date
from pathlib import Path

from stormclaw.agent import prompt, small_prompt
from stormclaw.agent.instructions import Instructions


def built(**changes: object) -> str:
    usual: dict[str, object] = {
        "agent": "root",
        "model": "m",
        "acts": False,
        "workspace": Path("/w"),
        "branch": "main",
        "today": date(2026, 11, 22),
        "walled": True,
        "instructions": (Instructions(Path("/w/AGENTS.md"), "use tabs"),),
        "notes": "likes tea",
    }
    return small_prompt.build(prompt.Brief(**{**usual, **changes}))  # type: ignore[arg-type]


def test_it_takes_what_the_long_one_takes() -> None:
    assert inspect.signature(small_prompt.build) == inspect.signature(prompt.build)


def test_it_keeps_what_the_project_and_the_person_said() -> None:
    text = built()
    assert text.index(small_prompt.CORE) == 0
    for part in ("use tabs", "/w/AGENTS.md", "likes tea", "/w", "2026-11-22", "no network"):
        assert part in text
    assert "sub-agent" not in text
    assert "the sub-agent scout-1" in built(agent="root/scout-1")
    assert "no network" not in built(walled=False)


def test_it_is_short_and_begins_the_same_on_every_day() -> None:
    assert len(small_prompt.CORE) < len(prompt.CORE) / 3
    one, two = built(), built(today=date(2026, 11, 23))
    assert one.split("date:")[0] == two.split("date:")[0]

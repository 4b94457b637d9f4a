"""Turns of the real claude as it told them, recorded line by line in `tests/providers/claude`."""

from __future__ import annotations

from pathlib import Path

from stormclaw.providers._claude.lines import Lines
from stormclaw.providers._programs.events import CliEvent, Status

RECORDED = Path(__file__).parents[1] / "providers" / "claude"
WORKSPACE = Path("/ws")


def recorded(name: str) -> list[bytes]:
    """The lines of one turn."""
    return (RECORDED / f"{name}.jsonl").read_bytes().splitlines()


def events(*lines: bytes, parser: Lines | None = None) -> list[CliEvent]:
    """What the lines say, mere signs of life left out."""
    parser = parser or Lines()
    return [event for line in lines for event in parser.feed(line) if not isinstance(event, Status)]

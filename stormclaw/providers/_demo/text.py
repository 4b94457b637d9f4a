"""How the demo quotes: foreign text stays inside code, whatever it holds."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

from stormclaw.protocol.messages import ToolOutcome

_NUMBERED: Final = re.compile(r"(\d+)\t(.*)")


def code(text: str) -> str:
    """Inline code, on one line."""
    flat = " ".join(text.split()) or " "
    ticks = "`" * (_longest_run(flat) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}"


def fence(text: str, path: str = "") -> str:
    """A code block; `path` names the language by its suffix."""
    ticks = "`" * max(3, _longest_run(text) + 1)
    suffix = PurePosixPath(path).suffix.removeprefix(".")
    language = suffix if suffix.isalnum() else ""
    return f"{ticks}{language}\n{text}\n{ticks}"


def quote(text: str) -> str:
    """A block quote of plain words: no markup of theirs survives."""
    return "\n".join(f"> {code(line)}" for line in text.splitlines() if line.strip())


def numbered_lines(output: str) -> list[str]:
    """The lines of a file out of what read_file gave."""
    found = (_NUMBERED.fullmatch(line) for line in output.split("\n"))
    return [match[2] for match in found if match]


def next_offset(output: str) -> int | None:
    """Where read_file says to read on; None when it showed the file to its end."""
    found = re.search(r"^… .*read on with offset=(\d+)", output, re.M)
    return int(found[1]) if found else None


def counted(number: int, word: str) -> str:
    """`1 line`, `3 lines`."""
    if number != 1:
        word = (
            f"{word[:-1]}ies"
            if word.endswith("y")
            else f"{word}es"
            if word.endswith("ch")
            else f"{word}s"
        )
    return f"{number:,} {word}"


def receipt(outcome: ToolOutcome) -> str:
    """` Receipt r211.`, or nothing where receipts are off."""
    return f" Receipt r{outcome.receipt}." if outcome.receipt else ""


def trouble(outcome: ToolOutcome) -> str:
    """Why a call did not do its work, and what that means."""
    reason = next((line for line in outcome.output.splitlines() if line.strip()), outcome.summary)
    what = code(f"{outcome.headline.verb} {outcome.headline.object}".strip())
    if outcome.status == "denied":
        who = outcome.summary or "denied"
        detail = f"\n\n{quote(reason)}" if reason and reason != who else ""
        return f"{what} was not allowed ({who}), so nothing of it happened.{detail}"
    if outcome.status == "interrupted":
        return f"{what} was interrupted; what it had done until then is done."
    return f"{what} did not work:\n\n{quote(reason)}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)

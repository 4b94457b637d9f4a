"""What stands in place of something that was taken off the wire: what it was, and how to get it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from stormclaw.protocol.messages import Moved, Node, ToolCall, outcome_of

LONGEST_ARGUMENT = 200
"""Characters of one argument that stay in a call whose result was taken off the wire."""
LONGEST_GIST = 200
LONGEST_REASON = 240
"""Characters of the line that says why something failed."""
LONGEST_LOOKED_AT = 20_000
"""Characters at an output's end in which that line is looked for."""
MOST_NAMED = 20
"""Files named where a conversation and its files were parted."""
AGAIN = " Read them again before you rely on what they hold.)"
WENT_WRONG = frozenset({"failed", "denied"})

_TELLING = re.compile(
    r"error|exception|fail|denied|refused|not found|no such|cannot|unable|fatal|panic",
    re.IGNORECASE,
)
_COUNTS = re.compile(r"\b0 (?:errors?|failed|failures?)\b", re.IGNORECASE)


def elided(node: Node, why: str = "") -> str:
    """What stands in place of a result that was taken off the wire.

    Args:
        node: The result's.
        why: In a few words; the usual reason if "".
    """
    outcome = outcome_of(node.body)
    failed = outcome is not None and outcome.status in WENT_WRONG
    reason = why_failed(outcome.output) if outcome is not None and failed else ""
    said = f": {reason}" if reason else ""
    return f"[{gist(node)}{said}; {why or 'left out to save room'}; `recall {node.id}` shows it]"


def why_failed(output: str) -> str:
    """The line that says best why something failed: the last that speaks of it, else the last."""
    lines = [line for line in output[-LONGEST_LOOKED_AT:].splitlines() if line.strip()]
    telling = (line for line in reversed(lines) if _TELLING.search(_COUNTS.sub("", line)))
    return _cut_line(next(telling, lines[-1] if lines else ""), LONGEST_REASON)


def gist(node: Node) -> str:
    """A result in one line: what was done to what, and what came of it."""
    outcome = outcome_of(node.body)
    if outcome is None:
        return "left out"
    short = LONGEST_GIST - len(outcome.status) - len(outcome.summary) - len(outcome.headline.verb)
    about = _cut_line(outcome.headline.object, max(short, LONGEST_GIST // 4))
    words = (outcome.headline.verb, about, outcome.status)
    line = " ".join(word for word in words if word)
    return _cut_line(f"{line}, {outcome.summary}" if outcome.summary else line, LONGEST_GIST)


def _cut_line(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def shortened(call: ToolCall) -> ToolCall:
    """The call with its long arguments cut: a file that was written is in the file."""
    if len(call.arguments) <= LONGEST_ARGUMENT:
        return call
    try:
        given: Any = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return replace(call, arguments="{}")
    if not isinstance(given, dict):
        return replace(call, arguments="{}")
    cut = {name: _cut(value) for name, value in given.items()}
    return replace(call, arguments=json.dumps(cut, ensure_ascii=False))


def _cut(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) <= LONGEST_ARGUMENT:
        return value
    return f"{text[:LONGEST_ARGUMENT]}… ({len(text)} characters)"


def beginning(text: str, most: int) -> str:
    """The first lines of a text, at most `most` characters; a longer first line is cut."""
    if len(text) <= most:
        return text
    end = text.rfind("\n", 0, most + 1)
    return text[: end if end > 0 else most]


def ending(text: str, most: int) -> str:
    """The last lines of a text, at most `most` characters; a longer last line is cut."""
    if len(text) <= most:
        return text
    start = text.find("\n", len(text) - most - 1)
    return text[start + 1 if 0 <= start < len(text) - 1 else len(text) - most :]


def told(move: Moved) -> str:
    """What a model must know of a move: files that are not as its conversation has them; or ""."""
    if move.kept:
        names = _named(move.kept)
        return f"(I went back to here. These files stay as they were changed since: {names}.{AGAIN}"
    if move.files and not move.turns:
        return f"(I put files back to how they were at another time: {_named(move.files)}.{AGAIN}"
    return ""


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return ", ".join(paths[:MOST_NAMED]) + more

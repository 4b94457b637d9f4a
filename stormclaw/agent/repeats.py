"""Notices a model that does the same thing again and gets the same answer again."""

from __future__ import annotations

import hashlib
from collections import Counter

from stormclaw.protocol.messages import ToolCall, ToolOutcome

TELL_THE_MODEL = 3
ASK_THE_PERSON = 5


class Repeats:
    """Counts identical calls with identical results within one turn."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def count(self, call: ToolCall, outcome: ToolOutcome) -> int:
        """How often this call has now had this result."""
        text = "\0".join((outcome.tool, call.arguments, outcome.status, outcome.output))
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        self._seen[key] += 1
        return self._seen[key]

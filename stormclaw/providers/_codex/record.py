"""The file codex keeps a thread in, read for the ends of calls its app-server is silent about.

It tells of no command that its walls have stopped, but what its model was told stands there. Raw
response items would say the same, but codex sends them only for a thread it has just begun.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from stormclaw.protocol.messages import ToolCall
from stormclaw.protocol.provider import Observed
from stormclaw.providers._codex.tools import NO_WORD, TERMINAL, bounded

LOG = logging.getLogger(__name__)

OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})
HEAD: Final = re.compile(
    r"(?:(?:Chunk ID|Wall time|Original token count|Exit code): [^\n]*\n"
    r"|Process (?:exited with code|running with session ID) -?\d+\n)+Output:(?:\n|\Z)"
)
"""What codex puts before the output of a command; before that of a patch in a command twice."""
CODE: Final = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)$", re.M)
RUNS: Final = "Process running with"


class Record:
    """What is written in the file from now on.

    Args:
        path: Of the file, which may not be there yet; None if codex keeps none.
        observed: The end of a call in our words, of its item.
    """

    def __init__(
        self, path: Path | None, observed: Callable[[ToolCall, Mapping[str, Any]], Observed]
    ) -> None:
        self._path = path
        self._observed = observed
        self._at = 0
        """Bytes that have been read."""
        self._told: dict[str, str] = {}

    async def skip(self) -> None:
        """Leave out what is there already."""
        self._at = await asyncio.to_thread(self._size)

    async def ends(self, calls: Collection[ToolCall]) -> list[Observed]:
        """The ends of those of these calls that are over."""
        self._told |= await asyncio.to_thread(self._read)
        told = ((call, self._told.get(call.id)) for call in calls)
        ends = (self._end(call, output) for call, output in told if output is not None)
        return [end for end in ends if end is not None]

    def _size(self) -> int:
        try:
            return self._path.stat().st_size if self._path else 0
        except OSError:
            return 0

    def _read(self) -> dict[str, str]:
        """What its model was told since the last time, by call."""
        if self._path is None:
            return {}
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                fresh = file.read()
        except OSError as problem:
            LOG.warning("codex' record of a thread cannot be read: %s", problem)
            return {}
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._at += len(whole)
        return dict(_outputs(whole))

    def _end(self, call: ToolCall, output: str) -> Observed | None:
        """The end of a call; None while it runs."""
        head = HEAD.match(output)
        if head and RUNS in head[0]:
            return None
        code = head and CODE.search(head[0])
        if head and not code:
            head = HEAD.match(output, head.end())
            code = head and CODE.search(head[0])
        if head is None or code is None:
            said = bounded(TERMINAL.sub("", output)).strip()
            return Observed(call.id, "failed", said or NO_WORD, "failed")
        item = {"type": "commandExecution", "status": "completed", "exitCode": int(code[1])}
        return self._observed(call, {**item, "aggregatedOutput": output[head.end() :]})


def _outputs(lines: bytes) -> Iterator[tuple[str, str]]:
    for line in lines.splitlines():
        if b"call_output" not in line:
            continue
        try:
            payload = json.loads(line).get("payload")
        except (ValueError, AttributeError):
            continue
        if isinstance(payload, Mapping) and payload.get("type") in OUTPUTS:
            yield str(payload.get("call_id")), _text(payload.get("output"))


def _text(output: object) -> str:
    """An output is a text, or parts of which some are texts."""
    if isinstance(output, str):
        return output
    parts = output if isinstance(output, list) else []
    return "\n".join(
        part["text"]
        for part in parts
        if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    )

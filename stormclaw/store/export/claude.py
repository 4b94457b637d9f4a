"""A session as a transcript the vanilla `claude --resume ID` goes on with.

What is written is what the model would be sent: messages that alternate, each call followed by its
result. Reasoning is left out, since it is signed for the model that had it and for nobody else.
"""

from __future__ import annotations

import json
import math
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias, assert_never

from stormclaw.errors import StoreError, UsageError
from stormclaw.protocol.messages import (
    AssistantTurn,
    Delegation,
    Node,
    ToolCall,
    ToolOutcome,
    UserText,
)
from stormclaw.protocol.provider import Message
from stormclaw.store.durable import make_folder, store_error
from stormclaw.store.export.claude_tools import there
from stormclaw.store.sessions import SessionInfo

Block: TypeAlias = dict[str, Any]

WRITTEN_FOR = "2.1.197"
"""The version of Claude Code these rows were tried with."""
NOTHING = "(a message was left out here)"
"""Stands where the rules want a word of the person and none was said."""
LONGEST_FOLDER = 200
"""Longest folder name of a project; Claude Code shortens longer ones in a way of its own."""
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_MODEL = re.compile(r"[\w.:/@+~-]+", re.A)
"""What names a model; others, like the `<synthetic>` of Claude Code, have a meaning there."""
_LONGEST_NAME = 64


def stamped(messages: Iterable[Message], nodes: Iterable[Node]) -> list[tuple[Message, float]]:
    """Messages with the time of the node each was made from.

    Args:
        messages: What the model would be sent.
        nodes: The branch it was made from; a message that is none of theirs (a summary, say) gets
            the time of the one before.
    """
    times = {id(node.body): node.at for node in nodes}
    found: list[tuple[Message, float]] = []
    at = next(iter(times.values()), 0.0)
    for message in messages:
        at = times.get(id(message), at)
        found.append((message, at))
    return found


def to_claude(
    info: SessionInfo,
    messages: Sequence[tuple[Message, float]],
    session: uuid.UUID,
    cwd: Path,
) -> str:
    """The rows of a Claude Code session file; ASCII, one JSON object a line.

    Args:
        info: The session, for title and model.
        messages: What the model would be sent, with times in Unix seconds. Any order is made a
            valid one: a result without its call goes, a call without a result gets one.
        session: The id it will be resumed by; the file must be called `<session>.jsonl`.
        cwd: The folder it will be resumed in.

    Raises:
        UsageError: There is nothing to go on with.
    """
    rows = list(_Rows(info, session, cwd).of(messages))
    if not rows:
        raise UsageError(f"nothing was said in session {info.id} yet; there is nothing to export")
    if info.title:
        title = {"type": "summary", "summary": _fit(info.title), "leafUuid": rows[-1]["uuid"]}
        rows.insert(0, title)
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)


class _Rows:
    """The rows so far: what the person's side says is collected until the model answers."""

    def __init__(self, info: SessionInfo, session: uuid.UUID, cwd: Path) -> None:
        self._info = info
        self._session = session
        self._cwd = _fit(str(cwd))
        self._parent: str | None = None
        self._count = 0
        self._said: list[Block] = []
        self._open: list[tuple[str, str]] = []
        self._results: dict[str, Block] = {}
        self._used: set[str] = set()
        self._at = 0.0

    def of(self, messages: Sequence[tuple[Message, float]]) -> Iterator[dict[str, Any]]:
        """The rows of a conversation."""
        for number, (message, at) in enumerate(messages):
            match message:
                case UserText(text=text):
                    self._said.append(_text(text))
                    self._at = at
                case AssistantTurn() as turn:
                    if not (turn.text.strip() or turn.calls):
                        continue
                    yield from self._person(needed=True)
                    yield self._answer(turn, _tools(messages, number + 1), at)
                case ToolOutcome() | Delegation():
                    self._take(message if isinstance(message, ToolOutcome) else message.outcome)
                    self._at = at
                case _:
                    assert_never(message)
        yield from self._person(needed=False)

    def _take(self, outcome: ToolOutcome) -> None:
        fitting = (new for old, new in self._open if old == outcome.call_id)
        call_id = next((new for new in fitting if new not in self._results), None)
        if call_id is None:
            return
        block: Block = {"type": "tool_result", "tool_use_id": call_id}
        failed = outcome.status != "done"
        if outcome.output or failed:
            block["content"] = _fit(outcome.output) or outcome.status
        if failed:
            block["is_error"] = True
        self._results[call_id] = block

    def _person(self, *, needed: bool) -> Iterator[dict[str, Any]]:
        """What stands before the next answer: results in the order of the calls, then words."""
        results = [
            self._results.get(call_id)
            or {
                "type": "tool_result",
                "tool_use_id": call_id,
                "content": "interrupted",
                "is_error": True,
            }
            for _, call_id in self._open
        ]
        content: list[Block] = [*results, *self._said]
        self._open, self._results, self._said = [], {}, []
        if not content and needed:
            content = [_text(NOTHING)]
        if content:
            only = content[0]["text"] if len(content) == 1 and "text" in content[0] else content
            yield self._row("user", {"role": "user", "content": only}, self._at)

    def _answer(
        self, turn: AssistantTurn, canonical: Mapping[str, str], at: float
    ) -> dict[str, Any]:
        content: list[Block] = [_text(turn.text)] if turn.text.strip() else []
        content += [self._call(call, canonical.get(call.id, call.name)) for call in turn.calls]
        usage = turn.usage
        fresh = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
        named = (turn.model, self._info.model)
        message = {
            "id": f"msg_{uuid.uuid5(self._session, f'message {self._count}').hex}",
            "type": "message",
            "role": "assistant",
            "model": next(filter(_MODEL.fullmatch, named), "unknown"),
            "content": content,
            "stop_reason": "tool_use" if turn.calls else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": max(0, fresh),
                "cache_creation_input_tokens": usage.cache_write_tokens,
                "cache_read_input_tokens": usage.cached_tokens,
                "output_tokens": usage.output_tokens,
            },
        }
        self._at = at
        return self._row("assistant", message, at)

    def _call(self, call: ToolCall, tool: str) -> Block:
        call_id = stem = _UNFIT.sub("_", call.id)[:_LONGEST_NAME] or "call"
        number = 1
        while call_id in self._used:
            number += 1
            call_id = f"{stem}-{number}"
        self._used.add(call_id)
        self._open.append((call.id, call_id))
        name, given = there(tool, _arguments(call.arguments))
        name = _UNFIT.sub("_", name)[:_LONGEST_NAME] or "tool"
        return {"type": "tool_use", "id": call_id, "name": name, "input": given}

    def _row(self, kind: str, message: dict[str, Any], at: float) -> dict[str, Any]:
        row = {
            "parentUuid": self._parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self._cwd,
            "sessionId": str(self._session),
            "version": WRITTEN_FOR,
            "gitBranch": "",
            "type": kind,
            "message": message,
            "uuid": str(uuid.uuid5(self._session, f"row {self._count}")),
            "timestamp": _time(at),
        }
        self._parent = str(row["uuid"])
        self._count += 1
        return row


def project_folder(claude_home: Path, cwd: Path) -> Path:
    """Where Claude Code keeps the sessions of a folder.

    Raises:
        UsageError: Its name would be so long that Claude Code shortens it.
    """
    name = "".join(
        sign if sign.isascii() and sign.isalnum() else "-" * (1 + (ord(sign) > 0xFFFF))
        for sign in str(cwd)
    )
    if len(name) > LONGEST_FOLDER:
        raise UsageError(
            f"{cwd} is too long a path: Claude Code would look for it under a shortened name; "
            "write the file with --output and put it there yourself"
        )
    return claude_home / "projects" / name


def install(claude_home: Path, cwd: Path, session: uuid.UUID, transcript: str) -> Path:
    """Put a transcript where `claude --resume` in `cwd` finds it; never over another one.

    Raises:
        StoreError: It cannot be written, or is there already; nothing was changed.
        UsageError: See `project_folder`.
    """
    path = project_folder(claude_home, cwd) / f"{session}.jsonl"
    try:
        make_folder(path.parent)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise StoreError(f"{path} is there already; it is not overwritten") from error
    except OSError as error:
        raise store_error("write", path, error) from error
    try:
        with os.fdopen(fd, "w", encoding="ascii") as file:
            file.write(transcript)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise store_error("write", path, error) from error
    return path


def _tools(messages: Sequence[tuple[Message, float]], start: int) -> dict[str, str]:
    """Canonical tool of each call that has a result before the next answer."""
    found: dict[str, str] = {}
    for number in range(start, len(messages)):
        message = messages[number][0]
        if isinstance(message, AssistantTurn):
            break
        if isinstance(message, ToolOutcome | Delegation):
            outcome = message if isinstance(message, ToolOutcome) else message.outcome
            found[outcome.call_id] = outcome.tool
    return found


def _text(text: str) -> Block:
    return {"type": "text", "text": _fit(text) if text.strip() else NOTHING}


def _arguments(text: str) -> dict[str, Any]:
    """The arguments as the object the rules want; what is none is kept as a text in one."""
    try:
        given = _fit(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return {"arguments": _fit(text)}
    return given if isinstance(given, dict) else {"arguments": given}


def _time(at: float) -> str:
    try:
        moment = datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        moment = datetime.fromtimestamp(0, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fit(value: Any) -> Any:
    """The value without halves of characters and endless numbers, which no server takes."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_fit(key): _fit(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_fit(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value

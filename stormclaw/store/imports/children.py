"""Sub-agents of a Claude Code session: rows among those of their parent, or own files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stormclaw.protocol.messages import Node, ToolCall
from stormclaw.store.imports.rows import Row, mapping, text
from stormclaw.store.imports.said import blocks_text
from stormclaw.store.imports.talk import Ids, Talk

_ID = re.compile(r"[A-Za-z0-9-]{1,64}")


class Children:
    """Every sub-agent of a session.

    Args:
        path: The session's file.
        ids: Where ids of nodes come from.
    """

    def __init__(self, path: Path, ids: Ids) -> None:
        self._folder = path.with_suffix("") / "subagents"
        self._ids = ids
        self._by_key: dict[str, Talk] = {}
        self._by_row: dict[str, Talk] = {}
        self._by_prompt: dict[str, list[Talk]] = {}
        self._paths: set[str] = set()
        self._files: list[tuple[str, Talk]] = []

    def talk(self, row: Row, parent: Talk) -> Talk:
        """The conversation a row of a sub-agent belongs to."""
        place, above = text(row, "uuid"), text(row, "parentUuid")
        key = text(row, "agentId")
        talk = self._by_key.get(key) if key else self._by_row.get(above)
        if talk is None:
            prompt = blocks_text(mapping(row, "message").get("content"))
            sent = next((c for c in parent.waits() if _task(c) == prompt), None)
            talk = Talk(self._path(parent, sent), self._ids)
            self._by_prompt.setdefault(prompt, []).append(talk)
            if key:
                self._by_key[key] = talk
        self._by_row[place] = talk
        return talk

    def of(self, call: ToolCall, result: Row, parent: Talk) -> Talk | None:
        """The sub-agent a call started, None where there is no trace of it."""
        key = text(result, "agentId")
        if key in self._by_key:
            return self._by_key[key]
        if key and _ID.fullmatch(key) and (self._folder / f"agent-{key}.jsonl").is_file():
            talk = self._by_key[key] = Talk(self._path(parent, call), self._ids)
            self._files.append((key, talk))
            return talk
        waiting = self._by_prompt.get(_task(call))
        return waiting.pop(0) if waiting else None

    def files(self) -> Iterator[tuple[Path, Talk]]:
        """Files of sub-agents' own; reading one may bring more to light."""
        while self._files:
            key, talk = self._files.pop(0)
            yield self._folder / f"agent-{key}.jsonl", talk

    def flush(self) -> Iterator[Node]:
        """What the sub-agents so far have not finished."""
        for talk in {id(talk): talk for talk in self._by_row.values()}.values():
            yield from talk.flush()

    def _path(self, parent: Talk, call: ToolCall | None) -> str:
        named = "" if call is None else str(_given(call).get("name") or "")
        stem = re.sub(r"[^a-z0-9]+", "-", named.lower()).strip("-")[:24].strip("-") or "agent"
        number, path = 1, f"{parent.agent}/{stem}"
        while path in self._paths:
            number += 1
            path = f"{parent.agent}/{stem}-{number}"
        self._paths.add(path)
        return path


def _task(call: ToolCall) -> str:
    return str(_given(call).get("task") or "")


def _given(call: ToolCall) -> dict[str, Any]:
    given: dict[str, Any] = json.loads(call.arguments)
    return given

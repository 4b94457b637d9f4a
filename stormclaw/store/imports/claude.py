"""A session file of Claude Code (one JSON row a line, a tree by `parentUuid`) as nodes of ours.

What is no part of what was said (hooks, snapshots, listings for the model, modes) is passed over;
kinds of rows that are not known here are counted, so that nothing is lost without a word.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from stormclaw.protocol.messages import (
    ROOT,
    Body,
    Delegation,
    Node,
    Note,
    Status,
    Summary,
    ToolCall,
    ToolOutcome,
    TurnReason,
    Usage,
    UserText,
)
from stormclaw.store.export.claude_tools import here
from stormclaw.store.imports.children import Children
from stormclaw.store.imports.report import Report
from stormclaw.store.imports.rows import (
    TOO_LONG,
    Row,
    mapping,
    moment,
    number,
    objects,
    rows,
    text,
)
from stormclaw.store.imports.said import Person, blocks_text, status_of
from stormclaw.store.imports.showing import edit_diff, few_words, headline
from stormclaw.store.imports.talk import Ids, Talk

Nodes: TypeAlias = Generator[Node, None, bool]
"""Nodes that are complete by now; in the end, whether the row said anything."""

PROVIDER = "anthropic"
_SYNTHETIC = "<synthetic>"
_QUIET = frozenset(
    {
        "agent-name", "agent-color", "agent-setting", "attachment", "file-history-snapshot",
        "last-prompt", "mode", "permission-mode", "pr-link", "progress", "queue-operation",
        "saved_hook_context", "speculation-accept", "tag", "task-summary", "worktree-state",
        "content-replacement", "marble-origami-commit", "marble-origami-snapshot",
    }
)  # fmt: skip
"""Kinds of rows that say nothing to the person or the model, or nothing that was not said."""
_REASONS: Mapping[Status, TurnReason] = {
    "done": "done",
    "failed": "failed",
    "denied": "interrupted",
    "interrupted": "interrupted",
}
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Rows that name the session, the best name first, and the field that does."""


def from_claude(path: Path, report: Report | None = None) -> Iterator[Node]:
    """The nodes of a session file, sub-agents' included, in an order they can be written in.

    Args:
        path: `<session>.jsonl`; files of its sub-agents are looked for in `<session>/subagents`.
        report: Filled in while the nodes are taken.

    Raises:
        UsageError: There is no such file.
        StoreError: It cannot be read, or a line is no JSON object; the message names the line.
    """
    told = Report() if report is None else report
    reader = _Reader(path, told)
    for node in reader.all():
        yield told.saw(node)


class _Reader:
    """Turns rows into nodes; one talk for each agent."""

    def __init__(self, path: Path, report: Report) -> None:
        self._path = path
        self._report = report
        self._ids = Ids(path.stem)
        self._root = Talk(ROOT, self._ids)
        self._children = Children(path, self._ids)
        self._person = Person()
        self._titles: dict[str, list[tuple[str, str]]] = {}
        self._cwd = ""
        self._at = 0.0
        self._preserved: tuple[str, ...] = ()

    def all(self) -> Iterator[Node]:
        """The session's own rows, then those of sub-agents that have files of their own."""
        for _, row in rows(self._path):
            yield from self._row(row, self._talk_of(row))
        yield from self._root.flush()
        yield from self._children.flush()
        for path, talk in self._children.files():
            for _, row in rows(path):
                yield from self._row(row, talk)
            yield from talk.flush()
        self._report.title = self._title()

    def _talk_of(self, row: Row) -> Talk:
        if row.get("isSidechain") is not True:
            return self._root
        return self._children.talk(row, self._root)

    def _row(self, row: Row, talk: Talk) -> Iterator[Node]:
        kind, place = text(row, "type"), text(row, "uuid")
        self._at = moment(row) or self._at
        self._cwd = self._cwd or text(row, "cwd")
        said = False
        if kind in _TITLES:
            self._named(kind, row)
        elif kind == "user":
            said = yield from self._user(row, talk)
        elif kind == "assistant":
            said = yield from self._assistant(row, talk)
        elif kind == "system":
            said = yield from self._system(row, talk)
        elif kind not in _QUIET:
            what = "lines that are too long" if TOO_LONG in row else f"rows of kind {kind[:40]!r}"
            self._report.skipped[what] += 1
        if said:
            talk.place(place)
        else:
            talk.pass_by(place, text(row, "logicalParentUuid") or text(row, "parentUuid"))

    def _named(self, kind: str, row: Row) -> None:
        title, leaf = text(row, _TITLES[kind]), text(row, "leafUuid")
        if title:
            # Old versions wrote the names of other sessions into a file, too.
            self._titles[kind] = [(title, leaf), *self._titles.get(kind, [])]

    def _title(self) -> str:
        for kind in _TITLES:
            for title, leaf in self._titles.get(kind, []):
                if kind != "summary" or not leaf or self._root.knows(leaf):
                    return title
        return ""

    def _follow(self, row: Row, talk: Talk) -> Iterator[Node]:
        """Go to where a row stands, which may be another branch."""
        parent = row.get("logicalParentUuid") or row.get("parentUuid")
        if isinstance(parent, str) or (parent is None and "parentUuid" in row and talk.tail):
            yield from talk.follow(parent, self._at)

    def _user(self, row: Row, talk: Talk) -> Nodes:
        content = mapping(row, "message").get("content")
        results = [one for one in objects(content) if one.get("type") == "tool_result"]
        missed = sum(not self._result(block, row, talk) for block in results)
        if missed:
            self._report.skipped["results without a call"] += missed
        said = blocks_text(content)
        if row.get("isCompactSummary") is True:
            yield from self._follow(row, talk)
            yield from self._summary(said, talk)
            return True
        bodies = [] if row.get("isMeta") is True else list(self._person.says(said))
        if bodies:
            yield from self._follow(row, talk)
            for body in bodies:
                yield from talk.put(body, self._at)
        return bool(bodies) or missed < len(results)

    def _summary(self, said: str, talk: Talk) -> Iterator[Node]:
        yield from talk.flush()
        kept = {node for row in self._preserved for node in talk.span(row)}
        self._preserved = ()
        replaced = tuple(node for node in talk.trunk() if node not in kept)
        body: Body = Summary(said, replaced) if replaced else UserText(said)
        yield from talk.put(body, self._at)

    def _system(self, row: Row, talk: Talk) -> Nodes:
        subtype = text(row, "subtype")
        if subtype == "compact_boundary":
            yield from talk.flush()
            kept = mapping(mapping(row, "compactMetadata"), "preservedMessages").get("uuids")
            named = kept if isinstance(kept, list) else []
            self._preserved = tuple(one for one in named if isinstance(one, str))
        elif subtype == "local_command" and row.get("isMeta") is not True:
            bodies = list(self._person.says(text(row, "content")))
            if bodies:
                yield from self._follow(row, talk)
            for body in bodies:
                yield from talk.put(body, self._at)
            return bool(bodies)
        return False

    def _assistant(self, row: Row, talk: Talk) -> Nodes:
        message = mapping(row, "message")
        content = message.get("content")
        model = text(message, "model")
        if model == _SYNTHETIC or row.get("isApiErrorMessage") is True:
            if row.get("isApiErrorMessage") is not True:
                return False
            yield from self._follow(row, talk)
            yield from talk.put(Note("failed", blocks_text(content)), self._at)
            return True
        yield from self._follow(row, talk)
        key = text(message, "id") or text(row, "uuid") or f"row {id(row)}"
        answer, finished = talk.answer(key, self._at, model, PROVIDER)
        yield from finished
        answer.usage = _usage(mapping(message, "usage")) or answer.usage
        if isinstance(content, str) and content.strip():
            answer.texts.append(content)
        for block in objects(content):
            match block.get("type"):
                case "text" if text(block, "text").strip():
                    answer.texts.append(text(block, "text"))
                case "thinking" if text(block, "thinking").strip():
                    answer.thinking.append(text(block, "thinking"))
                case "tool_use":
                    answer.calls.append(_call(block))
                case "text" | "thinking" | "redacted_thinking":
                    pass
                case other:
                    self._report.skipped[f"parts of kind {str(other)[:40]!r}"] += 1
        return True

    def _result(self, block: Row, row: Row, talk: Talk) -> bool:
        call = talk.find(text(block, "tool_use_id"))
        if call is None:
            return False
        return talk.result(self._outcome(call, block, row, talk), self._at)

    def _outcome(
        self, call: ToolCall, block: Row, row: Row, talk: Talk
    ) -> ToolOutcome | Delegation:
        result = mapping(row, "toolUseResult")
        given = _given(call)
        child = self._children.of(call, result, talk) if call.name == "spawn_agent" else None
        output = blocks_text(block.get("content"))
        if child is not None:
            output = blocks_text(result.get("content")) or output
        status: Status = status_of(
            output,
            failed=block.get("is_error") is True,
            interrupted=result.get("interrupted") is True,
        )
        display = edit_diff(result, self._cwd) if status == "done" else None
        seconds = number(result, "durationMs") or number(result, "totalDurationMs")
        outcome = ToolOutcome(
            call.id,
            call.name,
            status,
            output,
            headline(call.name, given, self._cwd),
            few_words(call.name, status, output, display),
            display,
            seconds=seconds / 1000,
        )
        if child is None:
            return outcome
        used = _usage(mapping(result, "usage")) or Usage()
        usage = Usage(used.input_tokens, used.output_tokens, used.cached_tokens, reported=False)
        task = str(given.get("task", ""))
        return Delegation(outcome, child.agent, task, _REASONS[status], usage)


def _call(block: Row) -> ToolCall:
    name, given = here(text(block, "name"), mapping(block, "input"))
    return ToolCall(text(block, "id"), name, json.dumps(given, ensure_ascii=False))


def _given(call: ToolCall) -> dict[str, Any]:
    given: dict[str, Any] = json.loads(call.arguments)
    return given


def _usage(stored: Row) -> Usage | None:
    if not stored:
        return None
    written, cached = (
        number(stored, "cache_creation_input_tokens"),
        number(stored, "cache_read_input_tokens"),
    )
    return Usage(
        number(stored, "input_tokens") + written + cached,
        number(stored, "output_tokens"),
        cached,
        cache_write_tokens=written,
    )

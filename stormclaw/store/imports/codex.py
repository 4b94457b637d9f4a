"""A rollout of Codex (one JSON row a line) as nodes of ours.

What the model was sent and gave back stands in `response_item` rows; most events say the same once
more and are passed over. Old rollouts have these items bare, without a row around them.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from stormclaw.protocol.messages import (
    ROOT,
    Body,
    Node,
    Note,
    Status,
    Summary,
    ToolCall,
    ToolOutcome,
    Usage,
    UserText,
)
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
from stormclaw.store.imports.said import status_of
from stormclaw.store.imports.showing import exit_code, few_words, headline, patch_diff
from stormclaw.store.imports.talk import Answer, Ids, Talk

_FOR_THE_MODEL = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|permissions instructions|turn_aborted|"
    r"skills_instructions|INSTRUCTIONS|subagent_notification|collaboration_mode|model_switch|"
    r"personality_spec|ENVIRONMENT_CONTEXT)\b|# AGENTS\.md instructions)"
)
"""How words begin that Codex puts into the person's mouth."""
_HEREDOC = re.compile(r"\s*apply_patch\s+<<-?\s*(['\"]?)(\w+)\1\n(.*)\n\2\s*", re.S)
_FAILED = re.compile(r"unsupported |failed to |apply_patch verification failed|exec_command failed")
_STATES = {"pending": "open", "in_progress": "doing", "completed": "done"}
_QUIET = frozenset(
    {
        "session_meta", "turn_context", "world_state", "token_usage_record", "event_msg",
        "inter_agent_communication", "ghost_snapshot", "compaction", "compaction_trigger",
        "context_compaction", "retained_context",
    }
)  # fmt: skip


def from_codex(path: Path, report: Report | None = None) -> Iterator[Node]:
    """The nodes of a rollout, in an order they can be written in.

    Args:
        path: `rollout-<time>-<id>.jsonl`.
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
    def __init__(self, path: Path, report: Report) -> None:
        self._path = path
        self._report = report
        self._talk = Talk(ROOT, Ids(path.stem))
        self._answer: Answer | None = None
        self._count = 0
        self._at = 0.0
        self._cwd = self._model = self._provider = ""

    def all(self) -> Iterator[Node]:
        for _, row in rows(self._path):
            self._at = moment(row) or self._at
            wrapped = isinstance(row.get("payload"), dict)
            payload = mapping(row, "payload") if wrapped else row
            kind = text(row, "type")
            if wrapped and kind != "response_item":
                yield from self._other(kind, payload)
            elif TOO_LONG in row:
                self._report.skipped["lines that are too long"] += 1
            elif (item := text(payload, "type")) in _ITEMS:
                yield from _ITEMS[item](self, payload)
            elif item and item not in _QUIET:
                self._report.skipped[f"items of kind {item[:40]!r}"] += 1
        yield from self._talk.flush()

    def _other(self, kind: str, payload: Row) -> Iterator[Node]:
        self._cwd = text(payload, "cwd") or self._cwd
        self._model = text(payload, "model") or self._model
        self._provider = text(payload, "model_provider") or self._provider
        if kind == "event_msg":
            yield from self._event(payload)
        elif kind == "token_usage_record":
            self._used(mapping(payload, "usage"))
        elif kind == "compacted":
            yield from self._compacted(text(payload, "message"))
        elif kind not in _QUIET:
            self._report.skipped[f"rows of kind {kind[:40]!r}"] += 1

    def _event(self, event: Row) -> Iterator[Node]:
        match text(event, "type"):
            case "token_count":
                self._used(mapping(mapping(event, "info"), "last_token_usage"))
            case "turn_aborted":
                yield from self._put(Note("interrupted", "interrupted by you"))
            case "error" if text(event, "message"):
                yield from self._put(Note("failed", text(event, "message")))
            case "thread_rolled_back":
                self._answer = None
                yield from self._talk.back(number(event, "num_turns"), self._at)
            case "thread_name_updated":
                self._report.title = text(event, "thread_name") or self._report.title
            case _:
                pass

    def _used(self, usage: Row) -> None:
        if self._answer is not None and usage:
            self._answer.usage = Usage(
                number(usage, "input_tokens"),
                number(usage, "output_tokens"),
                number(usage, "cached_input_tokens"),
                cache_write_tokens=number(usage, "cache_write_input_tokens"),
            )

    def _compacted(self, said: str) -> Iterator[Node]:
        yield from self._put(Note("info", "the conversation was summed up"))
        if said.strip():
            trunk = self._talk.trunk()
            replaced = tuple(node for node in trunk if not self._talk.was_said(node))
            yield from self._put(Summary(said, replaced))

    def _put(self, body: Body) -> Iterator[Node]:
        yield from self._talk.put(body, self._at)
        if not self._talk.waits():
            self._answer = None

    def _open(self, *, calls: bool = False) -> Iterator[Node]:
        """Begin another answer, unless this one still goes on."""
        answer = self._answer
        goes_on = answer is not None and (
            not answer.results or (calls and bool(self._talk.waits()))
        )
        if not goes_on:
            self._count += 1
            self._answer, finished = self._talk.answer(
                str(self._count), self._at, self._model, self._provider
            )
            yield from finished

    def _message(self, item: Row) -> Iterator[Node]:
        role = text(item, "role")
        parts = [part for block in objects(item.get("content")) if (part := _part(block))]
        if role == "assistant":
            yield from self._open()
            if self._answer is not None:
                self._answer.texts += parts
        elif role == "user":
            said = "\n\n".join(part for part in parts if not _FOR_THE_MODEL.match(part))
            if said.strip():
                yield from self._put(UserText(said))

    def _reasoning(self, item: Row) -> Iterator[Node]:
        parts = [*objects(item.get("summary")), *objects(item.get("content"))]
        thought = [text(part, "text") for part in parts if text(part, "text").strip()]
        yield from self._open()
        if self._answer is not None:
            self._answer.thinking += thought

    def _call(self, item: Row) -> Iterator[Node]:
        yield from self._open(calls=True)
        name, given = _ours(item)
        call_id = text(item, "call_id") or text(item, "id")
        if self._answer is not None:
            arguments = json.dumps(given, ensure_ascii=False)
            self._answer.calls.append(ToolCall(call_id, name, arguments))
        if text(item, "type") == "web_search_call":
            self._result(call_id, "(its results stayed with the provider)", failed=False)

    def _output(self, item: Row) -> Iterator[Node]:
        output, failed = _read(item.get("output"))
        if not self._result(text(item, "call_id"), output, failed=failed):
            self._report.skipped["results without a call"] += 1
        yield from ()

    def _result(self, call_id: str, output: str, *, failed: bool) -> bool:
        call = self._talk.find(call_id)
        if call is None:
            return False
        given: dict[str, Any] = json.loads(call.arguments)
        shell = call.name in ("shell_exec", "apply_patch")
        failed = failed or bool(_FAILED.match(output)) or (shell and bool(exit_code(output)))
        refused = status_of(output, failed=True)
        status: Status = refused if failed or refused != "failed" else "done"
        patch = given.get("patch") if call.name == "apply_patch" and status == "done" else None
        display = patch_diff(patch) if isinstance(patch, str) else None
        outcome = ToolOutcome(
            call_id,
            call.name,
            status,
            output,
            headline(call.name, given, self._cwd),
            few_words(call.name, status, output, display),
            display,
        )
        return self._talk.result(outcome, self._at)


_ITEMS: Mapping[str, Callable[[_Reader, Row], Iterator[Node]]] = {
    "message": _Reader._message,
    "reasoning": _Reader._reasoning,
    "function_call": _Reader._call,
    "custom_tool_call": _Reader._call,
    "local_shell_call": _Reader._call,
    "web_search_call": _Reader._call,
    "function_call_output": _Reader._output,
    "custom_tool_call_output": _Reader._output,
}


def _part(block: Row) -> str:
    if block.get("type") in ("input_image", "image"):
        return "[a picture was here; it is not imported]"
    return text(block, "text")


def _ours(item: Row) -> tuple[str, dict[str, Any]]:
    """A call in our words: canonical name, arguments."""
    name, kind = text(item, "name"), text(item, "type")
    if kind == "local_shell_call":
        return _shell(mapping(item, "action").get("command"))
    if kind == "web_search_call":
        return "web_search", {"query": text(mapping(item, "action"), "query")}
    if kind == "custom_tool_call":
        given: dict[str, Any] = {"input": text(item, "input")}
    else:
        given = _object(text(item, "arguments"))
    if name == "apply_patch":
        return name, {"patch": str(given.get("input") or given.get("patch") or "")}
    if name in ("shell", "container.exec", "shell_command", "exec_command", "local_shell"):
        return _shell(given.get("command", given.get("cmd")))
    if name == "update_plan":
        steps = [
            {"text": text(one, "step"), "state": _STATES.get(text(one, "status"), "open")}
            for one in objects(given.get("plan"))
        ]
        return "todo", {"steps": steps}
    return name, given


def _shell(command: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(command, list):
        words = [str(word) for word in command]
        inner = len(words) == 3 and words[1] in ("-lc", "-c") and words[0].endswith("sh")
        command = words[2] if inner else shlex.join(words)
    line = command if isinstance(command, str) else ""
    if patch := _HEREDOC.fullmatch(line):
        return "apply_patch", {"patch": patch[3]}
    return "shell_exec", {"command": line}


def _object(arguments: str) -> dict[str, Any]:
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return {"arguments": arguments}
    return given if isinstance(given, dict) else {"arguments": given}


def _read(output: Any) -> tuple[str, bool]:
    """What a call gave back, and whether it says that it failed."""
    if isinstance(output, dict):
        return _read(output.get("content"))[0], output.get("success") is False
    if isinstance(output, list):
        return "\n\n".join(filter(None, map(_part, objects(output)))), False
    if not isinstance(output, str):
        return "", False
    if output.startswith('{"output":'):
        inner = _object(output)
        code = number(mapping(inner, "metadata"), "exit_code")
        return (text(inner, "output"), code != 0) if "output" in inner else (output, False)
    return output, False

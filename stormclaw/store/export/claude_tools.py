"""What Claude Code's tools are called here, and their arguments: one table, read in both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Arguments: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Pair:
    """A tool of theirs and the one of ours that does the same.

    Attributes:
        theirs: Its name in Claude Code.
        ours: Its canonical name.
        names: Their name of an argument -> ours; others are called the same.
        here: Our argument -> from their value to ours.
        there: Our argument -> from our value to theirs.
    """

    theirs: str
    ours: str
    names: Mapping[str, str] = field(default_factory=dict)
    here: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    there: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)


_STATES = {"pending": "open", "in_progress": "doing", "completed": "done"}
_STATES_BACK = {ours: theirs for theirs, ours in _STATES.items()}


def _steps(todos: Any) -> Any:
    if not isinstance(todos, list):
        return todos
    return [
        {"text": str(one.get("content", "")), "state": _STATES.get(str(one.get("status")), "open")}
        for one in todos
        if isinstance(one, dict)
    ]


def _todos(steps: Any) -> Any:
    if not isinstance(steps, list):
        return steps
    return [
        {
            "content": str(one.get("text", "")),
            "status": _STATES_BACK.get(str(one.get("state")), "pending"),
            "activeForm": str(one.get("text", "")),
        }
        for one in steps
        if isinstance(one, dict)
    ]


def _seconds(milliseconds: Any) -> Any:
    return max(1, round(milliseconds / 1000)) if _is_number(milliseconds) else milliseconds


def _milliseconds(seconds: Any) -> Any:
    return round(seconds * 1000) if _is_number(seconds) else seconds


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53


_FILE = {"file_path": "path"}
_PAIRS = (
    Pair("Read", "read_file", _FILE),
    Pair("Write", "write_file", _FILE),
    Pair("Edit", "edit_file", _FILE),
    Pair("Bash", "shell_exec", {}, {"timeout": _seconds}, {"timeout": _milliseconds}),
    Pair(
        "Grep",
        "grep",
        {"-i": "ignore_case", "-C": "context", "head_limit": "max_results"},
    ),
    Pair("Glob", "glob"),
    Pair("LS", "list_files"),
    Pair("Agent", "spawn_agent", {"prompt": "task", "description": "name"}),
    Pair("Task", "spawn_agent", {"prompt": "task", "description": "name"}),
    Pair("TodoWrite", "todo", {"todos": "steps"}, {"steps": _steps}, {"steps": _todos}),
    Pair("WebFetch", "http"),
    Pair("WebSearch", "web_search"),
)
_HERE = {pair.theirs: pair for pair in _PAIRS}
_THERE = {pair.ours: pair for pair in reversed(_PAIRS)}


def here(name: str, arguments: Arguments) -> tuple[str, Arguments]:
    """A call of Claude Code in our words; an unknown tool stays as it is."""
    pair = _HERE.get(name)
    if pair is None:
        return name, arguments
    renamed = {pair.names.get(key, key): value for key, value in arguments.items()}
    return pair.ours, _changed(renamed, pair.here)


def there(name: str, arguments: Arguments) -> tuple[str, Arguments]:
    """A call of ours (canonical name) in the words of Claude Code; likewise."""
    pair = _THERE.get(name)
    if pair is None:
        return name, arguments
    back = {ours: theirs for theirs, ours in pair.names.items()}
    changed = _changed(arguments, pair.there)
    return pair.theirs, {back.get(key, key): value for key, value in changed.items()}


def _changed(arguments: Arguments, changes: Mapping[str, Callable[[Any], Any]]) -> Arguments:
    return {
        key: changes[key](value) if key in changes else value for key, value in arguments.items()
    }

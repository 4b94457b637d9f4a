"""Claude's calls in our words, and a call the person edited back in claude's.

What has no counterpart among our tools keeps its name, `claude:NotebookEdit`, and its own
arguments. Paths in the workspace are told from there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from unicodedata import normalize

from stormclaw.protocol.messages import ToolCall
from stormclaw.providers._programs.hands import local

PROGRAM: Final = "claude"

Given: TypeAlias = Mapping[str, Any]
Measure: TypeAlias = Literal["same", "path", "milliseconds", "names", "steps"]
"""How a value of claude's differs from ours."""

BLANK: Final = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""What JavaScript trims."""

STATES: Final[Mapping[str, str]] = {
    "pending": "open",
    "in_progress": "doing",
    "completed": "done",
}


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of ours and claude's for it."""

    ours: str
    theirs: str
    measure: Measure = "same"


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A tool of ours that does what a tool of claude's does.

    Attributes:
        tool: Ours.
        arguments: Those both know, in our order.
        usual: Claude's defaults where ours differ.
        unsaid: Ours there.
    """

    tool: str
    arguments: tuple[Argument, ...]
    usual: Given = field(default_factory=dict)
    unsaid: Given = field(default_factory=dict)


_PATH: Final = Argument("path", "file_path", "path")

COUNTERPARTS: Final[Mapping[str, Counterpart]] = {
    "Bash": Counterpart(
        "shell_exec",
        (Argument("command", "command"), Argument("timeout", "timeout", "milliseconds")),
    ),
    "Read": Counterpart(
        "read_file", (_PATH, Argument("offset", "offset"), Argument("limit", "limit"))
    ),
    "Write": Counterpart("write_file", (_PATH, Argument("content", "content"))),
    "Edit": Counterpart(
        "edit_file",
        (
            _PATH,
            Argument("old_string", "old_string"),
            Argument("new_string", "new_string"),
            Argument("replace_all", "replace_all"),
        ),
    ),
    "Glob": Counterpart("glob", (Argument("pattern", "pattern"), Argument("path", "path", "path"))),
    "Grep": Counterpart(
        "grep",
        (
            Argument("pattern", "pattern"),
            Argument("path", "path", "path"),
            Argument("glob", "glob"),
            Argument("ignore_case", "-i"),
            Argument("context", "-C"),
            Argument("max_results", "head_limit"),
            Argument("files_only", "output_mode", "names"),
        ),
        {"output_mode": "files_with_matches"},
        {"files_only": False},
    ),
    "LS": Counterpart("list_files", (Argument("path", "path", "path"),)),
    "WebFetch": Counterpart("http", (Argument("url", "url"),)),
    "TodoWrite": Counterpart("todo", (Argument("steps", "todos", "steps"),)),
}

IDLE: Final[Mapping[str, frozenset[object]]] = {
    "replace_all": frozenset({False}),
    "max_results": frozenset({0}),
    "files_only": frozenset({False}),
    "ignore_case": frozenset({False}),
}
"""Values that say no more than leaving the argument out; our models leave it out."""

OWN_TOOLS: Final = (
    *COUNTERPARTS,
    "NotebookEdit",
    "WebSearch",
    "BashOutput",
    "KillShell",
    "TaskOutput",
    "TaskStop",
    "ToolSearch",
    "Skill",
)
"""What it may have at all, tools of MCP servers aside; a name its version lacks does no harm.

Not among them: agents of its own, whose calls nobody would see, and what asks a person itself.
"""


def translated(call_id: str, name: str, given: Given, workspace: Path) -> ToolCall:
    """A call of claude's in our words."""
    counterpart = COUNTERPARTS.get(name)
    if counterpart is None:
        return ToolCall(call_id, f"{PROGRAM}:{name}", _json(given))
    filled = {**counterpart.usual, **given}
    ours: dict[str, Any] = {}
    for argument in counterpart.arguments:
        value = filled.get(argument.theirs)
        if value is None:
            continue
        value = _ours(value, argument.measure, workspace)
        if not (_plain(value) and value in IDLE.get(argument.ours, ())):
            ours[argument.ours] = value
    return ToolCall(call_id, counterpart.tool, _json(ours))


def given_back(name: str, given: Given, arguments: str, workspace: Path) -> dict[str, Any] | None:
    """The input of a call with the person's arguments in place of claude's.

    Args:
        name: Claude's tool.
        given: Its own input, kept where we have no word for it.
        arguments: JSON text in our words.
        workspace: Where relative paths begin.

    Returns:
        None where they cannot be told to claude.
    """
    try:
        ours = json.loads(arguments)
    except ValueError:
        return None
    if not isinstance(ours, Mapping):
        return None
    counterpart = COUNTERPARTS.get(name)
    if counterpart is None:
        return dict(ours)
    spelled = {argument.ours: argument for argument in counterpart.arguments}
    if ours.keys() - spelled.keys():
        return None
    changed = {key: value for key, value in given.items() if key not in _theirs(counterpart)}
    for key, value in {**counterpart.unsaid, **ours}.items():
        if value is not None:
            changed[spelled[key].theirs] = _theirs_of(value, spelled[key].measure, workspace)
    return changed


def _theirs(counterpart: Counterpart) -> frozenset[str]:
    return frozenset(argument.theirs for argument in counterpart.arguments)


def _ours(value: Any, measure: Measure, workspace: Path) -> Any:
    match measure, value:
        case "path", str():
            # Claude trims and composes a path before it takes it.
            return local(normalize("NFC", value.strip(BLANK)), workspace)
        case "milliseconds", int() | float():
            return max(1, round(value / 1000))
        case "names", str():
            return value != "content"
        case "steps", list():
            return [_step(item) for item in value]
        case _:
            return value


def _theirs_of(value: Any, measure: Measure, workspace: Path) -> Any:
    match measure, value:
        case "path", str():
            return str(workspace / Path(value).expanduser())
        case "milliseconds", int() | float():
            return round(value * 1000)
        case "names", bool():
            return "files_with_matches" if value else "content"
        case "steps", list():
            return [_todo(item) for item in value]
        case _:
            return value


def _step(item: object) -> object:
    if not isinstance(item, Mapping):
        return item
    state = str(item.get("status", "pending"))
    return {"text": item.get("content", ""), "state": STATES.get(state, state)}


def _todo(item: object) -> object:
    if not isinstance(item, Mapping):
        return item
    states = {ours: theirs for theirs, ours in STATES.items()}
    text, state = str(item.get("text", "")), str(item.get("state", "open"))
    return {"content": text, "status": states.get(state, state), "activeForm": text}


def _plain(value: object) -> bool:
    return isinstance(value, bool | int)


def _json(given: Given) -> str:
    return json.dumps(given, ensure_ascii=False)

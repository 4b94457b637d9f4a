"""Nodes as JSON and back, so that what is written today can be read by every later version.

A record carries its version (`"v": 1`) and every member of a closed union its tag (`"type"`).
Text survives as it is, lone surrogates included (they travel as `\\ud800` escapes); only a high
surrogate directly followed by a low one comes back as the one character the two stand for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar, assert_never

import msgspec

from stormclaw.errors import StoreError
from stormclaw.protocol.display import Checklist, Diff, Display, Patch, Plain, Shell, Table
from stormclaw.protocol.messages import (
    AssistantTurn,
    Body,
    ContextEdit,
    Delegation,
    Label,
    Moved,
    Node,
    Note,
    Summary,
    ToolOutcome,
    UserText,
)
from stormclaw.store.quickly import node_from_usual

T = TypeVar("T")

Stored: TypeAlias = dict[str, Any]
"""A JSON object."""

VERSION = 2
"""Version of the records written by this StormClaw."""

MIGRATIONS: Mapping[int, Callable[[Stored], Stored]] = {1: lambda stored: stored}
"""From version n to n + 1, applied one after the other. Version 2 knows decisions about nodes and
branches; what version 1 knew has kept its form."""


class NewerVersion(StoreError):
    """The record was written by a later StormClaw: refuse it as a whole, change nothing."""


@dataclass(frozen=True, slots=True)
class _StoredOutcome(ToolOutcome):
    """A `ToolOutcome` whose display is still JSON: msgspec takes no unions of dataclasses."""

    display: Stored | None = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class _StoredDelegation(Delegation):
    """A `Delegation` whose outcome is still JSON."""

    outcome: Stored  # type: ignore[assignment]


_outcome_fields = attrgetter(*(part.name for part in fields(ToolOutcome)))
_delegation_fields = attrgetter(*(part.name for part in fields(Delegation)))

_DISPLAYS: Mapping[str, type[Display]] = {
    "diff": Diff,
    "plain": Plain,
    "table": Table,
    "shell": Shell,
    "patch": Patch,
    "checklist": Checklist,
}
_TAGS: Mapping[type[Body], str] = {
    Note: "note",
    Summary: "summary",
    ContextEdit: "context",
    Moved: "moved",
    Label: "label",
}
"""Bodies that are stored as they are."""
_DISPLAY_TAGS = {kind: tag for tag, kind in _DISPLAYS.items()}


def node_to_line(node: Node) -> bytes:
    """The node as one line of a transcript, ASCII only, line end included."""
    return json.dumps(node_to_json(node), separators=(",", ":")).encode("ascii") + b"\n"


def node_from_line(line: bytes) -> Node:
    """The node on one line of a transcript.

    Raises:
        NewerVersion: Written by a later StormClaw.
        StoreError: Not a node; the message says why.
    """
    usual = node_from_usual(line, VERSION)
    return node_from_unusual(line) if usual is None else usual


def node_from_unusual(line: bytes) -> Node:
    """The node on any line, of whatever version, step by step; raises as `node_from_line`."""
    try:
        stored = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        # msgspec refuses lone surrogates, the standard library reads them.
        try:
            stored = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise StoreError(f"not JSON: {error}") from error
    return node_from_json(stored)


def node_to_json(node: Node) -> Stored:
    """The node as a JSON object of the current version."""
    return {
        "v": VERSION,
        "id": node.id,
        "parent": node.parent,
        "agent": node.agent,
        "at": node.at,
        "body": body_to_json(node.body),
    }


def node_from_json(stored: object) -> Node:
    """The node in a JSON object of this or an older version.

    Raises:
        NewerVersion: Written by a later StormClaw.
        StoreError: Not a node; the message says why.
    """
    record = upgrade(stored, key="v", current=VERSION, steps=MIGRATIONS)
    body = body_from_json(record.get("body"))
    head = _convert(record, _Head)
    return Node(head.id, head.parent, head.agent, head.at, body)


@dataclass(frozen=True, slots=True)
class _Head:
    """A node without its body."""

    id: str
    parent: str | None
    agent: str
    at: float


def body_to_json(body: Body) -> Stored:
    """What a node says, as a tagged JSON object."""
    match body:
        case UserText():
            return {"type": "user", **msgspec.to_builtins(body)}
        case AssistantTurn():
            return {"type": "assistant", **msgspec.to_builtins(body)}
        case ToolOutcome():
            return {"type": "tool", **_outcome_to_json(body)}
        case Delegation():
            bare = replace(body, outcome=replace(body.outcome, display=None))
            outcome = _outcome_to_json(body.outcome)
            return {"type": "delegation", **msgspec.to_builtins(bare), "outcome": outcome}
        case Note() | Summary() | ContextEdit() | Moved() | Label():
            return {"type": _TAGS[type(body)], **msgspec.to_builtins(body)}
        case _:
            assert_never(body)


def body_from_json(stored: object) -> Body:
    """What a tagged JSON object says.

    Raises:
        StoreError: The tag is unknown or a field is missing or of the wrong kind.
    """
    tag = _tag(stored, "body")
    decode = _BODIES.get(tag)
    if decode is None:
        raise StoreError(f"unknown kind of body {tag!r}")
    return decode(stored)


def display_to_json(display: Display) -> Stored:
    """What a card shows, as a tagged JSON object."""
    return {"type": _DISPLAY_TAGS[type(display)], **msgspec.to_builtins(display)}


def display_from_json(stored: object) -> Display:
    """What a card shows, from a tagged JSON object.

    Raises:
        StoreError: The tag is unknown or a field is missing or of the wrong kind.
    """
    tag = _tag(stored, "display")
    kind = _DISPLAYS.get(tag)
    if kind is None:
        raise StoreError(f"unknown kind of display {tag!r}")
    return _convert(stored, kind)


def upgrade(
    stored: object,
    *,
    key: str,
    current: int,
    steps: Mapping[int, Callable[[Stored], Stored]],
) -> Stored:
    """Bring a JSON object to the current version, step by step.

    Args:
        stored: What was read.
        key: The field that holds the version, a number from 1 on.
        current: The newest version this program knows.
        steps: From version n to n + 1.

    Raises:
        NewerVersion: `stored` is newer than `current`.
        StoreError: `stored` has no version, or one that nothing leads on from.
    """
    if not isinstance(stored, dict):
        raise StoreError(f"not a JSON object but {type(stored).__name__}")
    version = stored.get(key)
    if not isinstance(version, int) or isinstance(version, bool):
        raise StoreError(f"no version: {key!r} is {version!r}")
    if version > current:
        raise NewerVersion(
            f"written by a newer StormClaw (version {version}, this one reads up to {current}): "
            "upgrade StormClaw to open it"
        )
    while version < current:
        if version not in steps:
            raise StoreError(f"version {version} is not known")
        stored, version = steps[version](stored), version + 1
    return stored


def _outcome_to_json(outcome: ToolOutcome) -> Stored:
    stored: Stored = msgspec.to_builtins(replace(outcome, display=None))
    if outcome.display is not None:
        stored["display"] = display_to_json(outcome.display)
    return stored


def _outcome_from_json(stored: object) -> ToolOutcome:
    parts = _convert(stored, _StoredOutcome)
    outcome = ToolOutcome(*_outcome_fields(replace(parts, display=None)))
    if parts.display is None:
        return outcome
    return replace(outcome, display=display_from_json(parts.display))


def _delegation_from_json(stored: object) -> Delegation:
    parts = _convert(stored, _StoredDelegation)
    delegation = Delegation(*_delegation_fields(parts))
    return replace(delegation, outcome=_outcome_from_json(parts.outcome))


def _tag(stored: object, what: str) -> str:
    tag = stored.get("type") if isinstance(stored, dict) else None
    if not isinstance(tag, str):
        raise StoreError(f"the {what} has no type")
    return tag


def _convert(stored: object, kind: type[T]) -> T:
    try:
        return msgspec.convert(stored, kind)
    except msgspec.ValidationError as error:
        raise StoreError(f"not a {kind.__name__.removeprefix('_Stored')}: {error}") from error


_BODIES: Mapping[str, Callable[[object], Body]] = {
    "user": lambda stored: _convert(stored, UserText),
    "assistant": lambda stored: _convert(stored, AssistantTurn),
    "tool": _outcome_from_json,
    "delegation": _delegation_from_json,
    **{tag: partial(_convert, kind=kind) for kind, tag in _TAGS.items()},
}

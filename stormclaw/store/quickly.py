"""The usual line of a transcript, straight from its bytes to the node in one pass.

`codec` is the law: what is not written exactly as it writes today is left to it, and what is
decoded here is what it would have made of it. Opening a long session is mostly this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import lru_cache
from sys import intern
from typing import Any, get_type_hints

import msgspec
from msgspec.structs import astuple

from stormclaw.protocol.display import Checklist, Diff, Patch, Plain, Shell, Table
from stormclaw.protocol.messages import AssistantTurn, Body, Node, ToolOutcome, UserText

_SHAPE = re.compile(
    rb'\{"v":(\d+),"id":"[^"]*","parent":(?:null|"[^"]*"),"agent":"[^"]*","at":[\d.]+,'
    rb'"body":\{"type":"([a-z]+)"'
)
"""How a record begins; in a text the quotes would be escaped."""
_DISPLAY = re.compile(rb'"display":\{"type":"([a-z]+)"')

_BODIES: Mapping[bytes, type[Body]] = {b"user": UserText, b"assistant": AssistantTurn}
"""What nearly all lines hold, by tag; outcomes of tools are the third."""
_DISPLAYS: Mapping[bytes, Any] = {
    b"": None,
    b"diff": Diff,
    b"plain": Plain,
    b"table": Table,
    b"shell": Shell,
    b"patch": Patch,
    b"checklist": Checklist,
}


class _Record(msgspec.Struct):
    """A line; `body` is narrowed to one kind for each decoder."""

    v: int
    id: str
    parent: str | None
    agent: str
    at: float
    body: Any


def node_from_usual(line: bytes, version: int) -> Node | None:
    """The node on a line that `codec` wrote as `version`; None leaves the line to the codec."""
    shape = _SHAPE.match(line)
    if shape is None or int(shape[1]) != version:
        return None
    tag, display = shape[2], b""
    if tag == b"tool":
        found = _DISPLAY.findall(line)
        if len(found) > 1:
            return None
        display = found[0] if found else b""
    decoder = _decoder(tag, display)
    if decoder is None:
        return None
    try:
        record = decoder.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    if record.v != version:
        return None
    body = record.body
    if tag == b"tool":
        body = ToolOutcome(*astuple(body))
    return Node(record.id, record.parent, intern(record.agent), record.at, body)


@lru_cache(maxsize=64)
def _decoder(tag: bytes, display: bytes) -> msgspec.json.Decoder[Any] | None:
    """A decoder of lines with this kind of body, and in it this kind of display, "" for none."""
    kind: Any = _BODIES.get(tag)
    if tag == b"tool":
        if display not in _DISPLAYS:
            return None
        kind = _outcome(_DISPLAYS[display])
    if kind is None:
        return None
    record = msgspec.defstruct("_Narrow", [("body", kind)], bases=(_Record,))
    return msgspec.json.Decoder(record)


def _outcome(display: Any) -> type[msgspec.Struct]:
    """A `ToolOutcome` whose display is of one kind: msgspec takes no unions of dataclasses."""
    kinds = {**get_type_hints(ToolOutcome), "display": display}
    parts: list[Any] = [
        (part.name, kinds[part.name], *(() if part.default is MISSING else (part.default,)))
        for part in fields(ToolOutcome)
    ]
    return msgspec.defstruct("_Outcome", parts)

"""Events as JSON objects, in one place, for every channel that speaks JSON."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from stormclaw.protocol.events import Event
from stormclaw.protocol.messages import Node
from stormclaw.store.codec import node_to_json


def event_to_json(event: Event) -> dict[str, Any]:
    """`{"type": "TextDelta", "agent": "root", ...}`: fields as the protocol names them."""
    return _tagged(event)


def _tagged(value: Any) -> dict[str, Any]:
    named = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return {"type": type(value).__name__, **named}


def _plain(value: Any) -> Any:
    if isinstance(value, Node):
        return node_to_json(value)
    if is_dataclass(value):
        return _tagged(value)
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    return value

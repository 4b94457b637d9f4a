"""Tool calls as they come: in fragments, in parallel, and with every habit servers have.

Some send no index, some the same index for every call, some an object instead of JSON text, some
no id or an empty one later on. A call is told from the next by the rules in `_slot`.
"""

from __future__ import annotations

import json
import secrets
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stormclaw.protocol.messages import ToolCall

_ALPHABET = string.ascii_letters + string.digits


@dataclass(slots=True)
class _Slot:
    index: int | None
    id: str
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class Fragments:
    """Collects the calls of one answer."""

    def __init__(self) -> None:
        self._slots: list[_Slot] = []

    def __bool__(self) -> bool:
        return bool(self._slots)

    def add(self, fragment: object) -> None:
        """Take one entry of `delta.tool_calls`; anything but an object is ignored."""
        if not isinstance(fragment, Mapping):
            return
        function = fragment.get("function")
        function = function if isinstance(function, Mapping) else {}
        call_id, name = _text(fragment.get("id")), _text(function.get("name"))
        index = fragment.get("index")
        slot = self._slot(index if isinstance(index, int) else None, call_id, name)
        slot.id = slot.id or call_id
        _name(slot, name)
        _argue(slot, function.get("arguments"))

    def _slot(self, index: int | None, call_id: str, name: str) -> _Slot:
        last = self._latest(index)
        if last is None or _begins_another(last, index, call_id, name):
            known = next((slot for slot in self._slots if call_id and slot.id == call_id), None)
            if known is not None and index is None:
                return known
            last = _Slot(index, call_id)
            self._slots.append(last)
        return last

    def _latest(self, index: int | None) -> _Slot | None:
        same = (slot for slot in reversed(self._slots) if index is None or slot.index == index)
        return next(same, None)

    def calls(self, *, cut: bool, taken: Iterable[str]) -> tuple[ToolCall, ...]:
        """The finished calls, in order.

        Args:
            cut: The answer hit the length limit: calls that are not whole are left out.
            taken: Ids that already stand for other calls of the conversation.
        """
        if not self._slots:
            return ()
        used = set(taken)
        calls: list[ToolCall] = []
        for slot in self._slots:
            arguments = slot.arguments
            if not slot.name and not arguments:
                continue
            if cut and not is_json_object(arguments):
                continue
            call_id = slot.id if slot.id and slot.id not in used else mint_id()
            used.add(call_id)
            calls.append(ToolCall(call_id, slot.name, arguments if arguments.strip() else "{}"))
        return tuple(calls)


def mint_id() -> str:
    """An id of nine letters and digits: the only form every provider accepts."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(9))


def is_json_object(text: str) -> bool:
    """Whether `text` is one whole JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _begins_another(slot: _Slot, index: int | None, call_id: str, name: str) -> bool:
    """Whether a fragment for the same place starts a call of its own."""
    if not name:
        # A new id without a name: at an index it is a careless continuation.
        return bool(index is None and call_id and call_id != slot.id)
    if call_id:
        return bool(slot.id) and call_id != slot.id
    # No id at all: a name again means a new call once the one before is whole.
    return is_json_object(slot.arguments) or (index is None and name != slot.name)


def _name(slot: _Slot, name: str) -> None:
    if not name or name == slot.name:
        return
    if not slot.name or name.startswith(slot.name):
        slot.name = name
    elif not slot.pieces:
        slot.name += name


def _argue(slot: _Slot, arguments: object) -> None:
    if isinstance(arguments, str):
        if arguments:
            slot.pieces.append(arguments)
    elif isinstance(arguments, Mapping | list):
        slot.pieces = [json.dumps(arguments, ensure_ascii=False)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

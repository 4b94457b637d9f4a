"""Reasoning under its many names, and what of it must go back to the model unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

FIELDS: Final = ("reasoning_content", "reasoning", "reasoning_text")
"""Names servers use; one that sends two of them sends the same text twice."""

_JOINED: Final = frozenset({"text", "summary", "data"})


class Reasoning:
    """Collects the reasoning of one answer."""

    def __init__(self) -> None:
        self._field = ""
        self._pieces: list[str] = []
        self._details: list[dict[str, Any]] = []

    def take(self, delta: Mapping[str, Any]) -> str:
        """Take what a delta holds; returns the text to show, "" if none."""
        shown = self._plain(delta)
        details = delta.get("reasoning_details")
        for detail in details if isinstance(details, list) else ():
            if isinstance(detail, Mapping):
                self._merge(detail)
                if not self._field:
                    shown += _readable(detail)
        return shown

    def _plain(self, delta: Mapping[str, Any]) -> str:
        names = (self._field, *FIELDS) if self._field else FIELDS
        for name in names:
            value = delta.get(name)
            if isinstance(value, str) and value:
                self._field = self._field or name
                self._pieces.append(value)
                return value
        return ""

    def _merge(self, detail: Mapping[str, Any]) -> None:
        """Add a piece to the detail it continues: same index, same kind, no other id."""
        for known in reversed(self._details):
            if _continues(known, detail):
                for key, value in detail.items():
                    before = known.get(key)
                    if key in _JOINED and isinstance(before, str) and isinstance(value, str):
                        known[key] = before + value
                    elif value is not None or key not in known:
                        known[key] = value
                return
        self._details.append(dict(detail))

    def echo(self, *, has_calls: bool) -> dict[str, Any]:
        """What the next request's assistant message must carry; empty for nothing.

        Plain reasoning only matters while a tool loop goes on; signed details always do.
        """
        if self._details:
            return {"reasoning_details": self._details}
        if self._field and has_calls:
            return {self._field: "".join(self._pieces)}
        return {}


def _continues(known: Mapping[str, Any], detail: Mapping[str, Any]) -> bool:
    if known.get("index") != detail.get("index") or known.get("type") != detail.get("type"):
        return False
    if detail.get("index") is None and known.get("signature"):
        return False
    if detail.get("type") == "reasoning.encrypted" and detail.get("index") is None:
        return False
    known_id, detail_id = known.get("id"), detail.get("id")
    return not (known_id and detail_id and known_id != detail_id)


def _readable(detail: Mapping[str, Any]) -> str:
    text = detail.get("text") or detail.get("summary")
    return text if isinstance(text, str) else ""

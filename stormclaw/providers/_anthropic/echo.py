"""What must go back of an answer that was not only words and calls: thinking, and its place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from stormclaw.protocol.messages import AssistantTurn, ToolCall

Item: TypeAlias = str | ToolCall | Mapping[str, Any]
"""A piece of text, a call, or a block of thinking as it came."""

THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})


def write_echo(provider: str, model: str, order: Iterable[Mapping[str, Any]]) -> str:
    """The `AssistantTurn.echo` of an answer; "" where its text and its calls say all.

    Args:
        provider: Our name of who gave it.
        model: Who was asked.
        order: Blocks of thinking as they came, `{"type": "text", "from": 0, "to": 9}` for a piece
            of the text, `{"type": "tool_use", "id": "..."}` for a call.
    """
    blocks = list(order)
    if not any(block["type"] in THOUGHTS for block in blocks):
        return ""
    return json.dumps({"provider": provider, "model": model, "blocks": blocks}, ensure_ascii=False)


def order_of(turn: AssistantTurn, provider: str, model: str) -> list[Item] | None:
    """Everything of an answer in the order it came; None if its echo is not for this model."""
    echo = _parsed(turn.echo)
    if echo.get("provider") != provider or echo.get("model") != model:
        return None
    blocks = echo.get("blocks")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        return None
    return _exact(turn, blocks) or _thoughts_first(turn, blocks)


def _exact(turn: AssistantTurn, blocks: Sequence[Mapping[str, Any]]) -> list[Item] | None:
    """None where the answer has other calls by now than it came with."""
    calls = {call.id: call for call in turn.calls}
    order: list[Item] = []
    for block in blocks:
        match block:
            case {"type": "text", "from": int(start), "to": int(end)}:
                order.append(turn.text[start:end])
            case {"type": "tool_use", "id": str(call_id)} if call_id in calls:
                order.append(calls.pop(call_id))
            case {"type": "thinking" | "redacted_thinking"}:
                order.append(block)
            case _:
                return None
    return None if calls else order


def _thoughts_first(turn: AssistantTurn, blocks: Sequence[Mapping[str, Any]]) -> list[Item]:
    thoughts = [block for block in blocks if block.get("type") in THOUGHTS]
    return [*thoughts, turn.text, *turn.calls]


def _parsed(echo: str) -> Mapping[str, Any]:
    try:
        parsed = json.loads(echo)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}

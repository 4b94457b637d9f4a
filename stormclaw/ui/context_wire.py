"""Exactly what a model would get, by role, as sections to read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import assert_never

from stormclaw.protocol.messages import (
    AssistantTurn,
    Delegation,
    ToolOutcome,
    UserText,
)
from stormclaw.protocol.provider import Message, ToolSpec
from stormclaw.ui.context_text import Section
from stormclaw.ui.text import count, tokens


def wire_sections(
    system: str,
    specs: Sequence[ToolSpec],
    messages: Sequence[Message],
    counted: Callable[[Message], int],
) -> Iterator[Section]:
    """System prompt, tools, then message by message, in the order they are sent.

    Args:
        system: The system prompt.
        specs: The tools as they are advertised.
        messages: What `ContextDesk.wire` gave.
        counted: Tokens of a message, an estimate.
    """
    if system:
        yield Section("system", system)
    if specs:
        yield Section("tools", _advertised(specs), aside=count(len(specs), "tool"))
    for message in messages:
        yield _section(message, f"~{tokens(counted(message))}")


def _advertised(specs: Sequence[ToolSpec]) -> str:
    schemas = (json.dumps(_plain(spec.parameters), ensure_ascii=False) for spec in specs)
    return "\n\n".join(
        f"{spec.name}\n{spec.description}\n{schema}"
        for spec, schema in zip(specs, schemas, strict=True)
    )


def _plain(value: object) -> object:
    """Mappings that are no dicts made such, for `json`."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def _section(message: Message, size: str) -> Section:
    match message:
        case UserText(text=text):
            return Section("user", text, right=size)
        case AssistantTurn():
            return Section("assistant", _said(message), aside=message.model, right=size)
        case ToolOutcome():
            return _result(message, size)
        case Delegation(outcome=outcome):
            return _result(outcome, size)
        case _:
            assert_never(message)


def _said(turn: AssistantTurn) -> str:
    """Text, calls, and the reasoning that goes back to the same model."""
    parts = [turn.text] if turn.text else []
    parts += [f"calls {call.name}  {call.id}\n{call.arguments}" for call in turn.calls]
    if turn.echo:
        parts.append(f"reasoning, for the same model only\n{turn.echo}")
    return "\n\n".join(parts)


def _result(outcome: ToolOutcome, size: str) -> Section:
    return Section("tool", outcome.output, aside=f"{outcome.tool}  {outcome.call_id}", right=size)

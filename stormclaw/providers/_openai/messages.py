"""One message of the conversation in the words of chat completions, as strict servers want it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, assert_never

from stormclaw.protocol.messages import AssistantTurn, Delegation, ToolCall, ToolOutcome, UserText
from stormclaw.protocol.provider import Message
from stormclaw.providers._openai.names import wire_arguments, wire_id, wire_name
from stormclaw.providers.quirks import Quirks

PLAIN: Final = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})
"""The fields of a message that are no reasoning."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the messages for one server.

    Attributes:
        provider: Our name for it; reasoning it signed goes back to it alone.
        quirks: How it speaks.
        names: What it calls tools whose own name it would not take.
    """

    provider: str
    quirks: Quirks
    names: Mapping[str, str]

    def wired(self, message: Message, model: str) -> dict[str, Any]:
        """The message for a model."""
        match message:
            case UserText(text):
                return {"role": "user", "content": text}
            case AssistantTurn():
                return self._assistant(message, model)
            case ToolOutcome():
                return self._outcome(message)
            case Delegation(outcome):
                return self._outcome(outcome)
            case _:
                assert_never(message)

    def _outcome(self, outcome: ToolOutcome) -> dict[str, Any]:
        wired = {"role": "tool", "tool_call_id": wire_id(outcome.call_id, self.quirks.ids)}
        if self.quirks.tool_names:
            wired["name"] = self._name(outcome.tool)
        return {**wired, "content": outcome.output or "(no output)"}

    def _assistant(self, turn: AssistantTurn, model: str) -> dict[str, Any]:
        # No text is null, never "": Anthropic refuses empty text blocks.
        text = turn.text if turn.text.strip() else None
        wired: dict[str, Any] = {"role": "assistant", "content": text}
        if turn.calls:
            wired["tool_calls"] = [self._call(call) for call in turn.calls]
        return wired | self._echo(turn, model)

    def _call(self, call: ToolCall) -> dict[str, Any]:
        return {
            "id": wire_id(call.id, self.quirks.ids),
            "type": "function",
            "function": {
                "name": self._name(call.name),
                "arguments": wire_arguments(call.arguments),
            },
        }

    def _name(self, tool: str) -> str:
        return self.names.get(tool) or wire_name(tool)

    def _echo(self, turn: AssistantTurn, model: str) -> dict[str, Any]:
        """The reasoning fields that go back, to the same model of the same provider only."""
        quirks = self.quirks
        fields: dict[str, Any] = {}
        if turn.echo:
            echo = json.loads(turn.echo)
            if echo.get("provider") == self.provider and echo.get("model") == model:
                fields = {
                    name: value
                    for name, value in echo.get("fields", {}).items()
                    if name not in quirks.refused and (quirks.echo or name == "reasoning_details")
                }
        if quirks.empty_reasoning and turn.calls:
            fields.setdefault("reasoning_content", "")
        return fields

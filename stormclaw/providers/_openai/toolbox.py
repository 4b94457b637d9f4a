"""The tools of a request as one server sees them, and its calls as we know them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from stormclaw.protocol.messages import ToolCall
from stormclaw.protocol.provider import ToolSpec
from stormclaw.providers._openai.names import safe_names
from stormclaw.providers._openai.refs import inlined
from stormclaw.providers._openai.schemas import plain_schema
from stormclaw.providers._openai.strict import strict_schema, without_nulls
from stormclaw.providers._surrogates import dumps
from stormclaw.providers.quirks import Quirks


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of one request in one dialect.

    Attributes:
        tools: As advertised to us.
        names: What the server calls those whose own name it would not take.
        json: The list as it goes out.
        strict: Names, as the server knows them, of those held to their schema.
    """

    tools: tuple[ToolSpec, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    json: bytes = b"[]"
    strict: frozenset[str] = frozenset()

    def returned(self, call: ToolCall) -> ToolCall:
        """A call the server brought, with the tool's own name and without strict mode's nulls."""
        if call.name in self.strict:
            wired = {self.names.get(spec.name, spec.name): spec for spec in self.tools}
            schema = inlined(wired[call.name].parameters)
            call = replace(call, arguments=without_nulls(call.arguments, schema))
        own = next((own for own, wired in self.names.items() if wired == call.name), None)
        return call if own is None else replace(call, name=own)


def packed(tools: tuple[ToolSpec, ...], quirks: Quirks) -> Toolbox:
    """The tools as a server of these quirks takes them."""
    names = safe_names(spec.name for spec in tools)
    wired: list[dict[str, Any]] = []
    strict: set[str] = set()
    for spec in tools:
        name = names.get(spec.name, spec.name)
        parameters = plain_schema(spec.parameters, quirks.schema)
        function: dict[str, Any] = {
            "name": name,
            "description": spec.description,
            "parameters": parameters,
        }
        if quirks.strict_tools and (held := strict_schema(parameters)) is not None:
            function |= {"parameters": held, "strict": True}
            strict.add(name)
        wired.append({"type": "function", "function": function})
    return Toolbox(tools, names, dumps(wired), frozenset(strict))

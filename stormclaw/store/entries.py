"""What the index keeps of a node: the fields of the runtime spec, text made fit for SQLite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, assert_never

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
from stormclaw.store.sessions import SessionInfo

if TYPE_CHECKING:
    import sqlite3

FEW = 20
"""Nodes that are simply added; of more it is first asked which are there."""
LONGEST_OUTPUT = 20_000
"""Most characters of a tool's output in the index; the transcript has all of it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One turn of a conversation as the index shows it.

    Attributes:
        conversation_id: The session.
        turn_id: The node.
        timestamp: Unix seconds, UTC.
        role: `user`, `assistant` or `tool`.
        content: The text; for a tool its headline and what it gave back.
        tool_calls: `{id, name, arguments}` of each call an assistant made.
        tool_results: `{call_id, tool, status, summary, receipt}` of a tool's answer.
        provider: Who answered, or the session's provider.
        model: Likewise.
        metadata: `agent`, `parent`; `left_out` characters of a long output; `kind` is `summary`
            when it sums up others.
    """

    conversation_id: str
    turn_id: str
    timestamp: float
    role: str
    content: str
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    tool_results: tuple[Mapping[str, Any], ...] = ()
    provider: str = ""
    model: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


def entry_of(session: SessionInfo, node: Node) -> Entry | None:
    """The entry for a node; None for a note or a decision, no part of what was said."""
    role, content = "", ""
    metadata: dict[str, Any] = {"agent": node.agent, "parent": node.parent}
    calls: tuple[dict[str, Any], ...] = ()
    results: tuple[dict[str, Any], ...] = ()
    provider, model = session.provider, session.model
    body: Body = node.body
    match body:
        case Note() | ContextEdit() | Moved() | Label():
            return None
        case Summary():
            role, content = "assistant", body.text
            model = body.model or model
            metadata["kind"] = "summary"
        case UserText():
            role, content = "user", body.text
        case AssistantTurn():
            role, content = "assistant", body.text
            provider, model = body.provider or provider, body.model or model
            calls = tuple(
                {"id": call.id, "name": call.name, "arguments": call.arguments}
                for call in body.calls
            )
        case ToolOutcome() | Delegation():
            outcome = body if isinstance(body, ToolOutcome) else body.outcome
            role = "tool"
            content = f"{outcome.headline.verb} {outcome.headline.object}\n{outcome.output}"
            results = (_result(outcome),)
        case _:
            assert_never(body)
    if role == "tool" and len(content) > LONGEST_OUTPUT:
        metadata["left_out"] = len(content) - LONGEST_OUTPUT
        content = content[:LONGEST_OUTPUT]
    return Entry(
        session.id, node.id, node.at, role, content, calls, results, provider, model, metadata
    )


def missing(inside: sqlite3.Connection, session_id: str, nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Those of a session's nodes that the index does not have."""
    query = "SELECT turn_id FROM entries WHERE conversation_id = ?"
    known = {row[0] for row in inside.execute(query, (plain(session_id),))}
    return tuple(node for node in nodes if plain(node.id) not in known)


def plain(text: str) -> str:
    """Text SQLite can hold and search: no lone surrogates, no NULs."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\u2400")


def _result(outcome: ToolOutcome) -> dict[str, Any]:
    return {
        "call_id": outcome.call_id,
        "tool": outcome.tool,
        "status": outcome.status,
        "summary": outcome.summary,
        "receipt": outcome.receipt,
    }

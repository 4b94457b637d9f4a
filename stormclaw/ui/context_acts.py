"""What a key on the context screen asks for, as a change of one node; or why it cannot be done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from stormclaw.agent.context.graph import Standing, change_of, fold
from stormclaw.agent.context.sheet import Part, PartKind
from stormclaw.protocol.messages import Change, ContextEdit, Node, Summary
from stormclaw.ui.text import count, one_line

ALWAYS_SENT: Mapping[PartKind, str] = {
    "system": "the system prompt is always sent: without it the model does not know what it may do",
    "instructions": "instructions are always sent; edit the file to change them",
    "memory": "the notes are always sent; edit MEMORY.md to change them",
    "tools": "tools are always sent; tools_deny in the configuration takes one away",
    "turns": "this is no part of the conversation",
    "results": "this is no part of the conversation",
}
"""Why a part that is no node cannot be dropped, pinned or summed up."""


def refusal(part: Part) -> str:
    """Why nothing can be decided about this part; "" if it can."""
    return "" if part.id else ALWAYS_SENT[part.kind]


def standing_of(nodes: Iterable[Node], node_id: str) -> Standing:
    """What holds of a node now."""
    return fold(nodes)[node_id]


def off_with_its_call(part: Part, standing: Standing) -> bool:
    """Whether it stands whole and is not sent all the same: the answer that asked for it is off."""
    return not part.sent and standing.include and standing.reasoning


def toggled(part: Part) -> Change:
    """Off the wire if it is sent, whole again if it is not. What is dropped is not pinned."""
    return Change(part.id, include=not part.sent)


def pinned(part: Part, standing: Standing) -> Change:
    """Pinned, and whole for that; or no longer pinned, and else as it stands."""
    if part.pinned:
        return replace(change_of(part.id, standing), pinned=False, by="", why="")
    return Change(part.id, pinned=True)


def undone_words(nodes: Sequence[Node], labels: Mapping[str, str]) -> str:
    """What the newest node takes back: whose decision, and about how many nodes."""
    newest = nodes[-1].body if nodes else None
    if not isinstance(newest, ContextEdit) or not newest.undoes:
        return "taken back"
    match next((node.body for node in nodes if node.id == newest.undoes), None):
        case ContextEdit(policies=policies) if policies is not None:
            return "taken back: your order of policies"
        case ContextEdit(by=by, changes=changes):
            whose = one_line(labels.get(by, by))
            return f"taken back: {whose}, {count(len(changes), 'node')}"
        case Summary(replaces=replaces):
            return f"taken back: a summary of {count(len(replaces), 'node')}"
        case _:
            return "taken back"

"""What a model is shown to sum up: foreign text, clipped, between marks nobody can guess. Pure."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence

from stormclaw.agent.context.compaction_cut import sealed_by_person
from stormclaw.agent.context.graph import Standings
from stormclaw.agent.context.wording import elided, gist
from stormclaw.protocol.messages import AssistantTurn, Node, UserText, outcome_of

SHORTEST = 80
"""Characters to which any text of the material may be clipped."""


def fenced(text: str) -> str:
    """Foreign text between marks it cannot hold itself."""
    number = secrets.token_hex(8)
    return f"<material {number}>\n{text}\n</material {number}>"


def material(nodes: Sequence[Node], held: Standings, room: int) -> str:
    """What was said and done, as the model saw it, in at most about `room` characters.

    Long texts are clipped, more and more, until all fit; then what lies in the middle is left out.
    """
    longest = 4_000
    while True:
        entries = [entry for node in nodes if (entry := _entry(node, held, longest))]
        size = sum(len(entry) + 1 for entry in entries)
        if size <= room or longest <= SHORTEST:
            break
        longest = max(SHORTEST, longest // 2)
    if size <= room:
        return "\n".join(entries)
    return "\n".join(_ends(entries, room))


def clipped(text: str, longest: int) -> str:
    """A text with its middle left out where it is too long."""
    if len(text) <= longest:
        return text
    head = longest * 2 // 3
    gone = len(text) - longest
    return f"{text[:head]} … {gone:,} characters … {text[head + gone :]}"


def _entry(node: Node, held: Standings, longest: int) -> str:
    """A node as material; "" for what the person took out of sight."""
    standing, body = held[node.id], node.body
    if sealed_by_person(node, held):
        return ""
    if not standing.include and standing.summary:
        return f"[{node.id}] in short: {clipped(standing.summary, longest)}"
    if isinstance(body, UserText):
        return f"[{node.id}] the person: {clipped(body.text, longest)}"
    if isinstance(body, AssistantTurn):
        calls = [
            f"  calls {call.name} {clipped(call.arguments, longest // 8)}" for call in body.calls
        ]
        said = [f"[{node.id}] the assistant: {clipped(body.text, longest)}"] if body.text else []
        return "\n".join([*said, *calls])
    outcome = outcome_of(body)
    if outcome is None:
        return ""
    if not standing.include:
        return f"[{node.id}] {elided(node, standing.why)}"
    return f"[{node.id}] result: {gist(node)}\n{clipped(outcome.output, longest // 2)}"


def _ends(entries: Sequence[str], room: int) -> Iterator[str]:
    """The first and, above all, the last entries."""
    head, tail = room // 4, room - room // 4
    first = 0
    while first < len(entries) and len(entries[first]) < head:
        head -= len(entries[first]) + 1
        first += 1
    last = len(entries)
    while last > first and len(entries[last - 1]) < tail:
        tail -= len(entries[last - 1]) + 1
        last -= 1
    yield from entries[:first]
    yield f"… {last - first} entries left out …"
    yield from entries[last:]

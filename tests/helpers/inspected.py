"""A conversation worth looking into, and a desk that shows it: for pictures of the context."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from stage import NOON, StageSession

from stormclaw.agent.context.sheet import Part, PartKind, PolicyLine, Sheet
from stormclaw.agent.context.window import window
from stormclaw.protocol.display import Headline, ObjectKind
from stormclaw.protocol.events import Committed
from stormclaw.protocol.messages import (
    ROOT,
    AssistantTurn,
    Body,
    Change,
    ContextEdit,
    Node,
    Summary,
    ToolCall,
    ToolOutcome,
    UserText,
    outcome_of,
)
from stormclaw.protocol.provider import Message, ToolSpec

POLICIES = (
    PolicyLine("superseded_reads", "superseded reads", "a file read again or edited since"),
    PolicyLine("old_results", "old results", "tool output older than the newest 6"),
    PolicyLine("failed_attempts", "failed attempts", "keep the one-line outcome"),
    PolicyLine("old_reasoning", "old reasoning", "thoughts of earlier turns", on=False),
)
ORDER = tuple(line.name for line in POLICIES if line.on)


def node(number: int, body: Body) -> Node:
    parent = f"n{number - 1:02}" if number else None
    return Node(f"n{number:02}", parent, ROOT, NOON - 3600 + 60 * number, body)


KINDS: dict[str, ObjectKind] = {"read": "path", "grep": "text", "shell": "command"}


def result(number: int, verb: str, thing: str, output: str, **more: Any) -> ToolOutcome:
    tool = {"read": "read_file", "grep": "grep", "shell": "shell_exec"}[verb]
    fields: dict[str, Any] = {"summary": "84 lines", "receipt": 200 + number, **more}
    status = fields.pop("status", "done")
    return ToolOutcome(
        f"c{number}", tool, status, output, Headline(verb, thing, KINDS[verb]), **fields
    )


def asking(number: int, tool: str, arguments: str, text: str = "") -> AssistantTurn:
    call = ToolCall(f"c{number}", tool, arguments)
    return AssistantTurn(text, calls=(call,), model="sonnet-4.5", provider="openrouter")


LEFT = '[grep "tok" in src/ done, 30 lines; recall n04 shows it]'
SOURCE = "def call(self):\n    for n in range(3):\n        yield n\n"


def conversation() -> tuple[Node, ...]:
    """Eight things that were said and done, and one decision."""
    bodies: tuple[Body, ...] = (
        UserText("Back off when a 429 has no Retry-After header, and say so in the changelog"),
        asking(1, "read_file", '{"path": "src/tide/client.py"}'),
        result(1, "read", "src/tide/client.py", SOURCE * 40),
        asking(2, "grep", '{"pattern": "tok"}'),
        result(2, "grep", '"tok" in src/', "src/tide/client.py:4: tok\n" * 30),
        asking(3, "read_file", '{"path": "src/tide/client.py"}'),
        result(3, "read", "src/tide/client.py", SOURCE * 41),
        asking(4, "shell_exec", '{"command": "pytest -q tests/"}'),
        result(4, "shell", "pytest -q tests/", "1 passed\n", summary="exit 0, 1 line"),
        AssistantTurn("call() had no ceiling; it has one of 30 s now.", model="sonnet-4.5"),
        ContextEdit("old_results", (Change("n04", include=False, summary=LEFT),), 900, 700),
    )
    return tuple(node(number, body) for number, body in enumerate(bodies))


OBJECTS = {
    "n00": ("turns", "you"),
    "n09": ("turns", "root"),
    "n02": ("results", "read"),
    "n04": ("results", "grep"),
    "n06": ("results", "read"),
    "n08": ("results", "shell"),
}
SIZES = {"n00": 120, "n02": 11_600, "n04": 7_100, "n06": 9_800, "n08": 3_200, "n09": 600}
HELD = {
    "n02": ("superseded_reads", 22, "read again later"),
    "n04": ("old_results", 22, ""),
}


def sheet_of(
    nodes: Sequence[Node],
    order: Sequence[str] = ORDER,
    *,
    dry: bool = False,
    window_size: int = 200_000,
    usd: float | None = 3e-6,
    dropped: frozenset[str] = frozenset(),
    pinned: frozenset[str] = frozenset(),
) -> Sheet:
    """The sheet of `conversation()` under an order of policies."""
    parts = [
        Part("", "system", "system", "core instructions, surroundings", 1_400, 1_400),
        Part("", "instructions", "rules", "AGENTS.md", 8_100, 8_100),
        Part("", "memory", "notes", "MEMORY.md", 300, 300),
        Part("", "tools", "tools", "18 schemas", 12_100, 12_100),
    ]
    for at in nodes:
        if isinstance(at.body, ContextEdit) or at.id not in SIZES:
            continue
        kind: PartKind = "turns" if OBJECTS[at.id][0] == "turns" else "results"
        text = getattr(at.body, "text", "") or at.body.headline.object  # type: ignore[union-attr]
        size = SIZES[at.id]
        by, left, why = HELD.get(at.id, ("", size, ""))
        sent = at.id not in dropped and (by not in order or at.id in pinned)
        if at.id in dropped:
            by, left, why = "you", 0, ""
        parts.append(
            Part(
                at.id,
                kind,
                OBJECTS[at.id][1],
                text,
                size,
                size if sent else left,
                sent=sent,
                pinned=at.id in pinned,
                by="" if sent else by,
                why="" if sent else why,
                node=at,
            )
        )
    saves = {by: SIZES[held] - left for held, (by, left, _) in HELD.items()}
    lines = {line.name: line for line in POLICIES}
    stack = tuple(replace(lines[name], on=True, saves=saves.get(name, 0)) for name in order)
    rest = tuple(replace(line, on=False) for line in POLICIES if line.name not in order)
    kinds: tuple[PartKind, ...] = (
        "system",
        "instructions",
        "memory",
        "tools",
        "turns",
        "results",
    )
    shares = tuple((kind, sum(p.left for p in parts if p.kind == kind)) for kind in kinds)
    held = [part for part in parts if not part.sent]
    return Sheet(
        tuple(parts),
        (*stack, *rest),
        shares,
        sum(amount for _, amount in shares),
        window_size,
        40_000,
        len(held),
        sum(part.tokens - part.left for part in held),
        usd,
        dry=dry,
    )


class PaperDesk:
    """A desk that remembers what it was asked and shows it at once."""

    def __init__(self, session: StageSession, nodes: tuple[Node, ...], **options: Any) -> None:
        self.session, self.nodes, self.options = session, nodes, options
        self.applied: tuple[str, ...] = ORDER
        self.dropped: frozenset[str] = frozenset()
        self.pinned: frozenset[str] = frozenset()
        self.asked: list[Any] = []
        self.failure: Exception | None = None
        self.gate = asyncio.Event()
        self.read = 0

    def sheet(self, policies: Sequence[str] | None = None) -> Sheet:
        self.read += 1
        return sheet_of(
            self.nodes,
            self.applied if policies is None else tuple(policies),
            dry=policies is not None,
            dropped=self.dropped,
            pinned=self.pinned,
            **self.options,
        )

    def wire(self, policies: Sequence[str] | None = None) -> tuple[Message, ...]:
        return window(self.nodes)

    async def change(self, changes: Sequence[Change]) -> None:
        self._fail()
        self.asked += changes
        for change in changes:
            only = frozenset({change.node})
            self.dropped = self.dropped - only if change.include else self.dropped | only
            self.pinned = self.pinned | only if change.pinned else self.pinned - only
        made = node(90, ContextEdit("you", tuple(changes)))
        self.session._nodes[ROOT] = (*self.session.nodes(), made)
        self.session.hub.publish(Committed(ROOT, made))

    async def order(self, policies: Sequence[str]) -> None:
        self._fail()
        self.asked.append(tuple(policies))
        self.applied = tuple(policies)

    async def undo(self) -> bool:
        self._fail()
        undone = bool(self.dropped)
        self.dropped = frozenset()
        return undone

    async def summarise(self, node_id: str) -> str:
        self.asked.append(("summarise", node_id))
        await self.gate.wait()
        self._fail()
        self.dropped |= {node_id}
        return "tok is read in one place"

    async def compact(self, focus: str = "") -> Summary | None:
        self.asked.append(("compact", focus))
        await self.gate.wait()
        self._fail()
        return Summary("what went on", ("n00", "n01"), focus, 61_200, 20_100)

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure


class PaperGauge:
    """Counts in a way that no better way of counting changes."""

    def of(self, message: Message) -> int:
        outcome = outcome_of(message)
        return len(outcome.output if outcome else getattr(message, "text", "")) // 4


class PaperKit:
    """What the preview of the wire reads of a kit."""

    gauge = PaperGauge()
    specs = (ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {}}),)

    def system_prompt(self) -> str:
        return "You are StormClaw, a coding assistant in the terminal."


def inspected(nodes: tuple[Node, ...] | None = None, **options: Any) -> StageSession:
    """A session with this conversation and a desk of its own."""
    shown = conversation() if nodes is None else nodes
    session = StageSession({ROOT: shown})
    made: Any = session
    made.desk, made.kit = PaperDesk(session, shown, **options), PaperKit()
    return session

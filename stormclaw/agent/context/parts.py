"""What a request is made of, part by part, for the context screen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stormclaw.agent.context.graph import Standing, Standings
from stormclaw.agent.context.sheet import Part, PartKind
from stormclaw.agent.context.tokens import Gauge
from stormclaw.agent.context.window import Memo, traced
from stormclaw.agent.prompt import INSTRUCTIONS_HEAD, NOTES_HEAD, SURROUNDINGS_HEAD
from stormclaw.protocol.messages import (
    AssistantTurn,
    Delegation,
    Node,
    Summary,
    ToolOutcome,
    UserText,
    outcome_of,
)
from stormclaw.protocol.provider import ToolSpec

KINDS: tuple[PartKind, ...] = ("system", "instructions", "memory", "tools", "turns", "results")
CALL_OFF = "its call is not sent"
_HEADS = re.compile(
    "^(?:" + "|".join(map(re.escape, (INSTRUCTIONS_HEAD, NOTES_HEAD, SURROUNDINGS_HEAD))) + ").*$",
    re.MULTILINE,
)


@dataclass
class Layout:
    """A request laid out.

    Attributes:
        nodes: The branch.
        standings: What holds of its nodes.
        gauge: Counts tokens.
        memo: Messages made before.
        parts: Its parts, in the order they are sent; those held back where they would stand.
        shares: Tokens on the wire by kind.
    """

    nodes: Sequence[Node]
    standings: Standings
    gauge: Gauge
    memo: Memo
    parts: list[Part] = field(default_factory=list)
    shares: dict[PartKind, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))

    def around(self, prompt: str, specs: Sequence[ToolSpec]) -> None:
        """Lay out what is no node."""
        whole, tools = self.gauge.prompt(prompt, specs)
        sections = list(_sections(prompt))
        named = [(kind, name, self.gauge.text(text)) for kind, name, text in sections]
        rest = max(0, whole - sum(tokens for *_, tokens in named))
        self._fixed("system", "system", "what it is and how it works", rest)
        for kind, name, tokens in named:
            self._fixed(kind, kind, name, tokens)
        count = "1 tool" if len(specs) == 1 else f"{len(specs)} tools"
        self._fixed("tools", "tools", count, tools)

    def conversation(self) -> None:
        """Lay out the nodes."""
        left: dict[str, int] = {}
        places: dict[str, int] = {}
        for place, (node_id, message) in enumerate(traced(self.nodes, self.standings, self.memo)):
            tokens = self.gauge.of(message)
            kind: PartKind = "turns" if outcome_of(message) is None else "results"
            if not node_id:
                self.shares[kind] += tokens
                continue
            left[node_id] = left.get(node_id, 0) + tokens
            places[node_id] = place
        found: list[tuple[int, int, Part]] = []
        place, turn = -1, ""
        for number, node in enumerate(self.nodes):
            place = places.get(node.id, place)
            turn = node.id if isinstance(node.body, AssistantTurn) else turn
            part = self._part(node, left.get(node.id), turn)
            if part is not None:
                found.append((place, number, part))
                self.shares[part.kind] += part.left
        found.sort(key=lambda each: each[:2])
        self.parts += [part for *_, part in found]

    def saved_by(self) -> Mapping[str, int]:
        """Who took parts off the wire -> how many tokens that keeps off it."""
        saved: dict[str, int] = {}
        for part in self.parts:
            if part.by and not part.sent:
                saved[part.by] = saved.get(part.by, 0) + part.tokens - part.left
        return saved

    def _fixed(self, kind: PartKind, word: str, about: str, tokens: int) -> None:
        self.parts.append(Part("", kind, word, about, tokens, tokens))
        self.shares[kind] += tokens

    def _part(self, node: Node, left: int | None, turn: str) -> Part | None:
        """The line of a node; None for one that is never sent."""
        named = _named(node)
        if named is None:
            return None
        kind, word, about = named
        standing = self.standings[node.id]
        by, why = standing.by, standing.why
        whole = standing.include and (standing.reasoning or not _has_reasoning(node))
        if left is None and whole:
            # It stands whole, and yet has no place: the answer that asked for it is not sent.
            asked: Standing = self.standings[turn]
            whole, by, why = False, asked.by, CALL_OFF
        return Part(
            id=node.id,
            kind=kind,
            word=word,
            object=about,
            tokens=self.gauge.of(node.body),
            left=left or 0,
            estimated=not self.gauge.reported(node.body),
            sent=whole,
            pinned=standing.pinned,
            by="" if whole else by,
            why="" if whole else why,
            node=node,
        )


def _has_reasoning(node: Node) -> bool:
    return isinstance(node.body, AssistantTurn) and bool(node.body.echo or node.body.thinking)


def _named(node: Node) -> tuple[PartKind, str, str] | None:
    """Kind, word and object of a node; None for one that is never sent."""
    match node.body:
        case UserText(text=text) if text.strip():
            return "turns", "you", _line(text)
        case AssistantTurn(text=text, calls=calls) if text.strip() or calls:
            asked = ", ".join(call.name for call in calls)
            return "turns", node.agent.rpartition("/")[2], _line(text) or _line(asked)
        case Delegation(task=task, child=child):
            return "results", "agent", _line(f"{child.rpartition('/')[2]}: {task}")
        case ToolOutcome(headline=headline):
            return "results", headline.verb, _line(headline.object)
        case Summary(text=text) if text.strip():
            return "turns", "summary", _line(text)
        case _:
            return None


def _line(text: str) -> str:
    return " ".join(text[:800].split())[:400]


def _sections(prompt: str) -> Iterator[tuple[PartKind, str, str]]:
    """The parts of a system prompt that are the project's or the person's."""
    heads = [*_HEADS.finditer(prompt)]
    ends = [*(head.start() for head in heads[1:]), len(prompt)]
    for head, end in zip(heads, ends, strict=False):
        text = prompt[head.start() : end]
        if head[0].startswith(INSTRUCTIONS_HEAD):
            yield "instructions", head[0].removeprefix(INSTRUCTIONS_HEAD), text
        elif head[0].startswith(NOTES_HEAD):
            yield "memory", "MEMORY.md", text

"""An agent's conversation as blocks: the same whether it was watched live or read from disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stormclaw.protocol.asks import Permission
from stormclaw.protocol.display import Headline
from stormclaw.protocol.events import (
    Answered,
    Asked,
    ChildEnded,
    ChildStarted,
    Committed,
    Event,
    Notice,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    UsageChanged,
    Withdrawn,
)
from stormclaw.protocol.messages import AssistantTurn, Node, ToolCall, outcome_of
from stormclaw.ui.blocks import Block, Card, Failure, Remark, call_headline, node_sources
from stormclaw.ui.calls import Calls, grouped
from stormclaw.ui.column import Column
from stormclaw.ui.markdown import Markdown
from stormclaw.ui.render.turns import STOP
from stormclaw.ui.stream import Stream
from stormclaw.ui.stretches import Stretches

UNNAMED = Headline("", "")
"""Stands for the name of a call until all that was loaded is known."""


class Timeline:
    """Keeps a `Column` true to the nodes and events of one agent.

    Args:
        agent: Whose; children appear only as the card that started them.
        column: Where the blocks stand.
        markdown: For the answer being written.
        clock: Monotonic seconds.
        wall: Unix time, for notices.
    """

    def __init__(
        self,
        agent: str,
        column: Column,
        markdown: Markdown,
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self.agent = agent
        self.column = column
        self._wall = wall
        self._stretches = Stretches(column)
        self.stream = Stream(self._stretches, markdown, clock)
        self.calls = Calls(self._stretches, clock)

    @property
    def blocks(self) -> list[Block]:
        """Everything, in the order it stands."""
        return self.column.blocks

    def running(self) -> list[Block]:
        """Blocks whose first line changes with the clock."""
        thought = self.stream.thought
        return [*([thought] if thought else []), *self.calls.running()]

    def show(self, nodes: Sequence[Node]) -> None:
        """Replace everything by what is on disk."""
        self.stream.end([])
        self.calls.clear()
        fresh: list[Block] = []
        asked: list[ToolCall] = []
        cards: list[Card] = []

        def unnamed(call: ToolCall) -> Headline:
            asked.append(call)
            return UNNAMED

        for node in nodes:
            if node.agent == self.agent:
                for block in self._load(node, unnamed):
                    fresh.append(block)
                    if isinstance(block.source, Card) and block.source.headline is UNNAMED:
                        cards.append(block.source)
        for card, call in zip(cards, asked, strict=True):
            if card.headline is UNNAMED:  # Its outcome, which knows better, is not there.
                card.headline = call_headline(call)
        for block in fresh[:-1]:
            if isinstance(block.source, Failure):
                block.source.last = False
        self._stretches.clear(grouped(fresh))

    def _load(self, node: Node, headline: Callable[[ToolCall], Headline]) -> list[Block]:
        outcome = outcome_of(node.body)
        if outcome is not None:
            block = self.calls.load(outcome, node)
            return [block] if block else []
        blocks = [Block(source) for source in node_sources(node, headline)]
        for block in blocks:
            if isinstance(block.source, Card):
                self.calls.know(block.source, block)
        return blocks

    def handle(self, event: Event) -> None:
        """Take one event; those of other agents only move the card of the child they belong to."""
        if event.agent != self.agent:
            self.calls.child_event(event)
            return
        match event:
            case TextDelta(text=text):
                self.stream.add_text(text)
            case ThinkingDelta(text=text):
                self.stream.add_thinking(text)
            case Committed(node=node):
                self._commit(node)
            case ToolStarted():
                self.calls.start(event)
            case ToolProgress(call_id=call_id, text=text):
                self.calls.progress(call_id, text)
            case ToolEnded(outcome=outcome):
                self.calls.end(outcome)
            case Asked(ask=Permission() as ask):
                self.calls.asked(ask.id, ask.call.id)
            case Answered(ask_id=ask_id):
                self.calls.answered(ask_id)
            case ChildStarted(child=child):
                self.calls.adopt(child)
            case ChildEnded(child=child):
                self.calls.child_ended(child)
            case Notice(level="error", text=text, detail=detail) if detail:
                self._stretches.append([Block(Failure(text, detail, STOP))])
            case Notice(level=level, text=text):
                remark = Remark(text, self._wall(), error=level == "error")
                self._stretches.append([Block(remark)])
            case TurnStarted():
                self._stretches.not_last(len(self.blocks) - 1)
            case TurnEnded() | Withdrawn():
                self.stream.end([])
            case UsageChanged() | Asked():
                pass

    def _commit(self, node: Node) -> None:
        outcome = outcome_of(node.body)
        sources = node_sources(node)
        if outcome is not None:
            self.calls.end(outcome, node)
        elif isinstance(node.body, AssistantTurn):
            cards = [source for source in sources if isinstance(source, Card)]
            self.stream.commit(node.body, sources[: len(sources) - len(cards)])
            for card in cards:
                self.calls.place(card)
        else:
            self._stretches.append([Block(source) for source in sources])

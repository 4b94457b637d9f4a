"""What the panel, the header and the footer say: a fold over events, or over stored nodes.

Nothing here draws; the same events live or replayed give the same board.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import assert_never

from stormclaw.protocol.asks import Ask
from stormclaw.protocol.display import Checklist, Diff, Display, Patch
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
from stormclaw.protocol.messages import (
    ROOT,
    AssistantTurn,
    Delegation,
    Node,
    TurnReason,
    Usage,
    outcome_of,
)
from stormclaw.ui.agents import ENDED, ENDED_WORDS, Agent, spoken


@dataclass(slots=True)
class Board:
    """The whole picture of a session.

    Attributes:
        clock: Monotonic seconds.
        agents: By path, in the order they appeared; root is always there.
        changed: Path as shown -> (lines added, lines removed) in this session.
        plan: What root means to do, None until it said so.
        asks: Open questions, oldest first.
        receipts: Number of the newest receipt.
    """

    clock: Callable[[], float]
    agents: dict[str, Agent] = field(default_factory=dict)
    changed: dict[str, tuple[int, int]] = field(default_factory=dict)
    plan: Checklist | None = None
    asks: list[Ask] = field(default_factory=list)
    receipts: int = 0

    def __post_init__(self) -> None:
        self.agent(ROOT)

    @property
    def root(self) -> Agent:
        """The agent a person talks to."""
        return self.agents[ROOT]

    @property
    def busy(self) -> bool:
        """Whether anything runs."""
        return any(agent.busy for agent in self.agents.values())

    @property
    def lines_changed(self) -> tuple[int, int]:
        """Lines added and removed over all files."""
        counts = self.changed.values()
        return sum(added for added, _ in counts), sum(removed for _, removed in counts)

    def agent(self, path: str) -> Agent:
        """The agent at `path`, made if it is new."""
        if path not in self.agents:
            self.agents[path] = Agent(path, len(self.agents) + 1)
        return self.agents[path]

    def tree(self) -> list[Agent]:
        """Parents before their children, brothers in the order they appeared."""
        order = {path: number for number, path in enumerate(self.agents)}

        def key(agent: Agent) -> list[int]:
            parts = agent.path.split("/")
            paths = ("/".join(parts[: end + 1]) for end in range(len(parts)))
            return [order.get(path, 0) for path in paths]

        return sorted(self.agents.values(), key=key)

    def below(self, path: str) -> list[Agent]:
        """Everything under an agent, itself not included."""
        return [agent for agent in self.agents.values() if agent.path.startswith(f"{path}/")]

    def load(self, nodes: Iterable[Node]) -> None:
        """Take in the stored nodes of one agent."""
        for node in nodes:
            self._node(node.agent, node)

    def apply(self, event: Event) -> None:
        """Take in one event."""
        agent = self.agent(event.agent)
        match event:
            case TurnStarted():
                agent.state, agent.action, agent.since = "running", "thinking", self.clock()
                agent.calls.clear()
            case TurnEnded():
                self._rest(agent)
                agent.state = "waiting" if agent.path == ROOT else ENDED[event.reason]
                agent.action = "" if agent.path == ROOT else ENDED_WORDS[event.reason]
            case TextDelta():
                agent.action = "writing the answer"
            case ThinkingDelta():
                agent.action = "thinking"
            case ToolStarted():
                agent.calls[event.call.id] = event.headline
                agent.action = spoken(event.headline)
            case ToolEnded():
                self._call_over(agent, event.outcome.call_id)
                self.receipts = max(self.receipts, event.outcome.receipt)
            case Asked():
                self.asks.append(event.ask)
                agent.state, agent.action = "asks", "waits for you"
            case Answered():
                self.asks = [ask for ask in self.asks if ask.id != event.ask_id]
                if agent.state == "asks":
                    agent.state = "running"
                    self._call_over(agent, "")
            case ChildStarted():
                child = self.agent(event.child)
                child.task, child.model, child.tools = event.task, event.model, event.tools
                child.budget_usd, child.budget_tokens = event.budget_usd, event.budget_tokens
                child.state, child.action, child.since = "running", "thinking", self.clock()
            case ChildEnded():
                self._child_over(event.child, event.reason, event.usage, "")
            case UsageChanged():
                agent.usage = event.usage
                if event.context_tokens:  # Otherwise it is a child's answer the purse paid for.
                    agent.context_tokens = event.context_tokens
                    agent.context_window = event.context_window
                agent.budget_usd = event.budget_usd
                agent.budget_tokens = event.budget_tokens
            case Committed():
                self._node(event.agent, event.node)
            case ToolProgress() | Notice() | Withdrawn():
                pass
            case _:
                assert_never(event)

    def _node(self, path: str, node: Node) -> None:
        body = node.body
        if outcome := outcome_of(body):
            self.receipts = max(self.receipts, outcome.receipt)
            if outcome.status == "done":
                self._done(path, outcome.display)
        if isinstance(body, Delegation):
            self.agent(body.child).task = body.task
            said = body.outcome.output.strip().lstrip("#*-• ").partition("\n")[0]
            first = said if body.outcome.status == "done" else body.outcome.summary
            self._child_over(body.child, body.reason, body.usage, first)
        elif isinstance(body, AssistantTurn):
            agent = self.agent(path)
            agent.answered = (body.provider, body.model)
            agent.model = agent.model or body.model

    def _done(self, path: str, display: Display | None) -> None:
        match display:
            case Diff():
                self._count(display)
            case Patch(files):
                for diff in files:
                    self._count(diff)
            case Checklist() if path == ROOT:
                self.plan = display if display.steps else None
            case _:
                pass

    def _count(self, diff: Diff) -> None:
        added, removed = self.changed.get(diff.path, (0, 0))
        self.changed[diff.path] = (added + diff.added, removed + diff.removed)

    def _child_over(self, path: str, reason: TurnReason, usage: Usage, said: str) -> None:
        child = self.agent(path)
        self._rest(child)
        child.state, child.usage = ENDED[reason], usage
        words = ENDED_WORDS[reason]
        if said or not child.action.startswith(words):
            child.action = f"{words}: {said}" if said else words

    def _rest(self, agent: Agent) -> None:
        agent.spent_s = agent.elapsed_s(self.clock())
        agent.since = None

    def _call_over(self, agent: Agent, call_id: str) -> None:
        agent.calls.pop(call_id, None)
        last = next(reversed(agent.calls.values()), None)
        if last is not None:
            agent.action = spoken(last)
        else:  # A command of the person's runs beside any turn.
            agent.action = "thinking" if agent.busy else ""

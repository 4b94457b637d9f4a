"""One agent's conversation while it is read: pieces of an answer and results become whole nodes.

Other assistants write an answer in pieces, and results between them. Here an answer is one node,
followed by its outcomes in the order of the calls; words that came in between follow after.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    NO_USAGE,
    AssistantTurn,
    Body,
    Delegation,
    Moved,
    Node,
    ToolCall,
    ToolOutcome,
    Usage,
    UserText,
)

NEVER_CAME = "the record this was imported from has no result for this call"


class Ids:
    """Ids of nodes: the same file gives the same ones."""

    def __init__(self, seed: str) -> None:
        self._seed = seed.encode("utf-8", "surrogatepass")
        self._count = 0

    def new(self) -> str:
        """The next id."""
        self._count += 1
        return blake2b(b"%s %d" % (self._seed, self._count), digest_size=6).hexdigest()


@dataclass
class Answer:
    """An answer whose pieces still come in.

    Attributes:
        key: What its pieces have in common.
        at: When the first came.
        results: By place of the call.
        waiting: What was said before all results were there.
        places: Names of the rows it is made of, and of what came in between.
    """

    key: str
    at: float
    model: str
    provider: str
    usage: Usage = NO_USAGE
    texts: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    results: dict[int, tuple[ToolOutcome | Delegation, float]] = field(default_factory=dict)
    waiting: list[tuple[Body, float]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)


class Talk:
    """A conversation that grows; every method gives the nodes that are complete by now.

    Attributes:
        agent: The agent's path.
        tail: Id of the newest node, None before the first.
        parents: Id of each node -> of the one before it.
    """

    def __init__(self, agent: str, ids: Ids) -> None:
        self.agent = agent
        self.tail: str | None = None
        self.parents: dict[str, str | None] = {}
        self._ids = ids
        self._open: Answer | None = None
        self._places: dict[str, str | None] = {}
        self._firsts: dict[str, str] = {}
        self._said: set[str] = set()

    def answer(
        self, key: str, at: float, model: str, provider: str
    ) -> tuple[Answer, Iterator[Node]]:
        """The answer pieces with this key belong to, and what was finished by its beginning."""
        if self._open is not None and self._open.key == key:
            return self._open, iter(())
        finished = list(self.flush())
        self._open = Answer(key, at, model, provider)
        return self._open, iter(finished)

    def find(self, call_id: str) -> ToolCall | None:
        """The call that waits for a result."""
        place = self._place(call_id)
        return None if self._open is None or place is None else self._open.calls[place]

    def waits(self) -> tuple[ToolCall, ...]:
        """All calls that wait for a result."""
        answer = self._open
        if answer is None:
            return ()
        return tuple(c for at, c in enumerate(answer.calls) if at not in answer.results)

    def result(self, body: ToolOutcome | Delegation, at: float) -> bool:
        """Give a waiting call its result; False when none waits for this one."""
        outcome = body.outcome if isinstance(body, Delegation) else body
        place = self._place(outcome.call_id)
        if self._open is None or place is None:
            return False
        self._open.results[place] = (body, at)
        return True

    def put(self, body: Body, at: float) -> Iterator[Node]:
        """Anything else; it waits where calls still wait for their results."""
        if self.waits() and self._open is not None:
            self._open.waiting.append((body, at))
            return
        yield from self.flush()
        yield self._node(body, at)

    def place(self, row: str) -> None:
        """Name the place reached by now, for rows that follow it."""
        if self._open is not None:
            self._open.places.append(row)
        elif row:
            self._places[row] = self.tail

    def pass_by(self, row: str, parent: str) -> None:
        """Name a row that says nothing after the place it stands at."""
        if parent in self._places and row:
            self._places[row] = self._places[parent]
        else:
            self.place(row)

    def follow(self, row: str | None, at: float) -> Iterator[Node]:
        """Go on behind a named place, None for the very beginning; unknown ones say nothing."""
        if row is not None and (row not in self._places):
            return
        target = None if row is None else self._places[row]
        yield from self.flush()
        if target != self.tail:
            left = self.tail or ""
            self.tail = target
            yield self._node(Moved("branch", left), at)

    def trunk(self) -> tuple[str, ...]:
        """Ids of the nodes on the branch that ends here, oldest first."""
        found: list[str] = []
        at = self.tail
        while at is not None:
            found.append(at)
            at = self.parents[at]
        return tuple(reversed(found))

    def back(self, turns: int, at: float) -> Iterator[Node]:
        """Go on from before the last so many things the person said."""
        yield from self.flush()
        said = [node for node in self.trunk() if node in self._said]
        if turns > 0 and said:
            left = self.tail or ""
            self.tail = self.parents[said[max(0, len(said) - turns)]]
            yield self._node(Moved("rewind", left, min(turns, len(said))), at)

    def was_said(self, node: str) -> bool:
        """Whether a node is something the person said."""
        return node in self._said

    def knows(self, row: str) -> bool:
        """Whether a place has this name."""
        return row in self._places

    def span(self, row: str) -> Iterator[str]:
        """Ids of the nodes a named row became a part of: all of its answer and its outcomes."""
        at = self._places.get(row)
        first = self._firsts.get(at or "", at)
        while at is not None:
            yield at
            at = None if at == first else self.parents[at]

    def flush(self) -> Iterator[Node]:
        """No more pieces come: the answer, its outcomes, what waited."""
        answer, self._open = self._open, None
        if answer is None:
            return
        turn = AssistantTurn(
            "\n\n".join(answer.texts),
            "\n\n".join(answer.thinking),
            tuple(answer.calls),
            answer.model,
            answer.provider,
            answer.usage,
        )
        first = ""
        if turn.text or turn.thinking or turn.calls:
            node = self._node(turn, answer.at)
            first = node.id
            yield node
        last = answer.at
        for place, call in enumerate(answer.calls):
            body, last = answer.results.get(place, (_missing(call), last))
            yield self._node(body, last)
        for waited, at in answer.waiting:
            later = replace(waited, steered=True) if isinstance(waited, UserText) else waited
            yield self._node(later, at)
        if first and self.tail:
            self._firsts[self.tail] = first
        self._places.update(dict.fromkeys(filter(None, answer.places), self.tail))

    def _place(self, call_id: str) -> int | None:
        answer = self._open
        if answer is None:
            return None
        places = (
            at
            for at, call in enumerate(answer.calls)
            if call.id == call_id and at not in answer.results
        )
        return next(places, None)

    def _node(self, body: Body, at: float) -> Node:
        node = Node(self._ids.new(), self.tail, self.agent, at, body)
        self.parents[node.id] = self.tail
        self.tail = node.id
        if isinstance(body, UserText) and not body.steered:
            self._said.add(node.id)
        return node


def _missing(call: ToolCall) -> ToolOutcome:
    head = Headline("tool", " ".join(call.name.split()) or "?")
    return ToolOutcome(call.id, call.name, "interrupted", NEVER_CAME, head, "no result")

"""From the nodes of a branch to the messages of a request. A pure function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias, assert_never

from stormclaw.agent.context.graph import WHOLE, Standing, Standings, fold
from stormclaw.agent.context.wording import LONGEST_ARGUMENT, elided, gist, shortened, told
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    AssistantTurn,
    ContextEdit,
    Delegation,
    Label,
    Moved,
    Node,
    Note,
    Summary,
    ToolCall,
    ToolOutcome,
    UserText,
    outcome_of,
)
from stormclaw.protocol.provider import Message

__all__ = [
    "LEFT_OUT",
    "LONGEST_ARGUMENT",
    "Memo",
    "elided",
    "gist",
    "last_text",
    "traced",
    "window",
]

LEFT_OUT = UserText("(a message was left out here)")
"""Keeps two answers apart where the words between them were taken off the wire."""

Memo: TypeAlias = MutableMapping[tuple[str, str], tuple[Standing, tuple[str, ...], Message]]
"""Messages made of nodes that are not sent as they are, so that each is made once: by id of the
node and, for what stands in place of a result that never came, id of the call -> what was decided
then, the calls that were cut, the message."""

_NONE: Mapping[str, tuple[str, ...]] = MappingProxyType({})


def window(
    nodes: Sequence[Node], standings: Standings | None = None, memo: Memo | None = None
) -> tuple[Message, ...]:
    """The messages of a request, valid for every provider.

    Every call is followed by exactly its outcomes, in the order of the calls; what lies between a
    call and its outcome (a steering word that came too early) follows after; a command the person
    ran becomes words of the person, and so do files that went back without the conversation, or it
    without them. A node taken off the wire leaves its summary; a call keeps a
    result. No two answers stand side by side, and a person's words come first.

    What was sent of earlier nodes is sent again as the same objects, as long as no decision about
    them comes between and `memo` is the same.

    Args:
        nodes: The branch, oldest first, decisions included.
        standings: What holds of its nodes; folded from `nodes` if None.
        memo: Keeps messages that are made anew, for the next request; may be left out.
    """
    return tuple(message for _, message in traced(nodes, standings, memo))


def traced(
    nodes: Sequence[Node], standings: Standings | None = None, memo: Memo | None = None
) -> list[tuple[str, Message]]:
    """The same, each message with the id of the node it comes from, "" where there is none."""
    held = fold(nodes) if standings is None else standings
    wire = _Wire(held, {} if memo is None else memo, _hidden_calls(nodes, held))
    summaries = held.summaries
    for node in nodes:
        if node.id in summaries:
            for summary in summaries[node.id]:
                wire.digest(summary)
        wire.take(node)
    wire.close()
    return list(_alternating(wire.sent))


class _Wire:
    """What is sent so far, and the calls whose outcomes are still to come."""

    def __init__(self, held: Standings, memo: Memo, hidden: Mapping[str, tuple[str, ...]]) -> None:
        self.sent: list[tuple[str, Message]] = []
        self._of = held.of
        self._memo = memo
        self._hidden = hidden
        self._turn = ""
        self._asked: tuple[ToolCall, ...] = ()
        self._ends: dict[str, tuple[str, Message] | None] = {}
        self._waiting: list[tuple[str, Message]] = []

    def take(self, node: Node) -> None:
        """The next node of the branch."""
        body = node.body
        match body:
            case UserText():
                self._words(node, body)
            case AssistantTurn():
                self.close()
                self._answer(node, body)
            case ToolOutcome():
                if body.author == "person":
                    self._command(node)
                else:
                    self._outcome(node, body, body)
            case Delegation():
                self._outcome(node, body, body.outcome)
            case Moved():
                if told(body):
                    self._say("", self._made(node, WHOLE))
            case Note() | Summary() | ContextEdit() | Label():
                pass
            case _:
                assert_never(body)

    def digest(self, node: Node) -> None:
        """A summary, where the first node it replaces stood."""
        standing = self._of.get(node.id, WHOLE)
        if standing.include or standing.summary:
            self._say(node.id, self._made(node, standing))

    def close(self) -> None:
        """The outcomes of the last answer's calls, made up where none came; then what waited."""
        for call in self._asked:
            end = self._ends.get(call.id)
            self.sent.append(end or ("", self._unfinished(call)))
        self._asked = ()
        if self._ends:
            self._ends = {}
        if self._waiting:
            self.sent += self._waiting
            self._waiting = []

    def _words(self, node: Node, body: UserText) -> None:
        standing = self._of.get(node.id, WHOLE)
        if standing.include:
            self._say(node.id, body)
        elif standing.summary:
            self._say(node.id, self._made(node, standing))

    def _command(self, node: Node) -> None:
        standing = self._of.get(node.id, WHOLE)
        if standing.include or standing.summary:
            self._say(node.id, self._made(node, standing))

    def _outcome(self, node: Node, body: ToolOutcome | Delegation, outcome: ToolOutcome) -> None:
        if self._ends.get(outcome.call_id, body) is not None:
            return  # Nobody asked, or it has been answered.
        standing = self._of.get(node.id, WHOLE)
        self._ends[outcome.call_id] = (
            node.id,
            body if standing.include else self._made(node, standing),
        )
        if None not in self._ends.values():
            self.close()

    def _say(self, node_id: str, message: Message) -> None:
        if isinstance(message, UserText) and not message.text.strip():
            return
        (self._waiting if self._asked else self.sent).append((node_id, message))

    def _answer(self, node: Node, turn: AssistantTurn) -> None:
        standing = self._of.get(node.id, WHOLE)
        if not standing.include:
            if standing.summary.strip():
                self.sent.append((node.id, self._made(node, standing)))
            return
        if not (turn.calls or turn.text.strip()):
            return
        self._turn = node.id
        self._ends = {call.id: None for call in turn.calls}
        self._asked = turn.calls if len(self._ends) == len(turn.calls) else _unique(turn.calls)
        short = self._hidden.get(node.id)
        bare = not standing.reasoning and (turn.echo or turn.thinking)
        if short is None and not bare and len(self._asked) == len(turn.calls):
            self.sent.append((node.id, turn))
        else:
            self.sent.append((node.id, self._made(node, standing, short or ())))

    def _unfinished(self, call: ToolCall) -> Message:
        known = self._memo.get((self._turn, call.id))
        if known is None:
            headline = Headline("tool", call.name)
            end = ToolOutcome(call.id, call.name, "interrupted", "interrupted", headline)
            known = self._memo[self._turn, call.id] = (WHOLE, (), end)
        return known[2]

    def _made(self, node: Node, standing: Standing, short: tuple[str, ...] = ()) -> Message:
        known = self._memo.get((node.id, ""))
        if known is None or known[0] != standing or known[1] != short:
            message = _message(node, standing, short)
            known = self._memo[node.id, ""] = (standing, short, message)
        return known[2]


def _message(node: Node, standing: Standing, short: tuple[str, ...]) -> Message:
    """What is sent of a node that is not sent as it is."""
    match node.body:
        case AssistantTurn() as turn if standing.include:
            asked = _unique(turn.calls)
            calls = tuple(shortened(call) if call.id in short else call for call in asked)
            if standing.reasoning:
                return replace(turn, calls=calls)
            return replace(turn, calls=calls, thinking="", echo="")
        case AssistantTurn():
            return AssistantTurn(standing.summary)
        case ToolOutcome(author="person") as outcome:
            return _as_words(outcome, outcome.output if standing.include else standing.summary)
        case ToolOutcome() as outcome:
            return replace(
                outcome, output=standing.summary or elided(node, standing.why), display=None
            )
        case Delegation() as delegation:
            output = standing.summary or elided(node, standing.why)
            return replace(delegation, outcome=replace(delegation.outcome, output=output))
        case Summary(text=text):
            return UserText(standing.summary or text)
        case Moved() as move:
            return UserText(told(move))
        case _:
            return UserText(standing.summary)


def _hidden_calls(nodes: Iterable[Node], held: Standings) -> Mapping[str, tuple[str, ...]]:
    """Id of each answer -> ids of those of its calls whose results are off the wire."""
    off = {node_id for node_id, standing in held.of.items() if not standing.include}
    if not off:
        return _NONE
    found: dict[str, tuple[str, ...]] = {}
    turn = ""
    for node in nodes:
        if type(node.body) is AssistantTurn:
            turn = node.id
        elif node.id in off and (outcome := outcome_of(node.body)) is not None:
            found[turn] = (*found.get(turn, ()), outcome.call_id)
    return found


def _unique(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """The calls; of several with one id the first, since only one can get an outcome."""
    first: dict[str, ToolCall] = {}
    for call in calls:
        first.setdefault(call.id, call)
    return calls if len(first) == len(calls) else tuple(first.values())


def _as_words(outcome: ToolOutcome, output: str) -> UserText:
    return UserText(f"I ran `{outcome.headline.object}` myself:\n\n{output}")


def _alternating(sent: Iterable[tuple[str, Message]]) -> Iterator[tuple[str, Message]]:
    """The messages, with a word of the person wherever the rules of some provider want one."""
    answered = True  # Nothing a result or a person said stands before.
    for node_id, message in sent:
        if type(message) is AssistantTurn:
            if answered:
                yield "", LEFT_OUT
            answered = not message.calls
        else:
            answered = False
        yield node_id, message


def last_text(nodes: Iterable[Node]) -> str:
    """The text of the last answer that had any; "" if none had."""
    texts = [node.body.text for node in nodes if isinstance(node.body, AssistantTurn)]
    return next((text for text in reversed(texts) if text.strip()), "")

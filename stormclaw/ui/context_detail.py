"""A node whole: what it is, what was decided about it and when, what is left, what it said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stormclaw.agent.context.graph import Standing, fold
from stormclaw.agent.context.sheet import Part
from stormclaw.agent.context.window import elided
from stormclaw.protocol.messages import (
    AssistantTurn,
    Body,
    Change,
    ContextEdit,
    Delegation,
    Label,
    Moved,
    Node,
    Note,
    Summary,
    ToolOutcome,
    UserText,
    outcome_of,
)
from stormclaw.ui.context_lines import count_of, price_of
from stormclaw.ui.context_text import Section
from stormclaw.ui.rows import Row, Run
from stormclaw.ui.text import age, clock_time, count, one_line, tokens

LABEL = 10


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision about a node.

    Attributes:
        at: Unix seconds.
        by: A policy, `you` or `compaction`.
        words: What was decided.
        undone: It was taken back later.
    """

    at: float
    by: str
    words: str
    undone: bool = False


def decisions_about(nodes: Iterable[Node], node_id: str) -> list[Decision]:
    """Everything decided about a node on its branch, oldest first."""
    nodes = tuple(nodes)
    undone = {node.body.undoes for node in nodes if isinstance(node.body, ContextEdit)}
    found: list[Decision] = []
    for node in nodes:
        match node.body:
            case ContextEdit(changes=changes, by=by, undoes=undoes):
                for change in changes:
                    if change.node == node_id:
                        words = f"taken back: {_words(change)}" if undoes else _words(change)
                        decider = by if undoes else change.by or by
                        found.append(Decision(node.at, decider, words, node.id in undone))
            case Summary(replaces=replaces) if node_id in replaces:
                others = count(len(replaces) - 1, "other")
                words = f"summed up together with {others}"
                found.append(Decision(node.at, "compaction", words, node.id in undone))
            case _:
                pass
    return found


def _words(change: Change) -> str:
    if not change.include:
        said = "held back, a summary in its place" if change.summary else "held back"
    elif not change.reasoning:
        said = "kept without its reasoning"
    else:
        said = "kept whole"
    said = f"{said}, pinned" if change.pinned else said
    return f"{said}: {one_line(change.why)}" if change.why else said


def node_sections(
    part: Part,
    nodes: Sequence[Node],
    labels: Mapping[str, str],
    usd_per_token: float | None,
    now: float,
) -> Iterator[Section]:
    """Everything there is to say about the node of a part, as sections to read."""
    node = part.node
    if node is None:
        return
    standing = fold(nodes)[node.id]
    yield Section(
        one_line(part.word), aside=part.object, rows=_facts(part, node, usd_per_token, now)
    )
    decided = decisions_about(nodes, node.id)
    if decided:
        rows = tuple(_decision(decision, labels, now) for decision in decided)
        yield Section("Decisions", rows=rows, right=count(len(decided), "decision"))
    if not part.sent:
        yield Section("In its place", _in_its_place(node, standing), muted=True)
    yield from _original(node.body)


def _facts(part: Part, node: Node, usd_per_token: float | None, now: float) -> tuple[Row, ...]:
    price = price_of(part.tokens, usd_per_token)
    size = f"{count_of(part.tokens, part.estimated)} tokens"
    cost = f"{price} a turn" if price else ""
    sent = "whole" if part.sent else f"held back, {tokens(part.left)} tokens left"
    outcome = outcome_of(node.body)
    receipt = f"r{outcome.receipt}" if outcome is not None and outcome.receipt else ""
    status = f"{outcome.status}, {outcome.summary}" if outcome is not None else ""
    facts = (
        ("sent", sent, "pinned" if part.pinned else ""),
        ("tokens", size, cost),
        ("at", clock_time(node.at), age(now - node.at, now)),
        ("outcome", one_line(status).rstrip(", "), ""),
        ("receipt", receipt, ""),
        ("id", node.id, f"/context keep {node.id}" if not part.sent else ""),
    )
    return tuple(
        Row(
            (
                Run(f"{label:<{LABEL}}", "muted"),
                Run(value),
                Run(f"  {aside}" if aside else "", "muted"),
            )
        )
        for label, value, aside in facts
        if value
    )


def _decision(decision: Decision, labels: Mapping[str, str], now: float) -> Row:
    by = one_line(labels.get(decision.by, decision.by))
    when = f"{clock_time(decision.at)}  {age(now - decision.at, now)}"
    words = f"{decision.words}, taken back later" if decision.undone else decision.words
    role = "muted" if decision.undone else "text"
    return Row((Run(f"{when:<18}  ", "muted"), Run(words, role), Run(f"  by {by}", "muted")))


def _in_its_place(node: Node, standing: Standing) -> str:
    if standing.summary:
        return standing.summary
    return elided(node) if outcome_of(node.body) is not None else "nothing"


def _original(body: Body) -> Iterator[Section]:
    match body:
        case UserText(text=text):
            yield Section("Original", text)
        case AssistantTurn():
            yield from _answer(body)
        case ToolOutcome(output=output):
            yield Section("Original", output)
        case Delegation(task=task, outcome=outcome, child=child):
            yield Section("Task", task, aside=child)
            yield Section("Original", outcome.output)
        case Summary(text=text, replaces=replaces, focus=focus):
            aside = f"stands for {count(len(replaces), 'node')}"
            yield Section("Original", text, aside=f"{aside}; in view: {focus}" if focus else aside)
        case Note(text=text, detail=detail):
            yield Section("Original", f"{text}\n{detail}".rstrip())
        case ContextEdit() | Moved() | Label():
            return


def _answer(turn: AssistantTurn) -> Iterator[Section]:
    if turn.thinking:
        yield Section("Reasoning", turn.thinking, muted=True)
    if turn.text:
        yield Section("Original", turn.text, aside=turn.model)
    for call in turn.calls:
        yield Section("Call", call.arguments, aside=f"{call.name}  {call.id}")

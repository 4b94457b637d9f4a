"""The conversation of ten thousand nodes: what a year in one session comes to."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from benchmarks.script import answer_tokens
from benchmarks.server import MODEL
from stormclaw.protocol.display import Diff, DiffLine, Headline, Hunk
from stormclaw.protocol.messages import (
    ROOT,
    AssistantTurn,
    Body,
    Change,
    ContextEdit,
    Moved,
    Node,
    Summary,
    ToolCall,
    ToolOutcome,
    Usage,
    UserText,
)

NODES = 10_000
BEGAN = 1_790_000_000.0
ANSWER = 150
"""Tokens of an answer."""
BRANCH_EVERY, EDIT_EVERY, SUMMARY_EVERY = 100, 40, 400
"""Turns between two goings back, two decisions about the context, two compactions."""
RARE = "tidewrack"
"""A word that few of the outputs hold."""
OFTEN = "request"
"""A word that thousands of lines hold."""


def conversation(last_word: str, nodes: int = NODES) -> list[Node]:
    """About 2,000 turns: questions, reads, greps, shells, edits, answers, branches, decisions.

    Args:
        last_word: Of the last answer, to wait for on the screen.
        nodes: How many there are to be, exactly.
    """
    made = _Writer()
    ending = answer_tokens(ANSWER, last_word)
    for turn in count():
        bodies = list(_turn(turn, made.rng))
        if len(made.nodes) + len(bodies) + 8 > nodes:
            break
        made.add(*bodies)
        made.decide(turn)
    while len(made.nodes) < nodes - 2:
        made.add(UserText("and then?"))
    made.add(UserText("How does it end?"), _answer("".join(ending)))
    return made.nodes


class _Writer:
    """Nodes one after the other, each below the one before unless the conversation moved."""

    def __init__(self) -> None:
        self.rng = random.Random(7)
        self.nodes: list[Node] = []
        self._turns: list[str] = []

    def add(self, *bodies: Body, parent: str | None = None) -> None:
        for body in bodies:
            at = len(self.nodes)
            above = parent or (self.nodes[-1].id if self.nodes else None)
            node = Node(f"{at:012x}", above, ROOT, BEGAN + 30.0 * at, body)
            self.nodes.append(node)
            parent = None
            if isinstance(body, UserText):
                self._turns.append(node.id)

    def decide(self, turn: int) -> None:
        """What a person or a policy decides now and then."""
        if turn % EDIT_EVERY == EDIT_EVERY - 1:
            old = [node.id for node in self.nodes[-300:] if isinstance(node.body, ToolOutcome)][:12]
            changes = tuple(Change(each, include=False) for each in old)
            self.add(ContextEdit("results", changes, 41_000, 30_000))
        if turn % SUMMARY_EVERY == SUMMARY_EVERY - 1:
            gone = tuple(node.id for node in self.nodes[-600:-50])
            self.add(Summary("What was found out so far. " * 40, gone, "", 60_000, 9_000, MODEL))
        if turn % BRANCH_EVERY == BRANCH_EVERY - 1:
            place = self._turns[-3]
            left = self.nodes[-1].id
            at = next(node.parent for node in self.nodes if node.id == place)
            self.add(Moved("rewind", left, 3, ("src/part1.py", "src/part2.py")), parent=at)


def _turn(turn: int, rng: random.Random) -> Iterator[Body]:
    yield UserText(f"Question {turn}: what became of part {turn % 60}, and why?")
    for number in range(rng.choice((1, 1, 2, 2))):
        call_id = f"call_{turn}_{number}"
        outcome = _outcome(call_id, turn * 3 + number, rng)
        call = ToolCall(call_id, outcome.tool, f'{{"path": "{outcome.headline.object}"}}')
        thinking = "The part that was asked about has to be looked at first. " * 6
        yield replace(_answer("I look at it."), calls=(call,), thinking=thinking, thought_s=4.0)
        yield outcome
    yield _answer("".join(answer_tokens(ANSWER, f"answer{turn}")))


def _answer(text: str) -> AssistantTurn:
    usage = Usage(21_000, ANSWER, 18_000, 0.004)
    return AssistantTurn(text, model=MODEL, provider="bench", usage=usage)


def _outcome(call_id: str, number: int, rng: random.Random) -> ToolOutcome:
    path = f"src/part{number % 60}.py"
    word = RARE if number % 97 == 5 else f"word{number}"
    lines = [f"{line:>4}  line {line} of {path}: {word} {rng.random():.6f}" for line in range(40)]
    kind = number % 4
    if kind == 0:
        return ToolOutcome(
            call_id, "read_file", "done", "\n".join(lines), Headline("read", path, "path"),
            "40 lines", receipt=number + 1,
        )  # fmt: skip
    if kind == 1:
        return ToolOutcome(
            call_id, "shell_exec", "done", "\n".join(lines * 2),
            Headline("shell", f"pytest -q tests/test_{number % 60}.py", "command"),
            "exit 0, 80 lines", receipt=number + 1, risk="medium",
        )  # fmt: skip
    if kind == 2:
        return ToolOutcome(
            call_id, "file_edit", "done", "edited", Headline("edit", path, "path"),
            "+6 −6", _diff(path, number), receipt=number + 1, risk="medium",
        )  # fmt: skip
    return ToolOutcome(
        call_id, "search_content", "done", "\n".join(lines[:20]),
        Headline("grep", word, "text"), "20 lines", receipt=number + 1,
    )  # fmt: skip


def _diff(path: str, number: int) -> Diff:
    hunks = []
    for first in (10, 60):
        before = [DiffLine(" ", f"    kept {n} of {number}", n, n) for n in range(first, first + 3)]
        gone = [DiffLine("-", f"    old {number}.{n}", first + 3 + n, None) for n in range(3)]
        come = [DiffLine("+", f"    new {number}.{n}", None, first + 3 + n) for n in range(3)]
        hunks.append(Hunk((*before, *gone, *come), first - 1))
    return Diff(path, tuple(hunks), 6, 6)

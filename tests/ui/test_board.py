"""The board folds events and stored nodes to the same picture."""

from __future__ import annotations

from tidepool import FIXER, SCOUT, ask_edit, ask_words, node, outcome, running, stored

from stormclaw.protocol.asks import Reply
from stormclaw.protocol.display import Headline
from stormclaw.protocol.events import (
    Answered,
    Asked,
    ChildEnded,
    ChildStarted,
    Committed,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    UsageChanged,
)
from stormclaw.protocol.messages import ROOT, Delegation, ToolCall, ToolOutcome, Usage
from stormclaw.ui.board import Board

CALL = ToolCall("c", "shell_exec", "{}")
SHELL = Headline("shell", "pytest -q", "command")


class Seconds:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def board() -> Board:
    return Board(Seconds())


def test_what_an_agent_does_is_said() -> None:
    here = board()
    here.apply(TurnStarted(ROOT))
    assert (here.root.state, here.root.action) == ("running", "thinking")
    here.apply(TextDelta(ROOT, "x"))
    assert here.root.action == "writing the answer"
    here.apply(ToolStarted(ROOT, CALL, "shell_exec", SHELL, "low", None))
    assert here.root.action == "pytest -q"
    edit = Headline("edit", "a.py", "path")
    here.apply(ToolStarted(ROOT, ToolCall("d", "edit_file", "{}"), "edit_file", edit, "low", None))
    assert here.root.action == "edit a.py"
    here.apply(ToolEnded(ROOT, ToolOutcome("d", "edit_file", "done", "", edit, receipt=7)))
    assert (here.root.action, here.receipts) == ("pytest -q", 7)
    here.apply(ThinkingDelta(ROOT, "x"))
    assert here.root.action == "thinking"
    here.apply(TurnEnded(ROOT, "done", Usage()))
    assert (here.root.state, here.root.action, here.busy) == ("waiting", "", False)


def test_a_command_of_the_persons_leaves_an_agent_at_rest() -> None:
    here = board()
    here.apply(ToolStarted(ROOT, CALL, "shell_exec", SHELL, "low", None))
    assert here.root.action == "pytest -q"
    here.apply(ToolEnded(ROOT, ToolOutcome("c", "shell_exec", "done", "", SHELL)))
    assert here.root.action == ""


def test_a_question_shows_until_it_is_answered() -> None:
    here = board()
    here.apply(TurnStarted(FIXER))
    here.apply(Asked(FIXER, ask_edit()))
    here.apply(Asked(ROOT, ask_words()))
    assert [ask.id for ask in here.asks] == ["ask-1", "ask-3"]
    assert here.agent(FIXER).state == "asks"
    here.apply(Answered(FIXER, "ask-1", Reply("deny")))
    assert [ask.id for ask in here.asks] == ["ask-3"]
    assert here.agent(FIXER).state == "running"


def test_children_stand_under_their_parents() -> None:
    here = board()
    for parent, child in ((ROOT, "root/a"), (ROOT, "root/b"), ("root/a", "root/a/x")):
        here.apply(ChildStarted(parent, child, "t", "m", ()))
    assert [agent.path for agent in here.tree()] == [ROOT, "root/a", "root/a/x", "root/b"]
    assert [agent.path for agent in here.below("root/a")] == ["root/a/x"]
    assert [agent.number for agent in here.tree()] == [1, 2, 4, 3]


def test_a_child_ends_with_what_it_said() -> None:
    here = board()
    here.apply(ChildStarted(ROOT, SCOUT, "find loops", "m", ()))
    here.apply(ChildEnded(ROOT, SCOUT, "done", Usage(10, 1)))
    assert (here.agent(SCOUT).state, here.agent(SCOUT).action) == ("done", "done")
    told = ToolOutcome("c", "spawn_agent", "done", "2 retry loops in 3 files\nmore", SHELL)
    body = Delegation(told, SCOUT, "find loops", "done", Usage(10, 1))
    here.apply(Committed(ROOT, node(1, body)))
    assert here.agent(SCOUT).action == "done: 2 retry loops in 3 files"
    again = board()
    again.load([node(1, body)])
    assert again.agent(SCOUT).action == here.agent(SCOUT).action
    assert again.agent(SCOUT).task == "find loops"


def test_changes_count_once_and_only_when_done() -> None:
    here = board()
    here.load(stored())
    edit = outcome(CALL, "edit", "src/tide/retry.py", "", 9)
    here.apply(ToolEnded(ROOT, edit))
    assert here.lines_changed == (2, 2)
    here.apply(Committed(ROOT, node(9, edit)))
    assert here.changed == {"src/tide/retry.py": (4, 4)}
    denied = ToolOutcome("e", "edit_file", "denied", "", SHELL, display=edit.display)
    here.apply(Committed(ROOT, node(10, denied)))
    assert here.lines_changed == (4, 4)


def test_share_is_of_the_tightest_purse_or_of_the_context() -> None:
    here = board()
    for event in running():
        here.apply(event)
    fixer = here.agent(FIXER)
    assert fixer.share == max(0.084 / 0.10, 12_400 / 15_000)
    lone = here.agent("root/lone")
    assert lone.share is None
    lone.context_tokens, lone.context_window = 50, 200
    assert lone.share == 0.25


def test_a_childs_answer_leaves_the_parents_context_as_it_was() -> None:
    here = board()
    here.apply(UsageChanged(ROOT, Usage(100, 10), 110, 1000))
    here.apply(UsageChanged(ROOT, Usage(300, 30), 0, 0))
    assert (here.root.context_tokens, here.root.context_window) == (110, 1000)
    assert here.root.usage == Usage(300, 30)


def test_time_stands_still_between_turns() -> None:
    clock = Seconds()
    here = Board(clock)
    here.apply(TurnStarted(ROOT))
    clock.now = 10
    assert here.root.elapsed_s(clock()) == 10
    here.apply(TurnEnded(ROOT, "done", Usage()))
    clock.now = 100
    assert here.root.elapsed_s(clock()) == 10
    here.apply(TurnStarted(ROOT))
    clock.now = 105
    assert here.root.elapsed_s(clock()) == 15

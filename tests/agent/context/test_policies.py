"""Each policy by itself: what it takes off the wire, what it leaves, what it never touches."""

from __future__ import annotations

import json
from typing import Any

import pytest
from branches import Talk

from stormclaw.agent.context.graph import fold
from stormclaw.agent.context.stack import policies, run
from stormclaw.agent.context.tokens import Gauge
from stormclaw.agent.context.view import View
from stormclaw.agent.context.window import window
from stormclaw.config.settings import POLICIES
from stormclaw.discover import discover
from stormclaw.protocol.display import Diff, Display, Headline, Patch
from stormclaw.protocol.messages import (
    NO_USAGE,
    AssistantTurn,
    Change,
    Delegation,
    Status,
    ToolCall,
    ToolOutcome,
)

LINES = "\n".join(f"{number}\tvalue_{number} = {number}" for number in range(1, 101))


def lines(first: int, last: int) -> str:
    return "\n".join(f"{number}\tvalue_{number} = {number}" for number in range(first, last + 1))


class Coding(Talk):
    """Calls as the tools leave them."""

    def read(self, path: str, output: str = LINES, summary: str = "100 lines") -> str:
        return self.called(
            "read_file", path, output, arguments={"path": path}, kind="path", summary=summary
        )

    def edit(self, path: str, status: Status = "done", output: str = "Edited") -> str:
        return self.called(
            "edit_file", path, output, status, arguments={"path": path, "old_string": "a" * 400}
        )

    def shell(self, command: str, output: str, status: Status = "done") -> str:
        summary = "exit 0, 9 lines" if status == "done" else "exit 1, 9 lines"
        return self.called(
            "shell_exec", command, output, status, arguments={"command": command}, summary=summary
        )

    def delegated(self, report: str) -> str:
        call_id = f"d{len(self.nodes)}"
        self.add(AssistantTurn("", calls=(ToolCall(call_id, "spawn_agent", '{"task": "look"}'),)))
        outcome = ToolOutcome(call_id, "spawn_agent", "done", report, Headline("agent", "look"))
        return self.add(Delegation(outcome, "root/scout", "look", "done", NO_USAGE))

    def off(self, *names: str, keep: int = 0, soft: int = 40_000) -> dict[str, str]:
        """What these policies take off the wire: id -> what is left of it."""
        found = run(names, self.view(keep, soft), fixed=0, goal=0).standings
        return {
            node_id: standing.summary
            for node_id, standing in found.of.items()
            if not standing.include and standing.by in names
        }

    def view(self, keep: int = 0, soft: int = 40_000) -> View:
        return View(self.nodes, fold(self.nodes), Gauge(), soft, keep, "/w")


@pytest.fixture
def talk() -> Coding:
    talk = Coding()
    talk.says("go")
    return talk


def test_the_policies_are_those_of_the_settings() -> None:
    assert tuple(policies()) == POLICIES
    found = discover("stormclaw.agent.context.policies", "POLICY", required=True)
    assert set(found) == set(POLICIES)
    labels = [policy.label for policy in policies().values()]
    assert len(set(labels)) == len(labels)
    assert all(policy.about and len(policy.about) < 60 for policy in policies().values())


def test_a_file_read_again_leaves_the_newest_reading(talk: Coding) -> None:
    first, other = talk.read("src/a.py"), talk.read("src/b.py")
    last = talk.read("./src/../src/a.py")
    talk.answers("ok")
    off = talk.off("superseded_reads")
    assert set(off) == {first}
    assert "read src/a.py done, 100 lines" in off[first]
    assert "read again later" in off[first]
    assert f"recall {first}" in off[first]
    assert other not in off
    assert last not in off


def test_an_absolute_path_is_the_same_file(talk: Coding) -> None:
    first = talk.read("/w/a.py")
    talk.read("a.py")
    talk.answers("ok")
    assert set(talk.off("superseded_reads")) == {first}


@pytest.mark.parametrize(
    ("first", "later", "covered"),
    [
        ((1, 50, "lines 1-50 of 100"), (1, 100, "100 lines"), True),
        ((1, 50, "lines 1-50 of 100"), (1, 50, "lines 1-50 of 100"), True),
        ((1, 50, "lines 1-50 of 100"), (20, 100, "lines 20-100 of 100"), False),
        ((1, 100, "100 lines"), (1, 80, "80 lines"), True),
        ((1, 100, "100 lines"), (1, 99, "lines 1-99 of 100"), False),
        ((60, 100, "lines 60-100 of 100"), (50, 90, "lines 50-90 of 90"), True),
        ((1, 50, "lines 1-50 of 2,000"), (40, 90, "lines 40-90 of 2,000"), False),
    ],
)
def test_a_part_is_superseded_by_what_covers_it(
    talk: Coding, first: tuple[int, int, str], later: tuple[int, int, str], covered: bool
) -> None:
    name = talk.read("a.py", lines(*first[:2]), first[2])
    talk.read("a.py", f"{lines(*later[:2])}\n… lines not shown; read on", later[2])
    talk.answers("ok")
    assert (name in talk.off("superseded_reads")) is covered


def test_an_edit_supersedes_and_a_failed_one_does_not(talk: Coding) -> None:
    read = talk.read("a.py")
    talk.edit("a.py", "failed")
    talk.edit("b.py")
    talk.answers("ok")
    assert talk.off("superseded_reads") == {}
    talk.edit("a.py")
    talk.answers("ok")
    assert "changed later" in talk.off("superseded_reads")[read]


@pytest.mark.parametrize("shown", [True, False])
def test_a_patch_supersedes_every_file_it_changed(talk: Coding, shown: bool) -> None:
    one, two, three = talk.read("a.py"), talk.read("b.py"), talk.read("c.py")
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Delete File: b.py\n*** End Patch"
    )
    display: Display | None = None
    if shown:
        display = Patch((Diff("a.py", (), 1, 1), Diff("b.py", (), 0, 9)))
    talk.called("apply_patch", "a.py + 1 more", arguments={"patch": patch}, display=display)
    talk.answers("ok")
    assert set(talk.off("superseded_reads")) == {one, two}
    assert three not in talk.off("superseded_reads")


def test_shell_commands_are_not_looked_at(talk: Coding) -> None:
    talk.read("a.py")
    talk.shell("sed -i s/1/2/ a.py", "")
    talk.answers("ok")
    assert talk.off("superseded_reads") == {}


def test_old_results_go_biggest_first_and_the_newest_stay(talk: Coding) -> None:
    small = talk.called("grep", "x", "hit\n" * 120)
    large = talk.called("grep", "y", "hit\n" * 900)
    tiny = talk.called("grep", "z", "one hit")
    newest = talk.called("grep", "w", "hit\n" * 900)
    talk.answers("ok")
    assert list(talk.off("old_results", keep=1)) == [large, small]
    assert tiny not in talk.off("old_results")
    assert newest in talk.off("old_results")


def test_what_was_written_goes_with_its_short_result(talk: Coding) -> None:
    """The text of a file that was written is in the file; it need not be in the call, too."""
    content = "value = 1\n" * 400
    arguments = {"path": "a.py", "content": content}
    written = talk.called("write_file", "a.py", "Written", arguments=arguments, kind="path")
    talk.read("b.py")
    talk.answers("ok")
    view = talk.view(keep=1)
    found = run(["old_results"], view, fixed=0, goal=0)
    assert written in {change.node for change in found.steps[0].changes}
    sent = window(talk.nodes, found.standings)
    (turn,) = [each for each in sent if isinstance(each, AssistantTurn) and each.calls][:1]
    assert len(turn.calls[0].arguments) < 400
    assert json.loads(turn.calls[0].arguments)["path"] == "a.py"
    assert found.tokens < found.steps[0].before - 900


def test_the_plan_stays(talk: Coding) -> None:
    old = talk.called("todo", "first", "Plan noted\n" * 60)
    new = talk.called("todo", "second", "Plan noted\n" * 60)
    talk.called("todo", "broken", "no\n" * 200, "failed")
    talk.answers("ok")
    assert old in talk.off("old_results")
    assert new not in talk.off("old_results")


def test_what_the_model_has_not_seen_stays_whatever_its_size(talk: Coding) -> None:
    ids = [f"c{number}" for number in range(4)]
    talk.add(AssistantTurn("", calls=tuple(ToolCall(each, "grep", "{}") for each in ids)))
    for each in ids:
        talk.add(ToolOutcome(each, "grep", "failed", "hit\n" * 9_000, Headline("grep", each)))
    for name in POLICIES:
        assert talk.off(name, soft=100) == {}, name


def test_a_newest_result_too_large_for_the_room_does_not_stay(talk: Coding) -> None:
    large = talk.called("grep", "y", "hit\n" * 9_000)
    small = talk.called("grep", "z", "hit\n" * 90)
    talk.answers("ok")
    assert set(talk.off("old_results", keep=6, soft=8_000)) == {large}
    assert talk.off("old_results", keep=6, soft=80_000) == {}
    assert small not in talk.off("old_results", keep=6, soft=8_000)


@pytest.mark.parametrize("name", POLICIES)
def test_pins_and_decisions_by_hand_hold(talk: Coding, name: str) -> None:
    every = [
        talk.read("a.py"),
        talk.shell("pytest -q", "Error: no\n" * 900, "failed"),
        talk.delegated("found\n" * 900),
        talk.shell("pytest -q", "ok\n" * 900),
        talk.read("a.py"),
    ]
    talk.answers("ok")
    talk.says("next")
    free = talk.off(name, soft=5_000)
    talk.decide(*(Change(each, pinned=True) for each in every), by="somebody")
    assert talk.off(name, soft=5_000) == {}
    talk.decide(*(Change(each) for each in every))
    assert talk.off(name, soft=5_000) == {}
    assert free or name == "old_reasoning"


def test_a_failure_that_was_mended_leaves_its_reason(talk: Coding) -> None:
    output = "collecting\n" * 80 + "E   TypeError: wave() takes 2 arguments\n" + "short\n0 errors\n"
    failed = talk.shell("pytest -q tests", output, "failed")
    assert talk.off("failed_attempts") == {}
    worked = talk.shell("pytest -q", "1203 passed\n" * 90)
    talk.answers("on it")
    off = talk.off("failed_attempts")
    assert set(off) == {failed}
    assert "E TypeError: wave() takes 2 arguments" in off[failed]
    assert "shell pytest -q tests failed, exit 1" in off[failed]
    assert worked not in off


def test_a_failure_is_not_over_before_it_worked_or_was_given_up(talk: Coding) -> None:
    failed = talk.shell("make all", "fatal: no rule\n" * 90, "failed")
    talk.read("Makefile")
    assert talk.off("failed_attempts") == {}
    talk.says("use ninja", steered=True)
    assert talk.off("failed_attempts") == {}
    talk.answers("It cannot be built.")
    assert "given up" in talk.off("failed_attempts")[failed]


def test_a_denied_call_says_so(talk: Coding) -> None:
    denied = talk.shell("rm -rf build", "the person said no: keep it\n" * 30, "denied")
    talk.answers("then not")
    assert "denied" in talk.off("failed_attempts")[denied]
    assert "the person said no" in talk.off("failed_attempts")[denied]


def test_old_results_of_failures_keep_the_reason_too(talk: Coding) -> None:
    failed = talk.shell("pytest", "ok\n" * 300 + "ValueError: tide is None\n", "failed")
    talk.answers("hm")
    assert "ValueError: tide is None" in talk.off("old_results")[failed]


def test_a_report_keeps_its_beginning(talk: Coding) -> None:
    report = talk.delegated("The fault is in pier.py:12.\n" + "more words about it\n" * 300)
    talk.answers("ok")
    assert talk.off("old_results") == {}
    left = talk.off("delegations")[report]
    assert left.startswith("The fault is in pier.py:12.")
    assert f"recall {report}" in left
    assert len(left) < 900


def test_reasoning_of_earlier_turns_goes_and_of_this_one_stays(talk: Coding) -> None:
    old = talk.add(AssistantTurn("yes", "hm", echo=json.dumps({"fields": "x" * 900})))
    talk.says("and?")
    talk.says("no, wait", steered=True)
    new = talk.add(AssistantTurn("no", "hm", echo=json.dumps({"fields": "x" * 900})))
    found = run(["old_reasoning"], talk.view(), fixed=0, goal=0)
    assert found.standings[old].reasoning is False
    assert found.standings[old].include
    assert found.standings[new].reasoning
    assert found.tokens < found.steps[0].before - 100


def test_a_long_output_keeps_both_ends(talk: Coding) -> None:
    body = "\n".join(f"row {number}" for number in range(9_000))
    long = talk.shell("make", f"first line\n{body}\nlast line")
    short = talk.shell("make", "row\n" * 90)
    talk.answers("ok")
    off = talk.off("large_outputs")
    assert set(off) == {long}
    assert off[long].startswith("first line\nrow 0\n")
    assert off[long].endswith("\nlast line")
    assert f"recall {long}" in off[long]
    assert Gauge().text(off[long]) < 2_000
    assert short not in off


def test_of_long_ago_the_calls_go_and_longer_words_stay(talk: Coding) -> None:
    called = talk.called("grep", "x", "hit\n" * 300)
    talk.add(AssistantTurn("w" * 300, calls=(ToolCall("k", "grep", "{}"),)))
    talk.add(ToolOutcome("k", "grep", "done", "hit\n" * 300, Headline("grep", "k")))
    pinned = talk.called("grep", "p", "hit\n" * 300)
    for _ in range(60):
        talk.called("grep", "y", "hit\n" * 300)
    talk.decide(Change(pinned, pinned=True), by="somebody")
    talk.answers("done")
    talk.says("next")
    once = run(["old_results"], talk.view(keep=2), fixed=0, goal=0)
    talk.decide(*once.steps[0].changes, by="old_results")
    twice = run(["old_results"], talk.view(keep=2), fixed=0, goal=0)
    answers = {
        node.id: twice.standings[node.id]
        for node in talk.nodes
        if isinstance(node.body, AssistantTurn)
    }
    first, wordy, kept, *_, last = answers.values()
    assert (first.include, first.summary, first.why) == (False, "", "long ago")
    assert (wordy.include, wordy.summary) == (False, "w" * 300)
    assert kept.include
    assert last.include
    assert called not in {change.node for change in twice.steps[0].changes}


@pytest.mark.parametrize("arguments", ["{broken", "[1]", "null", '{"patch": 3, "command": []}', ""])
def test_broken_arguments_harm_nothing(talk: Coding, arguments: Any) -> None:
    for tool in ("read_file", "edit_file", "apply_patch", "shell_exec", "todo"):
        talk.called(tool, "?", "out\n" * 200, "failed", arguments=arguments)
        talk.called(tool, "?", "out\n" * 200, arguments=arguments)
    talk.answers("ok")
    run(POLICIES, talk.view(), fixed=0, goal=0)


def test_a_policy_stands_for_the_rest_once_the_goal_is_reached(talk: Coding) -> None:
    for _ in range(3):
        talk.read("a.py", lines(1, 900), "900 lines")
    talk.called("grep", "x", "hit\n" * 2_000)
    talk.answers("ok")
    whole = run((), talk.view(), fixed=100, goal=0).tokens
    found = run(POLICIES, talk.view(), fixed=100, goal=whole // 2)
    assert [bool(step.changes) for step in found.steps] == [True] + [False] * 5
    assert found.steps[0].before == whole
    assert found.tokens == found.steps[0].after == found.steps[-1].after
    unknown = run(("gone", "old_results"), talk.view(), fixed=100, goal=0)
    assert [step.policy for step in unknown.steps] == ["old_results"]

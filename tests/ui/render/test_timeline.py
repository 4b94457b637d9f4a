"""What was watched live and what is read from disk are the same picture."""

from __future__ import annotations

from collections.abc import Sequence

from drawn import (
    NOON,
    Stage,
    a_call,
    a_diff,
    a_node,
    assert_exact,
    live_events,
    read_outcome,
    shell_outcome,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.protocol.asks import Permission, Reply
from stormclaw.protocol.display import Headline
from stormclaw.protocol.effects import Verdict
from stormclaw.protocol.events import (
    Answered,
    Asked,
    ChildEnded,
    ChildStarted,
    Committed,
    Notice,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from stormclaw.protocol.messages import (
    NO_USAGE,
    ROOT,
    AssistantTurn,
    Body,
    Delegation,
    Node,
    Note,
    ToolOutcome,
    UserText,
)
from stormclaw.ui.text import clock_time

CHILD = "root/fixer-1"


def replayed(nodes: Sequence[Node]) -> Stage:
    stage = Stage()
    stage.timeline.show(nodes)
    return stage


def nodes_of(*bodies: Body) -> list[Node]:
    return [a_node(number, body) for number, body in enumerate(bodies)]


def started(
    call_id: str, verb: str = "read", name: str = "a.py", tool: str = "read_file"
) -> ToolStarted:
    return ToolStarted(ROOT, a_call(call_id), tool, Headline(verb, name, "path"), "low", None)


# Live equals replay -------------------------------------------------------------------------

TEXTS = st.sampled_from(
    [
        "Two places retry.",
        "# Head\n\nOne.\n\n- a\n- b\n\n```py\nx = 1\n```\n\nend",
        "| a | b |\n|---|---|\n| 1 | 2 |\n\ntail",
        "see [it][1]\n\nmore\n\n[1]: http://a.b",
        "設計を見る。" * 12,
        "ends in a fence\n\n```\nopen",
        "",
        "   \n",
    ]
)
THOUGHTS = st.sampled_from(["", "", "Where is the loop?\n\nIn retry.py."])


@st.composite
def conversations(draw: st.DrawFn) -> list[Node]:
    bodies: list[Body] = []
    serial = 0
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            bodies.append(
                UserText(draw(st.sampled_from(["go on", "line\n" * 30])), draw(st.booleans()))
            )
        calls = []
        outcomes: list[Body] = []
        for _ in range(draw(st.sampled_from([0, 1, 2, 5, 6]))):
            serial += 1
            call_id = f"c{serial}"
            calls.append(a_call(call_id))
            outcomes.append(draw(_outcomes(call_id)))
        thinking = draw(THOUGHTS)
        bodies.append(
            AssistantTurn(draw(TEXTS), thinking, tuple(calls), thought_s=3.0 if thinking else 0)
        )
        bodies += outcomes
        if draw(st.integers(0, 4)) == 0:
            bodies.append(
                draw(
                    st.sampled_from(
                        [
                            Note("info", "key 2 answers"),
                            Note("failed", "It stopped", "Kept.", "timeout"),
                        ]
                    )
                )
            )
    if draw(st.booleans()):
        bodies.append(shell_outcome("person", "git status", author="person"))
    return nodes_of(*bodies)


@st.composite
def _outcomes(draw: st.DrawFn, call_id: str) -> Body:
    kind = draw(
        st.sampled_from(["read", "read", "read", "shell", "failed", "denied", "edit", "child"])
    )
    name = draw(st.sampled_from(["src/a.py", "src/b.py", "docs/設計.md"]))
    match kind:
        case "read":
            return read_outcome(call_id, name)
        case "shell":
            return shell_outcome(call_id, output="\n".join(map(str, range(12))))
        case "failed":
            return shell_outcome(call_id, status="failed", output="boom\n" * 12)
        case "denied":
            return shell_outcome(call_id, status="denied", summary="denied by you")
        case "edit":
            headline = Headline("edit", name, "path")
            return ToolOutcome(call_id, "edit_file", "done", "ok", headline, "+1 −1", a_diff())
        case _:
            outcome = ToolOutcome(
                call_id, "spawn_agent", "done", "Found 2.", Headline("agent", "scout")
            )
            return Delegation(outcome, f"root/scout-{call_id}", "look", "done", NO_USAGE)


@settings(deadline=None, max_examples=tries(40, 120))
@given(conversations(), st.integers(1, 40), st.data())
def test_live_equals_replay(nodes: list[Node], chunk: int, data: st.DataObject) -> None:
    live = Stage()
    for event in live_events(nodes, chunk):
        live.handle(event)
        if data.draw(st.booleans()):
            live.flush()
        if data.draw(st.integers(0, 5)) == 0:
            assert_exact(live.drawn(), 79)
    live.now += 60
    live.timeline.calls.fold_due(live.now)
    disk = replayed(nodes)
    assert live.lines() == disk.lines()
    assert live.drawn() == disk.drawn()


def test_nothing_stays_that_was_not_committed() -> None:
    stage = Stage().handle(
        TurnStarted(ROOT), ThinkingDelta(ROOT, "hm"), TextDelta(ROOT, "half an ans")
    )
    assert stage.lines()[-1] == "  half an ans▍"
    stage.handle(TurnEnded(ROOT, "failed", NO_USAGE))
    assert stage.lines() == []


def test_an_answer_that_was_committed_otherwise_wins() -> None:
    stage = Stage().handle(TextDelta(ROOT, "first try")).flush()
    stage.handle(Committed(ROOT, a_node(1, AssistantTurn("second try"))))
    assert stage.lines() == ["  second try"]


def test_outcomes_stand_where_the_answer_called_them() -> None:
    nodes = nodes_of(AssistantTurn("", calls=(a_call("a"), a_call("b"))))
    stage = Stage().handle(Committed(ROOT, nodes[0]), started("b", name="b.py"), started("a"))
    stage.handle(
        ToolEnded(ROOT, read_outcome("b", "b.py")), ToolEnded(ROOT, read_outcome("a", "a.py"))
    )
    assert [line.split()[2] for line in stage.lines()] == ["a.py", "b.py"]


def test_a_shell_of_the_person_moves_to_its_place_when_it_is_on_disk() -> None:
    stage = (
        Stage()
        .handle(started("p", "shell", "git status", "shell_exec"), TextDelta(ROOT, "hi"))
        .flush()
    )
    assert [line[:2] for line in stage.lines() if line] == ["  ", "● "]
    answer = a_node(1, AssistantTurn("hi"))
    outcome = a_node(2, shell_outcome("p", "git status", author="person"))
    stage.handle(Committed(ROOT, answer), ToolEnded(ROOT, outcome.body), Committed(ROOT, outcome))  # type: ignore[arg-type]
    stage.timeline.calls.fold_due(stage.now + 9)
    assert stage.lines() == replayed([answer, outcome]).lines()


def test_a_call_id_used_twice_does_not_change_the_past() -> None:
    turn = AssistantTurn("", calls=(a_call("call_0"),))
    nodes = nodes_of(turn, read_outcome("call_0", "a.py"), turn, read_outcome("call_0", "b.py"))
    live = Stage().handle(*live_events(nodes))
    assert [line.split()[2] for line in live.lines()] == ["a.py", "b.py"]
    assert live.lines() == replayed(nodes).lines()


# Blank lines --------------------------------------------------------------------------------


def test_one_blank_line_between_kinds_and_after_an_open_card() -> None:
    edit = ToolOutcome(
        "b", "edit_file", "done", "", Headline("edit", "a.py", "path"), "+1 −1", a_diff()
    )
    nodes = nodes_of(
        UserText("Back off."),
        AssistantTurn("", "hm", (a_call("a"), a_call("b"), a_call("c")), thought_s=6),
        read_outcome("a"),
        edit,
        read_outcome("c"),
        AssistantTurn("Done.\n\nReally."),
        UserText("Good."),
        UserText("Bye."),
        Note("info", "one"),
        Note("info", "two"),
    )
    starts = [line.strip()[:6] for line in replayed(nodes).lines()]
    assert starts == [
        "▌ Back", "", "though", "✓ read", "✓ edit", "▏    4", "▏    4", "",
        "✓ read", "", "Done.", "", "Really", "", "▌ Good", "", "▌ Bye.", "", "one   ", "two   ",
    ]  # fmt: skip


# Reads as one line --------------------------------------------------------------------------


def reads(count: int, first: int = 0) -> list[Body]:
    calls = tuple(a_call(f"r{first + n}") for n in range(count))
    return [
        AssistantTurn("", calls=calls),
        *(read_outcome(call.id, f"src/{call.id}.py") for call in calls),
    ]


def test_four_reads_stay_and_five_become_one_line() -> None:
    assert len(replayed(nodes_of(*reads(4))).lines()) == 4
    lines = replayed(nodes_of(*reads(5))).lines()
    assert lines[0].startswith("✓ read   5 files  r0.py, r1.py, r2.py, r3.py, r4.py ▸")
    assert len(lines) == 1


def test_a_group_grows_with_the_rounds_and_a_failure_ends_it() -> None:
    bodies = [*reads(3), *reads(3, 3), read_outcome("x", "gone.py", status="failed"), *reads(1, 6)]
    for stage in (replayed(nodes_of(*bodies)), Stage().handle(*live_events(nodes_of(*bodies)))):
        assert [line.split()[:3] for line in stage.lines()] == [
            ["✓", "read", "6"],
            ["✗", "read", "gone.py"],
            ["✓", "read", "src/r6.py"],
        ]


def test_a_read_opened_by_hand_is_left_alone() -> None:
    nodes = nodes_of(*reads(5))
    stage = Stage().handle(*live_events(nodes[:-1])[:-1])
    card = stage.column.blocks[0].source
    card.hand = True  # type: ignore[union-attr]
    stage.handle(ToolEnded(ROOT, nodes[-1].body))  # type: ignore[arg-type]
    assert len([line for line in stage.lines() if "read" in line]) == 5


# Shells fold when they are done ----------------------------------------------------------------


def running_shell() -> Stage:
    stage = Stage().handle(
        Committed(ROOT, a_node(0, AssistantTurn("", calls=(a_call("s"),)))),
        started("s", "shell", "make", "shell_exec"),
        ToolProgress(ROOT, "s", "one\ntwo\n"),
    )
    assert [line.strip() for line in stage.lines()[1:]] == ["▏ one", "▏ two"]
    return stage


def test_a_shell_stays_open_for_two_seconds_after_success() -> None:
    stage = running_shell().handle(ToolEnded(ROOT, shell_outcome("s", "make")))
    assert len(stage.lines()) == 3
    assert stage.timeline.calls.fold_due(stage.now + 1.9) == stage.now + 2
    assert len(stage.lines()) == 3
    assert stage.timeline.calls.fold_due(stage.now + 2) is None
    assert len(stage.lines()) == 1


def test_a_shell_that_was_touched_stays_as_it_was_put() -> None:
    stage = running_shell()
    stage.column.blocks[0].source.hand = True  # type: ignore[union-attr]
    stage.handle(ToolEnded(ROOT, shell_outcome("s", "make")))
    assert stage.timeline.calls.fold_due(stage.now + 60) is None
    assert len(stage.lines()) == 3


def test_a_shell_that_failed_stays_open() -> None:
    stage = running_shell().handle(ToolEnded(ROOT, shell_outcome("s", "make", status="failed")))
    assert stage.timeline.calls.fold_due(stage.now + 60) is None
    assert len(stage.lines()) == 3


def test_live_output_is_bounded() -> None:
    stage = running_shell().handle(*[ToolProgress(ROOT, "s", "x" * 1000 + "\n")] * 100)
    card = stage.column.blocks[0].source
    assert len(card.output) <= 20_000  # type: ignore[union-attr]
    assert len(stage.lines()) == 5


# Questions, children, notices ------------------------------------------------------------------


def test_a_card_waits_for_the_person_and_its_clock_starts_with_the_answer() -> None:
    stage = Stage().handle(started("e", "edit", "a.py", "edit_file"))
    verdict = Verdict("ask", "medium", "", "")
    ask = Permission(
        "q1", ROOT, a_call("e"), "edit_file", Headline("edit", "a.py"), a_diff(), verdict
    )
    assert stage.handle(Asked(ROOT, ask)).lines() == ["? edit   a.py  waits for you"]
    stage.now += 300
    assert stage.handle(Answered(ROOT, "q1", Reply("once"))).lines()[0].endswith("0s")
    stage.now += 65
    stage.column.touch(0)
    assert stage.lines()[0].endswith("1m 05s")


def test_a_child_appears_only_as_its_card() -> None:
    stage = Stage().handle(
        started("x", "agent", "scout", "spawn_agent"),
        started("y", "agent", "fixer", "spawn_agent"),
        ChildStarted(ROOT, CHILD, "fix", "m", ()),
        TextDelta(CHILD, "I look"),
        ToolStarted(
            CHILD, a_call("z"), "edit_file", Headline("edit", "tests/t.py", "path"), "low", None
        ),
        Committed(CHILD, Node("k", None, CHILD, NOON, UserText("task"))),
        Notice(CHILD, "error", "unseen"),
    )
    assert [line.rstrip(" 0s") for line in stage.lines()] == [
        "● agent  scout",
        "● agent  fixer  edit tests/t.py",
    ]
    stage.handle(TextDelta(CHILD + "/deep-1", "words"))
    assert "writing its answer" in stage.lines()[1]
    stage.handle(ChildEnded(ROOT, CHILD, "done", NO_USAGE))
    assert "writing" not in stage.lines()[1]


def test_the_child_of_a_zoomed_transcript_is_the_agent() -> None:
    stage = Stage(agent=CHILD)
    stage.timeline.show([Node("k", None, CHILD, NOON, UserText("task")), a_node(1, UserText("no"))])
    stage.handle(TextDelta(CHILD, "yes"), TextDelta(ROOT, "no"))
    assert stage.lines() == ["▌ task", "", "  yes▍"]


def test_notices_are_remarks() -> None:
    stage = Stage().handle(Notice(ROOT, "info", "key 2 answers"), Notice(ROOT, "error", "no disk"))
    time = clock_time(NOON)
    assert [line.split() for line in stage.lines()] == [
        ["key", "2", "answers", time],
        ["✗", "no", "disk", time],
    ]


def test_a_notice_stands_above_what_is_being_written() -> None:
    stage = Stage().handle(TextDelta(ROOT, "so")).flush().handle(Notice(ROOT, "info", "retry"))
    assert [line.split()[0] for line in stage.lines() if line] == ["retry", "so▍"]


def test_the_keys_of_a_failure_are_shown_while_it_is_the_last_thing() -> None:
    failed = a_node(1, Note("failed", "It stopped", "Kept.", "timeout"))
    stage = Stage().handle(Committed(ROOT, failed))
    assert any("enter go on" in line for line in stage.lines())
    stage.handle(TurnStarted(ROOT))
    assert not any("enter go on" in line for line in stage.lines())
    nodes = [failed, a_node(2, UserText("go on"))]
    assert not any("enter go on" in line for line in replayed(nodes).lines())


def test_thinking_shows_while_it_comes_and_counts_its_seconds() -> None:
    stage = Stage().handle(ThinkingDelta(ROOT, "why " * 100)).flush()
    stage.now += 4
    stage.column.touch(0)
    assert stage.lines() == ["● thought  4s, ~99 tokens"]
    stage.handle(TextDelta(ROOT, "So.")).flush()
    stage.now += 60
    assert stage.lines()[0] == "  thought  4s, ~99 tokens ▸"
    assert stage.timeline.running() == []


def test_the_stream_cursor_goes_with_the_stream() -> None:
    stage = Stage().handle(TextDelta(ROOT, "so I am ")).flush()
    assert stage.lines() == ["  so I am ▍"]
    stage.handle(Committed(ROOT, a_node(1, AssistantTurn("so I am "))))
    assert stage.lines() == ["  so I am"]

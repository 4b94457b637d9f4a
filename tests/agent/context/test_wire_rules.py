"""Whatever happens in a conversation and is decided about it, what is sent is valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries
from wire_rules import check

from stormclaw.agent.context.graph import branch, fold
from stormclaw.agent.context.stack import lifted, policies, run
from stormclaw.agent.context.tokens import Gauge
from stormclaw.agent.context.view import View
from stormclaw.agent.context.window import Memo, window
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    NO_USAGE,
    AssistantTurn,
    Body,
    Change,
    ContextEdit,
    Delegation,
    Label,
    Moved,
    Node,
    Note,
    Status,
    Summary,
    ToolCall,
    ToolOutcome,
    UserText,
)
from stormclaw.store.codec import node_from_line, node_to_line

CALLS = ("c1", "c2", "c3", "c4")
WORDS = st.sampled_from(["", " ", "yes", "no\n", "line\n" * 60, "x" * 900, "naïve 漢字", "\ud800"])
ARGUMENTS = st.sampled_from(
    ['{"path": "a.py"}', "{broken", "", '{"path": "b.py", "content": "' + "y" * 700 + '"}', "[1]"]
)
TOOLS = st.sampled_from(["read_file", "edit_file", "shell_exec", "todo", "grep", "nonsense"])
STATUSES = st.sampled_from(list[Status](("done", "failed", "denied", "interrupted")))
NAMES = st.integers(0, 30).map(lambda number: f"n{number}")


@st.composite
def outcomes(draw: st.DrawFn, author: str = "model") -> ToolOutcome:
    tool = draw(TOOLS)
    return ToolOutcome(
        draw(st.sampled_from(CALLS)),
        tool,
        draw(STATUSES),
        draw(WORDS),
        Headline(tool, draw(WORDS)),
        draw(WORDS),
        author="person" if author == "person" else "model",
    )


@st.composite
def answers(draw: st.DrawFn) -> AssistantTurn:
    ids = draw(st.lists(st.sampled_from(CALLS), max_size=4))  # Twice the same one, too.
    calls = tuple(ToolCall(each, draw(TOOLS), draw(ARGUMENTS)) for each in ids)
    return AssistantTurn(draw(WORDS), draw(WORDS), calls, echo=draw(st.sampled_from(["", "{}"])))


CHANGES = st.builds(Change, NAMES, st.booleans(), WORDS, st.booleans(), st.booleans())
BODIES: st.SearchStrategy[Body] = st.one_of(
    st.builds(UserText, WORDS, st.booleans()),
    answers(),
    answers(),
    outcomes(),
    outcomes(),
    outcomes("person"),
    st.builds(lambda outcome: Delegation(outcome, "root/x", "t", "done", NO_USAGE), outcomes()),
    st.just(Note("info", "n")),
    st.builds(Label, NAMES, WORDS),
    st.builds(
        ContextEdit,
        st.sampled_from(["you", "old_results", "gone_policy"]),
        st.lists(CHANGES, max_size=4).map(tuple),
        policies=st.sampled_from([None, (), ("old_results",), ("no_such",)]),
        undoes=st.one_of(st.just(""), NAMES),
    ),
    st.builds(Summary, WORDS, st.lists(NAMES, max_size=6).map(tuple)),
)


@st.composite
def talks(draw: st.DrawFn) -> list[Node]:
    """Everything written of a conversation: branches, gaps, lines that came twice."""
    nodes: list[Node] = []
    for number, body in enumerate(draw(st.lists(BODIES, max_size=24))):
        parent = nodes[-1].id if nodes else None
        if nodes and draw(st.integers(0, 9)) == 0:
            place = draw(st.sampled_from([node.id for node in nodes]))
            nodes.append(Node(f"n{number}m", place, "root", 0.0, Moved("branch", nodes[-1].id)))
            parent = nodes[-1].id
        nodes.append(Node(f"n{number}", parent, "root", float(number), body))
    for gone in sorted(draw(st.sets(st.integers(0, 40), max_size=2)), reverse=True):
        del nodes[gone : gone + 1]
    return nodes


def view(nodes: Sequence[Node], keep: int = 1, soft: int = 200) -> View:
    return View(nodes, fold(nodes), Gauge(), soft, keep, "/w")


@settings(max_examples=tries(105, 300), deadline=None)
@given(talks())
def test_what_is_sent_is_valid(everything: list[Node]) -> None:
    check(window(branch(everything)))


@settings(max_examples=tries(50, 150), deadline=None)
@given(talks(), st.permutations(list(policies())), st.integers(0, 6), st.sampled_from([0, 50, 999]))
def test_what_policies_leave_is_valid(
    everything: list[Node], order: list[str], keep: int, soft: int
) -> None:
    nodes = branch(everything)
    looked_at = view(nodes, keep, soft)
    found = run(order, looked_at, fixed=0, goal=0)
    check(window(nodes, found.standings))
    again = run(order, looked_at, fixed=0, goal=0)
    assert again == found, "a policy is not pure"
    free = found.standings.changed(lifted(found.standings), "")
    assert not lifted(free)
    check(window(nodes, free))


@settings(max_examples=tries(50, 150), deadline=None)
@given(talks(), st.permutations(list(policies())))
def test_no_policy_touches_what_it_must_not(everything: list[Node], order: list[str]) -> None:
    nodes = branch(everything)
    looked_at = view(nodes, keep=2, soft=5_000)
    before = looked_at.standings
    after = run(order, looked_at, fixed=0, goal=0).standings
    for node in nodes:
        was = before[node.id]
        if was.pinned or was.by == "you" or isinstance(node.body, UserText):
            assert after[node.id] == was, node
        assert after[node.id].pinned == was.pinned
    results = [result.node.id for result in looked_at.results]
    for node_id in results[-2:]:
        assert after[node_id] == before[node_id]


@settings(max_examples=tries(50, 150), deadline=None)
@given(talks())
def test_stored_and_read_again_it_is_the_same(everything: list[Node]) -> None:
    stored = [node_from_line(node_to_line(node)) for node in everything]
    assert window(branch(stored)) == window(branch(everything))
    assert fold(branch(stored)) == fold(branch(everything))


@settings(max_examples=tries(50, 150), deadline=None)
@given(talks())
def test_what_follows_leaves_what_was_sent_as_it_was(everything: list[Node]) -> None:
    """Between two decisions each request begins with the very objects of the one before."""
    memo: Memo = {}
    nodes = branch(everything)
    begun = window(nodes, memo=memo)
    said = Node("later", nodes[-1].id if nodes else None, "root", 99.0, UserText("and then?"))
    longer = window((*nodes, said), memo=memo)
    assert len(longer) == len(begun) + 1
    assert all(one is other for one, other in zip(begun, longer, strict=False))


@settings(max_examples=tries(35, 100), deadline=None)
@given(talks())
def test_looking_changes_no_node(everything: list[Node]) -> None:
    copies = [replace(node) for node in everything]
    lines = [node_to_line(node) for node in everything]
    nodes = branch(everything)
    run(list(policies()), view(nodes), fixed=0, goal=0)
    window(nodes)
    assert everything == copies
    assert [node_to_line(node) for node in everything] == lines

"""What the model sees is always valid, whatever happened in the conversation."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stormclaw.agent.context.window import last_text, window
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    NO_USAGE,
    AssistantTurn,
    Body,
    Delegation,
    Node,
    Note,
    Summary,
    ToolCall,
    ToolOutcome,
    UserText,
    outcome_of,
)

HEAD = Headline("read", "a.txt")


def outcome(call_id: str, output: str = "out", author: str = "model") -> ToolOutcome:
    return ToolOutcome(call_id, "read_file", "done", output, HEAD, author=author)  # type: ignore[arg-type]


def nodes(*bodies: Body) -> list[Node]:
    return [Node(f"n{n}", None, "root", float(n), body) for n, body in enumerate(bodies)]


def turn(*call_ids: str, text: str = "") -> AssistantTurn:
    return AssistantTurn(text, calls=tuple(ToolCall(c, "read_file", "{}") for c in call_ids))


def test_notes_and_empty_answers_are_left_out() -> None:
    seen = window(nodes(UserText("hi"), turn(), Note("interrupted", "x"), UserText("again")))
    assert seen == (UserText("hi"), UserText("again"))


def test_a_call_without_an_end_gets_one() -> None:
    seen = window(nodes(UserText("hi"), turn("c1", "c2"), outcome("c1")))
    last = seen[-1]
    assert isinstance(last, ToolOutcome)
    assert (last.call_id, last.status) == ("c2", "interrupted")


def test_words_that_came_too_early_follow_after_the_outcomes() -> None:
    early = (turn("c1"), UserText("steer", steered=True), outcome("c1"))
    seen = window(nodes(UserText("hi"), *early))[1:]
    assert [type(body).__name__ for body in seen] == ["AssistantTurn", "ToolOutcome", "UserText"]


def test_an_outcome_nobody_asked_for_is_left_out() -> None:
    assert window(nodes(UserText("hi"), outcome("stray"))) == (UserText("hi"),)


def test_outcomes_follow_in_the_order_of_their_calls_and_the_first_counts() -> None:
    late = (outcome("c2", "two"), outcome("c2", "again"), outcome("c1", "one"), outcome("c1", "no"))
    seen = window(nodes(UserText("hi"), turn("c1", "c2"), *late))
    assert [found.output for body in seen if (found := outcome_of(body))] == ["one", "two"]


def test_a_summary_of_summaries_stands_where_the_first_stood() -> None:
    talk = nodes(
        UserText("a"),
        turn(text="b"),
        UserText("kept"),
        Summary("first", ("n0", "n1")),
        turn(text="c"),
        Summary("second", ("n4", "n3")),
    )
    assert window(talk) == (UserText("second"), UserText("kept"))


def test_a_summary_of_what_is_not_there_stands_by_itself() -> None:
    talk = nodes(UserText("a"), Summary("lost", ("gone",)), UserText("b"))
    assert window(talk) == (UserText("a"), UserText("lost"), UserText("b"))


def test_a_command_of_the_person_becomes_their_words() -> None:
    (words,) = window(nodes(outcome("p", "listing", author="person")))
    assert isinstance(words, UserText)
    assert "listing" in words.text


def test_last_text_skips_answers_without_any() -> None:
    assert last_text(nodes(turn(text="one"), turn("c1"), turn(text="  "))) == "one"
    assert last_text(nodes(UserText("x"))) == ""


ids = st.sampled_from(["c1", "c2", "c3", "c4"])
anything = st.lists(
    st.one_of(
        st.builds(UserText, st.text(max_size=5), st.booleans()),
        st.lists(ids, max_size=3, unique=True).map(lambda found: turn(*found, text="t")),
        ids.map(outcome),
        ids.map(lambda i: outcome(i, author="person")),
        ids.map(lambda i: Delegation(outcome(i), "root/x", "t", "done", NO_USAGE)),
        st.just(Note("info", "n")),
    ),
    max_size=12,
)


@given(anything)
def test_every_call_is_followed_by_exactly_its_outcomes(found: list[Body]) -> None:
    seen = list(window(nodes(*found)))
    position = 0
    while position < len(seen):
        body = seen[position]
        position += 1
        assert outcome_of(body) is None, "an outcome without its call right before it"
        if isinstance(body, AssistantTurn):
            wanted = {call.id for call in body.calls}
            following = seen[position : position + len(wanted)]
            ends = [end for entry in following if (end := outcome_of(entry))]
            assert {end.call_id for end in ends} == wanted
            position += len(wanted)


@given(anything)
def test_it_is_pure(found: list[Body]) -> None:
    given_nodes = nodes(*found)
    assert window(given_nodes) == window(tuple(given_nodes))

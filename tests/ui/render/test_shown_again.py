"""A conversation shown again, or in another width, is what it would be if it were shown first."""

from __future__ import annotations

import pytest
from drawn import Stage, a_call, a_diff, a_node, read_outcome, shell_outcome
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.protocol.messages import AssistantTurn, Body, Node, Note, Summary, UserText
from stormclaw.ui.blocks import Card
from stormclaw.ui.render.look import centred
from stormclaw.ui.signs import UNICODE
from stormclaw.ui.theme import STORMCLAW_DARK, palette

LONG = "a long line of words that has to be wrapped on a narrow screen, twice or more " * 3
BODIES: tuple[tuple[Body, ...], ...] = (
    (UserText("short"),),
    (UserText(LONG),),
    (AssistantTurn(LONG, thinking=LONG, thought_s=2.0),),
    (Note("failed", "stopped", LONG, "timeout"),),
    (Note("info", LONG),),
    (Summary(LONG, ("a", "b")),),
    (AssistantTurn("", calls=(a_call("r"),)), read_outcome("r")),
    (AssistantTurn("x", calls=(a_call("s"),)), shell_outcome("s", output=LONG, status="failed")),
    (AssistantTurn("", calls=(a_call("d"),)), read_outcome("d", display=a_diff(2, 2))),
    (AssistantTurn("", calls=(a_call("open", "shell_exec", '{"command": "make"}'),)),),
)


def told(picks: list[int]) -> list[Node]:
    nodes: list[Node] = []
    for pick in picks:
        nodes += [a_node(len(nodes) + at, body) for at, body in enumerate(BODIES[pick])]
    return nodes


def places(stage: Stage) -> list[tuple[int, int, bool]]:
    return [(block.height, block.gap, block.open) for block in stage.column.blocks]


@settings(max_examples=tries(20, 60), deadline=None)
@given(
    st.lists(st.integers(0, len(BODIES) - 1), max_size=8),
    st.lists(st.integers(30, 140), min_size=1, max_size=3),
    st.booleans(),
)
def test_another_width_measures_as_the_first(
    picks: list[int], widths: list[int], drawn: bool
) -> None:
    nodes = told(picks)
    again = Stage(79)
    again.timeline.show(nodes)
    for width in widths:
        if drawn:
            again.column.settle(0, 20)
        again.column.lay_out(centred(palette(STORMCLAW_DARK), UNICODE, width, short=False))
    first = Stage(widths[-1])
    first.timeline.show(nodes)
    if drawn:
        again.column.draw_all()
        first.column.draw_all()
    assert places(again) == places(first)
    assert again.column.total == first.column.total
    again.timeline.show(nodes)
    first.timeline.show(nodes)
    assert places(again) == places(first)


@pytest.mark.parametrize("ended", [True, False])
def test_a_call_that_was_never_ended_has_its_name(ended: bool) -> None:
    asked = AssistantTurn("", calls=(a_call("c1", "shell_exec", '{"command": "make all"}'),))
    nodes = [a_node(0, asked)]
    if ended:
        nodes.append(a_node(1, shell_outcome("c1", "make all install")))
    stage = Stage()
    stage.timeline.show(nodes)
    (card,) = [b.source for b in stage.column.blocks if isinstance(b.source, Card)]
    assert card.headline.object == ("make all install" if ended else "make all")


def test_an_id_used_twice_names_both_calls() -> None:
    first = AssistantTurn("", calls=(a_call("c1", "shell_exec", '{"command": "one"}'),))
    second = AssistantTurn("", calls=(a_call("c1", "shell_exec", '{"command": "two"}'),))
    stage = Stage()
    stage.timeline.show([a_node(0, first), a_node(1, second)])
    cards = [b.source for b in stage.column.blocks if isinstance(b.source, Card)]
    assert [card.headline.object for card in cards] == ["one", "two"]

"""A search never holds the keyboard up: it counts a little at a time, the nearest first."""

from __future__ import annotations

from itertools import count

from drawn import Stage, a_node
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.protocol.messages import AssistantTurn, UserText
from stormclaw.protocol.query import Query
from stormclaw.ui.finder import Finder, Hit

WORDS = ("kelp", "sand and kelp, kelp", "water", "**kelp** in `code`\n\n- kelp", "nothing")


def a_stage(picks: list[int]) -> Stage:
    stage = Stage()
    bodies = [
        AssistantTurn(WORDS[pick]) if at % 2 else UserText(WORDS[pick])
        for at, pick in enumerate(picks)
    ]
    stage.timeline.show([a_node(at, body) for at, body in enumerate(bodies)])
    return stage


def a_finder(stage: Stage, near: int = 0) -> Finder:
    ticks = count()
    finder = Finder(stage.column, Query("kelp"), lambda: float(next(ticks)))
    finder.look(near)
    return finder


def test_it_stops_when_its_time_is_over_and_begins_where_the_person_is() -> None:
    stage = a_stage([0, 2, 0, 2, 0])
    finder = a_finder(stage, near=3)
    blocks = stage.column.blocks
    assert not finder.count_on(0.5)
    assert finder.nearest(3) is None
    assert not finder.count_on(0.5)
    assert finder.nearest(3) == Hit(blocks[4], 0)
    assert finder.found().whole is False
    while not finder.count_on(0.5):
        pass
    assert finder.found()[2:4] == (3, True)


def test_what_is_only_above_is_found_last_first() -> None:
    stage = a_stage([1, 0, 2, 2])
    finder = a_finder(stage, near=2)
    while not finder.count_on(0.5):
        pass
    assert finder.nearest(2) == Hit(stage.column.blocks[1], 0)


@settings(max_examples=tries(30, 80), deadline=None)
@given(st.lists(st.integers(0, len(WORDS) - 1), min_size=1, max_size=12), st.integers(0, 11))
def test_walking_down_meets_every_place_once_and_comes_around(picks: list[int], near: int) -> None:
    stage = a_stage(picks)
    finder = a_finder(stage, min(near, len(picks) - 1))
    while not finder.count_on(3.0):
        pass
    total = finder.found().total
    finder.hit = finder.nearest(min(near, len(picks) - 1))
    if finder.hit is None:
        assert total == 0
        return
    seen = []
    for _ in range(2 * total):
        assert finder.hit is not None
        there = finder.split(finder.hit)
        finder.hit = there
        seen.append(finder.found().at)
        finder.hit = finder.step(1, 0)
    assert finder.found().total == total
    assert sorted(seen[:total]) == list(range(1, total + 1))
    assert seen[total:] == seen[:total]
    assert finder.hit is not None
    finder.hit = finder.step(-1, 0)
    assert finder.found().at == seen[-1]

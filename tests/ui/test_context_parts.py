"""The pure parts of the context screen: bar, dry runs, decisions, long text and its search."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inspected import LEFT, ORDER, asking, conversation, node, result, sheet_of

from stormclaw.agent.context.graph import COMPACTION, Standing
from stormclaw.agent.context.sheet import Part, PartKind
from stormclaw.protocol.messages import (
    AssistantTurn,
    Change,
    ContextEdit,
    Delegation,
    Summary,
    Usage,
    UserText,
)
from stormclaw.ui.context_acts import pinned, refusal, standing_of, toggled, undone_words
from stormclaw.ui.context_detail import decisions_about, node_sections
from stormclaw.ui.context_lines import head_row, look_of, part_line, price_of, saving, totals
from stormclaw.ui.context_text import Section, lay_out
from stormclaw.ui.context_trial import Trial, differences
from stormclaw.ui.context_wire import wire_sections
from stormclaw.ui.rows import Run, width_of
from stormclaw.ui.signs import ASCII, UNICODE
from stormclaw.ui.widgets.reading import underlined
from stormclaw.ui.widgets.shares import SHAPES, bar_cells, legend

KINDS: tuple[PartKind, ...] = ("system", "instructions", "memory", "tools", "turns", "results")
NOW = sheet_of(conversation())


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 300_000), min_size=6, max_size=6),
    st.integers(1, 200_000),
    st.integers(10, 200),
)
def test_the_bar_never_leaves_its_line(amounts: list[int], window: int, width: int) -> None:
    shares = tuple(zip(KINDS, amounts, strict=True))
    cells = bar_cells(shares, window, width)
    assert [kind for kind, _ in cells] == [kind for kind, amount in shares if amount]
    assert all(size >= 1 for _, size in cells)
    assert sum(size for _, size in cells) <= width


def test_the_bar_is_in_proportion() -> None:
    shares: tuple[tuple[PartKind, int], ...] = (("system", 50), ("tools", 25), ("results", 0))
    assert bar_cells(shares, 100, 80) == [("system", 40), ("tools", 20)]


@pytest.mark.parametrize("width", [20, 40, 76, 116])
def test_the_legend_wraps(width: int) -> None:
    shapes = {kind: shape[0] for kind, shape in SHAPES.items()}
    rows = legend(NOW, width, shapes)
    assert all(width_of(row.runs) <= max(width, 24) for row in rows)
    assert "results" in rows[-1].text


def test_every_kind_has_its_own_shape() -> None:
    assert len({shape[0] for shape in SHAPES.values()}) == len(KINDS)
    assert len({shape[1] for shape in SHAPES.values()}) == len(KINDS)
    assert all(shape[1].isascii() for shape in SHAPES.values())


@pytest.mark.parametrize("width", [10, 30, 74, 114, 194])
@pytest.mark.parametrize("signs", [UNICODE, ASCII])
def test_a_line_is_as_wide_as_asked(width: int, signs: object) -> None:
    from stormclaw.ui.rows import spread

    look = look_of(NOW, UNICODE if signs is UNICODE else ASCII)
    for part in NOW.parts:
        for thing in (part, replace(part, object="\u4e2d" * 500, why="w" * 90, sent=False)):
            left, right = part_line(thing, look, width)
            assert width_of(spread(left, right, width).runs) <= width
    assert width_of(head_row(look, width).runs) <= width


def test_what_a_summary_holds_back_is_said_without_a_reason() -> None:
    held = Part("n1", "turns", "you", "x", 10, 0, sent=False, by=COMPACTION)
    left, _ = part_line(held, look_of(NOW, UNICODE), 114)
    assert left[-1].text == "  summed up"


def test_prices() -> None:
    assert price_of(1000, None) == ""
    assert price_of(1000, 3e-6) == "<$0.01"
    assert price_of(100_000, 3e-6) == "~$0.30"
    assert price_of(100_000, 0.0) == "$0.00"
    assert "".join(run.text for run in saving(NOW)) == "~18.7k = ~$0.06 a turn"
    exact = replace(NOW, measured="o200k_base", window=0)
    assert "".join(run.text for run in totals(exact)) == "35.7k tokens, window unknown"
    full = replace(NOW, total=190_000)
    assert totals(full)[-1] == Run("95%", "attention")


def test_a_trial_moves_only_what_acts() -> None:
    trial = Trial(("a", "b", "c"), ("d",))
    assert trial.moved("b", -1).on == ("b", "a", "c")
    assert trial.moved("a", -1) == trial
    assert trial.moved("c", 1) == trial
    assert trial.moved("d", -1) == trial
    assert trial.toggled("b") == Trial(("a", "c"), ("b", "d"))
    assert trial.toggled("d") == Trial(("a", "b", "c", "d"), ())
    assert trial.toggled("b").toggled("b").on == ("a", "c", "b")
    assert Trial.of(NOW.policies) == Trial(ORDER, ("old_reasoning",))
    assert trial.same_as(Trial(("a", "b", "c")))
    assert not trial.same_as(trial.toggled("a"))


def test_differences_of_a_dry_run() -> None:
    dry = sheet_of(conversation(), ("old_results",), dry=True)
    there = differences(NOW, dry)
    assert (there.goes, there.comes) == (frozenset(), frozenset({"n02"}))
    assert there.words() == "1 would come back"
    back = differences(dry, NOW)
    assert back.goes == frozenset({"n02"})
    assert back.words() == "1 would go"
    assert differences(NOW, NOW).words() == "nothing would change"
    parts = [replace(part, left=5) if part.id == "n04" else part for part in NOW.parts]
    assert differences(NOW, replace(NOW, parts=tuple(parts))).shrinks == {"n04"}


def test_changes_keep_what_they_do_not_mean() -> None:
    held = Part("n1", "results", "read", "x", 10, 2, sent=False)
    assert toggled(held) == Change("n1")
    assert toggled(replace(held, sent=True, pinned=True)) == Change("n1", include=False)
    assert pinned(held, Standing(include=False)) == Change("n1", pinned=True)
    kept = Standing(include=False, summary="s", pinned=True, reasoning=False)
    unpinned = pinned(replace(held, pinned=True), kept)
    assert unpinned == Change("n1", False, "s", False, False)
    for part in NOW.parts:
        assert bool(refusal(part)) is (part.node is None)
    nodes = conversation()
    assert standing_of(nodes, "n04") == Standing(include=False, summary=LEFT, by="old_results")
    assert standing_of(nodes, "n06") == Standing()


def test_decisions_about_a_node_in_order() -> None:
    nodes = (
        node(0, UserText("a")),
        node(1, UserText("b")),
        node(2, ContextEdit("you", (Change("n00", include=False),))),
        node(3, ContextEdit("you", (Change("n00"), Change("n01")), undoes="n02")),
        node(4, ContextEdit("you", (Change("n00", include=False, summary="s"),))),
        node(5, ContextEdit("you", (Change("n00", reasoning=False, by="old_reasoning", why="w"),))),
        node(6, ContextEdit("you", (Change("n00", pinned=True),))),
        node(7, Summary("both", ("n00", "n01"))),
    )
    told = [(d.by, d.words, d.undone) for d in decisions_about(nodes, "n00")]
    assert told == [
        ("you", "held back", True),
        ("you", "taken back: kept whole", False),
        ("you", "held back, a summary in its place", False),
        ("old_reasoning", "kept without its reasoning: w", False),
        ("you", "kept whole, pinned", False),
        ("compaction", "summed up together with 1 other", False),
    ]
    assert decisions_about(nodes, "n05") == []


def bodies_whole() -> list[tuple[object, list[str]]]:
    return [
        (UserText("what I said"), ["what I said"]),
        (
            replace(asking(1, "grep", '{"pattern": "x"}', "let me look"), thinking="hm"),
            ["hm", "let me look", '{"pattern": "x"}'],
        ),
        (result(1, "grep", "x", "found it", status="failed"), ["found it", "failed, 84 lines"]),
        (
            Delegation(
                result(1, "read", "a.py", "scouted"), "root/scout-1", "scout it", "done", Usage()
            ),
            ["scout it", "scouted"],
        ),
        (Summary("it went on", ("n01",), "retries"), ["it went on", "1 node; in view: retries"]),
    ]


@pytest.mark.parametrize(("body", "words"), bodies_whole())
def test_a_node_is_shown_whole(body: object, words: list[str]) -> None:
    made = node(0, body)  # type: ignore[arg-type]
    part = Part("n00", "turns", "you", "x", 10_000, 9, sent=False, node=made)
    sections = list(node_sections(part, (made,), {}, 3e-6, made.at + 60))
    shown = "\n".join(section.plain for section in sections)
    for word in words:
        assert word in shown
    assert "held back, 9 tokens left" in shown
    assert "~$0.03 a turn" in shown
    assert "1m ago" in shown


def test_a_part_without_a_node_has_nothing_to_show() -> None:
    assert not list(node_sections(NOW.parts[0], (), {}, None, 0.0))


def test_long_text_is_wrapped_and_found_over_the_break() -> None:
    text = "one two three four five six seven\n" * 3 + "\n" + "z" * 30
    paper = lay_out([Section("user", text), Section("tool", "", aside="grep c1")], 20)
    assert all(width_of(row.runs) <= 20 for row in paper.rows)
    assert paper.heads[0] == 0
    assert paper.section_at(0) == 0
    assert paper.section_at(len(paper.rows) - 1) == 1
    assert paper.lines_with("THREE FOUR five")
    assert paper.lines_with("z" * 29)
    assert paper.lines_with("nowhere") == ()
    assert "".join(row.text for row in paper.rows).count("z") == 30


def test_an_empty_paper_can_be_searched() -> None:
    assert lay_out([], 80).lines_with("x") == ()
    assert lay_out([], 80).section_at(5) == 0


def test_places_are_underlined_in_any_case() -> None:
    runs = list(underlined(Run("Tok and tok, İtok"), "TOK"))
    assert "".join(run.text for run in runs) == "Tok and tok, İtok"
    assert [run.text.lower() for run in runs if "u" in run.flags]
    assert list(underlined(Run("abc"), "")) == [Run("abc")]


def test_the_wire_by_role() -> None:
    turn = AssistantTurn("said", thinking="not sent", echo='{"sig": 1}', model="m")
    child = Delegation(result(3, "read", "x", "child said"), "root/scout-1", "t", "done", Usage())
    sections = list(
        wire_sections("", (), (UserText("hi"), turn, result(2, "grep", "x", "out"), child), len_of)
    )
    assert [(part.name, part.text) for part in sections] == [
        ("user", "hi"),
        ("assistant", 'said\n\nreasoning, for the same model only\n{"sig": 1}'),
        ("tool", "out"),
        ("tool", "child said"),
    ]


def len_of(message: object) -> int:
    return 7


def test_what_was_taken_back_is_named() -> None:
    labels = {"old_results": "old results"}
    first = conversation()
    assert undone_words((), labels) == "taken back"
    assert undone_words(first, labels) == "taken back"

    def undoing(body: ContextEdit | Summary) -> str:
        made = (*first, node(11, body), node(12, ContextEdit("you", undoes="n11")))
        return undone_words(made, labels)

    assert (
        undoing(ContextEdit("old_results", (Change("n02"),))) == "taken back: old results, 1 node"
    )
    assert undoing(ContextEdit("you", policies=())) == "taken back: your order of policies"
    assert undoing(Summary("s", ("n01", "n02"))) == "taken back: a summary of 2 nodes"
    assert undone_words((node(1, ContextEdit("you", undoes="gone")),), {}) == "taken back"

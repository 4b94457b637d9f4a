"""Words are found where they stand, in whatever script, folded away or not."""

from __future__ import annotations

from itertools import pairwise

import pytest
from drawn import a_diff, a_look, read_outcome, shell_outcome
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.protocol.display import Checklist, Diff, DiffLine, Hunk, Patch, Plain, Step, Table
from stormclaw.protocol.inert import inert
from stormclaw.protocol.query import Query
from stormclaw.ui.blocks import Answer, Card, Failure, Reads, Remark, Source, Thought, Turn
from stormclaw.ui.find import count, pieces, places, readable
from stormclaw.ui.markdown import Markdown, Part
from stormclaw.ui.render.cards import Moment
from stormclaw.ui.render.code import Lexers
from stormclaw.ui.render.draw import draw

LOOK = a_look()
SCRIPTS = st.text(
    st.sampled_from("ab Aé\u0301ñß中文字ー\t한글עבʻ👍🏽👩\u200d💻\ufe0f\u00a0\u2003ſKİ\n.-"),
    max_size=120,
)


def a_card(outcome: object) -> Card:
    card = Card("c1", outcome.headline)  # type: ignore[attr-defined]
    card.settle(outcome)  # type: ignore[arg-type]
    return card


def drawn(source: Source) -> list[str]:
    """The words under every place that is found in what is drawn."""
    lines = draw(source, LOOK, Moment(), Markdown(Lexers(eager=True)))
    query = Query("kelp")
    return [
        "".join(lines[at.line].strip.text[at.start : at.end] for at in each)
        for each in places(lines, query)
    ]


@pytest.mark.parametrize(
    ("words", "text", "times"),
    [
        ("kelp", "Kelp and KELP and kelp", 3),
        ("Kelp", "Kelp and KELP and kelp", 1),
        ("aa", "aaaa a", 2),
        ("", "anything", 0),
        (".*", "a.*b", 1),
        ("é", "É", 1),
        ("straße", "STRASSE Straße", 1),
        ("中", "中文 中", 2),
    ],
)
def test_capitals_count_only_when_typed(words: str, text: str, times: int) -> None:
    assert Query(words).count(text) == times
    assert len(list(Query(words).spans(text))) == times


@settings(max_examples=tries(105, 300), deadline=None)
@given(SCRIPTS, SCRIPTS.filter(bool))
def test_there_are_as_many_places_as_are_counted(text: str, words: str) -> None:
    shown = inert(text, prose=True)
    query = Query(words)
    spans = list(query.spans(shown))
    assert query.count(shown) == len(spans)
    for (_, end), (start, _) in pairwise(spans):
        assert end <= start


@settings(max_examples=tries(140, 400), deadline=None)
@given(SCRIPTS, st.integers(0, 100), st.integers(1, 6))
def test_what_is_drawn_is_found_where_it_is_drawn(text: str, start: int, length: int) -> None:
    """Any words of a thought, looked for as drawn, are marked on the very characters."""
    source = Thought(f"x{text}x", 1.0, hand=True)
    whole = inert(source.text, prose=True).strip()
    words = whole[start % len(whole) :][:length].strip()  # Blanks at the end are not drawn.
    if not words or "\n" in words:
        return
    lines = draw(source, LOOK, Moment(), Markdown(Lexers(eager=True)))
    query = Query(words)
    for each in places(lines, query):
        marked = "".join(lines[at.line].strip.text[at.start : at.end] for at in each)
        plain = query._pattern.fullmatch(marked)
        # What a soft wrap swallowed is not drawn; all else is exactly what was looked for.
        assert plain or marked.replace(" ", "").casefold() == words.replace(" ", "").casefold()
    inside = query.count(whole)
    assert len(places(lines[1:], query)) == inside


@pytest.mark.parametrize(
    "source",
    [
        Turn("find kelp here"),
        Thought("kelp?", 2.0, hand=True),
        Part("a **kelp** and `code`", {}),
        Part("```python\nkelp = 1\n```", {}),
        Remark("kelp was told", 0.0),
        Failure("kelp stopped", "detail", "timeout"),
        a_card(shell_outcome("c1", "ls kelp", output="x")),
        a_card(read_outcome("c1", "src/kelp.py")),
        a_card(
            read_outcome("c1", display=Diff("a", (Hunk((DiffLine("+", "kelp", None, 1),)),), 1, 0))
        ),
    ],
)
def test_every_kind_of_block_is_searched_as_it_is_drawn(source: Source) -> None:
    assert count(source, Query("kelp")) == 1
    assert drawn(source) == ["kelp"]


@pytest.mark.parametrize(
    "display",
    [
        None,
        Plain("some kelp here"),
        Table(("name", "kelp"), (("a", "b"),)),
        Checklist((Step("eat kelp"),)),
        Patch((a_diff(path="src/kelp.py"),)),
    ],
)
def test_what_is_folded_away_is_found(display: object) -> None:
    outcome = shell_outcome("c1", "ls", output="kelp\n", display=display)
    card = a_card(outcome)
    assert count(card, Query("kelp")) == 1
    card.hand = True
    assert drawn(card) == ["kelp"]


def test_several_reads_are_searched_with_their_results() -> None:
    cards = [a_card(read_outcome(f"c{n}", f"f{n}.py", output=f"kelp {n}")) for n in range(5)]
    reads = Reads(cards)
    found = list(pieces(reads))
    assert count(reads, Query("kelp")) == 5
    assert [piece.member for piece in found if piece.where == "body"] == [0, 1, 2, 3, 4]
    reads.hand = cards[2].hand = True
    assert drawn(reads) == ["kelp"]


def test_a_diff_is_searched_as_far_as_it_is_shown() -> None:
    card = a_card(read_outcome("c1", display=a_diff(1, 1)))
    assert count(card, Query("new word 0")) == 1
    assert count(card, Query("before 1")) == 0


def test_a_receipt_is_found_by_its_number() -> None:
    assert count(a_card(read_outcome("c1", receipt=211)), Query("r211")) == 1


def test_a_denied_call_hides_nothing_to_be_found() -> None:
    card = a_card(shell_outcome("c1", status="denied", output="kelp"))
    assert count(card, Query("kelp")) == 0


def test_soft_line_ends_of_an_answer_do_not_part_words() -> None:
    text = "the green\nkelp **grows** here\n\n```\n*raw* code\nmore\n```\nand `kelp`s"
    plain = readable(text)
    assert "green kelp grows here" in plain
    assert "*raw* code\nmore" in plain
    assert count(Answer(text), Query("kelp grows")) == 1


def test_a_place_over_a_soft_wrap_is_marked_on_both_lines() -> None:
    source = Turn("word " * 12 + "sargassum weed and more")
    lines = draw(source, LOOK, Moment(), Markdown(Lexers()))
    (found,) = places(lines, Query("sargassum weed"))
    assert [lines[at.line].strip.text[at.start : at.end] for at in found] == ["sargassum", "weed"]


def test_ten_thousand_places_in_one_block_are_placed_at_once() -> None:
    source = Thought("e\n" * 10_000, 1.0, hand=True)
    lines = draw(source, LOOK, Moment(), Markdown(Lexers()))
    found = places(lines, Query("e"))
    assert [at.line for each in found[-3:] for at in each] == [9998, 9999, 10000]

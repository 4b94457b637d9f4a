"""Source to lines, and how many lines it will be before anybody looks: two tables."""

from __future__ import annotations

from typing import assert_never

from stormclaw.protocol.display import Diff, Table
from stormclaw.ui.blocks import (
    Answer,
    Card,
    Failure,
    Live,
    Reads,
    Remark,
    Source,
    Thought,
    Turn,
)
from stormclaw.ui.markdown import Markdown, Part
from stormclaw.ui.render.cards import (
    FAILED_LINES,
    Moment,
    card_head,
    card_lines,
    is_open,
    reads_lines,
    thought_lines,
)
from stormclaw.ui.render.diffs import diff_height
from stormclaw.ui.render.lines import Line
from stormclaw.ui.render.look import Look
from stormclaw.ui.render.turns import LONG_TURN, failure_lines, remark_lines, turn_lines


def draw(source: Source, look: Look, moment: Moment, markdown: Markdown) -> list[Line]:
    """The lines of a source, each exactly `look.measure` cells.

    `Answer` and `Live` have none of their own: the timeline splits the one and keeps the other.
    """
    match source:
        case Part():
            return markdown.draw(source, look)
        case Card():
            return card_lines(source, look, moment)
        case Reads():
            return reads_lines(source, look, moment)
        case Thought():
            return thought_lines(source, look, moment)
        case Turn():
            return turn_lines(source, look)
        case Remark():
            return remark_lines(source, look)
        case Failure():
            return failure_lines(source, look)
        case Answer() | Live():
            return []
        case _:
            assert_never(source)


def draw_head(source: Source, look: Look, moment: Moment) -> list[Line]:
    """The first line of what has a clock or a running dot, else nothing."""
    match source:
        case Card():
            return [card_head(source, look, moment)]
        case Thought():
            return thought_lines(source, look, moment)[:1]
        case _:
            return []


def estimate(source: Source, look: Look) -> int:
    """About how many lines `draw` will give; cheap, for what is out of sight."""
    match source:
        case Part() as part:
            return max(1, text_height(part.source, look.prose) - 2 * part.is_code)
        case Answer(text):
            return max(1, text_height(text.strip(), look.prose))
        case Turn(text, hand=hand):
            height = text_height(text, look.prose)
            return height if hand else min(height, LONG_TURN)
        case Card():
            return 1 + (_body_height(source, look) if is_open(source) else 0)
        case Reads(cards, hand):
            return 1 + (len(cards) if hand else 0)
        case Thought(text, hand=hand):
            return 1 + (text_height(text, look.prose) if hand else 0)
        case Remark(text):
            return text_height(text, look.prose - 7)
        case Failure(detail=detail):
            return text_height(detail, look.prose - 4) + (3 if look.short else 5)
        case Live():
            return 0
        case _:
            assert_never(source)


def text_height(text: str, width: int) -> int:
    """Rows of a text if it wrapped anywhere; exact for most prose."""
    width = max(1, width)
    if len(text) <= width:
        return text.count("\n") + 1
    lines = text.split("\n")
    return len(lines) + sum([(len(line) - 1) // width for line in lines if len(line) > width])


def can_open(source: Source) -> bool:
    """Whether the source has a body that folds."""
    return isinstance(source, Card | Reads | Thought)


def _body_height(card: Card, look: Look) -> int:
    match card.display:
        case Diff() as diff:
            return diff_height(diff, 0)
        case Table(rows=rows):
            return 1 + len(rows)
        case _ if card.hand:
            return text_height(card.output, look.prose)
        case _:
            return min(FAILED_LINES + 1, text_height(card.output, look.prose))

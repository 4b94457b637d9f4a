"""What stands between the cards: the person's turns, remarks, and a turn that stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.style import Style

from stormclaw.ui.blocks import Failure, Remark, Turn
from stormclaw.ui.render.lines import PLAIN, Line, Row, Run, lay, prefix, spread, wrap
from stormclaw.ui.render.look import GUTTER, Look, plain_signs
from stormclaw.ui.text import cells, clock_time, count, inert, one_line

LONG_TURN = 20
"""Lines of a turn above which the rest is folded: a paste is not read twice."""

GO_ON: tuple[tuple[str, str], ...] = (("enter", "go on from here"), ("/model", "pick another"))
CONNECT: tuple[tuple[str, str], ...] = (("/connect", "another key"), ("/model", "pick another"))
STOP = "stopped"
"""The code of an emergency stop, among those of errors."""
NEXT_STEPS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "auth": CONNECT,
    "payment": CONNECT,
    "forbidden": CONNECT,
    STOP: (("/estop clear", "go on"),),
    "context_length": (("/new", "start over"), ("/model", "pick another")),
}
"""What the person can do next, by error class."""


def turn_lines(turn: Turn, look: Look) -> list[Line]:
    """The person's words on surface, the rule of a speaker at their left."""
    palette = look.palette
    ground = palette.surface
    text = inert(turn.text, prose=True).strip("\n")
    rows = wrap([(text, ground + palette.text)], look.prose, fill=ground)
    if len(rows) > LONG_TURN and not turn.hand:
        hidden = len(rows) - LONG_TURN + 1
        rows = rows[: LONG_TURN - 1]
        words = f"{look.signs.elided} {count(hidden, 'more line')} {look.signs.folded}"
        rows.append(Row([(words, ground + palette.muted)], fill=ground))
    if turn.steered:
        rows[0] = _with_right(rows[0], "steered", look.prose, ground, ground + palette.muted)
    rule: list[Run] = [(look.signs.speaker, ground + palette.accent), (" ", ground)]
    return lay(rows, look.measure, rule)


def _with_right(row: Row, words: str, width: int, fill: Style, style: Style) -> Row:
    if sum(cells(text) for text, _ in row.runs) + 2 + cells(words) > width:
        return row
    return Row(spread(row.runs, [(words, style)], width, fill).runs, row.joint, row.indent, fill)


def remark_lines(remark: Remark, look: Look) -> list[Line]:
    """A muted line with its time at the right; a long one wraps under itself."""
    palette = look.palette
    right: list[Run] = [(clock_time(remark.at), palette.muted)]
    style = palette.text if remark.error else palette.muted
    words = plain_signs(one_line(remark.text), look.signs)
    rows = wrap([(words, style)], look.prose - 7)
    rows[0] = Row(spread(rows[0].runs, right, look.prose).runs, rows[0].joint)
    sign: Run = (look.signs.failed, palette.error) if remark.error else (" ", PLAIN)
    return lay(prefix(rows, [sign, (" ", PLAIN)], [("  ", PLAIN)]), look.measure)


def failure_lines(failure: Failure, look: Look) -> list[Line]:
    """What stopped, what was kept, what goes on: the only card with a red rule."""
    palette = look.palette
    ground = palette.surface
    inner = look.prose - 2 * GUTTER
    blank = Row([], fill=ground)
    title = [(one_line(failure.title), ground + palette.heading)]
    code: list[Run] = [(one_line(failure.code), ground + palette.muted)] if failure.code else []
    rows = wrap(title, inner - (cells(failure.code) + 2 if code else 0), fill=ground)
    first = spread(rows[0].runs, code, inner, ground)
    rows[0] = Row(first.runs, rows[0].joint, 0, ground)
    if failure.detail.strip():
        detail = inert(failure.detail, prose=True).strip("\n")
        rows += wrap([(detail, ground + palette.text)], inner, fill=ground)
    if failure.last:
        rows += [blank, *_steps(NEXT_STEPS.get(failure.code, GO_ON), look, inner)]
    sign: list[Run] = [(look.signs.failed, ground + palette.error), (" ", ground)]
    rows = prefix(rows, sign, [("  ", ground)])
    if not look.short:
        rows = [blank, *rows, blank]
    rule: list[Run] = [(look.signs.speaker, ground + palette.error), (" ", ground)]
    return lay(rows, look.measure, rule)


def _steps(steps: Sequence[tuple[str, str]], look: Look, width: int) -> list[Row]:
    ground = look.palette.surface
    runs: list[Run] = []
    for key, label in steps:
        runs += [
            ("   " if runs else "", ground),
            (key, ground + look.palette.heading),
            (f" {label}", ground + look.palette.muted),
        ]
    return wrap(runs, width, fill=ground)

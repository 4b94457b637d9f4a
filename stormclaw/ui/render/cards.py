"""Tool cards: one line that names its object, and a body under a thin rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rich.style import Style

from stormclaw.protocol.display import Checklist, Diff, Headline, Patch, Plain, Shell, Table
from stormclaw.ui.blocks import Card, CardState, Reads, Thought
from stormclaw.ui.render.diffs import diff_height, diff_rows
from stormclaw.ui.render.lines import PLAIN, Line, Row, Run, lay, prefix, spread, wrap
from stormclaw.ui.render.look import GUTTER, VERB, Look, plain_signs
from stormclaw.ui.render.tables import display_table
from stormclaw.ui.signs import Signs
from stormclaw.ui.text import (
    cells,
    count,
    duration,
    fit,
    inert,
    one_line,
    shorten_command,
    shorten_path,
    tokens,
)

SMALL_DIFF = 12
"""Lines of a diff up to which its card is born open."""
RUNNING_LINES, FAILED_LINES = 4, 8
"""Lines of output a shell shows while it runs, and after it failed."""
LEAST_SUMMARY, LEAST_OBJECT = 14, 24
"""Cells below which a summary, then an object, gives way no further while the other can."""
DIFF_VERBS = ("edit", "write", "patch")
CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Moment:
    """What changes without an event: the clock, and the frame of the running dot."""

    now: float = 0.0
    phase: int = 2


def is_open(card: Card) -> bool:
    """Whether a card shows its body: by hand, else by the rules of its kind."""
    if card.hand is not None:
        return card.hand and has_body(card)
    if card.headline.verb == "shell":
        if card.state == "running":
            return bool(card.output.strip())
        if card.state == "failed" or card.fold_at is not None:
            return has_body(card)
        return False
    if card.state == "failed":
        return card.headline.verb in DIFF_VERBS and has_body(card)
    if card.state == "done" and isinstance(card.display, Diff):
        return 0 < diff_height(card.display, 0) <= SMALL_DIFF
    if card.state == "done" and isinstance(card.display, Patch):
        return 0 < sum(diff_height(diff, 0) + 1 for diff in card.display.files) <= SMALL_DIFF
    return False


def has_body(card: Card) -> bool:
    """Whether there is anything to unfold."""
    match card.display:
        case Diff(hunks=hunks):
            return bool(hunks) or (card.state == "failed" and bool(card.output.strip()))
        case Patch(files=files):
            return bool(files) or (card.state == "failed" and bool(card.output.strip()))
        case Checklist(steps=steps):
            return bool(steps)
        case Table(rows=rows):
            return bool(rows)
        case Plain(text):
            return bool(text.strip())
        case Shell() | None:
            return card.state != "denied" and bool(card.output.strip())


def card_lines(card: Card, look: Look, moment: Moment) -> list[Line]:
    """The card: its first line, and its body when open."""
    lines = [card_head(card, look, moment)]
    if is_open(card):
        rule = [(look.signs.rule, look.palette.rule), (" ", PLAIN)]
        lines += lay(_body(card, look), look.measure, rule)
    return lines


def card_head(card: Card, look: Look, moment: Moment) -> Line:
    """`sign verb object  summary ▸          r211`."""
    arrow = ""
    if not card.live and has_body(card):
        arrow = look.signs.open if is_open(card) else look.signs.folded
    summary = card.activity if card.live and card.activity else card.summary
    if card.state == "asks":
        summary = "waits for you"
    return _head(
        _sign(card.state, look, moment.phase),
        card.headline,
        plain_signs(one_line(summary), look.signs),
        arrow,
        _right(card, moment),
        look,
    )


def _right(card: Card, moment: Moment) -> str:
    if card.state == "running":
        return duration(moment.now - card.started)
    return f"r{card.receipt}" if card.receipt and not card.live else ""


SIGNS: Mapping[CardState, tuple[Callable[[Signs], str], str]] = {
    "waiting": (lambda signs: signs.waiting, "muted"),
    "asks": (lambda signs: signs.asks, "attention"),
    "running": (lambda signs: signs.running, "accent"),
    "done": (lambda signs: signs.done, "muted"),
    "failed": (lambda signs: signs.failed, "error"),
    "denied": (lambda signs: signs.blocked, "error"),
    "interrupted": (lambda signs: signs.blocked, "muted"),
}


def _sign(state: CardState, look: Look, phase: int) -> Run:
    pick, role = SIGNS[state]
    sign = look.signs.phase(phase) if state == "running" else pick(look.signs)
    return sign, look.palette[role]


def _head(sign: Run, headline: Headline, summary: str, arrow: str, right: str, look: Look) -> Line:
    palette = look.palette
    verb = fit(one_line(headline.verb), 2 * VERB).ljust(VERB) + " "
    room = look.measure - GUTTER - cells(verb) - (cells(right) + 2 if right else 0)
    room -= cells(arrow) + 1 if arrow else 0
    shorten = _SHORTEN[headline.kind]
    name = one_line(headline.object) or one_line(headline.verb)
    name_cells, summary_cells = _divide(cells(name), cells(summary), room)
    name = shorten(name, name_cells, elided=look.signs.elided)
    summary = fit(summary, summary_cells, elided=look.signs.elided) if summary_cells > 0 else ""
    runs: list[Run] = [sign, (" ", PLAIN), (verb, palette.muted), *_object(name, headline, look)]
    tail = "  " + summary if summary else ""
    tail += " " + arrow if arrow else ""
    runs.append((tail, palette.muted))
    row = spread(runs, [(right, palette.muted)] if right else [], look.measure)
    return lay([row], look.measure)[0]


def _divide(name: int, summary: int, room: int) -> tuple[int, int]:
    """(cells of the object, cells of the summary): the summary yields first, never all at once."""
    if not summary:
        return max(1, min(name, room)), 0
    room -= 2
    if name + summary <= room:
        return name, summary
    summary = min(summary, max(room - name, LEAST_SUMMARY))
    if room - summary >= min(name, LEAST_OBJECT):
        return min(name, room - summary), summary
    return max(1, min(name, room + 2)), 0


_SHORTEN: Mapping[str, Callable[..., str]] = {
    "path": shorten_path,
    "command": shorten_command,
    "text": fit,
}


def _object(name: str, headline: Headline, look: Look) -> list[Run]:
    if headline.kind != "path":
        return [(name, look.palette.text)]
    folder, slash, file = name.rstrip("/").rpartition("/")
    return [(folder + slash, look.palette.muted), (file, look.palette.text)]


def _body(card: Card, look: Look) -> list[Row]:
    width = look.prose
    match card.display:
        case Diff() as diff if card.state != "failed":
            return diff_rows(diff, look, width, context=0)
        case Patch(files) if card.state != "failed":
            return [row for diff in files for row in _file(diff, look, width)]
        case Checklist() as checklist:
            return _steps(checklist, look)
        case Table() as table:
            return display_table(table, look, width)
        case Plain(text):
            return _text(text, card, look, width)
        case _:
            return _text(card.output, card, look, width)


def _file(diff: Diff, look: Look, width: int) -> list[Row]:
    """One file of a patch under its name."""
    counts = f"  +{diff.added} {look.signs.removed}{diff.removed}"
    head = Row([(one_line(diff.path), look.palette.text), (counts, look.palette.muted)])
    return [head, *diff_rows(diff, look, width, context=0)]


def _steps(checklist: Checklist, look: Look) -> list[Row]:
    palette = look.palette
    rows: list[Row] = []
    for step in checklist.steps:
        style = palette.text if step.state in ("open", "doing") else palette.muted
        sign = palette.accent if step.state == "doing" else palette.muted
        rows.append(Row([(f"{look.signs.step(step.state)} ", sign), (one_line(step.text), style)]))
    return rows


def _text(text: str, card: Card, look: Look, width: int) -> list[Row]:
    """Foreign text as it is; of a shell only the end, with a count of what is above."""
    palette = look.palette
    style = palette.muted if card.state == "running" else palette.text
    lines = inert(text, prose=True).strip("\n").split("\n")
    keep = _kept_lines(card)
    cut = max(0, len(lines) - keep) if keep else 0
    rows: list[Row] = []
    if cut and card.state != "running":
        words = f"{look.signs.elided} {count(cut, 'line')} above"
        rows.append(Row([(words, palette.muted)]))
    for line in lines[cut:]:
        rows.extend(wrap([(line.rstrip(), style)], width, words=False))
    return rows[-RUNNING_LINES:] if card.state == "running" else rows


def _kept_lines(card: Card) -> int:
    """Lines of the body's end to show; 0 for all."""
    if card.whole or card.hand:
        return 0
    if card.state == "running":
        return RUNNING_LINES
    return FAILED_LINES if card.state == "failed" else RUNNING_LINES


def reads_lines(reads: Reads, look: Look, moment: Moment) -> list[Line]:
    """`✓ read   5 files  a, b, …`; open, every read on a line of its own."""
    names = list(dict.fromkeys(one_line(card.headline.object) for card in reads.cards))
    short = ", ".join(name.rstrip("/").rpartition("/")[2] for name in names)
    receipts = [card.receipt for card in reads.cards if card.receipt]
    right = f"r{receipts[0]}{look.signs.dash}{receipts[-1]}" if len(receipts) > 1 else ""
    arrow = look.signs.open if reads.hand else look.signs.folded
    headline = Headline("read", count(len(names), "file"))
    lines = [_head(_sign("done", look, 0), headline, short, arrow, right, look)]
    if reads.hand:
        rule = [(look.signs.rule, look.palette.rule), (" ", PLAIN)]
        inner = Look(look.palette, look.signs, look.prose, look.short)
        for card in reads.cards:
            head = [
                (part.text, part.style or PLAIN) for part in card_head(card, inner, moment).strip
            ]
            body = _body(card, look) if card.hand and has_body(card) else []
            lines += lay([Row(head), *body], look.measure, rule)
    return lines


def thought_lines(thought: Thought, look: Look, moment: Moment) -> list[Line]:
    """`thought  6s, ~412 tokens ▸`, and the words when open."""
    palette = look.palette
    text = inert(thought.text, prose=True).strip()
    thinking = thought.seconds is None
    seconds = moment.now - thought.started if thought.seconds is None else thought.seconds
    size = f"~{tokens(max(1, len(text) // CHARS_PER_TOKEN))} tokens"
    arrow = "" if thinking else f" {look.signs.open if thought.hand else look.signs.folded}"
    sign = _sign("running", look, moment.phase) if thinking else (" ", PLAIN)
    words = f"thought  {duration(seconds)}, {size}{arrow}"
    head = Row([sign, (" ", PLAIN), (words, palette.muted)])
    lines = lay([head], look.measure)
    if thought.hand:
        rule: list[Run] = [(look.signs.rule, palette.rule), (" ", PLAIN)]
        body = [_muted(row, palette.muted) for row in wrap([(text, palette.muted)], look.prose)]
        lines += lay(prefix(body, (), ()), look.measure, rule)
    return lines


def _muted(row: Row, style: Style) -> Row:
    return Row([(text, style) for text, _ in row.runs], row.joint)

"""What leaves the transcript as plain text: a selection, or one card as a whole."""

from __future__ import annotations

from textual.selection import Selection

from stormclaw.protocol.display import Checklist, Diff, Patch, Plain, Shell, Table
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
from stormclaw.ui.column import Column
from stormclaw.ui.markdown import Part


def selected_text(column: Column, selection: Selection) -> str:
    """The text under a selection: soft wraps joined, decoration and padding left out.

    Offsets are (character, line of the column).
    """
    start, end = selection
    first = start.y if start is not None else 0
    last = min(end.y if end is not None else column.total - 1, column.total - 1)
    pieces: list[str] = []
    line_no = max(0, first)
    while line_no <= last:
        index, inner = column.at(line_no)
        lines = column.lines_of(index)
        if inner < 0 or inner >= len(lines):
            pieces.append("\n")
        else:
            strip, joint, indent = lines[inner]
            left, right = selection.get_span(line_no) or (0, -1)
            text = strip.text if right == -1 else strip.text[:right]
            text = text[max(left, indent) :]
            pieces.append(text.rstrip() if right == -1 else text)
            pieces.append(joint if line_no < last else "")
        line_no += 1
        last = min(last, column.total - 1) if end is not None else column.total - 1
    return "".join(pieces).rstrip("\n")


def source_text(source: Source) -> str:
    """A block as text: what `y` copies."""
    match source:
        case Card():
            return _card_text(source)
        case Reads(cards):
            return "\n".join(card.headline.object for card in cards)
        case Turn(text) | Thought(text) | Answer(text) | Remark(text):
            return text
        case Part(text):
            return text
        case Failure(title, detail):
            return f"{title}\n{detail}".rstrip()
        case Live():
            return ""


def _card_text(card: Card) -> str:
    command = f"$ {card.headline.object}\n" if card.headline.kind == "command" else ""
    match card.display:
        case Diff() as diff:
            return _diff_text(diff)
        case Patch(files):
            return "\n".join(map(_diff_text, files))
        case Checklist(steps):
            return "\n".join(
                f"[{'x' if step.state == 'done' else ' '}] {step.text}" for step in steps
            )
        case Table(columns, rows):
            return "\n".join("\t".join(row) for row in (columns, *rows))
        case Plain(text):
            return command + text
        case Shell(shell):
            return f"$ {shell}\n{card.output}"
        case None:
            return (command + card.output) or card.headline.object


def _diff_text(diff: Diff) -> str:
    lines = [f"--- {diff.path}", f"+++ {diff.path}"]
    for hunk in diff.hunks:
        old = [line.old for line in hunk.lines if line.old is not None]
        new = [line.new for line in hunk.lines if line.new is not None]
        first_old, first_new = (old or [0])[0], (new or [0])[0]
        lines.append(f"@@ -{first_old},{len(old)} +{first_new},{len(new)} @@")
        lines += [line.sign + line.text for line in hunk.lines]
    return "\n".join(lines)

"""Lines of text with roles, and how they give way to each other on a narrow screen.

Everything the widgets around the transcript draw is made of these; they know cells, not widgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size


class Run(NamedTuple):
    """A piece of text in one style; `flags` are letters of: b bold, u underline, i italic."""

    text: str
    role: str = "text"
    flags: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One line on the screen; `ground` is the role of its background, "" for the widget's own."""

    runs: tuple[Run, ...] = ()
    ground: str = ""

    @property
    def text(self) -> str:
        """The words alone."""
        return "".join(run.text for run in self.runs)


BLANK = Row()


def width_of(runs: Iterable[Run]) -> int:
    """Cells the runs take."""
    return sum(cell_len(run.text) for run in runs)


def clip(runs: Iterable[Run], width: int, mark: str = "…") -> tuple[Run, ...]:
    """The runs cut at `width` cells, the cut shown by `mark`."""
    runs = tuple(runs)
    if width_of(runs) <= width:
        return runs
    if width <= 0:
        return ()
    kept: list[Run] = []
    left = width - cell_len(mark)
    for run in runs:
        size = cell_len(run.text)
        if size > left:
            kept.append(run._replace(text=set_cell_size(run.text, max(0, left)).rstrip() + mark))
            break
        kept.append(run)
        left -= size
    return tuple(kept)


def spread(
    left: Iterable[Run],
    right: Iterable[Run],
    width: int,
    *,
    indent: int = 0,
    ground: str = "",
    mark: str = "…",
) -> Row:
    """Left text and right text on one line of `width` cells; the left one gives way."""
    right = clip(right, max(0, width - indent), mark)
    room = width - indent - width_of(right) - (2 if right else 0)
    left = clip(left, max(0, room), mark)
    gap = width - indent - width_of(left) - width_of(right)
    padding = (Run(" " * gap),) if right else ()
    start = (Run(" " * indent),) if indent else ()
    return Row((*start, *left, *padding, *right), ground)


def wrap(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` cells: broken at spaces, within a word where it must."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines += _wrapped(line, max(1, width))
    return lines


def _wrapped(line: str, width: int) -> Iterator[str]:
    start = 0
    while True:
        end = start + beginning(line, start, width)
        if end >= len(line):
            yield line[start:]
            return
        space = line.rfind(" ", start + 1, end + 1)
        if space < 0:
            yield line[start:end].rstrip()
            start = end
            continue
        yield line[start:space].rstrip()
        start = space
        while start < len(line) and line[start].isspace():
            start += 1


def beginning(line: str, start: int, width: int) -> int:
    """How many characters of `line` from `start` on fit in `width` cells, at least one."""
    if line.isascii():
        return min(width, len(line) - start)
    used = 0
    for at in range(start, len(line)):
        used += cell_len(line[at])
        if used > width:
            return max(1, at - start)
    return len(line) - start


def wrap_runs(text: str, width: int, role: str = "text", flags: str = "") -> list[Row]:
    """`wrap` as rows in one role."""
    return [Row((Run(line, role, flags),)) for line in wrap(text, width)]


def indented(rows: Sequence[Row], cells: int) -> list[Row]:
    """The rows moved right."""
    return [Row((Run(" " * cells), *row.runs), row.ground) for row in rows]


def keys(pairs: Iterable[tuple[str, str]], *, dead: bool = False, gap: int = 2) -> tuple[Run, ...]:
    """Hints: key in text colour, label muted, two spaces between the pairs."""
    runs: list[Run] = []
    for key, label in pairs:
        if runs:
            runs.append(Run(" " * gap))
        runs.append(Run(key, "muted" if dead else "text"))
        if label:
            runs.append(Run(f" {label}", "muted"))
    return tuple(runs)

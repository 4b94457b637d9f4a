"""What a person sees who has connected nothing yet: what this is, how to connect, what to try."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stormclaw.ui.measures import TALL, Column
from stormclaw.ui.rows import BLANK, Row, Run, spread, wrap_runs
from stormclaw.ui.text import tokens
from stormclaw.ui.widgets.header import MARK
from stormclaw.ui.widgets.lines import Lines

MEASURE = 68
TRIES = ("list the files", "explore this project", "read README.md")


@dataclass(frozen=True, slots=True)
class Way:
    """A way to a model: what it is, what was found, what to type."""

    name: str
    found: str
    command: str


@dataclass(frozen=True, slots=True)
class Welcome:
    """The facts of the first run.

    Attributes:
        ways: How to connect.
        tries: Prompts that work with the demo on these files.
        instructions: (file, tokens) of what was read.
        trusted: The folder is trusted.
    """

    ways: Sequence[Way] = ()
    tries: Sequence[str] = TRIES
    instructions: Sequence[tuple[str, int]] = ()
    trusted: bool = True


class FirstRun(Lines):
    """Lies over the empty transcript until something is said, then never comes back."""

    DEFAULT_CSS = """
    FirstRun { display: none; position: absolute; layer: over; background: $sc-bg; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.welcome = Welcome()
        self._tried = 0

    def show(self, welcome: Welcome) -> None:
        """Show it."""
        self.welcome = welcome
        self.display = True
        self.redraw()

    def next_prompt(self) -> str:
        """The next of the prompts to try."""
        prompt = self.welcome.tries[self._tried % len(self.welcome.tries)]
        self._tried += 1
        return prompt

    def place(self, column: Column, height: int, composer: int) -> None:
        """Put it in the middle of what is free above the prompt."""
        width = min(MEASURE, column.measure - 2)
        rows = len(self.lines(width))
        free = height - 2 - composer - 1 - (1 if height >= TALL else 0)
        self.styles.width, self.styles.height = width, min(rows, free)
        self.styles.offset = (column.left + 2, 2 + max(0, (free - rows) // 2))

    def lines(self, width: int) -> list[Row]:
        """The whole text."""
        welcome = self.welcome
        what = (
            "No model is connected, so this runs on demo: its words are scripted, "
            "its tools are real. It reads and edits files here, and asks first."
        )
        rows = [Row((Run(f"{MARK} ", "accent"), Run("StormClaw", "text", "b"))), BLANK]
        rows += [_bold(row, "demo") for row in wrap_runs(what, width)]
        rows += [BLANK, Row((Run("Connect a model", "text", "b"),)), BLANK]
        rows += [self._way(way, width) for way in welcome.ways]
        picks = (Run(f"{self.signs.down} picks one", "muted"),)
        rows += [BLANK, spread((Run("Or try it now", "text", "b"),), picks, width), BLANK]
        rows += [Row((Run(prompt),)) for prompt in welcome.tries]
        last = self._read_and_trusted()
        return [*rows, BLANK, spread(last, self._trust(), width)] if last else rows

    def _way(self, way: Way, width: int) -> Row:
        left = (Run(f"{way.name:<17}"), Run(way.found, "muted"))
        return spread(left, (Run(way.command, "accent"),), width, mark=self.signs.elided)

    def _read_and_trusted(self) -> tuple[Run, ...]:
        said = [f"{name} read, {tokens(size)} tokens." for name, size in self.welcome.instructions]
        if not self.welcome.trusted:
            said.append("This folder is not trusted yet.")
        return (Run(" ".join(said), "muted"),) if said else ()

    def _trust(self) -> tuple[Run, ...]:
        return () if self.welcome.trusted else (Run("/trust", "accent"),)


def _bold(row: Row, word: str) -> Row:
    """The row with `word` in bold, once."""
    before, found, after = row.text.partition(f" {word}:")
    if not found:
        return row
    return Row((Run(f"{before} "), Run(word, "text", "b"), Run(f":{after}")))

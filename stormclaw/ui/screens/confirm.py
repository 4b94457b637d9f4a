"""One question of the program itself, asked once, in the place where agents ask."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from stormclaw.ui.rows import BLANK, Row, Run, wrap
from stormclaw.ui.widgets.lines import Lines


class Words(Lines):
    """The question and its keys."""

    DEFAULT_CSS = """
    Words {
        dock: bottom; height: 4; margin: 0 2 1 2; padding: 0 2 0 1;
        background: $sc-raised; border-left: outer $sc-attention-rule;
    }
    """

    def __init__(self, question: str, yes: str, no: str) -> None:
        super().__init__()
        self.question, self.yes, self.no = question, yes, no

    def lines(self, width: int) -> list[Row]:
        """Question, blank, keys."""
        rows = [
            Row((Run("? " if number == 0 else "  ", "attention"), Run(line)))
            for number, line in enumerate(wrap(self.question, width - 2)[:2])
        ]
        keys = (
            Run("  "),
            Run("y", "text", "b"),
            Run(f" {self.yes}   ", "muted"),
            Run("n", "text", "b"),
            Run(f" {self.no}", "muted"),
        )
        return [*rows, BLANK, Row(keys)]


class Confirm(ModalScreen[bool]):
    """True for `y`; everything else that answers is no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("y", "yes", ""),
        ("n,escape,enter,ctrl+c", "no", ""),
    ]
    DEFAULT_CSS = "Confirm { background: transparent; }"

    def __init__(self, question: str, yes: str, no: str) -> None:
        super().__init__()
        self._words = Words(question, yes, no)

    def compose(self) -> ComposeResult:
        """The sheet."""
        yield self._words

    def action_yes(self) -> None:
        """Do it."""
        self._answer(yes=True)

    def action_no(self) -> None:
        """Leave it."""
        self._answer(yes=False)

    def _answer(self, *, yes: bool) -> None:
        if self.is_current:  # A key that is held answers once.
            self.dismiss(yes)

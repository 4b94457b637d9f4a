"""Long pastes stand in the composer as one word and are whole again when sent."""

from __future__ import annotations

import re

FOLD_ABOVE = 15
"""Lines a paste may have before it is folded."""

CONTROL = re.compile(r"\x1b\[<[-\dNa.;]*[Mm]|\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
"""Mouse reports, escape sequences and control characters other than tab and newline."""


class Pastes:
    """The folded pastes of one draft."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def take(self, text: str) -> str:
        """What to put in the composer for a pasted text."""
        text = CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
        lines = text.count("\n") + 1
        if lines <= FOLD_ABOVE:
            return text
        word = f"[paste {len(self._texts) + 1}, {lines} lines]"
        self._texts[word] = text
        return word

    def expand(self, draft: str) -> str:
        """The draft with every folded paste in full."""
        for word, text in self._texts.items():
            draft = draft.replace(word, text)
        return draft

    def word_before(self, line: str) -> str:
        """The folded paste that ends where `line` ends, "" if none: it is deleted as one."""
        return next((word for word in self._texts if line.endswith(word)), "")

    def clear(self) -> None:
        """The draft is gone."""
        self._texts.clear()

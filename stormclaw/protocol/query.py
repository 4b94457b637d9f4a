"""Words that are looked for in a text: how they are compared, and where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from stormclaw.protocol.inert import inert


@dataclass(frozen=True)
class Query:
    """What somebody looks for.

    Attributes:
        words: As typed. Upper and lower case are one unless a capital is among them.
    """

    words: str

    @cached_property
    def cased(self) -> bool:
        """Whether capitals count."""
        return any(character.isupper() for character in self.words)

    @cached_property
    def _wanted(self) -> str:
        words = inert(self.words, prose=True)
        return words if self.cased else words.lower()

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        flags = re.NOFLAG if self.cased else re.IGNORECASE
        return re.compile(re.escape(inert(self.words, prose=True)), flags)

    def count(self, text: str) -> int:
        """How often the words stand in `text`, which is inert; places do not overlap."""
        if not self._wanted:
            return 0
        if self.cased:
            return text.count(self._wanted)
        if text.isascii() and self._wanted.isascii():
            return text.lower().count(self._wanted)
        return sum(1 for _ in self._pattern.finditer(text))

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """(start, end) of every place in `text`, as many as `count` says."""
        if self._wanted:
            yield from (found.span() for found in self._pattern.finditer(text))

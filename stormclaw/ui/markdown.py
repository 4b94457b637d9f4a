"""An answer as parts that are drawn once: a part is one top-level Markdown block.

What has been closed by a later block can never change again, so only the last part is drawn anew
while text streams in. The same split made of the whole text gives the same parts.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from stormclaw.ui.render.code import Lexers
from stormclaw.ui.render.lines import PLAIN, Line, lay
from stormclaw.ui.render.look import GUTTER, Look
from stormclaw.ui.render.prose import BLANK, OPEN_FENCE_CODE, Prose, code_rows
from stormclaw.ui.text import inert

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

References = MutableMapping[str, Any]
"""Link reference definitions of one answer, as markdown-it keeps them."""

FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)\n")
LEFT = ((" " * GUTTER, PLAIN),)


@dataclass(frozen=True, slots=True)
class Part:
    """One top-level block of an answer: inert Markdown and the references it may use."""

    source: str
    references: References

    @property
    def is_code(self) -> bool:
        """True for a fence."""
        return FENCE.match(self.source + "\n") is not None

    @property
    def has_code(self) -> bool:
        """True when there may be a fence anywhere inside."""
        return "```" in self.source or "~~~" in self.source


class Markdown:
    """Splits and draws; owns the parser, which is only built when first needed."""

    def __init__(self, lexers: Lexers) -> None:
        self.lexers = lexers

    @cached_property
    def _parser(self) -> MarkdownIt:
        from markdown_it import MarkdownIt

        return MarkdownIt("commonmark").enable(["table", "strikethrough"])

    def warm(self) -> None:
        """Import and build the parser, so that the first answer need not wait for it."""
        self._parser.parse("a **b** `c`\n\n- d\n")

    def split(self, source: str, references: References | None = None) -> list[Part]:
        """All parts of a finished text; definitions found are added to `references`."""
        clean = inert(source, prose=True)
        references = {} if references is None else references
        return _parts(clean, self._places(clean, references), references)

    def draw(self, part: Part, look: Look, *, growing: bool = False) -> list[Line]:
        """A part as lines of exactly `look.measure` cells."""
        tokens = self._parser.parse(part.source, dict(part.references))
        rows = Prose(look, self.lexers, growing=growing).rows(tokens, look.prose)
        return lay(rows, look.measure, LEFT)

    def _places(self, clean: str, references: References) -> list[tuple[int, int]]:
        """Lines (first, after the last) of the top-level blocks; definitions go to `references`."""
        tokens: list[Token] = []
        self._parser.block.parse(clean, self._parser, references, tokens)
        return [
            (token.map[0], token.map[1])
            for token in tokens
            if not token.level and token.map is not None
        ]

    def grow(self) -> Growing:
        """A text about to stream in."""
        return Growing(self)

    def close(self, tail: str, references: References) -> tuple[list[Part], str]:
        """(parts of `tail` that can no longer change, what is left of it).

        The last line does not count: the next character may give it another meaning.
        """
        complete, newline, _ = tail.rpartition("\n")
        if not newline:
            return [], tail
        clean = inert(complete.removesuffix("\r"), prose=True)
        places = self._places(clean, references)
        if len(places) < 2:
            return [], tail
        return _parts(clean, places[:-1], references), tail.split("\n", places[-1][0])[-1]


def _parts(clean: str, places: list[tuple[int, int]], references: References) -> list[Part]:
    lines = clean.split("\n")
    return [Part("\n".join(lines[first:after]).rstrip("\n"), references) for first, after in places]


class Growing:
    """A text while it streams: closed parts leave, the last one is drawn again and again."""

    def __init__(self, markdown: Markdown) -> None:
        self._markdown = markdown
        self._references: References = {}
        self._tail = ""
        self._checked = 0
        self._fence: _OpenFence | None = None
        self._pieces: list[str] = []

    @property
    def source(self) -> str:
        """Everything that came."""
        return "".join(self._pieces)

    @property
    def ends_in_space(self) -> bool:
        """True when the last character is a space or newline, which no line shows."""
        return self._tail[-1:].isspace()

    @property
    def has_references(self) -> bool:
        """True when a part closed earlier might have used a definition that came later."""
        return bool(self._references.get("references"))

    def feed(self, text: str) -> list[Part]:
        """Add text; the parts it closes."""
        self._pieces.append(text)
        self._tail += text
        if "\n" not in text or self._in_fence():
            return []
        parts, self._tail = self._markdown.close(self._tail, self._references)
        if parts:
            self._checked = 0
            self._fence = None
        return parts

    def finish(self) -> list[Part]:
        """The parts of what is left; nothing grows any more."""
        return self._markdown.split(self._tail, self._references)

    def draw(self, look: Look) -> list[Line]:
        """The open part as it stands."""
        if self._in_fence() and len(self._tail) > OPEN_FENCE_CODE:
            if self._fence is None or self._fence.look is not look:
                self._fence = _OpenFence(look)
            return self._fence.draw(self._tail)
        lines: list[Line] = []
        known = {"references": dict(self._references.get("references", {}))}
        for part in self._markdown.split(self._tail.removesuffix("\r"), known):
            if lines:
                lines.extend(lay([BLANK], look.measure, LEFT))
            lines.extend(self._markdown.draw(part, look, growing=True))
        return lines

    def _in_fence(self) -> bool:
        """True while the tail is one fence whose end has not come."""
        opening = FENCE.match(self._tail)
        if opening is None or ("`" in opening["mark"] and "`" in opening["info"]):
            return False
        mark = opening["mark"]
        closing = re.compile(rf"^ {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t\r]*$", re.M)
        start = self._tail.rfind("\n", 0, max(opening.end(), self._checked)) + 1
        if closing.search(self._tail, max(start, opening.end())):
            return False
        self._checked = len(self._tail)
        return True


class _OpenFence:
    """A long fence still growing: its finished lines are drawn once, without colours."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self._lines: list[Line] = []
        self._done = 0

    def draw(self, tail: str) -> list[Line]:
        if not self._done:
            self._done = tail.index("\n") + 1
        stop = tail.rfind("\n", self._done)
        if stop >= 0:
            self._lines.extend(self._drawn(tail[self._done : stop]))
            self._done = stop + 1
        rest = tail[self._done :]
        return [*self._lines, *self._drawn(rest)] if rest else list(self._lines)

    def _drawn(self, text: str) -> list[Line]:
        runs = [
            (
                inert(text.removesuffix("\r"), prose=True),
                self.look.palette.surface + self.look.palette.text,
            )
        ]
        return lay(code_rows(runs, self.look, self.look.prose), self.look.measure, LEFT)

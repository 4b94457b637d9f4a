"""Markdown blocks to rows: markdown-it block tokens in, no widget tree, raw HTML as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.style import Style

from stormclaw.ui.render.code import Lexers, highlight
from stormclaw.ui.render.inline import inline_runs
from stormclaw.ui.render.lines import PLAIN, Row, Run, prefix, wrap
from stormclaw.ui.render.look import Look
from stormclaw.ui.render.tables import Align, Cell, table_rows
from stormclaw.ui.text import cells, inert

if TYPE_CHECKING:
    from markdown_it.token import Token

OPEN_FENCE_CODE = 4_000
"""Characters up to which a fence is coloured while it still grows."""
SMALLEST = 8
"""Cells below which nested blocks are no longer narrowed."""

BLANK = Row()
TASKS = {"[ ] ": "waiting", "[x] ": "done", "[X] ": "done"}


class Prose:
    """Draws block tokens.

    Args:
        look: Colours, signs, measure.
        lexers: For fences.
        growing: The text is still being written.
    """

    def __init__(self, look: Look, lexers: Lexers, *, growing: bool = False) -> None:
        self._look = look
        self._palette = look.palette
        self._lexers = lexers
        self._growing = growing

    def rows(self, tokens: Sequence[Token], width: int) -> list[Row]:
        """All blocks of `tokens` in at most `width` cells, one blank row between them."""
        rows: list[Row] = []
        tight = True
        for block in _siblings(tokens):
            drawn = self._block(block, max(SMALLEST, width))
            compact = block[0].hidden or (tight and rows and block[0].type.endswith("list_open"))
            if rows and not compact:
                rows.append(BLANK)
            tight = block[0].hidden
            rows.extend(drawn)
        return rows

    def _block(self, block: Sequence[Token], width: int) -> list[Row]:
        head = block[0]
        match head.type:
            case "paragraph_open":
                return wrap(self._inline(block[1], self._palette.text), width)
            case "heading_open":
                return self._heading(head, block[1], width)
            case "fence" | "code_block":
                return self._code(head, width)
            case "hr":
                return [Row([(self._look.signs.hairline * width, self._palette.rule)])]
            case "blockquote_open":
                rule = [(self._look.signs.rule, self._palette.rule), (" ", PLAIN)]
                return prefix(self.rows(block[1:-1], width - 2), rule, rule)
            case "bullet_list_open" | "ordered_list_open":
                return self._list(block, width)
            case "table_open":
                return self._table(block, width)
            case _:
                text = inert(head.content, prose=True).strip("\n")
                return wrap([(text, self._palette.muted)], width)

    def _inline(self, token: Token, base: Style) -> list[Run]:
        return inline_runs(token.children or (), self._palette, base)

    def _heading(self, head: Token, inline: Token, width: int) -> list[Row]:
        style = self._palette.heading
        if head.tag not in ("h1", "h2"):
            style = self._palette.muted + Style(bold=True, dim=False)
        return wrap(self._inline(inline, style), width)

    def _code(self, token: Token, width: int) -> list[Row]:
        code = inert(token.content.removesuffix("\n"), prose=True)
        ground = self._palette.surface
        lexer = None
        if not (self._growing and len(code) > OPEN_FENCE_CODE):
            lexer = self._lexers.get(token.info.strip().split(" ")[0].lower())
        runs = highlight(code, lexer, self._palette) if lexer else [(code, self._palette.text)]
        return code_rows([(text, ground + style) for text, style in runs], self._look, width)

    def _list(self, block: Sequence[Token], width: int) -> list[Row]:
        ordered = block[0].type == "ordered_list_open"
        number = int(block[0].attrs.get("start", 1))
        items = list(_siblings(block[1:-1]))
        digits = len(str(number + len(items) - 1))
        loose = any(
            token.type == "paragraph_open" and not token.hidden and token.level == item[0].level + 1
            for item in items
            for token in item
        )
        rows: list[Row] = []
        for offset, item in enumerate(items):
            sign = f"{number + offset}.".rjust(digits + 1) if ordered else self._look.signs.bullet
            marker = f" {sign} "
            lead = cells(marker)
            inner = self.rows(item[1:-1], width - lead) or [BLANK]
            first: list[Run] = [(marker, self._palette.muted)]
            if not ordered:
                first, inner = self._task(first, inner)
            if rows and loose:
                rows.append(BLANK)
            rows.extend(prefix(inner, first, [(" " * lead, PLAIN)]))
        return rows

    def _task(self, marker: list[Run], rows: list[Row]) -> tuple[list[Run], list[Row]]:
        """`[ ]` and `[x]` at the start of an item become the state sign."""
        runs = list(rows[0].runs)
        sign = TASKS.get(runs[0][0][:4]) if runs else None
        if sign is None:
            return marker, rows
        text, style = runs[0]
        first = Row([(text[4:], style), *runs[1:]], rows[0].joint, rows[0].indent, rows[0].fill)
        return [(f" {getattr(self._look.signs, sign)} ", self._palette.muted)], [first, *rows[1:]]

    def _table(self, block: Sequence[Token], width: int) -> list[Row]:
        header: list[Cell] = []
        body: list[list[Cell]] = []
        aligns: list[Align] = []
        for position, token in enumerate(block):
            if token.type == "tr_open":
                body.append([])
            elif token.type == "th_open":
                header.append(self._inline(block[position + 1], self._palette.muted))
                aligns.append(_align(token))
            elif token.type == "td_open":
                body[-1].append(self._inline(block[position + 1], self._palette.text))
        return table_rows(header, body[1:], aligns, width)


def code_rows(runs: Sequence[Run], look: Look, width: int) -> list[Row]:
    """Code on its ground with the rule at its left; long lines wrap, nothing is lost."""
    ground = look.palette.surface
    rule: list[Run] = [(look.signs.speaker, ground + look.palette.rule), (" ", ground)]
    return prefix(wrap(runs, width - 2, fill=ground, words=False), rule, rule)


def _siblings(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The blocks of a token list, each with everything inside it."""
    start = 0
    depth = 0
    for position, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            yield tokens[start : position + 1]
            start = position + 1


def _align(token: Token) -> Align:
    style = str(token.attrs.get("style", ""))
    return "right" if "right" in style else "center" if "center" in style else "left"

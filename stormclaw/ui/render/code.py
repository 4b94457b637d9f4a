"""Code in colour: three colours by Pygments, whose import and lexers stay off the hot path."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rich.style import Style

from stormclaw.ui.palette import Palette
from stormclaw.ui.render.lines import Run

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MAX_HIGHLIGHT = 60_000
"""Characters of one fence above which it stays plain: colour is not worth a stall."""


class Lexers:
    """Lexers that are ready; one that is not is fetched in a thread and announced.

    Args:
        eager: Fetch at once and wait, for tests and still pictures.
    """

    def __init__(self, *, eager: bool = False) -> None:
        self._eager = eager
        self._ready: dict[str, Lexer | None] = {}
        self._fetching: dict[str, asyncio.Task[None]] = {}
        self.on_ready: Callable[[], None] = lambda: None

    def get(self, language: str) -> Lexer | None:
        """The lexer for a fence's info word; None while it is fetched, and for unknown ones."""
        if not language or language in self._ready:
            return self._ready.get(language)
        if self._eager:
            self._ready[language] = _load(language)
            return self._ready[language]
        self.warm(language)
        return None

    def warm(self, *languages: str) -> None:
        """Begin to fetch lexers; needs a running event loop."""
        for language in languages:
            if language not in self._ready and language not in self._fetching:
                self._fetching[language] = asyncio.get_running_loop().create_task(
                    self._fetch(language)
                )

    async def _fetch(self, language: str) -> None:
        lexer = await asyncio.to_thread(_load, language)
        self._ready[language] = lexer
        del self._fetching[language]
        if lexer is not None:
            self.on_ready()


def _load(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    for _ in lexer.get_tokens("x = 1\n"):  # the first use compiles the lexer's patterns
        pass
    return lexer


def highlight(code: str, lexer: Lexer, palette: Palette) -> list[Run]:
    """`code` in runs; plain if the lexer would change a single character of it."""
    plain = [(code, palette.text)]
    if len(code) > MAX_HIGHLIGHT:
        return plain
    styles = _token_styles(palette)
    runs: list[Run] = []
    for token, text in lexer.get_tokens(code):
        style = styles.get(token)
        if style is None:
            kind: Any = token
            while kind not in styles:
                kind = kind.parent
            style = styles[token] = styles[kind]
        if runs and runs[-1][1] is style:
            runs[-1] = (runs[-1][0] + text, style)
        else:
            runs.append((text, style))
    return runs if "".join(text for text, _ in runs) == code else plain


def _token_styles(palette: Palette) -> dict[Any, Style]:
    """Token types that have a colour of their own; their children inherit it."""
    from pygments.token import Comment, Generic, Keyword, Operator, String, Token

    return {
        Keyword: palette.keyword,
        Operator.Word: palette.keyword,
        String: palette.string,
        Comment: palette.comment,
        Generic.Inserted: palette.added,
        Generic.Deleted: palette.removed,
        Token: palette.text,
    }

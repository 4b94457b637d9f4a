"""The inside of a paragraph: markdown-it inline tokens to runs. Nothing foreign is executed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.style import Style

from stormclaw.ui.palette import Palette
from stormclaw.ui.render.lines import Run
from stormclaw.ui.text import inert

if TYPE_CHECKING:
    from markdown_it.token import Token

BREAK_TAG = re.compile(r"<br\s*/?>", re.IGNORECASE)
WEB = re.compile(r"https?://[\x21-\x7e]{1,2000}\Z")
"""What may become a link of the terminal; everything else is only shown."""

WEIGHTS = {
    "strong": Style(bold=True),
    "em": Style(italic=True),
    "s": Style(strike=True),
}


def inline_runs(tokens: Sequence[Token], palette: Palette, base: Style) -> list[Run]:
    """Runs of a paragraph's children.

    Args:
        tokens: `children` of an inline token.
        palette: Colours.
        base: Style of plain words.
    """
    runs: list[Run] = []
    styles = [base]
    links: list[tuple[str, int]] = []
    for token in tokens:
        kind, _, end = token.type.rpartition("_")
        if kind in WEIGHTS and end == "open":
            styles.append(styles[-1] + WEIGHTS[kind])
        elif kind in WEIGHTS:
            styles.pop()
        elif token.type == "link_open":
            target = str(token.attrs.get("href", ""))
            links.append((target, len(runs)))
            styles.append(styles[-1] + palette.link + _web_link(target))
        elif token.type == "link_close":
            styles.pop()
            runs.extend(_address(*links.pop(), runs, palette))
        else:
            runs.append(_leaf(token, styles[-1], palette))
    return [run for run in runs if run[0]]


def _leaf(token: Token, style: Style, palette: Palette) -> Run:
    match token.type:
        case "code_inline":
            return inert(token.content, prose=True).replace("\n", " "), style + palette.code
        case "softbreak":
            return " ", style
        case "hardbreak":
            return "\n", style
        case "html_inline" if BREAK_TAG.fullmatch(token.content):
            return "\n", style
        case "image":
            source = inert(str(token.attrs.get("src", "")))
            return f"{inert(token.content, prose=True) or 'image'} ({source})", palette.muted
        case _:
            return inert(token.content, prose=True), style


def _web_link(target: str) -> Style:
    return Style(link=target) if WEB.match(target) else Style.null()


def _address(target: str, start: int, runs: Sequence[Run], palette: Palette) -> list[Run]:
    """The address after a link whose words do not show it: a link cannot lie about its target."""
    shown = "".join(text for text, _ in runs[start:])
    target = inert(target)
    if not target or shown in (target, target.removeprefix("mailto:")):
        return []
    return [(f" ({target})", palette.muted)]

"""The roles as Rich styles, for whoever draws lines itself: built once per theme change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from rich.style import Style
from textual.color import Color

GROUNDS: frozenset[str] = frozenset(
    {
        "bg",
        "surface",
        "raised",
        "row",
        "select",
        "add-bg",
        "add-word",
        "del-bg",
        "del-word",
    }
)
"""Roles that are a background; all others are a text colour."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Every role as a style: grounds set only the background, the rest only the text.

    Attributes:
        roles: Role name without `sc-` to style; `palette["risk-low"]` reads it.
        agents: Colours of the first six agents; see `theme.agent_colour`.
        ansi: True in a 16-colour theme: grounds are the terminal's own, muted is dim.
        heading: Section heads and titles.
        keyword: Code keywords; `string` and `comment` likewise.
        link: Links in prose.
    """

    roles: Mapping[str, Style]
    agents: tuple[Style, ...]
    ansi: bool
    bg: Style
    surface: Style
    raised: Style
    row: Style
    select: Style
    rule: Style
    text: Style
    muted: Style
    code: Style
    accent: Style
    attention: Style
    error: Style
    success: Style
    heading: Style
    keyword: Style
    string: Style
    comment: Style
    link: Style
    added: Style
    added_ground: Style
    added_word: Style
    removed: Style
    removed_ground: Style
    removed_word: Style

    def __getitem__(self, name: str) -> Style:
        return self.roles[name]


def palette_from(variables: Mapping[str, str], *, ansi: bool) -> Palette:
    """The palette of a theme from its `sc-ROLE` variables."""
    roles = {
        name[3:]: _style(name[3:], value, ansi=ansi)
        for name, value in variables.items()
        if name.startswith("sc-") and name != "sc-muted-style"
    }
    muted, text = roles["muted"], roles["text"]
    return Palette(
        roles=MappingProxyType(roles),
        agents=tuple(roles[f"agent-{n}"] for n in range(1, 7)),
        ansi=ansi,
        bg=roles["bg"],
        surface=roles["surface"],
        raised=roles["raised"],
        row=roles["row"],
        select=roles["select"],
        rule=roles["rule"],
        text=text,
        muted=muted,
        code=roles["code"],
        accent=roles["accent"],
        attention=roles["attention"],
        error=roles["error"],
        success=roles["success"],
        heading=text + Style(bold=True),
        keyword=roles["agent-2"],
        string=roles["accent"],
        comment=muted + Style(italic=True),
        link=text + Style(underline=True),
        added=roles["add"],
        added_ground=roles["add-bg"],
        added_word=roles["add-word"],
        removed=roles["del"],
        removed_ground=roles["del-bg"],
        removed_word=roles["del-word"],
    )


ANSI_STYLES: Mapping[str, Style] = {
    "muted": Style(dim=True),
    "risk-low": Style(dim=True),
    "row": Style(bold=True),
    "select": Style(reverse=True),
    "add-word": Style(bold=True, underline=True),
    "del-word": Style(bold=True, underline=True),
}
"""Where 16 colours are too few, a weight carries the role."""


def _style(role: str, value: str, *, ansi: bool) -> Style:
    if ansi and role in ANSI_STYLES:
        return ANSI_STYLES[role]
    if ansi and role in GROUNDS:
        return Style()
    colour = Color.parse(value).rich_color
    if role in GROUNDS:
        return Style(bgcolor=colour, bold=True if role.endswith("-word") else None)
    return Style(color=colour)

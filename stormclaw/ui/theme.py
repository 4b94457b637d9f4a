"""Colour is a request: the roles every widget names, in three themes and derived for all others.

Widgets write `$sc-ROLE` in CSS and take a `Palette` for lines they draw themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.theme import Theme

from stormclaw.ui.palette import Palette, palette_from
from stormclaw.ui.roles import ANSI_ROLES, DARK_ROLES, LIGHT_ROLES

AppOrTheme: TypeAlias = "App[Any] | Theme"


def _variables(roles: Mapping[str, str], muted_style: str = "none") -> dict[str, str]:
    """Our roles as CSS variables, and Textual's own variables in terms of them."""
    return {
        **{f"sc-{name}": value for name, value in roles.items()},
        "sc-muted-style": muted_style,
        "scrollbar": roles["rule"],
        "scrollbar-hover": roles["muted"],
        "scrollbar-active": roles["muted"],
        "scrollbar-background": roles["bg"],
        "scrollbar-background-hover": roles["bg"],
        "scrollbar-background-active": roles["bg"],
        "scrollbar-corner-color": roles["bg"],
        "screen-selection-background": roles["select"],
        "input-selection-background": roles["select"],
        "border": roles["rule"],
        "border-blurred": roles["rule"],
        "footer-key-foreground": roles["text"],
        "footer-description-foreground": roles["muted"],
    }


def _own(name: str, roles: Mapping[str, str], *, dark: bool) -> Theme:
    return Theme(
        name=name,
        primary=roles["accent"],
        secondary=roles["agent-2"],
        accent=roles["accent"],
        warning=roles["attention"],
        error=roles["error"],
        success=roles["success"],
        foreground=roles["text"],
        background=roles["bg"],
        surface=roles["surface"],
        panel=roles["raised"],
        boost=roles["row"],
        dark=dark,
        variables=_variables(roles),
    )


STORMCLAW_DARK = _own("stormclaw-dark", DARK_ROLES, dark=True)
STORMCLAW_LIGHT = _own("stormclaw-light", LIGHT_ROLES, dark=False)
STORMCLAW_ANSI = Theme(
    name="stormclaw-ansi",
    primary="ansi_cyan",
    secondary="ansi_blue",
    accent="ansi_cyan",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    ansi=True,
    variables={
        **_variables(ANSI_ROLES, "dim"),
        "scrollbar-hover": "ansi_default",
        "scrollbar-active": "ansi_default",
        "ansi-background": "ansi_black",
        "ansi-foreground": "ansi_white",
        "screen-selection-background": "ansi_bright_blue",
        "screen-selection-foreground": "ansi_black",
        "input-selection-background": "ansi_bright_blue",
        "input-selection-foreground": "ansi_black",
        "input-cursor-text-style": "reverse",
        "block-cursor-foreground": "ansi_black",
        "block-cursor-background": "ansi_cyan",
    },
)

THEMES: tuple[Theme, ...] = (STORMCLAW_DARK, STORMCLAW_LIGHT, STORMCLAW_ANSI)


def register(app: App[Any]) -> None:
    """Make our themes known; call in `App.__init__`, before any CSS is parsed."""
    for theme in THEMES:
        app.register_theme(theme)


def derived_variables(theme: Theme) -> dict[str, str]:
    """All `sc-ROLE` variables for `theme`: its own where it is ours, else from its colours.

    For `App.get_css_variables`: `{**super().get_css_variables(), **derived_variables(theme)}`.
    """
    if "sc-text" in theme.variables:
        return {name: value for name, value in theme.variables.items() if name.startswith("sc-")}
    ours = _variables(ANSI_ROLES, "dim") if theme.ansi else _variables(_derived_roles(theme))
    return {name: value for name, value in ours.items() if name.startswith("sc-")}


def role(where: AppOrTheme, name: str) -> Style:
    """The style of one role, without the `sc-`; grounds set the background, the rest the text."""
    return palette(where)[name]


def palette(where: AppOrTheme) -> Palette:
    """All roles of the current theme as Rich styles; build it once per theme change."""
    theme = where if isinstance(where, Theme) else where.current_theme
    return palette_from(derived_variables(theme), ansi=theme.ansi)


def agent_colour(styles: Palette, index: int) -> Style:
    """The colour of an agent's name, dot and bar; 0 is root, from the 7th on muted."""
    return styles.agents[index] if index < len(styles.agents) else styles.muted


def _derived_roles(theme: Theme) -> dict[str, str]:
    """Roles from a foreign theme's own colours, each text role legible on every ground."""
    colours = theme.to_color_system().generate()
    bg = _solid(colours["background"], theme)
    text = _solid(colours["foreground"], theme)
    text = _legible(text, bg.blend(text, 0.14), theme, 5.5)
    ours = DARK_ROLES if theme.dark else LIGHT_ROLES
    row = bg.blend(text, 0.14)

    def readable(colour: Color) -> str:
        return _legible(colour, row, theme).hex6

    def named(name: str) -> str:
        return readable(_solid(colours[name], theme))

    add, remove = (_legible(Color.parse(ours[name]), row, theme) for name in ("add", "del"))
    accent, error, warning = named("primary"), named("error"), named("warning")
    muted = readable(text.blend(bg, 0.32))
    agents = (accent, *map(named, ("secondary", "accent", "success")))
    return {
        "bg": bg.hex6,
        "surface": bg.blend(text, 0.05).hex6,
        "raised": bg.blend(text, 0.09).hex6,
        "row": row.hex6,
        "select": bg.blend(Color.parse(accent), 0.35).hex6,
        "rule": bg.blend(text, 0.22).hex6,
        "track": bg.blend(text, 0.22).hex6,
        "text": text.hex6,
        "muted": muted,
        "code": readable(text.blend(Color.parse(named("secondary")), 0.45)),
        "accent": accent,
        "attention": warning,
        "attention-rule": warning,
        "error": error,
        "success": named("success"),
        **{f"agent-{n}": colour for n, colour in enumerate(agents, 1)},
        "agent-5": readable(Color.parse(ours["agent-5"])),
        "agent-6": readable(Color.parse(ours["agent-6"])),
        "risk-low": muted,
        "risk-medium": warning,
        "risk-high": readable(Color.parse(warning).blend(Color.parse(error), 0.5)),
        "risk-blocked": error,
        "add": add.hex6,
        "add-bg": bg.blend(add, 0.16).hex6,
        "add-word": bg.blend(add, 0.34).hex6,
        "del": remove.hex6,
        "del-bg": bg.blend(remove, 0.16).hex6,
        "del-word": bg.blend(remove, 0.34).hex6,
    }


def _solid(value: str, theme: Theme) -> Color:
    """A colour without transparency; `auto` and tints are laid over the theme's ground."""
    colour = Color.parse(value)
    if colour.a >= 1.0:
        return colour
    ground = Color.parse(theme.background or ("#121212" if theme.dark else "#e0e0e0"))
    return ground + colour


def _legible(colour: Color, ground: Color, theme: Theme, least: float = 4.5) -> Color:
    """`colour`, moved towards white or black until its contrast with `ground` is `least`."""
    end = Color.parse("#ffffff" if theme.dark else "#000000")
    for step in range(21):
        candidate = colour.blend(end, step / 20)
        if _contrast(candidate, ground) >= least:
            return candidate
    return end


def _contrast(one: Color, other: Color) -> float:
    """WCAG contrast ratio, 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Color) -> float:
    def linear(channel: float) -> float:
        return channel / 12.92 if channel <= 0.03928 else ((channel + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(channel) for channel in colour.normalized)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

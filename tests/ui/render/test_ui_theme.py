"""Every role in every theme, legible."""

from __future__ import annotations

import pytest
from drawn import Tiny
from rich.style import Style
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from stormclaw.ui import signs, theme
from stormclaw.ui.roles import ROLES

ALL_THEMES = [*theme.THEMES, *BUILTIN_THEMES.values()]


def contrast(one: str, other: str) -> float:
    def luminance(value: str) -> float:
        linear = [
            channel / 12.92 if channel <= 0.03928 else ((channel + 0.055) / 1.055) ** 2.4
            for channel in Color.parse(value).normalized
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("which", ALL_THEMES, ids=lambda one: str(one.name))
def test_every_theme_has_every_role(which: Theme) -> None:
    variables = theme.derived_variables(which)
    assert {f"sc-{name}" for name in ROLES} <= set(variables)
    for name in ROLES:
        assert isinstance(theme.role(which, name), Style)


@pytest.mark.parametrize(
    "which", [one for one in ALL_THEMES if not one.ansi], ids=lambda one: str(one.name)
)
def test_text_is_legible_on_every_ground(which: Theme) -> None:
    roles = {name[3:]: value for name, value in theme.derived_variables(which).items()}
    written = ("text", "muted", "code", "accent", "attention", "error", "success", "agent-6")
    for name in written:
        for ground in ("bg", "surface", "raised", "row"):
            assert contrast(roles[name], roles[ground]) >= 4.5, (name, ground)
    for name in ("add-bg", "del-bg"):
        assert contrast(roles["text"], roles[name]) >= 4.5, name


def test_the_ansi_theme_uses_weights_where_colours_are_too_few() -> None:
    styles = theme.palette(theme.STORMCLAW_ANSI)
    assert styles.muted.dim
    assert styles.muted.color is None
    assert styles.added_word.underline
    assert styles.surface.bgcolor is None
    assert theme.derived_variables(theme.STORMCLAW_ANSI)["sc-muted-style"] == "dim"


def test_the_seventh_agent_is_muted() -> None:
    styles = theme.palette(theme.STORMCLAW_DARK)
    assert theme.agent_colour(styles, 0) == styles["agent-1"]
    assert theme.agent_colour(styles, 6) == styles.muted


@pytest.mark.parametrize("name", [one.name for one in ALL_THEMES])
async def test_css_resolves_in_every_theme(name: str) -> None:
    app = Tiny(name)
    async with app.run_test(size=(60, 20)):
        assert app.current_theme.name == name
        assert app.theme_variables is not None


@pytest.mark.parametrize(
    ("ascii_only", "environ", "unicode"),
    [
        (False, {"LANG": "en_US.UTF-8"}, True),
        (False, {"LANG": "en_US.utf8"}, True),
        (False, {"LC_ALL": "C", "LANG": "en_US.UTF-8"}, False),
        (False, {"LC_ALL": "", "LANG": "C.UTF-8"}, True),
        (False, {}, False),
        (True, {"LANG": "en_US.UTF-8"}, False),
    ],
)
def test_signs_follow_the_locale(ascii_only: bool, environ: dict[str, str], unicode: bool) -> None:
    chosen = signs.choose_signs(ascii_only=ascii_only, environ=environ)
    assert chosen is (signs.UNICODE if unicode else signs.ASCII)


def test_signs_are_one_cell_and_their_twins_ascii() -> None:
    for name in signs.UNICODE.__slots__:
        twin = getattr(signs.ASCII, name)
        assert "".join(twin).isascii(), name
    assert signs.UNICODE.risk("high") == "▲"
    assert signs.UNICODE.phase(5) == "•"
    assert signs.ASCII.phase(5) == "*"

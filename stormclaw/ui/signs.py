"""Symbols and their ASCII twins: one table, one choice at start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stormclaw.protocol.display import Progress
from stormclaw.protocol.effects import Risk


@dataclass(frozen=True, slots=True)
class Signs:
    """Every symbol the screens use; all are one cell wide.

    Attributes:
        running: The dot at rest; `phases` are its frames, 400 ms each.
        between: Stands between two facts of one line.
        rule: The thin rule of an open body.
        speaker: Focus rule and speaker of a turn.
    """

    done: str = "✓"
    running: str = "●"
    phases: tuple[str, ...] = ("∙", "•", "●", "•")
    waiting: str = "○"
    asks: str = "?"
    failed: str = "✗"
    selected: str = "›"
    speaker: str = "▌"
    cursor: str = "▍"
    risk_low: str = "◇"
    risk_medium: str = "◆"
    risk_high: str = "▲"
    blocked: str = "■"
    folded: str = "▸"
    open: str = "▾"
    bar: str = "━"
    track: str = "─"
    tree: str = "│"
    branch: str = "├"
    last: str = "└"
    rule: str = "▏"
    removed: str = "−"
    added: str = "+"
    elided: str = "…"
    between: str = "·"
    bullet: str = "•"
    up: str = "↑"
    down: str = "↓"
    right: str = "→"
    left: str = "←"
    dash: str = "–"
    hairline: str = "─"

    def risk(self, risk: Risk) -> str:
        """The shape that goes with a risk's colour and word."""
        return {
            "low": self.risk_low,
            "medium": self.risk_medium,
            "high": self.risk_high,
            "blocked": self.blocked,
        }[risk]

    def step(self, state: Progress) -> str:
        """The shape of a step of a plan."""
        return {
            "open": self.waiting,
            "doing": self.running,
            "done": self.done,
            "dropped": self.dash,
        }[state]

    def phase(self, number: int) -> str:
        """The running dot in frame `number`."""
        return self.phases[number % len(self.phases)]


UNICODE = Signs()

ASCII = Signs(
    done="=",
    running="*",
    phases=("*",),
    waiting="o",
    asks="?",
    failed="x",
    selected=">",
    speaker="|",
    cursor="_",
    risk_low="L",
    risk_medium="M",
    risk_high="H",
    blocked="#",
    folded=">",
    open="v",
    bar="=",
    track="-",
    tree="|",
    branch="+",
    last="`",
    rule="|",
    removed="-",
    added="+",
    elided="..",
    between="|",
    bullet="*",
    up="^",
    down="v",
    right=">",
    left="<",
    dash="-",
    hairline="-",
)

LOCALE_VARIABLES = ("LC_ALL", "LC_CTYPE", "LANG")


def choose_signs(*, ascii_only: bool, environ: Mapping[str, str]) -> Signs:
    """Unicode signs, or their twins if configured (`ui.ascii`) or the locale is not UTF-8."""
    if ascii_only:
        return ASCII
    locale = next((environ[name] for name in LOCALE_VARIABLES if environ.get(name)), "")
    return UNICODE if "utf8" in locale.lower().replace("-", "") else ASCII

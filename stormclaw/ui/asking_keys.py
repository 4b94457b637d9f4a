"""The last line of a question: which keys answer it, and what they would cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stormclaw.protocol.asks import Ask, Question
from stormclaw.protocol.display import Diff
from stormclaw.protocol.effects import Verdict
from stormclaw.ui.asking import held
from stormclaw.ui.rows import Row, Run, spread, width_of
from stormclaw.ui.signs import Signs
from stormclaw.ui.text import one_line

SHORT_LABELS: Mapping[str, str] = {"s": "session", "a": "always"}
"""What keys are called where their scope does not fit; `?` still names it."""

SCOPES: Mapping[str, str] = {
    "command": "{}",
    "write": "in {}",
    "host": "{}",
    "note": "",
    "network": "network for {}",
    "folder": "may write {}",
    "network-host": "network to {}",
}
"""What a grant of each kind covers, in the words of the key that gives it."""


def ask_keys(ask: Ask) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """(keys at the left, keys at the right) of a question."""
    if isinstance(ask, Question):
        if not ask.options:
            return [("enter", "answer"), ("esc", "no answer")], []
        return [("enter", "take it"), ("1-9", "pick"), ("esc", "no answer")], [("e", "own words")]
    right = [("e", "edit")] if ask.editable else []
    right.append(("?", "why"))
    if isinstance(ask.display, Diff):
        right.append(("f", "full"))
    if held(ask):
        left = [("s", "allow it this session"), ("a", "in this project"), ("n", "deny")]
        return left, right
    left = [("y", "once")]
    if ask.verdict.grants:
        left += [("s", "session"), ("a", f"always {scope(ask.verdict)}".rstrip())]
    return [*left, ("n", "deny")], right


def scope(verdict: Verdict) -> str:
    """What "always" would cover, named: `in src/tide`, `npm test`, `pytest with network`."""
    commands = {grant.match for grant in verdict.grants if grant.kind == "command"}
    opened = {grant.match for grant in verdict.grants if grant.kind == "network"}
    named = [
        SCOPES[grant.kind].format(grant.match)
        + (" with network" if grant.kind == "command" and grant.match in opened else "")
        for grant in verdict.grants
        if not (grant.kind == "network" and grant.match in commands)
    ]
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    return one_line(named[0]) + more


def keys_row(ask: Ask, width: int, *, dead: bool, signs: Signs) -> Row:
    """The last line: keys bold, muted while they are dead; the right ones yield first."""
    left, right = ask_keys(ask)
    shown_left = _key_runs(left, dead=dead)
    while right and width_of(shown_left) + width_of(_key_runs(right, dead=dead)) + 4 > width:
        right = right[:-1] if len(right) > 1 and right[-1][0] == "f" else right[1:]
    if width_of(shown_left) + 2 > width:
        short = [(key, SHORT_LABELS.get(key, label)) for key, label in left]
        shown_left = _key_runs(short, dead=dead)
    runs = (Run("  "), *shown_left)
    return spread(runs, _key_runs(right, dead=dead), width, mark=signs.elided)


def _key_runs(pairs: Sequence[tuple[str, str]], *, dead: bool) -> tuple[Run, ...]:
    runs: list[Run] = []
    for key, label in pairs:
        runs.append(Run(f"{'   ' if runs else ''}"))
        runs.append(Run(key, "muted" if dead else "text", "" if dead else "b"))
        runs.append(Run(f" {label}", "muted"))
    return tuple(runs)

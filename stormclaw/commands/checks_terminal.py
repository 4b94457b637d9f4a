"""Checks of the terminal: what it is, what it shows, what stands between it and us."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping

from stormclaw.commands.checkup import Check, Patient, Result

NARROW, LOW = 60, 16
"""Below this many columns or lines the app has no room for its parts."""

TMUX_OPTIONS: tuple[tuple[str, frozenset[str], str, str], ...] = (
    ("extended-keys", frozenset({"on", "always"}), "shift+enter", "set -s extended-keys on"),
    ("set-clipboard", frozenset({"on", "external"}), "copying", "set -s set-clipboard on"),
    ("allow-passthrough", frozenset({"on", "all"}), "copying", "set -g allow-passthrough on"),
)
"""Option of tmux, its good values, what suffers otherwise, the line for ~/.tmux.conf."""


def terminal(patient: Patient) -> Iterator[Result]:
    """Is there one, and does it say what it is?"""
    if not patient.at_terminal:
        yield "ok", "not at a terminal; -p, agent and tool work without one"
        return
    name = patient.env.get("TERM", "")
    if name in {"", "dumb", "unknown"}:
        yield "problem", f"TERM is {name or 'not set'}", "export TERM=xterm-256color"
    else:
        yield "ok", f"TERM={name}"


def size(patient: Patient) -> Iterator[Result]:
    """Is there room?"""
    if not patient.at_terminal:
        return
    columns, rows = patient.size
    if columns < NARROW or rows < LOW:
        yield "warning", f"{columns}x{rows} is cramped", f"{NARROW}x{LOW} or more shows all parts"
    else:
        yield "ok", f"{columns}x{rows}"


def colours(patient: Patient) -> Iterator[Result]:
    """How many colours does it claim?"""
    env = patient.env
    if env.get("NO_COLOR"):
        yield "ok", "none, NO_COLOR is set"
    elif env.get("COLORTERM", "").lower() in {"truecolor", "24bit"} or "direct" in _term(env):
        yield "ok", "true colour"
    elif not patient.at_terminal:
        return
    elif "256" in _term(env):
        todo = "if your terminal shows more: export COLORTERM=truecolor"
        yield "ok", "256 colours", todo
    else:
        todo = "export TERM=xterm-256color, or COLORTERM=truecolor if it can"
        yield "warning", f"few colours ({_term(env) or 'TERM not set'})", todo


def letters(patient: Patient) -> Iterator[Result]:
    """Does the locale say UTF-8?"""
    found = next((patient.env[name] for name in ("LC_ALL", "LC_CTYPE", "LANG")
                  if patient.env.get(name)), "")  # fmt: skip
    if "utf8" in found.lower().replace("-", ""):
        yield "ok", f"Unicode ({found})"
    else:
        text = f"no Unicode in the locale ({found or 'none is set'}); signs are drawn in ASCII"
        yield "warning", text, "export LANG=C.UTF-8, or another locale that ends in UTF-8"


def tmux(patient: Patient) -> Iterator[Result]:
    """Does what stands between let keys and copies through?"""
    if patient.env.get("STY"):
        yield "warning", "GNU screen lets neither shift+enter nor copies through", "use tmux"
    if not patient.env.get("TMUX"):
        return
    program = shutil.which("tmux", path=patient.env.get("PATH"))
    values = _tmux_options(program, patient.env) if program else {}
    if not values:
        yield "warning", "inside tmux, which does not answer", "see `tmux show-options -s`"
        return
    bad = [option for option in TMUX_OPTIONS if option[0] in values
           and values[option[0]] not in option[1]]  # fmt: skip
    for name, _, what, line in bad:
        text = f"tmux: {name} is {values[name]}; {what} may not work"
        yield "warning", text, f"in ~/.tmux.conf: {line}"
    if not bad:
        yield "ok", "tmux lets keys and copies through"


def _term(env: Mapping[str, str]) -> str:
    return env.get("TERM", "")


def _tmux_options(program: str, env: Mapping[str, str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for scope in ("-s", "-g", "-gw"):
        done = subprocess.run(
            [program, "show-options", scope],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=5,
            check=False,
        )
        for line in done.stdout.splitlines():
            name, _, value = line.partition(" ")
            values.setdefault(name, value)
    return values


CHECKS: Mapping[str, Check] = {
    "terminal": terminal,
    "size": size,
    "colours": colours,
    "letters": letters,
    "tmux": tmux,
}

"""A person at the terminal, as far as measurements need one: waits, types, sends, notes moments."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice
from typing import Final

from benchmarks.script import Order
from benchmarks.terminal import Terminal

EARLY_KEY: Final = "^"
EARLY_EVERY_S: Final = 0.015
LETTERS: Final = "qjxzkvwqzxjvkwzq"
LINE: Final = 40
"""Letters before the line is cleared, so that they never wrap."""
CLEAR: Final = "\x15"
ENTER: Final = "\r"
SETTLE_S: Final = 0.3


@dataclass(frozen=True, slots=True)
class Opening:
    """How a program came up.

    Attributes:
        painted_s: From its start until something was to be seen.
        ready_s: From its start until a typed key was to be seen.
        cpu_s: CPU seconds used by then.
    """

    painted_s: float
    ready_s: float
    cpu_s: float


def until_ready(terminal: Terminal) -> Opening:
    """Type one key again and again, from the moment keys are taken until one is to be seen."""
    painted = terminal.wait(lambda screen: screen.alternate and not screen.blank, "a first paint")
    at, sent_at, sent = painted, 0.0, 0
    while terminal.screen.in_frame or not terminal.screen.has(EARLY_KEY):
        if at - sent_at >= EARLY_EVERY_S and terminal.takes_keys:
            sent_at, sent = terminal.send(EARLY_KEY), sent + 1
        at = terminal.step(EARLY_EVERY_S / 5)
        if at - terminal.began > 60:
            raise TimeoutError(f"no key was echoed; the screen shows:\n{terminal.picture()}")
    return Opening(painted - terminal.began, at - terminal.began, terminal.cpu_s)


def clear(terminal: Terminal) -> None:
    """Empty the prompt."""
    terminal.pump(0.05)
    terminal.send(CLEAR)
    terminal.wait(
        lambda screen: not screen.has(EARLY_KEY) and not screen.has(LETTERS[:3]), "an empty prompt"
    )


def say(terminal: Terminal, order: Order, pause_s: float = SETTLE_S) -> float:
    """Type an order, wait until it is to be seen, pause, Enter; returns the moment of Enter."""
    prompt = order.prompt()
    terminal.send(prompt)
    terminal.wait(lambda screen: screen.has(prompt), f"the prompt {prompt!r}")
    terminal.pump(pause_s)
    return terminal.send(ENTER)


def ending(order: Order) -> str:
    """What the screen shows when the answer to an order is whole."""
    return f"end: {order.marker}"


def see_end(terminal: Terminal, order: Order) -> float:
    """Wait for the end of the answer; returns the moment."""
    last = ending(order)
    return terminal.wait(lambda screen: screen.has(last), f"the answer to {order.prompt()!r}")


def converse(terminal: Terminal, order: Order) -> float:
    """Say, and wait for the end of the answer; returns the moment it was to be seen."""
    say(terminal, order)
    at = see_end(terminal, order)
    terminal.pump(SETTLE_S)
    return at


def warm_up(terminal: Terminal) -> Opening:
    """Wait for a program, have one answer, so that everything it loads later is loaded."""
    opening = until_ready(terminal)
    clear(terminal)
    converse(terminal, Order("burst", 30, 0, "warm"))
    terminal.pump(1.0)
    return opening


def echoes(terminal: Terminal, keys: int, every_s: float) -> list[float]:
    """Type letters one by one; the milliseconds until each was to be seen."""
    delays = []
    typed = ""
    for letter in islice(cycle(LETTERS), keys):
        typed += letter
        at = terminal.send(letter)
        seen = _see(terminal, typed)
        delays.append((seen - at) * 1000)
        if len(typed) == LINE:
            clear(terminal)
            typed = ""
        terminal.pump(at + every_s - seen)
    if typed:
        clear(terminal)
    return delays


def _see(terminal: Terminal, text: str) -> float:
    return terminal.wait(lambda screen: screen.has(text), f"{text!r}")

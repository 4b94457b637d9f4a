"""A long conversation really held: does it get slower, and what does an exchange cost?"""

from __future__ import annotations

from benchmarks.rows import Beside, Limit, Row, middle
from benchmarks.script import Order
from benchmarks.sessions import ANSWER_TOKENS
from benchmarks.terminal import Terminal
from benchmarks.typist import say, see_end, warm_up
from benchmarks.world import World

EXCHANGES = 200
EDGE = 10
"""Exchanges at the beginning and at the end that are compared."""
PAUSE_S = 0.05
MOST_LATER = 1.2
MOST_KB = 20


def lived(world: World) -> list[Row]:
    """Question and answer, many times: the last ones beside the first, and memory for each."""
    count = world.runs(EXCHANGES)
    with world.place().stormclaw().open() as terminal:
        warm_up(terminal)
        took = [_exchange(terminal, number) for number in range(EDGE)]
        before = terminal.rss_kb
        took += [_exchange(terminal, number) for number in range(EDGE, count)]
        terminal.pump(1.0)
        kb = (terminal.rss_kb - before) / (count - EDGE)
    first, last = middle(took[:EDGE]), middle(took[-EDGE:])
    beside = Beside("first 10", first)
    what = f"{count} exchanges held"
    limit = Limit(MOST_LATER, "ratio")
    return [
        Row(f"{what}: Enter to end, last 10", last, "ms", beside, limit, tuple(took)),
        Row(f"{what}: memory each", kb, "kB", limit=Limit(MOST_KB)),
    ]


def _exchange(terminal: Terminal, number: int) -> float:
    """Milliseconds from Enter to the end of an answer in view."""
    order = Order("burst", ANSWER_TOKENS, 0, f"held{number}")
    at = say(terminal, order, PAUSE_S)
    return (see_end(terminal, order) - at) * 1000

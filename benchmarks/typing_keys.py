"""How soon a typed key is seen: at rest, while text streams, and after a long conversation."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from benchmarks.rows import Limit, Row, delay_rows, median_row
from benchmarks.script import Order
from benchmarks.terminal import Terminal
from benchmarks.typist import echoes, say, see_end, warm_up
from benchmarks.world import LONG, World

TURNS = 3
KEYS = 40
REST_EVERY_S = 0.06
STREAM_EVERY_S = 0.11
RATE = 100
"""Tokens a second."""
STREAM_TOKENS = 600
STREAM_KEYS = 45
MOST_STREAM_MS = 20
MOST_STREAM = 0.2
MOST_LONG = 1.2
MOST_KB = 20


def keys(world: World) -> list[Row]:
    """A typed key, at rest and while 100 tokens a second come, beside the bare app."""
    place = world.place()
    with ExitStack() as stack:
        pair = [stack.enter_context(each.open()) for each in (place.stormclaw(), place.floor())]
        rest, stream, cpu = _both(pair, world.runs(TURNS))
    limits = (Limit(MOST_STREAM_MS), Limit(MOST_STREAM, "ratio"))
    return [
        *delay_rows("key echo at rest", rest, "floor", {}),
        *delay_rows(f"key echo at {RATE} tokens/s", stream, "floor", {"p95": limits}),
        median_row(f"CPU share at {RATE} tokens/s", "%", cpu),
    ]


def long(world: World) -> list[Row]:
    """A typed key and the memory held, after 500 exchanges, beside a new session."""
    session = world.long()
    programs = (session.place.stormclaw("-r", session.session_id), session.place.stormclaw())
    with ExitStack() as stack:
        pair = [stack.enter_context(each.open()) for each in programs]
        rest, stream, _ = _both(pair, world.runs(TURNS))
        kb = [float(terminal.rss_kb) for terminal in pair]
    at_most = (Limit(MOST_LONG, "ratio"),)
    figure = f"after {LONG} exchanges: key echo"
    return [
        *delay_rows(f"{figure} at rest", rest, "new", {"p50": at_most}),
        *delay_rows(f"{figure} at {RATE} tokens/s", stream, "new", {"p50": at_most}),
        Row(
            f"after {LONG} exchanges: memory each",
            (kb[0] - kb[1]) / LONG,
            "kB",
            limit=Limit(MOST_KB),
        ),
        median_row(f"after {LONG} exchanges: memory", "kB", [kb[:1], kb[1:]], "new"),
    ]


def _both(
    pair: Sequence[Terminal], turns: int
) -> tuple[list[list[float]], list[list[float]], list[list[float]]]:
    """Delays at rest, delays during a stream, CPU shares; a list for each of the two, in turns."""
    rest: list[list[float]] = [[], []]
    stream: list[list[float]] = [[], []]
    cpu: list[list[float]] = [[], []]
    for terminal in pair:
        warm_up(terminal)
    for turn in range(turns):
        for number, terminal in enumerate(pair):
            rest[number] += echoes(terminal, KEYS, REST_EVERY_S)
        for number, terminal in enumerate(pair):
            order = Order("stream", STREAM_TOKENS, RATE, f"stream{turn}")
            delays, share = _during(terminal, order)
            stream[number] += delays
            cpu[number].append(share)
    return rest, stream, cpu


def _during(terminal: Terminal, order: Order) -> tuple[list[float], float]:
    """Delays while an answer comes, and the CPU share of one core meanwhile."""
    say(terminal, order)
    terminal.pump(0.5)
    before = terminal.cpu_s
    delays = echoes(terminal, STREAM_KEYS, STREAM_EVERY_S)
    share = 100 * (terminal.cpu_s - before) / (STREAM_KEYS * STREAM_EVERY_S)
    see_end(terminal, order)
    return delays, share

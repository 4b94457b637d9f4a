"""An answer from Enter to its end: the way to the server, one long burst, tools, and rest after."""

from __future__ import annotations

import subprocess
import time
from contextlib import ExitStack
from itertools import pairwise

from benchmarks.programs import Program
from benchmarks.rows import Limit, Row, high, median_row
from benchmarks.script import Order
from benchmarks.server import Exchange
from benchmarks.typist import converse, say, see_end, warm_up
from benchmarks.world import World, by_turns

BURST_RUNS = 3
BURST_TOKENS = 8000
MOST_BURST_S = 0.4
MOST_BURST_CPU_S = 0.8
ENTERS = 9
MOST_ENTER_MS = 60
ROUNDS = 50
MOST_ROUND_MS = 25
IDLE_S = 10.0
ONCE_RUNS = 7
MOST_ONCE_S = 1.5
MOST_REQUEST_KB = 10.0


def burst(world: World) -> list[Row]:
    """8,000 tokens at once: from the last byte to the end in view, and the CPU it takes."""
    place = world.place()

    def measure(program: Program) -> tuple[float, float]:
        with program.open() as terminal:
            warm_up(terminal)
            world.server.log()
            order = Order("burst", BURST_TOKENS, 0, "finis")
            before = terminal.cpu_s
            say(terminal, order)
            seen = see_end(terminal, order)
            terminal.pump(0.5)
            (exchange,) = world.server.log()
            return seen - exchange.last_byte, terminal.cpu_s - before

    ours, floor = by_turns(
        world.runs(BURST_RUNS), place.stormclaw(), place.floor(), measure=measure
    )
    what = "8,000 tokens at once"
    ends = [[end for end, _ in runs] for runs in (ours, floor)]
    cpus = [[cpu for _, cpu in runs] for runs in (ours, floor)]
    return [
        median_row(f"{what}: last byte to end in view", "s", ends, limit=Limit(MOST_BURST_S)),
        median_row(f"{what}: CPU", "s", cpus, limit=Limit(MOST_BURST_CPU_S)),
    ]


def enter(world: World) -> list[Row]:
    """Enter to the request at the server, once warm."""
    place = world.place()
    delays: list[list[float]] = [[], []]
    with ExitStack() as stack:
        pair = [stack.enter_context(each.open()) for each in (place.stormclaw(), place.floor())]
        for terminal in pair:
            warm_up(terminal)
        world.server.log()
        for run in range(world.runs(ENTERS)):
            for found, terminal in zip(delays, pair, strict=True):
                order = Order("burst", 40, 0, f"enter{run}")
                at = say(terminal, order)
                see_end(terminal, order)
                (exchange,) = world.server.log()
                found.append((exchange.arrived - at) * 1000)
    limit = Limit(MOST_ENTER_MS)
    return [median_row("Enter to request at the server", "ms", delays, limit=limit)]


def rounds(world: World) -> list[Row]:
    """50 rounds of `read_file` with a server that answers at once: the time between requests."""
    place = world.place()
    order = Order("rounds", ROUNDS, 0, "rounded")
    with place.stormclaw().open() as terminal:
        warm_up(terminal)
        world.server.log()
        converse(terminal, order)
        on_screen = _gaps(world.server.log())
    _once(place.stormclaw("-p", order.prompt()), order)
    without = _gaps(world.server.log())
    limit = Limit(MOST_ROUND_MS)
    mean = sum(on_screen) / len(on_screen)
    return [
        Row("tool round, mean of 50", mean, "ms", limit=limit, runs=tuple(on_screen)),
        median_row("tool round, median", "ms", [on_screen]),
        Row("tool round, p95", high(on_screen), "ms"),
        median_row("tool round without a screen, median", "ms", [without]),
    ]


def idle(world: World) -> list[Row]:
    """Ten seconds in which nothing happens: bytes to the terminal, and CPU."""
    place = world.place()
    found: list[tuple[int, float]] = []
    memory = []
    with ExitStack() as stack:
        pair = [stack.enter_context(each.open()) for each in (place.stormclaw(), place.floor())]
        for terminal in pair:
            warm_up(terminal)
            terminal.pump(5.0)
            before, cpu = terminal.received, terminal.cpu_s
            terminal.pump(IDLE_S)
            found.append((terminal.received - before, terminal.cpu_s - cpu))
            memory.append(terminal.rss_kb / 1024)
    (ours, our_cpu), (floor, floor_cpu) = found
    return [
        median_row("10 s idle: bytes to the terminal", "B", [[ours], [floor]], limit=Limit(0)),
        median_row("10 s idle: CPU", "s", [[our_cpu], [floor_cpu]]),
        median_row("memory after one answer", "MB", [memory[:1], memory[1:]]),
    ]


def once(world: World) -> list[Row]:
    """One answer without a screen, from start to exit, beside a client of twenty lines."""
    place = world.place()
    order = Order("burst", 40, 0, "once")
    pair = by_turns(
        world.runs(ONCE_RUNS),
        place.stormclaw("-p", order.prompt()),
        place.client(order.prompt()),
        measure=lambda program: _once(program, order),
    )
    limit = Limit(MOST_ONCE_S)
    return [median_row("one answer without a screen", "s", pair, "client", limit)]


def request(world: World) -> list[Row]:
    """Size of the first request: system prompt, and schemas of all tools."""
    place, order = world.place(), Order("burst", 20, 0, "asked")
    world.server.log()
    _once(place.stormclaw("-p", order.prompt()), order)
    first = world.server.log()[0]
    limit = Limit(MOST_REQUEST_KB)
    return [
        Row("first request", first.request_bytes / 1000, "kB", limit=limit),
        Row("first request: system prompt", first.prompt_bytes / 1000, "kB"),
        Row("first request: schemas of tools", first.tools_bytes / 1000, "kB"),
    ]


def _once(program: Program, order: Order) -> float:
    """Run to the end; seconds.

    Raises:
        RuntimeError: It did not print the answer.
    """
    began = time.monotonic()
    ended = subprocess.run(
        program.argv,
        env=dict(program.env),
        cwd=program.cwd,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    took = time.monotonic() - began
    if ended.returncode or order.marker not in ended.stdout:
        raise RuntimeError(f"{program.name} gave no answer: {ended.stderr[-2000:]}")
    return took


def _gaps(exchanges: list[Exchange]) -> list[float]:
    """Milliseconds from one request to the next."""
    return [(after.arrived - before.arrived) * 1000 for before, after in pairwise(exchanges)]

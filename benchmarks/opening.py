"""From the command to a prompt that takes keys: a new session, and a long one resumed."""

from __future__ import annotations

from itertools import chain

from benchmarks.programs import Program
from benchmarks.rows import Limit, Row, delay_rows, median_row
from benchmarks.typist import Opening, clear, echoes, until_ready
from benchmarks.world import LAST_WORD, World, by_turns

PAIRS = 15
RESUMES = 9
EARLY_RUNS = 3
EARLY_KEYS = 40
EARLY_EVERY_S = 0.05
MOST_START = 1.2
MOST_RESUME = 1.2
MOST_ANSWER_MS = 400


def start(world: World) -> list[Row]:
    """Start to input ready, beside the bare app."""
    place = world.place()
    pair = by_turns(world.runs(PAIRS), place.stormclaw(), place.floor(), measure=_open)
    ready = [[opening.ready_s * 1000 for opening in runs] for runs in pair]
    painted = [[opening.painted_s * 1000 for opening in runs] for runs in pair]
    cpu = [[opening.cpu_s for opening in runs] for runs in pair]
    return [
        median_row("start to input ready", "ms", ready, limit=Limit(MOST_START, "ratio")),
        median_row("start to first paint", "ms", painted),
        median_row("CPU until input ready", "s", cpu),
    ]


def early(world: World) -> list[Row]:
    """Keys in the first two seconds, while everything else is being loaded."""
    place = world.place()
    runs = by_turns(world.runs(EARLY_RUNS), place.stormclaw(), place.floor(), measure=_type_at_once)
    pair = [list(chain.from_iterable(each)) for each in runs]
    figure = "key echo in the first 2 s"
    return delay_rows(figure, pair, "floor", {})


def resume(world: World) -> list[Row]:
    """A long session resumed, beside a new one."""
    long = world.long()
    again, new = by_turns(
        world.runs(RESUMES),
        long.place.stormclaw("-r", long.session_id),
        long.place.stormclaw(),
        measure=_open_and_read,
    )
    ready = [[opening.ready_s * 1000 for opening, _ in runs] for runs in (again, new)]
    later = [seen * 1000 for _, seen in again]
    return [
        median_row("resume of 500: input ready", "ms", ready, "new", Limit(MOST_RESUME, "ratio")),
        median_row(
            "resume of 500: last answer, after that", "ms", [later], limit=Limit(MOST_ANSWER_MS)
        ),
    ]


def _open(program: Program) -> Opening:
    with program.open() as terminal:
        return until_ready(terminal)


def _type_at_once(program: Program) -> list[float]:
    with program.open() as terminal:
        until_ready(terminal)
        clear(terminal)
        return echoes(terminal, EARLY_KEYS, EARLY_EVERY_S)


def _open_and_read(program: Program) -> tuple[Opening, float]:
    """How it came up, and seconds from then until the last answer was to be seen (0 if none)."""
    with program.open() as terminal:
        opening = until_ready(terminal)
        if "-r" not in program.argv:
            return opening, 0.0
        at = terminal.wait(lambda screen: screen.has(f"end: {LAST_WORD}"), "the last answer")
        return opening, max(0.0, at - terminal.began - opening.ready_s)

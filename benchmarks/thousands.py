"""A session of ten thousand nodes: opened, scrolled, searched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain, repeat

from benchmarks.decades import NODES, OFTEN, RARE, conversation
from benchmarks.programs import Program
from benchmarks.rows import Beside, Limit, Row, high, median_row, middle
from benchmarks.screen import Screen
from benchmarks.sessions import keep
from benchmarks.terminal import Terminal
from benchmarks.typist import CLEAR, ENTER, until_ready
from benchmarks.world import LAST_WORD, World, by_turns

RUNS = 9
PAUSE_S = 0.08
MOST_LATER_MS = 300
MOST_KEY_MS = 50
MOST_COUNT_MS = 500
PAGE_UP, PAGE_DOWN, HOME, END = "\x1b[5~", "\x1b[6~", "\x1b[H", "\x1b[F"
UP = "\x1b[A"
WHEEL_UP, WHEEL_DOWN = "\x1b[<64;40;10M", "\x1b[<65;40;10M"
PASTE = "\x1b[200~{}\x1b[201~"
NOWHERE = "zebra"
COUNT = re.compile(r"\d+ of \d+")
LETTERS_EVERY_S = 0.1


def thousands(world: World) -> list[Row]:
    """Opening beside a new session; then every key until the screen that shows it."""
    place = world.place()
    session_id = keep(place, conversation(LAST_WORD))
    again, new = place.stormclaw("-r", session_id), place.stormclaw()
    opened = by_turns(world.runs(RUNS), again, new, measure=_open)
    ready = [[run[0] * 1000 for run in runs] for runs in opened]
    whole = [[run[1] * 1000 for run in runs] for runs in opened]
    kb = [middle([run[2] for run in runs]) for runs in opened]
    later = middle(whole[0]) - middle(whole[1])
    what = f"{NODES:,} nodes"
    with again.open() as terminal:
        until_ready(terminal)
        terminal.send(CLEAR)
        _last_answer(terminal)
        terminal.pump(1.5)
        rows = [*_scrolled(terminal, what, world.runs(3)), *_found(terminal, what, world.runs(6))]
    return [
        median_row(f"{what}: input ready", "ms", ready, "new", Limit(1.2, "ratio")),
        median_row(f"{what}: last answer in view, new: session open", "ms", whole, "new"),
        Row(f"{what}: later than new", later, "ms", limit=Limit(MOST_LATER_MS)),
        Row(f"{what}: memory", kb[0], "kB", Beside("new", kb[1])),
        *rows,
    ]


def _open(program: Program) -> tuple[float, float, int]:
    """Seconds until a key was seen, and until all was there; memory then."""
    with program.open() as terminal:
        ready = until_ready(terminal).ready_s
        if "-r" in program.argv:
            at = _last_answer(terminal)
        else:
            at = terminal.wait(lambda screen: screen.has("enter send"), "an open session")
        terminal.pump(0.7)
        return ready, at - terminal.began, terminal.rss_kb


def _last_answer(terminal: Terminal) -> float:
    return terminal.wait(lambda screen: screen.has(f"end: {LAST_WORD}"), "the last answer")


def _changed(terminal: Terminal, key: str) -> float:
    """Milliseconds from a key until the first whole frame that looks different."""
    before = terminal.screen.lines()
    at = terminal.send(key)
    seen = terminal.wait(lambda screen: screen.lines() != before, f"a change after {key!r}")
    terminal.pump(PAUSE_S)
    return (seen - at) * 1000


def _scrolled(terminal: Terminal, what: str, rounds: int) -> Iterator[Row]:
    took: list[float] = []
    for _ in range(rounds):
        keys = chain(repeat(PAGE_UP, 20), repeat(PAGE_DOWN, 10), repeat(WHEEL_UP, 20))
        took += [_changed(terminal, key) for key in (*keys, *repeat(WHEEL_DOWN, 10))]
        terminal.send(UP)
        terminal.wait(lambda screen: screen.has("↑ ↓ card"), "the transcript's keys")
        terminal.pump(PAUSE_S)
        took += [_changed(terminal, key) for key in (HOME, PAGE_DOWN, END, PAGE_UP, END)]
        terminal.send("\x1b")
        terminal.wait(lambda screen: screen.has("enter send"), "the composer's keys")
    yield Row(f"{what}: scroll, p50", middle(took), "ms", runs=tuple(took))
    yield Row(f"{what}: scroll, p95", high(took), "ms", limit=Limit(MOST_KEY_MS), runs=tuple(took))
    yield Row(f"{what}: scroll, max", max(took), "ms", runs=tuple(took))


def _found(terminal: Terminal, what: str, rounds: int) -> Iterator[Row]:
    letters: list[float] = []
    first: list[float] = []
    whole: list[float] = []
    steps: list[float] = []
    terminal.send("/find" + ENTER)
    terminal.wait(lambda screen: screen.has("enter next"), "the line to search in")
    for number in range(rounds):
        word = (RARE, OFTEN, f"answer{100 + number}")[number % 3]
        letters += _typed(terminal, NOWHERE)
        terminal.wait(lambda screen: "not found" in _bar(terminal), "that it is nowhere")
        terminal.send(CLEAR)
        terminal.wait(lambda screen: "not found" not in _bar(terminal), "an empty line")
        terminal.pump(0.5)
        at = terminal.send(PASTE.format(word))
        seen = terminal.wait(lambda screen: bool(COUNT.search(_bar(terminal))), "a first place")
        first.append((seen - at) * 1000)
        seen = terminal.wait(
            lambda screen: bool(re.search(r"\d+ of \d+ ", _bar(terminal))), "the whole count"
        )
        whole.append((seen - at) * 1000)
        terminal.pump(0.3)
        steps += [_changed(terminal, key) for key in (ENTER, ENTER, UP, UP, UP) if number % 3 < 2]
        terminal.send(CLEAR)
        terminal.pump(0.3)
    terminal.send("\x1b")
    for name, took in (("a letter is seen", letters), ("next place", steps)):
        limit = Limit(MOST_KEY_MS)
        yield Row(f"{what}: find, {name}, p95", high(took), "ms", limit=limit, runs=tuple(took))
    yield median_row(f"{what}: find, first place", "ms", [first], limit=Limit(MOST_KEY_MS))
    yield median_row(f"{what}: find, whole count", "ms", [whole], limit=Limit(MOST_COUNT_MS))


def _typed(terminal: Terminal, word: str) -> list[float]:
    took: list[float] = []
    for end in range(1, len(word) + 1):
        at = terminal.send(word[end - 1])
        typed = f"find {word[:end]}"
        seen = terminal.wait(partial(_reads, terminal, typed), typed)
        took.append((seen - at) * 1000)
        terminal.pump(LETTERS_EVERY_S)
    return took


def _reads(terminal: Terminal, words: str, _: Screen) -> bool:
    return words in _bar(terminal)


def _bar(terminal: Terminal) -> str:
    """The line in which is typed what to look for; "" while there is none."""
    return next((row for row in terminal.screen.lines() if re.match(r"\W+find ", row)), "")

"""What it takes to make a request of a very long conversation, and how small it stays."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable

from benchmarks.decades import NODES, conversation
from benchmarks.hundred import TURNS, script
from benchmarks.long_talk import live
from benchmarks.rows import Limit, Row, middle
from benchmarks.world import World
from stormclaw.agent.context.graph import branch, fold
from stormclaw.agent.context.stack import run
from stormclaw.agent.context.tokens import Gauge
from stormclaw.agent.context.view import View
from stormclaw.agent.context.window import Memo, window
from stormclaw.config.settings import ContextSettings
from stormclaw.protocol.messages import Moved, Node

RUNS = 15
MOST_MS = 50
MOST_TOKENS = 50_000


def wire(world: World) -> list[Row]:
    """From ten thousand nodes to the messages of a request."""
    nodes = _in_a_row(conversation("end"))
    memo: Memo = {}
    settings, gauge = ContextSettings(), Gauge()
    messages = window(nodes, memo=memo)
    sent = f"{len(messages):,} messages of {len(nodes):,} nodes"
    again = _timed(world, lambda: window(nodes, memo=memo))
    first = _timed(world, lambda: window(nodes))

    def held_back() -> None:
        view = View(nodes, fold(nodes), gauge, settings.soft_tokens, settings.keep_results)
        run(settings.policies, view, fixed=0, goal=0)

    stack = _timed(world, held_back)
    counted = _timed(world, lambda: sum(map(gauge.of, messages)))
    return [
        Row(f"wire: {sent}", middle(again), "ms", limit=Limit(MOST_MS), runs=again),
        Row("wire: the same after a resume", middle(first), "ms", runs=first),
        Row("wire: counting its tokens", middle(counted), "ms", runs=counted),
        Row("wire: all policies over all of it", middle(stack), "ms", runs=stack),
    ]


def hundred(world: World) -> list[Row]:
    """A hundred turns of coding, lived through the whole program."""
    lived = asyncio.run(live(world.place().folder / "hundred", script()))
    if len(lived.reasons) < TURNS or lived.reasons[-1] != "done":
        raise RuntimeError(f"turn {len(lived.reasons)} ended: {lived.reasons[-1]}")
    requests = tuple(map(float, lived.requests))
    count = len(requests)
    return [
        Row("100 turns: all of it", lived.raw, "tokens"),
        Row("100 turns: the largest request", max(requests), "tokens", limit=Limit(MOST_TOKENS)),
        Row(f"100 turns: the middle of {count} requests", middle(requests), "tokens"),
        Row("100 turns: decisions of policies", lived.edits, "nodes"),
        Row("100 turns: requests that begin otherwise", lived.moved, "of them"),
        Row("100 turns: sent as in the request before", 100 * lived.cacheable, "% of bytes"),
    ]


def _in_a_row(nodes: list[Node]) -> tuple[Node, ...]:
    """As many nodes on one branch: nobody went back."""
    kept = [node for node in nodes if not isinstance(node.body, Moved)]
    row = [
        Node(node.id, kept[place - 1].id if place else None, node.agent, node.at, node.body)
        for place, node in enumerate(kept)
    ]
    found = branch(row)
    if len(found) < 0.9 * NODES:
        raise RuntimeError(f"only {len(found)} of {NODES} nodes are on the branch")
    return found


def _timed(world: World, made: Callable[[], object]) -> tuple[float, ...]:
    """Milliseconds of the processor for each run: nothing in it waits."""
    found = []
    for _ in range(world.runs(RUNS)):
        gc.collect()
        began = time.process_time()
        made()
        found.append((time.process_time() - began) * 1000)
    return tuple(found)

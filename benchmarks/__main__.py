"""`python -m benchmarks [NAME...]`: measures, prints a table, keeps JSON on demand."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from benchmarks import (
    answers,
    checkpoints,
    context,
    first_token,
    lived,
    opening,
    report,
    thousands,
    typing_keys,
    walls,
)
from benchmarks.process import Bystanders
from benchmarks.rows import Row
from benchmarks.standin import standing_in
from benchmarks.terminal import NotSeen
from benchmarks.world import World

FIGURES: Mapping[str, Callable[[World], list[Row]]] = MappingProxyType(
    {
        "start": opening.start,
        "early": opening.early,
        "keys": typing_keys.keys,
        "burst": answers.burst,
        "enter": answers.enter,
        "rounds": answers.rounds,
        "idle": answers.idle,
        "resume": opening.resume,
        "long": typing_keys.long,
        "lived": lived.lived,
        "thousands": thousands.thousands,
        "once": answers.once,
        "request": answers.request,
        "first": first_token.first,
        "walls": walls.walls,
        "wire": context.wire,
        "hundred": context.hundred,
        "checkpoints": checkpoints.checkpoints,
    }
)


def main() -> int:
    """Measure what was asked for; 1 if something could not be measured."""
    options = _options()
    rows: list[Row] = []
    broken = False
    before = report.machine()
    with standing_in() as server:
        world = World(server, quick=options.quick)
        try:
            for name in options.names or FIGURES:
                print(f"{name} ... ", file=sys.stderr, end="", flush=True)
                others = Bystanders()
                try:
                    rows += [replace(row, others=others.share) for row in FIGURES[name](world)]
                    print(f"others used {others.share:.0%} of the machine", file=sys.stderr)
                except (NotSeen, RuntimeError, TimeoutError) as error:
                    broken = True
                    print(f"not measured: {error}", file=sys.stderr, flush=True)
        finally:
            world.close()
    print(f"{report.described(before)}\n\n{report.table(rows)}")
    if options.json:
        options.json.write_text(report.as_json(rows, before) + "\n")
    return int(broken)


def _known(name: str) -> str:
    if name not in FIGURES:
        raise argparse.ArgumentTypeError(f"{name!r} is none of: {', '.join(FIGURES)}")
    return name


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        type=_known,
        help=f"what to measure; all if none is named: {', '.join(FIGURES)}",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep everything as JSON")
    parser.add_argument("--quick", action="store_true", help="a third of the runs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

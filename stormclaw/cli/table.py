"""Rows on standard output: aligned for people, JSON lines for machines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from stormclaw.protocol.inert import inert


def show(rows: Sequence[Mapping[str, Any]], *, as_json: bool, empty: str = "") -> None:
    """Print `rows`, which share their keys; `empty` is said when there are none."""
    if as_json:
        print(json.dumps(list(rows), indent=2, default=str))
        return
    if not rows:
        if empty:
            print(empty)
        return
    head = [name.replace("_", " ") for name in rows[0]]
    cells = [head, *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())


def _cell(value: object) -> str:
    return " ".join(inert("" if value is None else str(value)).split())

"""The table on standard output, the JSON beside it, and the machine they hold for."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.rows import Beside, Limit, Row

_HEADS = ("figure", "reached", "beside", "ratio", "target", "")


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "python": platform.python_version(),
        "textual": version("textual"),
        "openai": version("openai"),
        "load": [round(load, 2) for load in os.getloadavg()],
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def described(found: dict[str, Any]) -> str:
    """The machine in a line."""
    return (
        f"{found['processor']}, {found['cores']} cores, {found['system']}; "
        f"Python {found['python']}, Textual {found['textual']}, openai {found['openai']}; "
        f"load {found['load'][0]}"
    )


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table, columns aligned."""
    cells = [_HEADS, *map(_cells, rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADS))]
    lines = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def as_json(rows: Sequence[Row], found: dict[str, Any]) -> str:
    """Everything, for programs."""
    return json.dumps({"machine": found, "figures": [_object(row) for row in rows]}, indent=1)


def _object(row: Row) -> dict[str, Any]:
    beside, limit = row.beside, row.limit
    return {
        "figure": row.figure,
        "reached": row.reached,
        "unit": row.unit,
        "beside": None if beside is None else {"name": beside.name, "value": beside.value},
        "ratio": row.ratio,
        "target": None if limit is None else {"most": limit.most, "of": limit.of},
        "met": row.met,
        "others": round(row.others, 3),
        "runs": list(row.runs),
    }


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.figure,
        f"{_number(row.reached)} {row.unit}",
        _beside(row.beside, row.unit),
        "" if row.ratio is None else f"{row.ratio:.2f}",
        _target(row.limit, row.unit),
        _verdict(row),
    )


def _beside(beside: Beside | None, unit: str) -> str:
    return "" if beside is None else f"{beside.name} {_number(beside.value)} {unit}"


def _target(limit: Limit | None, unit: str) -> str:
    if limit is None:
        return ""
    return f"<= {limit.most:g} {unit}" if limit.of == "reached" else f"<= {limit.most:g} x"


def _verdict(row: Row) -> str:
    if row.met is None or row.limit is None or row.judged is None:
        return ""
    if row.met:
        return "met"
    most = row.limit.most
    by = f"{row.judged - most:.2g}" if not most else f"{100 * (row.judged / most - 1):.0f} %"
    return f"missed by {by}"


def _number(value: float) -> str:
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"

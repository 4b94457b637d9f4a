"""How long ago, in words that fit a table cell."""

from __future__ import annotations

import time

STEPS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def age(at: float, now: float | None = None) -> str:
    """`20s ago`, `4d ago`; from four weeks on the day, `12 Nov 2026`."""
    passed = max(0.0, (time.time() if now is None else now) - at)
    if passed >= 28 * 86_400:
        return time.strftime("%d %b %Y", time.localtime(at)).lstrip("0")
    unit, name = next((step for step in STEPS if passed >= step[0]), STEPS[-1])
    return f"{int(passed // unit)}{name} ago"

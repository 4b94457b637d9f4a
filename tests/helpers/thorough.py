"""How often a test that tries things at random tries: seldom, or as often as one night allows.

`STORMCLAW_THOROUGH=1 make test` tries as often as each test says. Usually a fraction of that is
enough: the next run tries other things.
"""

from __future__ import annotations

import os

THOROUGH = os.environ.get("STORMCLAW_THOROUGH", "") not in ("", "0")


def tries(usual: int, thorough: int) -> int:
    """How often to try now."""
    return thorough if THOROUGH else usual

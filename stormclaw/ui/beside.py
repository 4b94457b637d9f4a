"""Imports what the first paint does without, in a thread, so that keys go on being seen."""

from __future__ import annotations

import sys
from importlib import import_module

MODULES = (
    "stormclaw.ui.opening",
    "stormclaw.ui.facts",
    "stormclaw.ui.completer",
    "stormclaw.ui.asking",
    "stormclaw.ui.widgets.transcript",
    "stormclaw.ui.widgets.sheet",
    "stormclaw.ui.widgets.panel",
    "stormclaw.ui.widgets.queue",
    "stormclaw.ui.widgets.completion",
    "stormclaw.ui.widgets.firstrun",
    "stormclaw.ui.welcome",
)

SWITCH_S = 0.0005
"""How long the importing thread may keep the interpreter while a key waits."""


def load() -> None:
    """Import all of it; call in a thread."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        for module in MODULES:
            import_module(module)
    finally:
        sys.setswitchinterval(usual)

"""What is loaded when: nothing heavy at start, no screen without a screen."""

from __future__ import annotations

import subprocess
import sys

import pytest

READERS = {"bs4", "markdownify", "pypdf"}
HEAVY = READERS | {
    "openai",
    "anthropic",
    "mcp",
    "starlette",
    "aiohttp",
    "keyring",
    "watchfiles",
    "sqlite3",
}
SCREEN = {"textual", "rich", "pygments", "markdown_it"}


def loaded(statement: str) -> set[str]:
    """Names of the top-level modules loaded by a statement in a fresh interpreter."""
    program = f"{statement}\nimport sys\nprint(*{{n.partition('.')[0] for n in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import stormclaw.protocol.events, stormclaw.protocol.tool", HEAVY | SCREEN | {"msgspec"}),
        ("import stormclaw.config.place", HEAVY | SCREEN),
        ("import stormclaw.cli.main, stormclaw.cli.chat, stormclaw.cli.options", HEAVY | SCREEN),
        ("import stormclaw.runtime", (HEAVY | SCREEN) - {"sqlite3"}),
        ("import stormclaw.channels.headless", (HEAVY | SCREEN) - {"sqlite3"}),
        ("from stormclaw.tools.registry import discover_tools; discover_tools()", HEAVY | SCREEN),
        ("import stormclaw.tools._web", (HEAVY | SCREEN) - {"aiohttp"}),
        ("import stormclaw.tools._apart_child, stormclaw.tools._pdf", HEAVY | SCREEN | {"asyncio"}),
        ("import stormclaw.ui.app", HEAVY | {"stormclaw.runtime"}),
    ],
)
def test_nothing_heavy_is_imported(statement: str, absent: set[str]) -> None:
    assert not loaded(statement) & absent

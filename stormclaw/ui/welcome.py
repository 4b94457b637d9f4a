"""What the first-run text says about this machine and this folder."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from stormclaw.ui.text import one_line
from stormclaw.ui.widgets.firstrun import TRIES, Way, Welcome

if TYPE_CHECKING:
    from stormclaw.runtime import Runtime


def welcome_of(runtime: Runtime) -> Welcome:
    """The facts of the first run; looks at files and the environment, starts nothing."""
    from stormclaw.providers.choose import known_key, usual_places
    from stormclaw.providers.presets import PRESETS

    hosted = [preset for preset in PRESETS if preset.needs_key]
    key = known_key(runtime.place.env)
    ports = ", ".join(url.rpartition(":")[2].partition("/")[0] for _, url in usual_places())
    ways = [
        Way(
            "API key",
            key[1] if key else f"{hosted[0].label} and {len(hosted) - 1} more",
            "/connect key",
        ),
        Way("local model", f"none on {ports}", "/connect local"),
        Way("your own server", "anything like OpenAI's", "/connect"),
    ]
    return Welcome(
        ways=ways,
        tries=_tries(runtime),
        instructions=tuple(
            (one_line(read.path.name), read.tokens) for read in runtime.instructions
        ),
        trusted=runtime.place.trusted,
    )


def _tries(runtime: Runtime) -> tuple[str, ...]:
    """Prompts the demo understands, about a file that is there."""
    names = ("README.md", "README.rst", "pyproject.toml", "package.json", "Makefile")
    there = next((name for name in names if (runtime.workspace / name).is_file()), None)
    last = f"read {there}" if there else "run git status" if shutil.which("git") else TRIES[1]
    return ("list the files", "explore this project", last)

"""Watches what may change under a running session: the configuration."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stormclaw.config.watch import watch
from stormclaw.errors import ConfigError, UsageError


@dataclass(frozen=True)
class Vigil:
    """What to look at, and what to do then.

    Attributes:
        files: The configuration files, existing or not.
        quiet: Files whose change needs no word: the standing permissions, which we write ourselves.
        reload: Reads the configuration again; raises what is wrong with it.
        tell: A line for the person.
    """

    files: Sequence[Path]
    quiet: Sequence[Path]
    reload: Callable[[], None]
    tell: Callable[[Literal["info", "warning", "error"], str], None]

    async def keep(self) -> None:
        """Watch until cancelled."""
        await asyncio.to_thread(importlib.import_module, "watchfiles")
        await watch((*self.files, *self.quiet), self._noticed)

    async def _noticed(self, changed: tuple[Path, ...]) -> None:
        names = ", ".join(path.name for path in changed)
        try:
            self.reload()
        except (ConfigError, UsageError) as error:
            self.tell("warning", f"{names} changed and is not valid; the old values stay: {error}")
        else:
            if not all(path in self.quiet for path in changed):
                self.tell("info", f"{names} changed and is in force")

"""Whether a model fits into this machine's memory, asked before it is loaded.

Without this the kernel answers, by killing something.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stormclaw.errors import ProviderError
from stormclaw.providers.local_models import PULL_SMALL, size

WORKSPACE_BYTES: Final = 300_000_000
"""What llama.cpp takes for computing, about, besides weights and context."""
PROMPTS_MIB: Final = 256
"""What it may keep of the prompts of other agents, so that taking turns costs no reading again."""
SMALLEST_CONTEXT: Final = 2_048
_GROUP: Final = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Need:
    """What a model takes, in bytes.

    Attributes:
        weights: Its files.
        token: One token of context.
        context: Tokens.
    """

    weights: int
    token: int
    context: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.fixed + self.token * self.context

    @property
    def fixed(self) -> int:
        """All but the context."""
        return self.weights + WORKSPACE_BYTES + PROMPTS_MIB * 2**20


def check_memory(name: str, label: str, need: Need, free: int | None) -> None:
    """Refuse what does not fit.

    Args:
        name: Our name for the provider, for the hint.
        label: What the model is called.
        need: What it takes.
        free: What there is, None where the system does not say.

    Raises:
        ProviderError: It does not fit; says what would.
    """
    if free is None or need.total <= free:
        return
    fits = (free - need.fixed) // max(need.token, 1) // 1_024 * 1_024
    steps = [f"take a smaller model: {PULL_SMALL}"]
    if fits >= SMALLEST_CONTEXT:
        steps.insert(0, f"set providers.models.{name}.context_window to {fits} or less")
    raise ProviderError(
        "provider",
        f"{label} with {need.context:,} tokens of context needs about {size(need.total)} of "
        f"memory, {size(free)} are free; it was not loaded",
        hint=", or ".join(steps),
    )


def free_memory() -> int | None:
    """Bytes a program may still take, files kept in memory not counted as taken."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        facts = dict(line.split(":", 1) for line in lines)
        free = int(facts["MemAvailable"].split()[0]) * 1_024
    except (OSError, KeyError, ValueError):
        return _whole_machine()
    group = _group_free()
    return free if group is None else min(free, group)


def _whole_machine() -> int | None:
    """Where what is free is not told: most of what there is."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4
    except (ValueError, OSError):
        return None


def _group_free() -> int | None:
    """What a container may still take; None where it has no limit of its own."""
    try:
        limit = int((_GROUP / "memory.max").read_text())
        used = int((_GROUP / "memory.current").read_text())
        lines = (_GROUP / "memory.stat").read_text().splitlines()
        files = next(int(line.split()[1]) for line in lines if line.startswith("file "))
    except (OSError, ValueError, StopIteration):
        return None
    return limit - used + files

"""What a request may take, from what the model can take and what the person configured."""

from __future__ import annotations

from dataclasses import dataclass

from stormclaw.config.settings import ContextSettings

RESERVE_SHARE = 0.25
"""The most of a window that is kept free for the answer."""
SOFT_SHARE = 0.6
"""The part of what the conversation may take in a small window from which policies act."""
LEAST_GOAL_SHARE = 0.25
"""The part of the same that is left to the conversation at the least."""
WORTH_SHARE = 0.25
"""The part of the way from the soft limit to the goal that must be gained, or nothing is moved."""
LEAST_WORTH = 0.02
"""The part of the soft limit that must be gained in any case."""


@dataclass(frozen=True, slots=True)
class Room:
    """What a request may take, in tokens; system prompt and tools are part of it.

    Attributes:
        window: What the model takes at most, answer included; 0 if unknown.
        soft: From here on policies act.
        goal: What they try to come down to.
        hard: From here on a compaction follows; 0 if unknown.
    """

    window: int
    soft: int
    goal: int
    hard: int

    @property
    def worth(self) -> int:
        """Tokens that must be gained for the beginning of a request to be moved.

        Every move costs the provider's cache; below the hard limit one that gains less waits.
        """
        part = max((self.soft - self.goal) * WORTH_SHARE, self.soft * LEAST_WORTH)
        return max(1, round(part))


def room(settings: ContextSettings, window: int, fixed: int = 0) -> Room:
    """The room of a request.

    Args:
        settings: As configured.
        window: What the model takes at most, 0 if unknown.
        fixed: What the system prompt and the tools take, which no policy can change.

    The hard limit is `compact_at` of the window, or what is left beside the reserve where that is
    less (the reserve is at most a quarter of the window). The soft limit is `soft_tokens`, or, in
    a small window, what is fixed and 0.6 of what is left to the conversation below the hard limit.
    With the defaults and 4,000 tokens fixed, as window: hard / soft / goal,
    unknown: - / 40,000 / 24,000; 8k: 6,000 / 5,200 / 4,300; 32k: 24,000 / 16,000 / 9,600;
    200k: 170,000 / 40,000 / 24,000; 1M: 850,000 / 40,000 / 24,000. A window of 4k cannot hold even
    what is fixed: there all that can go, goes.
    """
    reserve = min(settings.reserve_tokens, int(window * RESERVE_SHARE))
    hard = max(1, min(int(window * settings.compact_at), window - reserve)) if window else 0
    soft = settings.soft_tokens
    if window:
        soft = min(soft, max(fixed + round((hard - fixed) * SOFT_SHARE), hard // 2))
    goal = max(1, round(soft * settings.relax), fixed + round((soft - fixed) * LEAST_GOAL_SHARE))
    return Room(window, soft, min(goal, soft), hard)

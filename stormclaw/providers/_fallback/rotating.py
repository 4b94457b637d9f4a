"""Several keys for one provider: the first that is good is used, one that is not rests a while."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stormclaw.config.keys import Profile
from stormclaw.errors import ProviderError
from stormclaw.protocol.provider import Provider
from stormclaw.providers._fallback.cooldowns import Cooldowns
from stormclaw.providers._fallback.excuses import SAID_OF_KEYS, Excuse, nobody
from stormclaw.providers._fallback.failover import Failover, Member
from stormclaw.providers.recovery import RECOVERY


class Rotating(Failover):
    """One provider, connected once for each key."""

    words = SAID_OF_KEYS
    lasting = True

    def _moves_on(self, member: Member, error: ProviderError, order: Sequence[Member]) -> bool:
        return RECOVERY[error.kind].next_key

    def _back(self, member: Member) -> str:
        return f"{self.name}: the key {member.label} is used again"

    def _switch(self, said: str, following: Member) -> str:
        return f"{self.name}: the key {said}; the key {following.label} is used instead"

    def _nobody(self, excuses: Sequence[Excuse], partial: str) -> ProviderError:
        hint = (
            f"`stormclaw key add {self.name} --profile NAME` takes another key, "
            f"`stormclaw key retry {self.name}` tries these again"
        )
        whole = f"none of the {len(excuses)} keys for {self.name} can be used"
        return nobody(whole, excuses, hint, partial)


def rotating(
    name: str,
    keys: Sequence[Profile],
    connect: Callable[[str], Provider],
    cooldowns: Cooldowns,
    *,
    max_retries: int,
) -> Rotating:
    """The provider called `name` with several keys.

    Args:
        name: Our name for it.
        keys: In the order in which they are used; at least one.
        connect: From a key to the provider with it, which tries nothing again by itself.
        cooldowns: Shared by all that may use the same keys.
        max_retries: As configured for it.
    """
    members = [Member(one.name, who(name, one.name), connect(one.key), one.key) for one in keys]
    return Rotating(name, members, cooldowns, max_retries=max_retries)


def who(name: str, profile: str) -> str:
    """What a key is called among the cooldowns."""
    return f"{name}#{profile}"

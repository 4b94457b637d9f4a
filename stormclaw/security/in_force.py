"""The policy in force at a place: settings, standing grants and the walls of this machine."""

from __future__ import annotations

import logging

from stormclaw.config.place import Place
from stormclaw.security import grants
from stormclaw.security.policy import Policy, policy_from

LOG = logging.getLogger(__name__)


def policy_in_force(place: Place, sandbox: str) -> Policy:
    """What every call at this place is judged by.

    Args:
        place: Where, and with which settings.
        sandbox: The level around shell commands: none, landlock, bwrap.
    """
    standing = grants.load(place.home, place.workspace)
    for problem in standing.problems:
        LOG.warning("a standing permission is left out: %s", problem)
    return policy_from(
        place.settings,
        workspace=place.workspace,
        home=place.home,
        origins={**place.loaded.origins, **standing.origins},
        grants=standing.grants,
        sandbox=sandbox,
    )

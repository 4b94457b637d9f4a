"""The policy in force, and the only place that changes it while a session runs."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from stormclaw.protocol.effects import Autonomy, Effect, Grant, Verdict
from stormclaw.security.gate import Policy, judge
from stormclaw.security.hosts import judge_address
from stormclaw.security.policy import grant_key


class Rules:
    """A live policy: read by every call, changed only by the person. Safe to use from threads.

    Args:
        policy: What is in force at the start.
        keep: Writes a standing grant to disk and says where (`path:line`).
    """

    def __init__(self, policy: Policy, keep: Callable[[Grant], str]) -> None:
        self._policy = policy
        self._keep = keep
        self._changing = threading.Lock()
        self._for_now: tuple[Grant, ...] = ()
        self._hits: Counter[str] = Counter()

    @property
    def policy(self) -> Policy:
        """The policy in force now."""
        return self._policy

    @property
    def autonomy(self) -> Autonomy:
        """How much may happen without asking."""
        return self._policy.autonomy

    @property
    def hits(self) -> Mapping[str, int]:
        """How often each rule has decided about a call or a part of one, by its name."""
        with self._changing:
            return dict(self._hits)

    def judge(self, effects: Iterable[Effect]) -> Verdict:
        """The verdict under the policy in force now; may start a parser, so call it in a thread."""
        verdict = judge(tuple(effects), self._policy)
        with self._changing:
            self._hits.update({verdict.rule, *(segment.rule for segment in verdict.segments)})
        return verdict

    def reachable(self, host: str, address: str) -> str:
        """Why `host` may not be talked to at this IP address under the policy, "" if it may."""
        refusal = judge_address(host, address, self._policy)
        if refusal:
            with self._changing:
                self._hits["private addresses"] += 1
        return refusal

    def set_walls(self, level: str) -> None:
        """What stands around shell commands, now that it is known."""
        self._policy = replace(self._policy, sandbox=level)

    def set_autonomy(self, level: Autonomy) -> None:
        """Another autonomy level, from the next call on."""
        with self._changing:
            self._policy = replace(self._policy, autonomy=level)

    def replace(self, policy: Policy) -> None:
        """Another policy (the configuration changed), keeping what was granted for this session."""
        with self._changing:
            granted = tuple(dict.fromkeys((*policy.grants, *self._for_now)))
            self._policy = replace(policy, grants=granted)

    def allow(self, grants: Iterable[Grant], *, always: bool) -> tuple[str, ...]:
        """Add grants for this session, or for good; returns where the lasting ones stand.

        Raises:
            StoreError: A lasting one cannot be written; none of those after it is added.
        """
        new = tuple(grants)
        places: dict[str, str] = {}
        for grant in new:
            if always:
                places[grant_key(grant)] = self._keep(grant)
            with self._changing:
                self._add(grant, places, always=always)
        return tuple(places.values())

    def forget(self, grant: Grant) -> bool:
        """Take a grant back, from the next call on; False if it was not given.

        Whoever calls this takes it off the disk first, where it stands there.
        """
        with self._changing:
            before = self._policy.grants
            self._for_now = tuple(each for each in self._for_now if each != grant)
            left = tuple(each for each in before if each != grant)
            origins = {
                key: at for key, at in self._policy.origins.items() if key != grant_key(grant)
            }
            self._policy = replace(self._policy, grants=left, origins=origins)
        return len(left) < len(before)

    def _add(self, grant: Grant, places: Mapping[str, str], *, always: bool) -> None:
        if not always:
            self._for_now = tuple(dict.fromkeys((*self._for_now, grant)))
        merged = tuple(dict.fromkeys((*self._policy.grants, grant)))
        origins = {**self._policy.origins, **places}
        self._policy = replace(self._policy, grants=merged, origins=origins)

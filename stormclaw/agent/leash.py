"""Holds every tool that runs, so that an emergency stop ends them and the turns go on in words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Pulled(Exception):
    """The leash was pulled while a tool ran."""


class Leash:
    """Shared by an agent and all below it."""

    def __init__(self) -> None:
        self._held: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Run a tool inside.

        Raises:
            Pulled: The leash was pulled; what ran inside was cancelled and has cleaned up.
        """
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._held.add(scope)
                yield
        except TimeoutError:
            if scope.expired():
                raise Pulled from None
            raise
        finally:
            self._held.discard(scope)

    def pull(self) -> None:
        """End everything that is held, from the event loop's own thread."""
        now = asyncio.get_running_loop().time()
        for scope in self._held:
            if not scope.expired():
                scope.reschedule(now)

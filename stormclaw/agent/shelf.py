"""Sessions as a whole, from inside a running one: fork, name, remove."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from stormclaw.agent.beside import Beside
from stormclaw.errors import UsageError
from stormclaw.store import session_ops, sessions
from stormclaw.store.checkpoints import Checkpoints


class Shelf(Beside):
    """What a front end does with sessions it may or may not have open."""

    async def fork_session(self, session_id: str = "", leaf_id: str = "") -> str:
        """A new session with one branch of another -> its id.

        Args:
            session_id: The session; "" for the open one.
            leaf_id: The turn, or any node, the branch ends in; "" for where the session stands.

        Raises:
            UsageError: No such session or place, or nothing was said in it yet.
            StoreError: It cannot be read or written.
        """
        wanted = session_id or self.session.id
        made = await asyncio.to_thread(session_ops.fork, self.home, wanted, leaf_id)
        return made.id

    async def rename_session(self, title: str, session_id: str = "") -> str:
        """Give a session (the open one) another title -> the title as it is now.

        Raises:
            UsageError: No such session, or no title.
            StoreError: It cannot be written.
        """
        wanted = session_id or self.session.id
        named = await asyncio.to_thread(session_ops.rename, self.home, wanted, title, self.memory)
        if wanted == self.session.id:
            self.session.known_as(replace(self.session.info, title=named.title))
        return named.title

    async def delete_session(self, session_id: str) -> None:
        """Remove a session that is open nowhere; receipts of its calls stay.

        Raises:
            UsageError: No such session, or it is the open one.
            StoreError: It is open elsewhere, or the disk refuses.
        """
        if session_id == self.session.id:
            raise UsageError("this session is open; go to another one first (/new, /resume)")
        info = await asyncio.to_thread(sessions.load, self.home, session_id)
        await asyncio.to_thread(session_ops.remove, self.home, info.id, self.memory)
        kept = Checkpoints(self.home, info.workspace, self.settings.checkpoints)
        await asyncio.to_thread(kept.forget, info.id)

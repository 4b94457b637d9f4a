"""Where nodes go when they are committed: the transcript now, the search index soon after.

The transcript is the record and is waited for. The index can be rebuilt from it, so it is filled
behind the turn's back and a failure there is told once and harms nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from stormclaw.errors import StoreError
from stormclaw.log import event
from stormclaw.protocol.messages import Node
from stormclaw.store.memory import Memory
from stormclaw.store.sessions import SessionInfo
from stormclaw.store.transcripts import Transcript

LOG = logging.getLogger(__name__)


class Journal:
    """The durable side of a session.

    Args:
        transcript: Opened for writing by this process alone.
        memory: The index over all sessions, None when it is switched off.
        session: What the index files the nodes under; read anew for every node.
        warn: Told once when the index cannot be written.
    """

    def __init__(
        self,
        transcript: Transcript,
        memory: Memory | None,
        session: Callable[[], SessionInfo],
        warn: Callable[[str], None],
    ) -> None:
        self._transcript = transcript
        self._memory = memory
        self._session = session
        self._warn = warn
        self._to_index: asyncio.Queue[tuple[Node, ...]] = asyncio.Queue()
        self._indexing: asyncio.Task[None] | None = None
        self._warned = False

    async def append(self, node: Node) -> None:
        """Return when `node` is on disk.

        Raises:
            StoreError: It is not; nothing may be shown as done.
        """
        await self._transcript.append(node)
        self.catch_up((node,))

    def catch_up(self, nodes: tuple[Node, ...]) -> None:
        """Have nodes that are on disk put into the index; those that are there stay as they are."""
        if self._memory is not None and nodes:
            self._to_index.put_nowait(nodes)
            if self._indexing is None:
                self._indexing = asyncio.create_task(self._index(self._memory))

    async def _index(self, memory: Memory) -> None:
        while True:
            nodes = await self._to_index.get()
            try:
                await asyncio.to_thread(memory.index_all, self._session(), nodes)
                event(LOG, "memory_persisted", session=self._session().id, nodes=len(nodes))
            except StoreError as error:
                if not self._warned:
                    self._warned = True
                    self._warn(f"search index not written: {error}")
            finally:
                self._to_index.task_done()

    async def close(self) -> None:
        """Wait until everything is in the index, then let go of the files."""
        if self._indexing is not None:
            await self._to_index.join()
            self._indexing.cancel()
        self._transcript.close()

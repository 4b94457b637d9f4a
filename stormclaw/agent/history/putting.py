"""Puts files back so that it can be taken back, whatever happens on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stormclaw.agent.conversation import Conversation
from stormclaw.agent.history.plan import Changes
from stormclaw.agent.history.snapshots import Snapshots
from stormclaw.errors import StoreError, UsageError
from stormclaw.protocol.messages import Moved
from stormclaw.store.checkpoints import Checkpoint, Moment

MOVE = "move-"
"""How the names of snapshots around it begin; the id of the snapshot gone back to follows."""
SWITCHED_OFF = "checkpoints are switched off (checkpoints.enabled)"
UNKNOWN = "nothing was changed: there is no snapshot of how things are now"


@dataclass(frozen=True, slots=True)
class Put:
    """What was put back.

    Attributes:
        files: Paths that are not as they were.
        kept: Paths that stay, since somebody changed them at this very moment.
        failed: A sentence for each file that could not be put back.
        before: Snapshot before that, "" if nothing was to be done.
        after: Snapshot after that.
    """

    files: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    before: str = ""
    after: str = ""


class Putting:
    """Puts files of one workspace back.

    Args:
        conversation: Where it is written down.
        snapshots: Takes them.
        changes: Compares them, None when they are switched off.
    """

    def __init__(
        self, conversation: Conversation, snapshots: Snapshots, changes: Changes | None
    ) -> None:
        self._conversation = conversation
        self._snapshots = snapshots
        self._changes = changes

    async def put_back(
        self, mark: str, paths: Sequence[str], staying: Callable[[], Awaitable[frozenset[str]]]
    ) -> Put:
        """Make files what they were in a snapshot.

        Args:
            mark: Its id.
            paths: Which.
            staying: Says which of them somebody else has changed. Asked once it is certain that
                nothing is lost: they may have been at it while we were looking.

        Raises:
            UsageError: Nothing was changed, for how things are now cannot be kept.
            StoreError: It was broken off; what was put back is written down.
        """
        checkpoints = self._snapshots.checkpoints
        name = MOVE + mark
        taken = await self._snapshots.take(name, "before")
        taken = taken or await self._named(name, "before", paths)
        if taken is None or checkpoints is None:
            raise UsageError(UNKNOWN)
        stay = await staying()
        going = [path for path in paths if path not in stay]
        kept = tuple(path for path in paths if path in stay)
        try:
            failed = await asyncio.to_thread(checkpoints.restore, mark, going)
        except StoreError:
            await self.mend()
            raise
        after = await self._named(name, "after", going) if going else taken
        if after is None:
            return Put(tuple(going), kept, failed, taken.id)
        changed = await asyncio.to_thread(checkpoints.changes, taken.id, after.id, going)
        files = tuple(change.path for change in changed)
        return Put(files, kept, failed, taken.id, after.id)

    async def changed_since(self, mark: str, paths: Sequence[str]) -> frozenset[str]:
        """Which of these files are not as they were in a snapshot.

        Raises:
            StoreError: That cannot be found out.
        """
        if self._changes is None:
            raise StoreError(SWITCHED_OFF)
        await self._snapshots.settled()
        return await asyncio.to_thread(self._changes.changed_since, mark, paths)

    async def mend(self) -> None:
        """Write down what was put back last, if that never was, so that it can be taken back.

        The program was killed then, or the disk was full.

        Raises:
            StoreError: It cannot be written.
        """
        put: Put | None = None
        with suppress(StoreError):  # Without snapshots there is nothing to take back.
            put = await self._cut_short()
        if put is not None:
            nodes = self._conversation.nodes
            head = nodes[-1].id if nodes else None
            move = Moved("files", head or "", 0, put.files, (), put.before, put.after)
            await self._conversation.move(head, move)

    async def _cut_short(self) -> Put | None:
        if self._changes is None:
            return None
        await self._snapshots.settled()
        last = await asyncio.to_thread(self._changes.newest, MOVE)
        nodes = self._conversation.everything
        known = {node.body.before for node in nodes if isinstance(node.body, Moved)}
        if last is None or last.id in known:
            return None
        to = last.call_id.removeprefix(MOVE)
        files = await asyncio.to_thread(self._changes.put_back_since, last.id, to)
        after = await self._named(last.call_id, "after", files) if files else None
        return None if after is None else Put(tuple(files), (), (), last.id, after.id)

    async def _named(self, name: str, moment: Moment, paths: Sequence[str]) -> Checkpoint | None:
        return await self._snapshots.take(name, moment, tuple(map(Path, paths)))

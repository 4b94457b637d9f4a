"""Going back in a conversation, and forward again: turns, files, or both. Nothing is ever lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol, TypeVar

from stormclaw.agent.conversation import Conversation
from stormclaw.agent.history.plan import Changes, Plan, chosen
from stormclaw.agent.history.putting import SWITCHED_OFF, Put, Putting
from stormclaw.agent.history.snapshots import Snapshots
from stormclaw.agent.history.tree import (
    Files,
    is_turn,
    leaves,
    newest_move,
    off,
    turns_on,
    words_of,
)
from stormclaw.agent.history.values import Leaf, Preview, Returned
from stormclaw.errors import StoreError, UsageError
from stormclaw.protocol.messages import Label, Moved, MoveKind, Node

T = TypeVar("T")


class Alone(Protocol):
    """Does something while nothing else is done; nothing stops it halfway."""

    async def __call__(self, work: Coroutine[Any, Any, T], /) -> T:
        """Do it.

        Raises:
            UsageError: A turn runs.
        """


class History:
    """The tree of the root agent's conversation.

    Args:
        conversation: Whose.
        snapshots: Of the workspace, around what was done.
        session_id: The session.
        workspace: Absolute.
        alone: Makes what is said meanwhile wait.
    """

    def __init__(
        self,
        conversation: Conversation,
        snapshots: Snapshots,
        session_id: str,
        workspace: Path,
        alone: Alone,
    ) -> None:
        self._conversation = conversation
        self._snapshots = snapshots
        self._alone = alone
        self._files: Files = {}
        kept = snapshots.checkpoints
        self._changes = None if kept is None else Changes(kept, session_id, workspace)
        self._putting = Putting(conversation, snapshots, self._changes)

    def tree(self) -> tuple[Leaf, ...]:
        """All turns, in drawing order; what shell commands changed is there after `learn`."""
        return leaves(self._conversation.everything, self._files)

    async def learn(self) -> None:
        """Look up what each call changed; what cannot be read is left out.

        Raises:
            StoreError: The snapshots cannot be read.
        """
        if self._changes is not None and not self._blocked():
            await self._snapshots.settled()
            self._files = await asyncio.to_thread(self._changes.by_call)

    async def preview(self, leaf_id: str) -> Preview:
        """What going back to before a turn would do.

        Raises:
            UsageError: There is no such turn.
        """
        turn = self._turn(leaf_id)
        blocked = self._blocked()
        plan = Plan()
        if not blocked:
            try:
                plan = await self._plan(turn)
            except StoreError as error:
                blocked = str(error)
        leaving = len(self._leaving(turn.parent))
        if not plan.files and (lacks := plan.lacks()):
            blocked = lacks[-1]
        return Preview(turn.id, turn.at, leaving, plan.files, plan.foreign, blocked)

    async def rewind(
        self, leaf_id: str, *, conversation: bool, files: bool, force: bool = False
    ) -> Returned:
        """Go back to before a turn.

        Args:
            leaf_id: The turn.
            conversation: Take the turns since off the branch.
            files: Put back the files that calls have changed since.
            force: Also those that somebody else has changed since.

        Raises:
            UsageError: There is no such turn, a turn runs, or files cannot be put back.
            StoreError: It could not be written down.
        """
        turn = self._turn(leaf_id)
        return await self._alone(self._rewind(turn, "rewind", conversation, files, force))

    async def go(self, leaf_id: str) -> Returned:
        """Go on from the end of a turn, on whatever branch it is; files stay as they are.

        Raises:
            UsageError: There is no such turn, or a turn runs.
            StoreError: It could not be written down.
        """
        self._turn(leaf_id)
        leaf = next(leaf for leaf in self.tree() if leaf.id == leaf_id)
        return await self._alone(self._go(leaf))

    async def _go(self, leaf: Leaf) -> Returned:
        leaving = self._leaving(leaf.end)
        move = Moved("branch", self._head() or "", turns=len(leaving), kept=self._written(leaving))
        await self._conversation.move(leaf.end, move)
        return Returned(turns=len(leaving), kept=())

    async def undo(self) -> Returned | None:
        """Take back the last turn, conversation and files; None when there is none.

        Raises:
            UsageError: A turn runs.
            StoreError: It could not be written down.
        """
        return await self._alone(self._undo())

    async def _undo(self) -> Returned | None:
        turns = turns_on(self._conversation.nodes)
        if not turns:
            return None
        return await self._rewind(turns[-1], "undo", True, not self._blocked(), False)

    async def redo(self) -> Returned | None:
        """Take back the newest undo or rewind nothing was said after; None when there is none.

        Raises:
            UsageError: A turn runs.
            StoreError: It could not be written down.
        """
        return await self._alone(self._redo())

    async def _redo(self) -> Returned | None:
        await self._putting.mend()
        node = newest_move(self._conversation.nodes)
        if node is None or not isinstance(node.body, Moved):
            return None
        moved = node.body
        kept = frozenset(moved.files)
        failed: tuple[str, ...] = ()

        async def staying() -> frozenset[str]:
            return await self._putting.changed_since(moved.after, moved.files)

        if moved.files:
            try:
                kept = await staying()
            except StoreError as error:
                failed = (f"files stay as they are: {error}",)
        paths = [path for path in moved.files if path not in kept]
        stays = moved.kind == "files"
        return await self._move(
            "redo",
            self._head() if stays else moved.left or None,
            moved.before,
            paths,
            Returned(
                turns=0 if stays else moved.turns,
                kept=() if failed else tuple(sorted(kept)),
                failed=failed,
            ),
            stayed=tuple(sorted(kept)),
            staying=staying,
        )

    async def label(self, node_id: str, text: str) -> None:
        """Name a place; "" takes the name away.

        Raises:
            UsageError: There is no such node.
            StoreError: It could not be written down.
        """
        if all(node.id != node_id for node in self._conversation.everything):
            raise UsageError(f"there is no message {node_id!r} in this session")
        await self._conversation.commit(Label(node_id, " ".join(text.split())))

    async def mark(self, text: str) -> bool:
        """Name the place where the conversation stands now; False when nothing was said yet."""
        turns = turns_on(self._conversation.nodes)
        if turns:
            await self.label(turns[-1].id, text)
        return bool(turns)

    async def _rewind(
        self, turn: Node, kind: MoveKind, conversation: bool, files: bool, force: bool
    ) -> Returned:
        if files and (reason := self._blocked()):
            raise UsageError(f"no file was put back: {reason}")
        if files:
            await self._putting.mend()
        plan = await self._plan(turn) if files else Plan()
        paths, kept = chosen(plan.files, force=force)
        leaving = self._leaving(turn.parent) if conversation else ()
        text = words_of(turn) if conversation else ""
        back = Returned(text, len(leaving), kept=kept, failed=plan.lacks())
        to = turn.parent if conversation else self._head()
        stayed = (*kept, *plan.missing) if files else self._written(leaving)

        async def staying() -> frozenset[str]:
            return frozenset(chosen((await self._plan(turn)).files, force=force)[1])

        kind = kind if conversation else "files"
        return await self._move(kind, to, plan.to, paths, back, stayed=stayed, staying=staying)

    async def _move(
        self,
        kind: MoveKind,
        to: str | None,
        mark: str,
        paths: list[str],
        back: Returned,
        *,
        stayed: tuple[str, ...],
        staying: Callable[[], Awaitable[frozenset[str]]],
    ) -> Returned:
        """Put files back as they were in snapshot `mark`, then go on from the node `to`."""
        left = self._head() or ""
        put = Put()
        if paths:
            put = await self._putting.put_back(mark, paths, staying)
        kept = tuple(dict.fromkeys((*back.kept, *put.kept)))
        stays = tuple(dict.fromkeys((*stayed, *put.kept)))
        move = Moved(kind, left, back.turns, put.files, stays, put.before, put.after)
        await self._conversation.move(to, move)
        return Returned(back.text, back.turns, put.files, kept, (*back.failed, *put.failed))

    async def _plan(self, turn: Node) -> Plan:
        if self._changes is None:
            return Plan()
        await self._snapshots.settled()
        return await asyncio.to_thread(self._changes.plan, turn, self._conversation.everything)

    def _blocked(self) -> str:
        """Why files cannot be put back, "" if they can."""
        checkpoints = self._snapshots.checkpoints
        return SWITCHED_OFF if checkpoints is None else checkpoints.problem()

    def _head(self) -> str | None:
        nodes = self._conversation.nodes
        return nodes[-1].id if nodes else None

    def _turn(self, leaf_id: str) -> Node:
        for node in self._conversation.everything:
            if node.id == leaf_id and is_turn(node):
                return node
        raise UsageError(f"there is no turn {leaf_id!r} in this session")

    def _leaving(self, to: str | None) -> tuple[Node, ...]:
        return off(self._conversation.everything, self._conversation.nodes, to)

    def _written(self, leaving: tuple[Node, ...]) -> tuple[str, ...]:
        """What those turns changed, as far as it is known."""
        ids = {turn.id for turn in leaving}
        touched = (file.path for leaf in self.tree() if leaf.id in ids for file in leaf.files)
        return tuple(dict.fromkeys(touched))

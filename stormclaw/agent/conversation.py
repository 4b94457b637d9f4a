"""The conversation of one agent: a tree of nodes that only grows, through one door."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable

from stormclaw.agent.context.graph import branch
from stormclaw.agent.context.tokens import Tally
from stormclaw.agent.context.window import Memo
from stormclaw.agent.hub import Hub
from stormclaw.agent.journal import Journal
from stormclaw.protocol.events import Committed
from stormclaw.protocol.messages import Body, Moved, Node
from stormclaw.store.durable import finish


class Conversation:
    """Everything one agent heard, said and did, on every branch.

    Args:
        agent: The agent's path.
        journal: Makes nodes durable.
        hub: Told of every node once it is durable.
        nodes: What is on disk already, when a session is resumed.

    Attributes:
        memo: Messages made for earlier requests, see `window`.
        tally: What it comes to on the wire, see `tidy`.
    """

    def __init__(self, agent: str, journal: Journal, hub: Hub, nodes: Iterable[Node] = ()) -> None:
        self.agent = agent
        self.memo: Memo = {}
        self.tally = Tally()
        self._journal = journal
        self._hub = hub
        self._all = list(nodes)
        self._branch = list(branch(self._all))

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The branch that goes on, oldest first, decisions included."""
        return tuple(self._branch)

    @property
    def everything(self) -> tuple[Node, ...]:
        """The nodes of all branches, in the order written."""
        return tuple(self._all)

    async def commit(self, body: Body) -> Node:
        """Write to disk, add, publish: in that order, and whole even when interrupted.

        Raises:
            StoreError: The node could not be written; the conversation is unchanged.
        """
        parent = self._branch[-1].id if self._branch else None
        return await finish(self._commit(body, parent))

    async def move(self, to: str | None, body: Moved) -> Node:
        """Go on from the node `to`, from the very beginning if None; nothing is lost.

        Raises:
            LookupError: There is no such node.
            StoreError: It could not be written; the conversation stands where it stood.
        """
        if to is not None and all(node.id != to for node in self._all):
            raise LookupError(f"no node {to} in the conversation of {self.agent}")
        return await finish(self._commit(body, to))

    async def _commit(self, body: Body, parent: str | None) -> Node:
        node = Node(secrets.token_hex(6), parent, self.agent, time.time(), body)
        await self._journal.append(node)
        self._all.append(node)
        if isinstance(body, Moved):
            self._branch = list(branch(self._all))
        else:
            self._branch.append(node)
        self._hub.publish(Committed(self.agent, node))
        return node

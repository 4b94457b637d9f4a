"""What the model sees of a conversation, to be looked at, changed and taken back by a person.

Every decision is a node; one that is taken back stays in the record, and so does the taking back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from stormclaw.agent.context.decisions import (
    newest_decision,
    touched,
    usd_per_token,
    with_their_calls,
)
from stormclaw.agent.context.graph import YOU, Standings, change_of, fold
from stormclaw.agent.context.parts import KINDS, Layout
from stormclaw.agent.context.sheet import PolicyLine, Sheet
from stormclaw.agent.context.stack import checked, lifted, policies, run
from stormclaw.agent.context.tidy import limits_of, order_of, view_of
from stormclaw.agent.context.window import Memo, gist, window
from stormclaw.agent.conversation import Conversation
from stormclaw.agent.kit import Kit
from stormclaw.errors import UsageError
from stormclaw.protocol.messages import (
    AssistantTurn,
    Change,
    ContextEdit,
    Delegation,
    Node,
    Summary,
    ToolOutcome,
    UserText,
    outcome_of,
)
from stormclaw.protocol.provider import Message


class ContextDesk:
    """The decisions about one conversation.

    Decisions may be made while a turn runs; they count from the next request on.

    Args:
        kit: The kit in use now.
        conversation: Whose nodes are decided about.
    """

    def __init__(self, kit: Callable[[], Kit], conversation: Conversation) -> None:
        self._kit = kit
        self._conversation = conversation

    def sheet(self, policies: Sequence[str] | None = None) -> Sheet:
        """What is sent and held back; with an order of policies, what it would be with that order.

        Raises:
            UsageError: There is no such policy.
        """
        kit, nodes = self._kit(), self._conversation.nodes
        trial = self._tried(nodes, policies)
        layout = Layout(nodes, trial.standings, kit.gauge, trial.memo)
        layout.around(kit.system_prompt(), kit.specs)
        layout.conversation()
        _, limits = limits_of(kit)
        return Sheet(
            parts=tuple(layout.parts),
            policies=_policy_lines(trial.order, layout),
            shares=tuple((kind, layout.shares[kind]) for kind in KINDS),
            total=sum(layout.shares.values()),
            window=limits.window,
            soft=limits.soft,
            held=sum(bool(part.id) and not part.sent for part in layout.parts),
            saved=sum(max(0, part.tokens - part.left) for part in layout.parts),
            usd_per_token=usd_per_token(nodes),
            measured=kit.gauge.name,
            dry=policies is not None,
        )

    def wire(self, policies: Sequence[str] | None = None) -> tuple[Message, ...]:
        """The messages the model would get now, or with another order of policies.

        Raises:
            UsageError: There is no such policy.
        """
        nodes = self._conversation.nodes
        trial = self._tried(nodes, policies)
        return window(nodes, trial.standings, trial.memo)

    async def change(self, changes: Sequence[Change]) -> None:
        """Decide what the model sees of nodes, by hand: no policy touches them again.

        Raises:
            UsageError: A node is not on this branch, or is never sent; nothing was changed.
            StoreError: It could not be written down.
        """
        nodes = self._conversation.nodes
        there = {node.id: node for node in nodes}
        standings = fold(nodes)
        wanted = with_their_calls(changes, nodes, standings)
        for change in changes:
            _must_be_sendable(there.get(change.node), change.node)
            summary = "" if change.include else change.summary
            wanted[change.node] = replace(change, summary=summary, by="", why="")
        wanted = {
            node_id: change
            for node_id, change in wanted.items()
            if change != replace(change_of(node_id, standings[node_id]), by="", why="")
        }
        if wanted:
            await self._commit(nodes, standings, ContextEdit(YOU, tuple(wanted.values())))

    async def order(self, policies: Sequence[str]) -> None:
        """Make this the session's own order of policies, and apply it; empty for none at all.

        What policies decided is taken back first. They are applied until a request is as small as
        they try to make it, whether it is too large yet or not.

        Raises:
            UsageError: There is no such policy.
            StoreError: It could not be written down.
        """
        nodes = self._conversation.nodes
        standings = fold(nodes)
        trial = self._tried(nodes, policies)
        changed = {change.node: change for change in lifted(standings)}
        for node_id, standing in trial.standings.of.items():
            if standing != standings[node_id]:
                changed[node_id] = change_of(node_id, standing)
            else:
                changed.pop(node_id, None)
        if not changed and trial.order == order_of(self._kit(), standings):
            return
        edit = ContextEdit(YOU, tuple(changed.values()), policies=trial.order)
        await self._commit(nodes, standings, edit)

    async def undo(self) -> bool:
        """Take back the newest decision on the branch that stands; again, the one before.

        What a policy or a compaction held back, and is taken back, no policy touches again.

        Returns:
            False when there is none.

        Raises:
            StoreError: It could not be written down.
        """
        nodes = self._conversation.nodes
        place = newest_decision(nodes)
        if place is None:
            return False
        undone = nodes[place]
        before, now = fold(nodes[:place]), fold(nodes)
        by_hand = isinstance(undone.body, ContextEdit) and undone.body.by == YOU
        decider = "" if by_hand else YOU
        changes = [
            replace(change_of(node_id, before[node_id]), by=before[node_id].by or decider)
            for node_id in touched(undone)
        ]
        if isinstance(undone.body, Summary):
            changes.append(Change(undone.id, include=False, by=YOU))
        order = before.policies if isinstance(undone.body, ContextEdit) else None
        ordered = isinstance(undone.body, ContextEdit) and undone.body.policies is not None
        edit = ContextEdit(
            YOU, tuple(changes), policies=order if ordered else None, undoes=undone.id
        )
        await self._commit(nodes, now, edit)
        return True

    async def summarise(self, node_id: str) -> str:
        """Have the model write a short text that stands for a node from now on.

        Raises:
            UsageError: The node is not on this branch, or there is nothing in it to sum up.
            StoreError: It could not be written down.
            asyncio.CancelledError: Interrupted; nothing was changed.
        """
        from stormclaw.agent.context.compaction import condense

        node = {each.id: each for each in self._conversation.nodes}.get(node_id)
        found = _must_be_sendable(node, node_id)
        text = _text(found)
        if not text.strip():
            raise UsageError("there is nothing in it to sum up")
        about = gist(found) if outcome_of(found.body) else ""
        short, usage = await condense(self._kit(), text, about)
        nodes = self._conversation.nodes  # Much may have been decided meanwhile.
        standings = fold(nodes)
        _must_be_sendable({each.id: each for each in nodes}.get(node_id), node_id)
        stands = change_of(node_id, standings[node_id])
        change = replace(stands, include=False, summary=short, by="", why="")
        await self._commit(nodes, standings, ContextEdit(YOU, (change,), usage=usage))
        return short

    async def compact(self, focus: str = "") -> Summary | None:
        """Have the model sum up all but the newest part; None when there is nothing to sum up.

        Raises:
            StoreError: It could not be written down.
            asyncio.CancelledError: Interrupted; nothing was changed.
        """
        from stormclaw.agent.context.compaction import compact

        return await compact(self._kit(), self._conversation, focus=focus)

    def _tried(self, nodes: tuple[Node, ...], order: Sequence[str] | None) -> _Trial:
        """Things as they stand, or as they would with another order of policies."""
        kit, standings = self._kit(), fold(nodes)
        if order is None:
            return _Trial(standings, order_of(kit, standings), self._conversation.memo)
        fixed, limits = limits_of(kit)
        free = standings.changed(lifted(standings), "")
        own: Memo = dict(self._conversation.memo)
        named = checked(order)
        view = view_of(kit, nodes, free, limits.soft)
        found = run(named, view, fixed=fixed, goal=limits.goal, memo=own)
        return _Trial(found.standings, named, own)

    async def _commit(
        self, nodes: tuple[Node, ...], standings: Standings, edit: ContextEdit
    ) -> None:
        """Commit a decision with what a request takes before and after it."""
        kit, memo = self._kit(), self._conversation.memo
        after = fold((*nodes, Node("", None, "", 0.0, edit)))
        tokens = [
            kit.gauge.request(kit.system_prompt(), kit.specs, window(nodes, held, memo))
            for held in (standings, after)
        ]
        await self._conversation.commit(replace(edit, before=tokens[0], after=tokens[1]))


@dataclass(frozen=True)
class _Trial:
    """Standings to look at, the order of policies they come from, messages made on the way."""

    standings: Standings
    order: tuple[str, ...]
    memo: Memo


def _policy_lines(order: Sequence[str], layout: Layout) -> tuple[PolicyLine, ...]:
    saved = layout.saved_by()
    known = policies()
    on = [name for name in order if name in known]
    rest = [name for name in known if name not in on]
    return tuple(
        PolicyLine(
            name, known[name].label, known[name].about, max(0, saved.get(name, 0)), name in on
        )
        for name in (*on, *rest)
    )


def _must_be_sendable(node: Node | None, node_id: str) -> Node:
    if node is None:
        raise UsageError(f"there is no {node_id or 'such message'} on this branch")
    if not isinstance(node.body, UserText | AssistantTurn | ToolOutcome | Delegation | Summary):
        raise UsageError(f"{node_id} is never sent to the model")
    return node


def _text(node: Node) -> str:
    if isinstance(node.body, UserText | AssistantTurn | Summary):
        return node.body.text
    outcome = outcome_of(node.body)
    return outcome.output if outcome is not None else ""

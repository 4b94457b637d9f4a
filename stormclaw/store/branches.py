"""Which nodes lie on a branch: a transcript is a tree, written in the order things happened."""

from __future__ import annotations

from collections.abc import Sequence

from stormclaw.errors import UsageError
from stormclaw.protocol.messages import ROOT, Delegation, Node


def branch(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The branch of one agent that ends in the newest node, oldest first.

    A parent that is not there (its line was damaged) is bridged by the node written before.
    """
    places = {node.id: number for number, node in enumerate(nodes)}
    found: list[Node] = []
    at = len(nodes) - 1
    while at >= 0:
        node = nodes[at]
        found.append(node)
        if node.parent is None:
            break
        place = places.get(node.parent, at)
        at = place if place < at else at - 1
    return tuple(reversed(found))


def current(nodes: Sequence[Node], at: str = "") -> tuple[Node, ...]:
    """What a person who follows one branch sees: it, and the sub-agents it started.

    Args:
        nodes: A whole transcript, all agents, in the order written.
        at: Where the branch ends: a node of the root agent, or the beginning of its id; "" for
            the newest one.

    Returns:
        The nodes in the order written. A sub-agent that never came back (it was interrupted) is
        kept if it had begun by then.

    Raises:
        UsageError: No node of the root agent fits `at`, or several do.
    """
    own = [node for node in nodes if node.agent == ROOT]
    if at:
        own = own[: _place(own, nodes, at) + 1]
    trunk = branch(own)
    if not trunk:
        return () if at else tuple(nodes)
    started = {node.body.child for node in nodes if isinstance(node.body, Delegation)}
    kept = {node.id for node in trunk}
    wanted = {node.body.child for node in trunk if isinstance(node.body, Delegation)}
    for node in nodes:
        agent = node.agent
        if agent == ROOT:
            continue
        if agent not in started and node.at <= trunk[-1].at:
            wanted.add(agent)
        if agent in wanted or _under(agent, wanted):
            kept.add(node.id)
            if isinstance(node.body, Delegation):
                wanted.add(node.body.child)
    return tuple(node for node in nodes if node.id in kept or node.agent in wanted)


def _under(agent: str, wanted: set[str]) -> bool:
    """Whether an agent above this one is wanted; its own children came with it."""
    above = agent.rpartition("/")[0]
    while above not in ("", ROOT):
        if above in wanted:
            return True
        above = above.rpartition("/")[0]
    return False


def _place(own: Sequence[Node], nodes: Sequence[Node], wanted: str) -> int:
    fitting = [place for place, node in enumerate(own) if node.id == wanted]
    fitting = fitting or [place for place, node in enumerate(own) if node.id.startswith(wanted)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UsageError(f"{wanted!r} fits {len(fitting)} places; write more of the id")
    theirs = next((node for node in nodes if node.id.startswith(wanted)), None)
    if theirs is not None:
        raise UsageError(
            f"{wanted!r} belongs to the sub-agent {theirs.agent}; name a place of the conversation "
            "it was started from"
        )
    raise UsageError(f"there is no place {wanted!r}; `stormclaw session show ID --json` shows them")

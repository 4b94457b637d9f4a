"""Shortens what went wrong and is over to one line: what was tried, and why it failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from stormclaw.agent.context.view import Policy, Proposal, Result, View, arguments_of, held_back
from stormclaw.agent.context.wording import WENT_WRONG, elided
from stormclaw.protocol.messages import AssistantTurn, Delegation, Node, UserText


def _propose(view: View) -> Sequence[Proposal]:
    given_up = _given_up(view.nodes)
    succeeded: dict[str, int] = {}
    for result in view.results:
        if result.outcome.status == "done":
            succeeded[_aim(result)] = result.number
    found = []
    for result in view.open_results():
        if result.outcome.status not in WENT_WRONG or isinstance(result.node.body, Delegation):
            continue
        later = succeeded.get(_aim(result), -1) > result.number
        if not later and result.number > given_up:
            continue
        why = "worked later" if later else "given up"
        left = elided(result.node, why)
        if view.worth(result, left):
            found.append(held_back(result.node, view.standings[result.node.id], left, why))
    return found


def _given_up(nodes: Sequence[Node]) -> int:
    """The number of the newest node by which a turn was over; -1 if none was.

    An answer that asks for nothing ends a turn, and so does the person's next word.
    """
    for number in range(len(nodes) - 1, -1, -1):
        match nodes[number].body:
            case AssistantTurn(calls=()) | UserText(steered=False):
                return number
            case _:
                pass
    return -1


def _aim(result: Result) -> str:
    """What an attempt was for: the same tool on the same thing, a command by its first words."""
    given: Mapping[str, object] = arguments_of(result.call)
    if isinstance(path := given.get("path"), str):
        return f"{result.outcome.tool} {path}"
    if isinstance(command := given.get("command"), str):
        return f"{result.outcome.tool} {' '.join(_words(command))}"
    return f"{result.outcome.tool} {result.outcome.headline.object}"


def _words(command: str) -> Iterator[str]:
    """The program and its verb: `pytest`, `uv run`, `make test`."""
    for count, word in enumerate(command.split()):
        if count == 2 or word.startswith("-"):
            return
        yield word


POLICY = Policy(
    name="failed_attempts",
    label="failed attempts",
    about="what failed and is over, down to the reason",
    propose=_propose,
)

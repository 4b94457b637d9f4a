"""What a conversation is made of.

A conversation is a tree of `Node`s that only ever grows; the branch that ends in the newest node
is the one that goes on. What a node says is its `Body`, a closed union: what was said and done, and
the decisions about it (`ContextEdit`, `Summary`, `Moved`, `Label`; see docs/adr/0012). Adding a
kind is a decision and mypy lists every `match` to extend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from stormclaw.protocol.display import Display, Headline
from stormclaw.protocol.effects import Risk

ROOT = "root"
"""The agent path of the agent a person talks to; children are `root/scout-1`."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model asks for a tool.

    Attributes:
        id: The provider's id of the call, unique within the conversation.
        name: The tool as the model wrote it; may be an alias or nonsense.
        arguments: The JSON text exactly as it came; may be broken.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and money of one answer, or the sum over several.

    Attributes:
        input_tokens: Everything sent, cached tokens included.
        output_tokens: Everything received, reasoning included.
        cached_tokens: The part of `input_tokens` read from the provider's cache.
        cache_write_tokens: The part of `input_tokens` the provider's cache took in.
        cost_usd: US dollars; `None` when neither reported nor known from prices.
        reported: True when the provider counted the tokens, False when we estimated; a sum is
            reported only if every part is.
        priced: True when `cost_usd` was worked out from a price list, False when the provider
            said it; a sum is priced as soon as one part is.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    reported: bool = True
    cache_write_tokens: int = 0
    priced: bool = False

    @property
    def cost_estimated(self) -> bool:
        """Whether the cost is known, is more than nothing, and is not what the provider said."""
        return bool(self.cost_usd) and (self.priced or not self.reported)

    def __add__(self, other: Usage) -> Usage:
        """The sum; an unknown cost counts as nothing unless both are unknown."""
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            sum(costs) if costs else None,
            self.reported and other.reported,
            self.cache_write_tokens + other.cache_write_tokens,
            self.priced or other.priced,
        )

    def __sub__(self, earlier: Usage) -> Usage:
        """What came since `earlier`, a former value of the same running sum."""
        cost = self.cost_usd
        return Usage(
            self.input_tokens - earlier.input_tokens,
            self.output_tokens - earlier.output_tokens,
            self.cached_tokens - earlier.cached_tokens,
            None if cost is None else cost - (earlier.cost_usd or 0.0),
            self.reported,
            self.cache_write_tokens - earlier.cache_write_tokens,
            self.priced,
        )


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class UserText:
    """What the person said; `steered` when it was put in while a turn ran."""

    text: str
    steered: bool = False


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """One finished answer of a model.

    Attributes:
        text: Markdown, exactly as streamed.
        thinking: The reasoning the provider showed, "" if none.
        calls: Tools it asks for, in the model's order.
        model: The model that answered (a router may have chosen another than asked).
        provider: Our name for the provider.
        usage: Tokens and money of this answer.
        thought_s: Seconds from the first to the last reasoning delta.
        echo: JSON text of fields that must go back to the same model unchanged
            (signatures, reasoning details); "" if none.
    """

    text: str
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    model: str = ""
    provider: str = ""
    usage: Usage = NO_USAGE
    thought_s: float = 0.0
    echo: str = ""


Status: TypeAlias = Literal["done", "failed", "denied", "interrupted"]
Author: TypeAlias = Literal["model", "person", "foreign"]
"""`foreign`: a program that acts by itself (a CLI back end) made the call with its own hands."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What became of one call: the model reads `output`, the person sees the rest.

    Attributes:
        call_id: The `ToolCall.id` this answers.
        tool: Canonical tool name, or what the model wrote if there is no such tool.
        status: How it ended; `denied` covers policy, person and estop.
        output: Text for the model: the result, or the reason there is none.
        headline: What the card is called.
        summary: A few words for the card: `84 lines`, `exit 1, 3 lines`, `denied by you`.
        display: What the card shows when open; None shows `output`.
        risk: As judged.
        receipt: Number of the receipt in the chain, 0 if receipts are off.
        seconds: From start to end, waiting for the person not included.
        author: Who made it: the model through us, the person with `!`, or a foreign program.
    """

    call_id: str
    tool: str
    status: Status
    output: str
    headline: Headline
    summary: str = ""
    display: Display | None = None
    risk: Risk = "low"
    receipt: int = 0
    seconds: float = 0.0
    author: Author = "model"


TurnReason: TypeAlias = Literal["done", "limit", "interrupted", "failed"]


@dataclass(frozen=True, slots=True)
class Delegation:
    """The one node a sub-agent leaves in its parent's conversation.

    Attributes:
        outcome: The answer to the `spawn_agent` call; its output is the child's final text.
        child: The child's agent path, where its own nodes can be found.
        task: What it was told to do.
        reason: How the child's turn ended.
        usage: Everything the child and its own children used.
    """

    outcome: ToolOutcome
    child: str
    task: str
    reason: TurnReason
    usage: Usage


NoteKind: TypeAlias = Literal["info", "interrupted", "limit", "failed"]


@dataclass(frozen=True, slots=True)
class Note:
    """Something the transcript shows and the model does not see.

    Attributes:
        kind: `failed` is drawn as an error card, the others as one muted line.
        text: What stopped or happened.
        detail: What was kept, and what to do next.
        code: An error class (`timeout`, `auth` ...), "" if none.
    """

    kind: NoteKind
    text: str
    detail: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What a model is to see of one node from now on. The node itself never changes.

    Attributes:
        node: Id of the node.
        include: False takes it off the wire; a call that stays keeps a result all the same.
        summary: What stands in its place while it is off, "" for as little as the rules allow.
        pinned: No policy and no compaction touches it.
        reasoning: False leaves out the reasoning of an answer that is itself kept.
        by: Who decided it, where that is not who made the edit: the policy, in an order of
            policies; whoever decided before, where a decision is taken back.
        why: The policy's reason in a few words: `read again later`.
    """

    node: str
    include: bool = True
    summary: str = ""
    pinned: bool = False
    reasoning: bool = True
    by: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class ContextEdit:
    """A decision about what the model sees of this branch; the last word on a node counts.

    Attributes:
        by: Name of the policy that made it, or `you`.
        changes: Node by node.
        before: Tokens on the wire before it, as estimated then.
        after: Tokens on the wire with it.
        policies: The session's own order of policies from here on, empty for none at all; None
            leaves it as it was.
        undoes: Id of the decision this takes back, "" if it is a new one.
        usage: What a model took for the short texts in it.
    """

    by: str
    changes: tuple[Change, ...] = ()
    before: int = 0
    after: int = 0
    policies: tuple[str, ...] | None = None
    undoes: str = ""
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True)
class Summary:
    """A compaction: a text that stands for nodes, which stay in the record and can come back.

    Attributes:
        text: What the model reads where the first of them stood.
        replaces: Ids of the nodes it stands for.
        focus: What the person asked to keep in view, "" for nothing special.
        before: Tokens on the wire before it, as estimated then.
        after: Tokens on the wire with it.
        model: Who wrote it; "" when it was put together without a model.
        usage: What writing it took.
    """

    text: str
    replaces: tuple[str, ...]
    focus: str = ""
    before: int = 0
    after: int = 0
    model: str = ""
    usage: Usage = NO_USAGE


MoveKind: TypeAlias = Literal["rewind", "branch", "undo", "redo", "files"]


@dataclass(frozen=True, slots=True)
class Moved:
    """The conversation goes on from another place; its node's parent is that place.

    Attributes:
        kind: `files` put files back and left the conversation where it was.
        left: Id of the node it stood at, "" if it was empty.
        turns: How many turns of the branch that was left are off it now.
        files: Workspace-relative paths that were put back.
        kept: Paths that turns now off the branch had changed, and that stay as they are.
        before: Checkpoint of the workspace before files were put back, "" if none were.
        after: Checkpoint after that.
    """

    kind: MoveKind
    left: str
    turns: int = 0
    files: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """The person's name for a place in the conversation; "" takes it away."""

    node: str
    text: str


Body: TypeAlias = (
    UserText
    | AssistantTurn
    | ToolOutcome
    | Delegation
    | Note
    | Summary
    | ContextEdit
    | Moved
    | Label
)


@dataclass(frozen=True, slots=True)
class Node:
    """One entry of a conversation, never changed once written.

    Attributes:
        id: Unique within the session.
        parent: The node before it on its branch; None for the first of an agent.
        agent: Path of the agent whose conversation it belongs to.
        at: Unix time in seconds, UTC.
        body: What it says.
    """

    id: str
    parent: str | None
    agent: str
    at: float
    body: Body


def outcome_of(body: Body) -> ToolOutcome | None:
    """The tool outcome in `body`, whether it stands alone or in a delegation."""
    if isinstance(body, Delegation):
        return body.outcome
    return body if isinstance(body, ToolOutcome) else None


def open_calls(bodies: Sequence[Body]) -> tuple[ToolCall, ...]:
    """The calls that have no outcome yet, in the order they were made."""
    answered = {outcome.call_id for body in bodies if (outcome := outcome_of(body))}
    calls = (call for body in bodies if isinstance(body, AssistantTurn) for call in body.calls)
    return tuple(call for call in calls if call.id not in answered)

"""What the context screen says: each part of a request, its size, why it is or is not sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from stormclaw.protocol.messages import Node

PartKind: TypeAlias = Literal["system", "instructions", "memory", "tools", "turns", "results"]
"""Kinds by which the window is shared out, in the order they are drawn; `turns` is what people and
models said, `results` what tools gave back."""


@dataclass(frozen=True, slots=True)
class Part:
    """One line of the screen.

    Attributes:
        id: Id of the node; "" for what is no node (system prompt, tools), which cannot be edited.
        kind: See `PartKind`.
        word: What it is: `system`, `tools`, `you`, `root`, `read`, `grep`, `agent`, `summary`.
        object: What it is about, one line of foreign text.
        tokens: What it takes when it is sent whole.
        left: What it takes as it stands now: as `tokens`, or its summary's, or 0.
        estimated: Whether `tokens` is an estimate.
        sent: Whether it is on the wire whole.
        pinned: No policy touches it.
        by: Who took it off the wire: a policy, `you`, `compaction`; "" while it is sent.
        why: The policy's reason in a few words: `read again later`.
        node: The node itself, None for what is no node.
    """

    id: str
    kind: PartKind
    word: str
    object: str
    tokens: int
    left: int
    estimated: bool = True
    sent: bool = True
    pinned: bool = False
    by: str = ""
    why: str = ""
    node: Node | None = None


@dataclass(frozen=True, slots=True)
class PolicyLine:
    """One policy of the stack.

    Attributes:
        name: As in the configuration.
        label: For people: `superseded reads`.
        about: What it holds back, in a few words.
        saves: Tokens it keeps off the wire now, in this order.
        on: Whether it is in the stack.
    """

    name: str
    label: str
    about: str
    saves: int = 0
    on: bool = True


@dataclass(frozen=True, slots=True)
class Sheet:
    """The whole screen, as things stand or as they would.

    Attributes:
        parts: In the order they are sent.
        policies: The stack in its order, then those that are not in it.
        shares: Tokens on the wire by kind.
        total: Their sum.
        window: What the model takes at most; 0 if unknown.
        soft: Tokens from which policies act.
        held: How many nodes are held back.
        saved: Tokens that are not sent because of that.
        usd_per_token: What an input token costs here, from what was reported; None if unknown.
        measured: How tokens were counted: `estimate`, or the name of the tokenizer.
        dry: True where this is what another order of policies would do.
    """

    parts: tuple[Part, ...]
    policies: tuple[PolicyLine, ...]
    shares: tuple[tuple[PartKind, int], ...]
    total: int
    window: int
    soft: int
    held: int
    saved: int
    usd_per_token: float | None = None
    measured: str = "estimate"
    dry: bool = False

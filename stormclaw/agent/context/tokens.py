"""How many tokens something takes: an estimate that learns from what providers report.

No tokenizer is shipped. Those that bring their vocabulary along know one family of models each, and
the one for OpenAI's takes 75 MB and half a second to import; for every other model it would be an
estimate, too. What kind of bytes a text is made of tells its tokens to some 5 to 10 %, in
microseconds, and what the provider reports then corrects that for the model in use.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import assert_never

from stormclaw.protocol.messages import (
    AssistantTurn,
    Body,
    ContextEdit,
    Delegation,
    Label,
    Moved,
    Node,
    Note,
    Summary,
    ToolOutcome,
    Usage,
    UserText,
)
from stormclaw.protocol.provider import Message, ToolSpec

CHARS_PER_TOKEN = 4.0
"""A rough measure, for telling people and for cutting texts."""
ENVELOPE = 4
"""Tokens a message takes beside its text."""

_LOWER = bytes(range(ord("a"), ord("z") + 1))
_UPPER = bytes(range(ord("A"), ord("Z") + 1))
_DIGITS = b"0123456789"
_SIGNS = bytes(code for code in range(33, 127) if not bytes([code]).isalnum())
_KINDS: Mapping[bytes, float] = MappingProxyType(
    {
        _LOWER: 0.192,
        _UPPER: 0.25,
        _DIGITS: 0.60,
        _SIGNS: 0.49,
        bytes(range(0xC0, 0xE0)): 0.46,  # Begins a character of two bytes: Latin, Greek, Cyrillic.
        bytes(range(0xE0, 0xF0)): 0.90,  # Of three: Chinese, Japanese, Korean.
        bytes(range(0xF0, 0xF8)): 2.5,  # Of four: emoji.
    }
)
"""Bytes of a kind -> what each of them comes to. Fitted to two vocabularies of OpenAI's over code,
prose, JSON, diffs, logs and seven languages, and held against SmolLM2's."""
_SPACE, _PAIR, _LINE = 0.19, 0.13, 1.43
"""What a single space, a pair of spaces, and a line break come to."""

_MOST_KEPT = 50_000
"""Weights that are remembered; trials of other orders make ever new messages."""
_SAMPLES = 15
_LEAST_LEARNT_FROM = 400.0
"""Estimated tokens; the envelope of a smaller request would count for too much."""
_MOST_OFF = 2.5
"""A report that is off by more than this factor is of something else than what was sent."""
_LONGEST_ANSWER_OFF = 1.5
"""An answer reported longer than this times its estimate holds reasoning that is not sent again."""


def estimate(text: str) -> float:
    """Tokens of a text, before anything was learnt."""
    content = text.encode("utf-8", "surrogatepass")
    size = len(content)
    pairs, lines = content.count(b"  "), content.count(b"\n")
    found = (content.count(b" ") - 2 * pairs) * _SPACE + pairs * _PAIR + lines * _LINE
    for kind, weight in _KINDS.items():
        found += (size - len(content.translate(None, kind))) * weight
    return found


@dataclass(frozen=True, slots=True)
class Weight:
    """What something comes to: as estimated, and as reported, where a provider did."""

    estimated: float
    reported: int = 0


class Gauge:
    """Counts tokens for one model; what it says is an estimate, marked `~` wherever it is shown.

    Attributes:
        name: How it counts, for people.
        factor: Tokens reported for each one estimated, from the latest reports.
    """

    name = "estimate"

    def __init__(self) -> None:
        self.factor = 1.0
        self._ratios: deque[float] = deque(maxlen=_SAMPLES)
        # The body is kept too, so that its id cannot come to mean another one.
        self._weights: dict[int, tuple[Body, Weight]] = {}
        self._texts: dict[str, float] = {}
        self._specs: tuple[Sequence[ToolSpec], float] = ((), 0.0)

    def text(self, text: str) -> int:
        """Tokens of a text."""
        return round(estimate(text) * self.factor)

    def of(self, body: Body) -> int:
        """Tokens of a node or message when it is sent whole."""
        return self.tokens(self.weight(body))

    def reported(self, body: Body) -> bool:
        """Whether a provider said how many tokens this takes."""
        return bool(self.weight(body).reported)

    def tokens(self, weight: Weight) -> int:
        """What a weight comes to by what is known now."""
        return weight.reported or round(weight.estimated * self.factor)

    def weight(self, body: Body) -> Weight:
        """What a node or message weighs; kept, so that each is looked at once."""
        known = self._weights.get(id(body))
        if known is None:
            if len(self._weights) >= _MOST_KEPT:
                self._weights.clear()
            known = self._weights[id(body)] = (body, _weighed(body))
        return known[1]

    def prompt(self, system: str, specs: Sequence[ToolSpec]) -> tuple[int, int]:
        """Tokens of the system prompt, and of the tools as they are advertised."""
        around = self._around(system, specs)
        return round(around[0] * self.factor), round(around[1] * self.factor)

    def request(self, system: str, specs: Sequence[ToolSpec], messages: Iterable[Message]) -> int:
        """Tokens of a whole request."""
        return sum(self.prompt(system, specs)) + sum(map(self.of, messages))

    def learn(
        self, system: str, specs: Sequence[ToolSpec], messages: Iterable[Message], usage: Usage
    ) -> None:
        """Take in what a provider reported for a request of just this.

        The median of the latest reports counts, and what is far off counts for nothing: one
        report that was about something else changes little.
        """
        if not usage.reported or usage.input_tokens <= 0:
            return
        weights = [self.weight(message) for message in messages]
        estimated = sum(self._around(system, specs))
        estimated += sum(weight.estimated for weight in weights if not weight.reported)
        reported = usage.input_tokens - sum(weight.reported for weight in weights)
        if estimated < _LEAST_LEARNT_FROM:
            return
        ratio = reported / estimated
        if 1 / _MOST_OFF <= ratio <= _MOST_OFF:
            self._ratios.append(ratio)
            self.factor = statistics.median(self._ratios)

    def _around(self, system: str, specs: Sequence[ToolSpec]) -> tuple[float, float]:
        if system not in self._texts:
            self._texts = {system: estimate(system) + ENVELOPE}
        if self._specs[0] is not specs:
            found = sum(estimate(f"{each.name} {each.description}") for each in specs)
            found += sum(estimate(_json(each.parameters)) + 2 * ENVELOPE for each in specs)
            self._specs = (specs, found)
        return self._texts[system], self._specs[1]


@dataclass(slots=True)
class Tally:
    """What a conversation comes to, kept as it grows, so that only what is new is counted.

    Attributes:
        counted: How many nodes of the branch are in it.
        last: The newest of them.
        of: Who counted.
        known: Tokens that are certain.
        estimated: The rest, before what was learnt.
        tried: Tokens at the last attempt to hold something back that gained too little.
        summed_up: Tokens after the last compaction that was not enough.
    """

    counted: int = 0
    last: Node | None = None
    of: Gauge | None = None
    known: int = 0
    estimated: float = 0.0
    tried: int = 0
    summed_up: int = 0

    def follow(self, nodes: Sequence[Node], gauge: Gauge) -> int | None:
        """Tokens of the messages made of `nodes`, at most; None where they must be counted anew.

        That is so after each decision about them, and on another branch or for another model.
        """
        same = self.of is gauge and 0 < self.counted <= len(nodes)
        if not same or nodes[self.counted - 1] is not self.last:
            return None
        for node in nodes[self.counted :]:
            if isinstance(node.body, ContextEdit | Summary | Moved):
                return None
            self._add(gauge.weight(node.body))
        self.counted, self.last = len(nodes), nodes[-1]
        return self.known + round(self.estimated * gauge.factor)

    def restart(self, nodes: Sequence[Node], gauge: Gauge, messages: Iterable[Message]) -> int:
        """Tokens of these messages, which were made of all of `nodes`."""
        self.counted, self.last, self.of = len(nodes), nodes[-1] if nodes else None, gauge
        self.known, self.estimated = 0, 0.0
        for message in messages:
            self._add(gauge.weight(message))
        return self.known + round(self.estimated * gauge.factor)

    def _add(self, weight: Weight) -> None:
        self.known += weight.reported
        self.estimated += 0.0 if weight.reported else weight.estimated


def _weighed(body: Body) -> Weight:
    match body:
        case UserText(text=text) | Summary(text=text):
            return Weight(ENVELOPE + estimate(text))
        case AssistantTurn():
            return _answer(body)
        case ToolOutcome(output=output):
            return Weight(ENVELOPE + estimate(output))
        case Delegation(outcome=outcome):
            return Weight(ENVELOPE + estimate(outcome.output))
        case Note() | ContextEdit() | Moved() | Label():
            return Weight(0.0)
        case _:
            assert_never(body)


def _answer(turn: AssistantTurn) -> Weight:
    """What an answer weighs; as reported, unless the report counts reasoning that stays behind."""
    calls = sum(estimate(f"{call.name} {call.arguments}") for call in turn.calls)
    estimated = ENVELOPE * (1 + len(turn.calls)) + estimate(turn.text) + calls
    usage = turn.usage
    whole = usage.reported and not turn.thinking and not turn.echo
    near = estimated / _LONGEST_ANSWER_OFF <= usage.output_tokens <= estimated * _LONGEST_ANSWER_OFF
    if whole and near and usage.output_tokens:
        return Weight(estimated, usage.output_tokens + ENVELOPE)
    return Weight(estimated + estimate(turn.echo))


def _json(parameters: Mapping[str, object]) -> str:
    import json

    return json.dumps(parameters, default=str, separators=(",", ":"))

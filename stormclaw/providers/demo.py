"""The default when no model is at hand: scripted, no model, and it says so first.

It turns a small set of plain requests into real tool calls, so that a person without a key can
judge the program, and a test can drive it, through the same loop, gate, approvals and receipts.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Final, assert_never

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.protocol.messages import ROOT, AssistantTurn, ToolCall
from stormclaw.protocol.provider import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    Delta,
    Provider,
    Text,
)
from stormclaw.providers._demo import files, tour
from stormclaw.providers._demo.grammar import (
    Append,
    Create,
    Describe,
    Explore,
    Find,
    Help,
    Intent,
    ListFiles,
    Plan,
    ReadFile,
    Remember,
    Replace,
    Run,
    Time,
    Unknown,
    understand,
)
from stormclaw.providers._demo.step import Done, Step, ask, since_last_words
from stormclaw.providers._demo.text import code, receipt, trouble
from stormclaw.providers._fragments import mint_id
from stormclaw.providers._usage import estimate

PROMPTS: Final = (
    "what does this project do?",
    "explore this project",
    'create notes.txt with "a first line"',
)
"""Three things to try, for the first screen."""

PIECE: Final = 16
"""Characters of a delta, about."""


class Demo(Provider):
    """Plays one of a few parts, chosen by the words it is given.

    Args:
        name: Our name for it.
        pace_s: Seconds between two deltas, so that it can be watched.
    """

    def __init__(self, name: str = "demo", *, pace_s: float = 0.004) -> None:
        self.name = name
        self.model = "demo"
        self._pace_s = pace_s

    def capabilities(self) -> Capabilities:
        """Scripted."""
        return Capabilities(scripted=True)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        """The next step, from nothing but the request.

        Raises:
            ProviderError: It is asked for something only a model can do.
        """
        if request.metadata.get("purpose", "work") not in ("work", "subagent"):
            raise ProviderError("provider", "the demo is no model: it sums nothing up")
        step = _offered(next_step(request), request)
        text = step.text
        if not any(isinstance(message, AssistantTurn) for message in request.messages):
            text = tour.NOTICE + text
        for piece in _pieces(text):
            await asyncio.sleep(self._pace_s)
            yield Text(piece)
        calls = tuple(
            ToolCall(mint_id(), call.tool, json.dumps(dict(call.arguments), ensure_ascii=False))
            for call in step.calls
        )
        sent = len(request.system_prompt) + sum(len(str(message)) for message in request.messages)
        received = len(text) + sum(len(call.arguments) for call in calls)
        yield ChatResponse(
            final_text=text,
            tool_calls=calls,
            usage=estimate(sent, received, cost_usd=0.0),
            finish="tool_calls" if calls else "stop",
            model=self.model,
        )


def connect(name: str, settings: ModelSettings, key: str | None) -> Demo:
    """The demo; it has nothing to configure."""
    return Demo(name)


def next_step(request: ChatRequest) -> Step:
    """What to say and do now."""
    text, done = since_last_words(request.messages)
    if request.metadata.get("agent", ROOT) != ROOT:
        if text == tour.SCOUT_TASK:
            return tour.scout(done)
        if text == tour.READER_TASK:
            return tour.reader(done)
    return _act(understand(text), done)


def _act(intent: Intent, done: Sequence[Done]) -> Step:
    match intent:
        case ListFiles():
            return files.list_files(intent, done)
        case ReadFile():
            return files.read_file(intent, done)
        case Find():
            return files.find(intent, done)
        case Create():
            return files.create(intent, done)
        case Append():
            return files.append(intent, done)
        case Replace():
            return files.replace(intent, done)
        case Run():
            return files.run(intent, done)
        case Remember(note):
            return _remember(note, done)
        case Time():
            return _time(done)
        case Explore():
            return tour.explore(done)
        case Describe():
            return tour.describe(done)
        case Plan():
            return tour.plan(intent)
        case Help():
            return tour.help_text()
        case Unknown(text):
            return tour.unknown(text)
        case _:
            assert_never(intent)


def _remember(note: str, done: Sequence[Done]) -> Step:
    if not done:
        return ask("Noting it for later sessions.", "memory_write", note=note)
    if not done[-1].ok:
        return Step(trouble(done[-1].outcome))
    return Step(f"Noted: {code(note)}.{receipt(done[-1].outcome)}")


def _time(done: Sequence[Done]) -> Step:
    if not done:
        return ask("Looking at the clock.", "time")
    if not done[-1].ok:
        return Step(trouble(done[-1].outcome))
    return Step(f"It is {code(done[-1].output.splitlines()[0])}.")


def _offered(step: Step, request: ChatRequest) -> Step:
    """The step, or why it cannot be: a tool that this agent does not have."""
    offered = {spec.name for spec in request.tools}
    missing = [call.tool for call in step.calls if call.tool not in offered]
    if not missing:
        return step
    return Step(f"That needs the tool {code(missing[0])}, which this agent does not have.")


def _pieces(text: str) -> Iterator[str]:
    """Whole words, about `PIECE` characters at once."""
    start = 0
    while start < len(text):
        end = text.find(" ", start + PIECE) + 1 or len(text)
        yield text[start:end]
        start = end

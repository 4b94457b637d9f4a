"""One turn of claude: from its events to ours, with its calls through the gate, under a watch."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, assert_never

from stormclaw.errors import ProviderError
from stormclaw.protocol.messages import NO_USAGE, Usage
from stormclaw.protocol.provider import (
    ChatResponse,
    Delta,
    Progress,
    Remark,
    Retrying,
    Step,
    Text,
    Thinking,
    Withdrawn,
)
from stormclaw.providers._claude.errors import ended_error, turn_error
from stormclaw.providers._claude.gate import Gate, Permit
from stormclaw.providers._claude.outcomes import observed
from stormclaw.providers._claude.session import Place
from stormclaw.providers._claude.talk import Talk
from stormclaw.providers._claude.tools import translated
from stormclaw.providers._programs import events as cli
from stormclaw.providers._programs.process import Silence

SLICE_S: Final = 1.0
"""How often it is looked whether silence is somebody's who is being asked."""
ENDING_S: Final = 2.0
CUT: Final = frozenset({"max_output_tokens"})
"""Errors that leave an answer, only not a whole one."""
TWICE: Final = "claude's server gave two calls the same id; claude was stopped"
TRIED: Final = "2.1."
"""The versions this was measured with."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Seconds without a sign of life before a turn is given up; a person is never hurried.

    Attributes:
        idle_s: While the model is at work.
        tool_s: While a tool is.
    """

    idle_s: float
    tool_s: float


@dataclass(frozen=True, slots=True)
class Names:
    """What an answer is signed with."""

    provider: str
    model: str


class Turn:
    """What is heard in one turn.

    Args:
        talk: The claude that works.
        permit: Our gate; None where nothing may be done.
        place: Where in the conversation the turn began.
        names: Of provider and model, for the record.
        watch: How patient to be.

    Attributes:
        whole: Whether claude ended the turn well: it can take the next one.
        window: What its model takes, in tokens, 0 until it said so.
    """

    def __init__(
        self, talk: Talk, permit: Permit | None, place: Place, names: Names, watch: Watch
    ) -> None:
        self.whole = False
        self.window = 0
        self._talk = talk
        self._gate = Gate(talk, permit, talk.start.cwd)
        self._place = place
        self._names = names
        self._watch = watch
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._settled = 0
        self._model = names.model
        self._usage = NO_USAGE
        self._uses: list[cli.ToolUse] = []
        self._open: dict[str, cli.ToolUse] = {}
        self._early: list[cli.ToolResult] = []
        self._result: cli.Result | None = None

    async def run(self, words: str) -> AsyncGenerator[Delta | ChatResponse, None]:
        """Send the person's words and yield all that comes of them.

        Raises:
            ProviderError: The turn failed, or claude fell silent or ended.
        """
        lines = self._talk.lines
        try:
            await self._talk.say(words)
            while self._result is None:
                line = await self._next()
                if line.get("type") == "control_request":
                    events = lines.flush()
                    self._gate.asked(line)
                else:
                    events = lines.take(line)
                for event in events:
                    for item in self._heard(event):
                        yield item
            yield self._answer(self._result)
        finally:
            await self._gate.close()

    async def _next(self) -> Mapping[str, object]:
        """The next line; what is none is counted and passed over."""
        program = self._talk.program
        waited = 0.0
        while True:
            limit = self._limit()
            slice_s = min(SLICE_S, limit or SLICE_S)
            try:
                raw = await program.line(slice_s)
            except Silence:
                waited = waited + slice_s if limit is not None else 0.0
                if limit is not None and waited >= limit:
                    raise self._silent(limit) from None
                continue
            if raw is None:
                code = await program.ended(ENDING_S)
                raise ended_error(code, program.stderr, self._shown)
            try:
                line = json.loads(raw)
            except ValueError:
                line = None
            if isinstance(line, Mapping):
                return line
            self._talk.lines.unknown += 1

    def _limit(self) -> float | None:
        if self._gate.waiting:
            return None
        return self._watch.tool_s if self._open or self._uses else self._watch.idle_s

    def _silent(self, limit_s: float) -> ProviderError:
        doing = "while a tool of it ran" if self._open else "while its model was at work"
        return ProviderError(
            "timeout",
            f"claude gave no sign of life for {limit_s:g} s {doing}",
            hint="send it again; providers.models.NAME.idle_timeout_s and tool_timeout_s wait "
            "longer",
            partial=self._shown,
        )

    @property
    def _shown(self) -> str:
        return "".join(self._text)

    def _heard(self, event: cli.CliEvent) -> Iterator[Delta]:
        match event:
            case cli.SessionInit(session_id, model, version):
                self._talk.session_id, self._talk.version = session_id, version
                self._model = model or self._model
            case cli.MessageStart(_, model):
                self._model = model or self._model
            case cli.TextDelta(text):
                self._text.append(text)
                yield Text(text)
            case cli.ThinkingDelta(text):
                self._thinking.append(text)
                yield Thinking(text)
            case cli.ToolUse():
                if event.id in self._open or any(use.id == event.id for use in self._uses):
                    raise ProviderError("protocol", TWICE, partial=self._shown)
                self._uses.append(event)
            case cli.MessageStop(usage):
                self._usage = self._usage + usage if usage else self._usage
                self._settled = len(self._text)
                yield from self._step()
            case cli.MessageAbandoned(reason):
                yield from self._withdraw(reason)
            case cli.ToolResult():
                yield from self._over(event)
            case cli.ToolProgress(call_id, text):
                if text:
                    yield Progress(call_id, text)
            case cli.Retry(delay_s=delay_s):
                yield Retrying(_reason(event), delay_s)
            case cli.Warning(text):
                yield Remark(text)
            case cli.Result():
                yield from self._step()
                self._result = event
            case cli.Status():
                pass
            case _:
                assert_never(event)

    def _step(self) -> Iterator[Delta]:
        """An answer with calls in it is whole; ends that came too early follow it."""
        if not self._uses:
            return
        uses, self._uses = self._uses, []
        cwd = self._talk.start.cwd
        response = ChatResponse(
            self._shown,
            tuple(translated(use.id, use.name, use.input, cwd) for use in uses),
            "".join(self._thinking),
            self._usage,
            "tool_calls",
            self._model,
            self._signed(""),
        )
        self._open.update({use.id: use for use in uses})
        self._forget()
        yield Step(response)
        early, self._early = self._early, []
        for result in early:
            yield from self._over(result)

    def _over(self, result: cli.ToolResult) -> Iterator[Delta]:
        use = self._open.pop(result.id, None)
        if use is None:
            if any(use.id == result.id for use in self._uses):
                self._early.append(result)
            return
        use = replace(use, input=self._gate.changed.get(use.id, use.input))
        denied = use.id in self._gate.denied
        self._gate.over(use.id)
        yield observed(use, result, self._talk.start.cwd, denied=denied)

    def _withdraw(self, reason: str) -> Iterator[Delta]:
        """What was shown of a broken message is void; a whole one before it is not."""
        shown = len(self._text) > self._settled or bool(self._thinking)
        self._text, self._thinking, self._uses = self._text[: self._settled], [], []
        if shown:
            yield Withdrawn(reason)
            yield from [Text(self._shown)] if self._text else ()

    def _forget(self) -> None:
        self._text, self._thinking, self._usage = [], [], NO_USAGE
        self._settled = 0

    def _answer(self, result: cli.Result) -> ChatResponse:
        """The end of the turn.

        Raises:
            ProviderError: It failed.
        """
        self.window = result.context_window
        cut = result.is_error and result.reason in CUT and bool(self._text)
        if result.is_error and not cut:
            raise turn_error(result, self._shown)
        self.whole = not cut
        echo = self._signed(self._talk.lines.answer) if self.whole else ""
        usage = replace(self._usage, cost_usd=result.cost_usd)
        return ChatResponse(
            self._shown or ("" if self._talk.lines.answer else result.message),
            (),
            "".join(self._thinking),
            _reported(usage),
            "length" if cut else "stop",
            self._model,
            echo,
        )

    def _signed(self, answer: str) -> str:
        self._talk.place = replace(self._place, session_id=self._talk.session_id, answer=answer)
        return self._talk.place.echo(self._names.provider, self._names.model)


def _reported(usage: Usage) -> Usage:
    counted = usage.input_tokens or usage.output_tokens
    return usage if counted else replace(usage, reported=False)


def _reason(retry: cli.Retry) -> str:
    word = retry.reason.replace("_", " ") or "no answer"
    return f"{word} ({retry.status})" if retry.status else word

"""One turn of a CLI that acts, from its events to the words of the house.

Codex' two wires and the CLIs of `_programs/ungated.py` share it; the names in it are codex'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from stormclaw.errors import ProviderError
from stormclaw.protocol.messages import NO_USAGE, ToolCall, Usage
from stormclaw.protocol.provider import (
    ChatResponse,
    Delta,
    Observed,
    Progress,
    Remark,
    Retrying,
    Step,
    Text,
    Thinking,
    Withdrawn,
)
from stormclaw.providers._codex.errors import turn_error
from stormclaw.providers._codex.tools import NO_WORD, bounded
from stormclaw.providers._programs.events import (
    CliEvent,
    MessageStart,
    MessageStop,
    Result,
    Retry,
    Status,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
    ToolResult,
    ToolUse,
    Warning,  # noqa: A004 - the field's own word
)

Item: TypeAlias = Mapping[str, Any]

STILL_RUNNING: Final = "[it still ran when the turn ended, and was stopped]"
NOT_TOLD: Final = "[codex did not tell how it ended]"


def failed(result: Result, partial: str) -> ProviderError:
    """The error of a turn of codex."""
    return turn_error(result.message, word=result.reason, status=result.status, partial=partial)


class Turn:
    """Puts a turn together.

    Args:
        model: Who answers.
        call_of: A call in our words, of an item.
        observed: The end of a call in our words, of its item.
        echo: What is kept with an answer; its argument tells whether the turn is over with it.
        unended: What is known of a call that has no end when the turn has.
        program: What the person calls it.
        error: The error of a failed turn.

    Attributes:
        open: Calls that are not over, by id.
    """

    def __init__(
        self,
        model: str,
        call_of: Callable[[Item], ToolCall],
        observed: Callable[[ToolCall, Item], Observed],
        echo: Callable[[bool], str],
        unended: str = STILL_RUNNING,
        *,
        program: str = "codex",
        error: Callable[[Result, str], ProviderError] = failed,
    ) -> None:
        self.model = model
        self.open: dict[str, ToolCall] = {}
        self._call_of = call_of
        self._observed = observed
        self._echo = echo
        self._unended = unended
        self._program = program
        self._error = error
        self._text = ""
        self._settled = ""
        """The part of the text that stays whatever becomes of the connection."""
        self._thinking = ""
        self._usage = NO_USAGE
        self._output: dict[str, str] = {}
        self._over: set[str] = set()
        self._quiet: set[str] = set()
        self._started: set[str] = set()
        """Calls an item tells of."""
        self._passed: set[str] = set()
        """Calls no item told of before the turn went on."""
        self._steps = 0

    @property
    def partial(self) -> str:
        """What was shown since the last step."""
        return self._text

    @property
    def lost(self) -> tuple[ToolCall, ...]:
        """Calls that should have an item by now, if their answer is over, and have none."""
        told = self._quiet | self._started
        return tuple(call for call in self.open.values() if call.id not in told)

    def take(self, event: CliEvent) -> Iterator[Delta | ChatResponse]:
        """What an event means; the last of a good turn is a `ChatResponse`.

        Raises:
            ProviderError: The turn failed.
        """
        match event:
            case MessageStart() if self._text:
                yield self._said("\n\n")
            case TextDelta(text) if text:
                yield self._said(text)
            case ThinkingDelta(text) if text:
                self._thinking += text
                yield Thinking(text)
            case Status("answered"):
                self._settled = self._text
            case ToolUse(call_id, _, item):
                if call_id not in self._over:
                    yield from self.begin(self.open.get(call_id) or self._call_of(item))
                    self._quiet.discard(call_id)
                    self._started.add(call_id)
            case ToolProgress(call_id, text) if call_id in self.open and text:
                self._output[call_id] = bounded(self._output.get(call_id, "") + text)
                yield Progress(call_id, text)
            case ToolResult(call_id, details=item) if call_id in self.open:
                yield from self.end(self._observed(self.open[call_id], item))
            case MessageStop(usage):
                self._usage += usage or NO_USAGE
                self._passed.update(call.id for call in self.lost)
                yield from self._ended_quietly()
            case Retry():
                yield from self._again(event)
            case Warning(text):
                yield Remark(f"{self._program}: {text}")
            case Result():
                yield from self._finish(event)
            case _:
                pass  # A sign of life.

    def begin(self, call: ToolCall, *, quiet: bool = False) -> Iterator[Delta]:
        """A call is about to be made; said once, whoever tells of it first.

        Args:
            call: In our words.
            quiet: No item will tell of it: it is over with the answer that asked for it.
        """
        if call.id in self.open or call.id in self._over:
            return
        self.open[call.id] = call
        if quiet:
            self._quiet.add(call.id)
        response = ChatResponse(
            self._text,
            (call,),
            self._thinking,
            self._spent(),
            "tool_calls",
            self.model,
            self._echo(False),
        )
        self._steps += 1
        self._text = self._settled = self._thinking = ""
        yield Step(response)

    def forget(self, call_id: str) -> None:
        """The next call under the id of one that is over is another one."""
        for known in (self._over, self._started, self._passed):
            known.discard(call_id)

    def end(self, outcome: Observed) -> Iterator[Delta]:
        """A call is over; said once."""
        if self.open.pop(outcome.call_id, None) is not None:
            self._over.add(outcome.call_id)
            self._quiet.discard(outcome.call_id)
            self._output.pop(outcome.call_id, None)
            yield outcome

    def _said(self, text: str) -> Text:
        self._text += text
        return Text(text)

    def _again(self, event: Retry) -> Iterator[Delta]:
        """Codex asks its server again: the answer that had begun does not count."""
        if self._text != self._settled or self._thinking:
            self._text, self._thinking = self._settled, ""
            yield Withdrawn(event.reason)
            if self._settled:
                yield Text(self._settled)
        yield Retrying(event.reason, event.delay_s)

    def _finish(self, event: Result) -> Iterator[Delta | ChatResponse]:
        yield from self._ended_quietly()
        if not event.is_error:
            self._passed.update(call.id for call in self.lost)
        for call_id in tuple(self.open):
            yield from self.end(self._without_end(call_id))
        if event.is_error:
            raise self._error(event, self._text)
        if not (self._text or self._steps):
            raise ProviderError("provider", f"{self._program} ended the turn without an answer")
        yield ChatResponse(
            self._text,
            thinking=self._thinking,
            usage=self._spent(),
            model=self.model,
            echo=self._echo(True),
        )

    def _without_end(self, call_id: str) -> Observed:
        """What is said of a call when the turn is over and it is not."""
        if call_id in self._passed and call_id not in self._started:
            return Observed(call_id, "failed", NOT_TOLD, "no end")
        said = "\n".join(filter(None, (self._output.get(call_id, "").rstrip(), self._unended)))
        return Observed(call_id, "interrupted", said, "no end")

    def _ended_quietly(self) -> Iterator[Delta]:
        for call_id in tuple(self._quiet):
            yield from self.end(Observed(call_id, "done", NO_WORD))

    def _spent(self) -> Usage:
        """Tokens since the last step: codex counts an answer only after its calls."""
        usage, self._usage = self._usage, NO_USAGE
        return usage

"""Tries a provider with one small real call and says what of it works."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, assert_never

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ErrorClass, ProviderError
from stormclaw.protocol.messages import ToolCall, UserText
from stormclaw.protocol.provider import (
    ChatRequest,
    ChatResponse,
    Observed,
    Progress,
    Provider,
    Remark,
    Retrying,
    Step,
    Text,
    Thinking,
    ToolSpec,
    Withdrawn,
)
from stormclaw.providers.models import ModelBook
from stormclaw.providers.recovery import RECOVERY

LIMIT_S: Final = 60.0
WORD: Final = "ready"
TOOL: Final = ToolSpec(
    "report_ready",
    "Tell that you can call tools.",
    {
        "type": "object",
        "properties": {"word": {"type": "string", "description": "the word ready"}},
        "required": ["word"],
    },
)
PROMPT: Final = "This tests a connection. Call the tool report_ready with the word ready."
PROMPT_ACTING: Final = "This tests a connection. Answer with the word ready, and do nothing else."
"""For a program that acts by itself: it is given no hands here."""
SCRIPTED: Final = "these answers are a script's, not a model's"

WindowFrom: TypeAlias = Literal["config", "provider", "models.json", "price list", "built in", ""]
SAID: Final[dict[WindowFrom, str]] = {
    "config": "from the configuration",
    "provider": "from the provider",
    "models.json": "from models.json",
    "price list": "from the price list",
    "built in": "from a built-in table",
    "": "",
}


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What came of the call.

    Attributes:
        ok: An answer came, whatever it was.
        model: Who answered.
        provider: Our name for who answered, where it is another than the one that was asked.
        acts: It makes its calls itself; a tool of ours was not offered.
        streamed: The answer came in pieces, or as a call.
        called: The model called the tool; without that it cannot work on files.
        called_right: And with the arguments it was told.
        thought: It showed reasoning.
        usage_reported: The server counts tokens.
        input_tokens: What was sent, as counted or estimated; `output_tokens` likewise.
        cost_usd: What the call cost, None if nobody knows.
        cost_estimated: That was worked out by us.
        context_window: What the model takes, in tokens; 0 if unknown.
        window_from: Who says so.
        first_s: Seconds to the first sign of an answer.
        total_s: Seconds to its end.
        retries: How often it had to be tried again.
        remarks: What was said on the way: a fallback that was taken, a field that was left out.
        error: Class of the error, "" for none.
        message: The error in words.
        hint: The next step.
    """

    ok: bool
    model: str = ""
    provider: str = ""
    acts: bool = False
    streamed: bool = False
    called: bool = False
    called_right: bool = False
    thought: bool = False
    usage_reported: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    cost_estimated: bool = False
    context_window: int = 0
    window_from: WindowFrom = ""
    first_s: float = 0.0
    total_s: float = 0.0
    retries: int = 0
    remarks: tuple[str, ...] = ()
    error: ErrorClass | str = ""
    message: str = ""
    hint: str = ""

    def lines(self) -> tuple[str, ...]:
        """The report in words, a line each."""
        if not self.ok:
            failed = f"{self.error}: {self.message}"
            # An error that lists who did not answer says what was remarked on the way.
            said = failed.casefold()
            news = (one for one in self.remarks if one.partition("; ")[0].casefold() not in said)
            return tuple(filter(None, (failed, *news, self.hint)))
        times = f"first sign after {self.first_s:.1f}s, {self.total_s:.1f}s in all"
        via = f" through {self.provider}" if self.provider else ""
        again = "" if not self.retries else f", tried {self.retries + 1} times"
        return (
            f"answer      {self.model}{via}, {times}{again}",
            f"streaming   {'works' if self.streamed else 'the answer came in one piece'}",
            f"tools       {self._tools()}",
            f"reasoning   {'shown' if self.thought else 'not shown'}",
            f"tokens      {self._tokens()}",
            f"cost        {self._cost()}",
            f"window      {self._window()}",
            *(f"remark      {remark}" for remark in self.remarks),
        )

    def _tools(self) -> str:
        if self.acts:
            return "its own; each call is put through the gate before it is made"
        if not self.called:
            return "the model did not call the tool it was told to call"
        return "works" if self.called_right else "called, but not with the arguments it was told"

    def _tokens(self) -> str:
        about = "" if self.usage_reported else "~"
        counted = "reported by the server" if self.usage_reported else "estimated"
        return f"{about}{self.input_tokens:,} in, {about}{self.output_tokens:,} out, {counted}"

    def _cost(self) -> str:
        if self.cost_usd is None:
            return "unknown: not reported, and no price is known"
        if not self.cost_usd:
            return "nothing to pay"
        amount = f"${self.cost_usd:.6f}".rstrip("0")
        if self.cost_estimated:
            return f"~{amount}, estimated"
        return f"{amount}, reported by the provider"

    def _window(self) -> str:
        if not self.context_window:
            return "unknown; context_window in the configuration says it"
        return f"{self.context_window:,} tokens, {SAID[self.window_from]}"


async def try_provider(
    provider: Provider,
    limit_s: float = LIMIT_S,
    *,
    settings: ModelSettings | None = None,
    book: ModelBook | None = None,
) -> CheckReport:
    """Ask the provider's default model to call one tool. Costs a few tokens; never raises.

    Args:
        provider: Connected; stays open.
        limit_s: Seconds until it is given up.
        settings: How it is configured, to tell who says how large its window is.
        book: The registry, to tell what it cost; loaded if it is not yet. None for none.
    """
    heard = _Heard(provider, settings, book)
    try:
        async with asyncio.timeout(limit_s):
            if book is not None:
                await book.load()
            await heard.listen()
    except ProviderError as error:
        hint = error.hint or RECOVERY[error.kind].hint
        return replace(heard.report, ok=False, error=error.kind, message=str(error), hint=hint)
    except TimeoutError:
        message, hint = f"no answer within {limit_s:g}s", RECOVERY["timeout"].hint
        return replace(heard.report, ok=False, error="timeout", message=message, hint=hint)
    return heard.report


class _Heard:
    """What has come of the call so far."""

    def __init__(
        self, provider: Provider, settings: ModelSettings | None, book: ModelBook | None
    ) -> None:
        self._provider, self._settings, self._book = provider, settings, book
        self._pieces = 0
        self._began = time.monotonic()
        can = provider.capabilities()
        remarks = (SCRIPTED,) if can.scripted else ()
        self.report = CheckReport(False, acts=can.acts, remarks=remarks)

    def _request(self) -> ChatRequest:
        model = self._provider.model
        if self.report.acts:
            return ChatRequest("", (UserText(PROMPT_ACTING),), (), model)
        return ChatRequest("", (UserText(PROMPT),), (TOOL,), model)

    async def listen(self) -> None:
        """Make the call.

        Raises:
            ProviderError: No usable answer.
        """
        self._began = time.monotonic()
        stream = self._provider.stream(self._request())
        async with aclosing(stream) as items:  # type: ignore[type-var]
            async for item in items:
                report = self.report
                match item:
                    case Retrying():
                        self.report = replace(report, retries=report.retries + 1)
                    case Remark(text):
                        self.report = replace(report, remarks=(*report.remarks, text))
                    case Withdrawn():
                        self._pieces, self.report = 0, replace(report, thought=False)
                    case Text() | Thinking() | Step() | Progress() | Observed():
                        self._sign(thought=isinstance(item, Thinking))
                    case ChatResponse():
                        self._sign(thought=bool(item.thinking))
                        self._ended(item)
                        return
                    case _:
                        assert_never(item)
        raise ProviderError("protocol", f"{self._provider.name} ended its stream without an answer")

    def _sign(self, *, thought: bool) -> None:
        now = time.monotonic() - self._began
        self._pieces += 1
        self.report = replace(
            self.report,
            first_s=self.report.first_s or now,
            thought=self.report.thought or thought,
        )

    def _ended(self, answer: ChatResponse) -> None:
        provider = self._provider
        name = answer.provider or provider.name
        model = answer.model or provider.model
        usage = answer.usage
        if self._book is not None:
            usage = self._book.priced(name, model, usage)
        window, said = self._window(name, model)
        calls = [call for call in answer.tool_calls if call.name == TOOL.name]
        self.report = replace(
            self.report,
            ok=True,
            model=model,
            provider="" if name == provider.name else name,
            streamed=self._pieces > 2 or bool(answer.tool_calls),
            called=bool(calls),
            called_right=any(map(_as_told, calls)),
            usage_reported=usage.reported,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=usage.cost_usd,
            cost_estimated=usage.cost_estimated,
            context_window=window,
            window_from=said,
            total_s=time.monotonic() - self._began,
        )

    def _window(self, name: str, model: str) -> tuple[int, WindowFrom]:
        """What the model takes, and who says so."""
        window = self._provider.capabilities().context_window
        card = self._book.card(name, model) if self._book is not None else None
        if window and self._settings is not None and self._settings.context_window == window:
            return window, "config"
        if card is not None and card.context_window and window in (0, card.context_window):
            return card.context_window, card.window_from
        return window, "provider" if window else ""


def _as_told(call: ToolCall) -> bool:
    """Whether the arguments say the word they should."""
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return False
    word = arguments.get("word") if isinstance(arguments, dict) else None
    return isinstance(word, str) and word.strip().strip("'\".").lower() == WORD

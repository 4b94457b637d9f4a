"""Tries a provider with one small real call and says what of it works."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import Final

from stormclaw.errors import ErrorClass, ProviderError
from stormclaw.protocol.messages import UserText
from stormclaw.protocol.provider import (
    ChatRequest,
    ChatResponse,
    Provider,
    Retrying,
    Text,
    Thinking,
    ToolSpec,
)

LIMIT_S: Final = 60.0
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


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What came of the call.

    Attributes:
        ok: An answer came, whatever it was.
        model: Who answered.
        streamed: The answer came in pieces, or as a call.
        called: The model called the tool; without that it cannot work on files.
        usage_reported: The server counts tokens.
        cost_usd: What the call cost, None if it was not said.
        first_s: Seconds to the first sign of an answer.
        total_s: Seconds to its end.
        retries: How often it had to be tried again.
        error: Class of the error, "" for none.
        message: The error in words.
        hint: The next step.
    """

    ok: bool
    model: str = ""
    streamed: bool = False
    called: bool = False
    usage_reported: bool = False
    cost_usd: float | None = None
    first_s: float = 0.0
    total_s: float = 0.0
    retries: int = 0
    error: ErrorClass | str = ""
    message: str = ""
    hint: str = ""

    def lines(self) -> tuple[str, ...]:
        """The report in words, a line each."""
        if not self.ok:
            return tuple(filter(None, (f"{self.error}: {self.message}", self.hint)))
        counted = "reported by the server" if self.usage_reported else "estimated"
        times = f"first sign after {self.first_s:.1f}s, {self.total_s:.1f}s in all"
        tools = "works" if self.called else "the model did not call the tool it was told to call"
        return (
            f"answer      {self.model}, {times}",
            f"streaming   {'works' if self.streamed else 'the answer came in one piece'}",
            f"tools       {tools}",
            f"tokens      {counted}",
        )


async def try_provider(provider: Provider, limit_s: float = LIMIT_S) -> CheckReport:
    """Ask the provider's default model to call one tool. Costs a few tokens; never raises.

    Args:
        provider: Connected; stays open.
        limit_s: Seconds until it is given up.
    """
    request = ChatRequest("", (UserText(PROMPT),), (TOOL,), provider.model)
    try:
        async with asyncio.timeout(limit_s):
            return await _listen(provider, request)
    except ProviderError as error:
        return CheckReport(False, error=error.kind, message=str(error), hint=error.hint)
    except TimeoutError:
        return CheckReport(False, error="timeout", message=f"no answer within {limit_s:g}s")


async def _listen(provider: Provider, request: ChatRequest) -> CheckReport:
    began = time.monotonic()
    report = CheckReport(False)
    pieces = 0
    first: float | None = None
    async for item in provider.stream(request):
        now = time.monotonic() - began
        if isinstance(item, Retrying):
            report = replace(report, retries=report.retries + 1)
            continue
        first = now if first is None else first
        if isinstance(item, Text | Thinking):
            pieces += 1
        elif isinstance(item, ChatResponse):
            report = replace(
                report,
                ok=True,
                model=item.model,
                streamed=pieces > 1 or bool(item.tool_calls),
                called=any(call.name == TOOL.name for call in item.tool_calls),
                usage_reported=item.usage.reported,
                cost_usd=item.usage.cost_usd,
                total_s=now,
            )
    return replace(report, first_s=first or 0.0)

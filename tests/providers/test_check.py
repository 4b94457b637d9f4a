"""`provider test`: what of a provider works, as one small call shows it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from byte_server import ByteServer, answer, serving, stream

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.protocol.messages import ToolCall, Usage
from stormclaw.protocol.provider import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    Delta,
    Provider,
    Remark,
    Retrying,
    Step,
    Text,
    Thinking,
    Withdrawn,
)
from stormclaw.providers import registry
from stormclaw.providers._models.prices import Listed, Priced, Vendor
from stormclaw.providers.check import CheckReport, try_provider
from stormclaw.providers.models import ModelBook, Prices, Rate

DAY = datetime(2026, 11, 22, tzinfo=UTC)
WORK = ModelSettings("openai-compatible", model="m", base_url="https://api.sold.example/v1")


def a_book(home: Path, **models: ModelSettings) -> ModelBook:
    """One vendor with one model, at $1 and $2 per million tokens."""
    price = Priced(Prices(Rate(1.0), Rate(2.0)))
    vendor = Vendor("sold", r"https://api\.sold\.example", (Listed("m", None, 64_000, (price,)),))
    return ModelBook(models, home, clock=lambda: DAY, prices=lambda: {"sold": vendor})


@pytest.fixture
async def server() -> AsyncIterator[ByteServer]:
    async with serving() as running:
        yield running


class Said(Provider):
    """Streams what a test gives it."""

    def __init__(
        self, *items: Delta | ChatResponse | ProviderError, name: str = "work", **can: Any
    ) -> None:
        self.name, self.model = name, "m"
        self._items, self._can = items, Capabilities(**can)
        self.requests: list[ChatRequest] = []

    def capabilities(self) -> Capabilities:
        return self._can

    async def stream(self, request: ChatRequest) -> AsyncIterator[Delta | ChatResponse]:
        self.requests.append(request)
        for item in self._items:
            if isinstance(item, ProviderError):
                raise item
            yield item


def calling(arguments: str, **more: Any) -> ChatResponse:
    fields: dict[str, Any] = {"usage": Usage(100, 10), "model": "m", **more}
    return ChatResponse("", (ToolCall("c", "report_ready", arguments),), **fields)


RIGHT = json.dumps({"word": "Ready."})


async def test_everything_that_works_is_told(tmp_path: Path) -> None:
    provider = Said(Thinking("hm"), Text("so"), calling(RIGHT), context_window=64_000)
    report = await try_provider(provider, settings=WORK, book=a_book(tmp_path, work=WORK))
    assert report.ok
    assert (report.streamed, report.called, report.called_right, report.thought) == (True,) * 4
    assert report.lines()[1:] == (
        "streaming   works",
        "tools       works",
        "reasoning   shown",
        "tokens      100 in, 10 out, reported by the server",
        "cost        ~$0.00012, estimated",
        "window      64,000 tokens, from the price list",
    )


@pytest.mark.parametrize(
    ("response", "line"),
    [
        (ChatResponse("ready", model="m"), "the model did not call the tool it was told to call"),
        (calling("{}"), "called, but not with the arguments it was told"),
        (calling("not json"), "called, but not with the arguments it was told"),
        (calling('{"word": 7}'), "called, but not with the arguments it was told"),
        (calling("[]"), "called, but not with the arguments it was told"),
        (calling(RIGHT), "works"),
    ],
)
async def test_tools_called_and_arguments_right(response: ChatResponse, line: str) -> None:
    report = await try_provider(Said(response))
    assert report.lines()[2] == f"tools       {line}"


@pytest.mark.parametrize(
    ("usage", "tokens", "cost"),
    [
        (Usage(1, 1, cost_usd=0.5), "1 in, 1 out, reported by the server",
         "$0.5, reported by the provider"),
        (Usage(1, 1, reported=False), "~1 in, ~1 out, estimated", "~$0.000003, estimated"),
        (Usage(1, 1, cost_usd=0.0, reported=False), "~1 in, ~1 out, estimated", "nothing to pay"),
    ],
)  # fmt: skip
async def test_reported_and_estimated(tmp_path: Path, usage: Usage, tokens: str, cost: str) -> None:
    provider = Said(calling(RIGHT, usage=usage))
    report = await try_provider(provider, book=a_book(tmp_path, work=WORK))
    assert report.lines()[4:6] == (f"tokens      {tokens}", f"cost        {cost}")


async def test_a_cost_nobody_knows(tmp_path: Path) -> None:
    report = await try_provider(Said(calling(RIGHT), name="other"), book=a_book(tmp_path))
    assert report.cost_usd is None
    assert report.lines()[5].startswith("cost        unknown")
    assert report.lines()[6].startswith("window      unknown")


@pytest.mark.parametrize(
    ("configured", "told", "window", "source"),
    [
        (9_000, 9_000, 9_000, "config"),
        (0, 32_000, 32_000, "provider"),
        (0, 0, 64_000, "price list"),
    ],
)
async def test_who_says_how_large_the_window_is(
    tmp_path: Path, configured: int, told: int, window: int, source: str
) -> None:
    settings = ModelSettings(WORK.kind, "m", WORK.base_url, context_window=configured)
    provider = Said(calling(RIGHT), context_window=told)
    book = a_book(tmp_path, work=settings)
    report = await try_provider(provider, settings=settings, book=book)
    assert (report.context_window, report.window_from) == (window, source)


async def test_a_program_that_acts_by_itself_is_given_no_hands() -> None:
    step = Step(ChatResponse("on it"))
    provider = Said(step, Text("ready"), ChatResponse("ready", model="opus"), acts=True)
    report = await try_provider(provider)
    (request,) = provider.requests
    assert (request.tools, request.hands) == ((), None)
    assert report.ok
    assert "its own; each call is put through the gate" in report.lines()[2]


async def test_a_composite_tells_who_answered_and_what_happened_on_the_way(tmp_path: Path) -> None:
    provider = Said(
        Retrying("busy", 0.1),
        Remark("first failed (rate_limit); now work"),
        Thinking("no"),
        Withdrawn("broken off"),
        calling(RIGHT, provider="work"),
        name="both",
    )
    report = await try_provider(provider, book=a_book(tmp_path, work=WORK))
    assert (report.provider, report.retries, report.thought) == ("work", 1, False)
    assert report.cost_usd == pytest.approx(0.00012)
    assert "m through work" in report.lines()[0]
    assert "tried 2 times" in report.lines()[0]
    assert report.lines()[-1] == "remark      first failed (rate_limit); now work"


async def test_a_failure_has_class_message_and_next_step() -> None:
    own = ProviderError("payment", "no credit", hint="add some at example.com")
    assert (await try_provider(Said(own))).lines() == (
        "payment: no credit",
        "add some at example.com",
    )
    plain = await try_provider(Said(Text("x"), ProviderError("rate_limit", "slow down")))
    assert (plain.ok, plain.error) == (False, "rate_limit")
    assert plain.hint
    silent = await try_provider(Said())
    assert (silent.ok, silent.error) == (False, "protocol")


async def test_against_a_server(server: ByteServer) -> None:
    arguments = '{"word": "ready"}'
    call = {"index": 0, "id": "c", "function": {"name": "report_ready", "arguments": arguments}}
    chunk = {"model": "m", "choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "stop"}]}
    server.will(stream(chunk, {"choices": [], "usage": {"prompt_tokens": 5}}))
    server.will(answer({"error": {"message": "bad key"}}, 401))
    provider = registry.connect("mine", ModelSettings(WORK.kind, "m", server.url))
    try:
        works = await try_provider(provider)
        refused = await try_provider(provider)
    finally:
        await provider.close()
    assert (works.called_right, works.usage_reported, works.input_tokens) == (True, True, 5)
    assert (refused.ok, refused.error) == (False, "auth")
    assert isinstance(refused, CheckReport)
    assert len(refused.lines()) == 2


def test_a_failure_does_not_say_twice_who_did_not_answer() -> None:
    remarks = ("first refused the key (no); second answers instead", "a field was left out")
    message = "nobody answers: first refused the key (no), again in 60 min; second has trouble"
    report = CheckReport(False, remarks=remarks, error="server", message=message, hint="wait")
    assert report.lines() == (f"server: {message}", "a field was left out", "wait")

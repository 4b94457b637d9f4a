"""Which of several providers answers, by what the request is for."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from types import MappingProxyType

import pytest
from byte_server import HELLO, ByteServer, answer, serving, stream

from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.messages import UserText
from stormclaw.protocol.provider import ChatRequest, ChatResponse, Provider, Remark
from stormclaw.providers._fallback.cooldowns import Cooldowns
from stormclaw.providers._fallback.failover import Part
from stormclaw.providers.mock import Mock
from stormclaw.providers.registry import compose, connect


@pytest.fixture
async def server() -> AsyncIterator[ByteServer]:
    async with serving() as running:
        yield running


def router(**routes: str) -> Provider:
    """A router to mocks that are called like their target."""
    targets = dict.fromkeys(routes.values())
    parts = [Part(target, Mock(target, f"{target}-model", None)) for target in targets]
    settings = ModelSettings("router", routes=MappingProxyType(routes))
    return compose("split", settings, parts, Cooldowns())


def request(model: str = "", **metadata: str) -> ChatRequest:
    return ChatRequest("", (UserText("hi"),), (), model, metadata=metadata)


@pytest.mark.parametrize(
    ("routes", "metadata", "name"),
    [
        ({"work": "big", "title": "small"}, {"agent": "root"}, "big"),
        ({"work": "big", "title": "small"}, {"purpose": "title"}, "small"),
        ({"work": "big", "subagent": "small"}, {"agent": "root/scout-1"}, "small"),
        (
            {"work": "big", "subagent": "small", "compaction": "tiny"},
            {"agent": "root/scout-1", "purpose": "compaction"},
            "tiny",
        ),
        ({"work": "big", "default": "small"}, {"purpose": "plan"}, "small"),
        ({"title": "small", "work": "big"}, {"purpose": "plan"}, "big"),
        ({"title": "small", "compaction": "tiny"}, {"agent": "root"}, "small"),
        ({"title": "small", "default": "big"}, {}, "big"),
    ],
)
async def test_the_purpose_decides(
    routes: dict[str, str], metadata: dict[str, str], name: str
) -> None:
    response = await router(**routes).chat(request(**metadata))
    assert (response.provider, response.model) == (name, f"{name}-model")


async def test_it_is_what_the_one_is_that_does_the_work() -> None:
    made = router(title="small", work="big")
    assert made.model == "big-model"
    assert made.capabilities().scripted
    response = await made.chat(request("big-model", purpose="title"))
    assert response.model == "small-model"


async def test_another_model_that_is_asked_for_is_passed_on() -> None:
    response = await router(work="big").chat(request("quite-other"))
    assert response.model == "quite-other"


async def test_who_was_chosen_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "stormclaw"):
        await router(work="big", title="small").chat(request(purpose="title"))
    (record,) = [one for one in caplog.records if one.getMessage() == "provider_selected"]
    assert record.__dict__["fields"] == {
        "provider": "small",
        "model": "small-model",
        "purpose": "title",
        "router": "split",
    }


async def test_a_route_may_lead_to_one_made_of_others(server: ByteServer) -> None:
    server.will(answer({"error": {"message": "down"}}, 500), stream(*HELLO))
    plain = ModelSettings("openai-compatible", model="m", base_url=server.url, max_retries=0)
    parts = [Part("one", connect("one", plain)), Part("two", connect("two", plain))]
    steady = compose("steady", ModelSettings("reliable"), parts, Cooldowns())
    routes = MappingProxyType({"work": "steady"})
    made = compose(
        "split", ModelSettings("router", routes=routes), [Part("steady", steady)], Cooldowns()
    )
    items = [item async for item in made.stream(request())]
    await made.close()
    assert [item.text for item in items if isinstance(item, Remark)] == [
        "one has trouble (down); two answers instead"
    ]
    last = items[-1]
    assert isinstance(last, ChatResponse)
    assert last.provider == "two"

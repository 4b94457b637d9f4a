"""Reasoning inside the answer: told apart however it is cut, and only where it is reasoning."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from byte_server import ByteServer, delta, fragment, serving, stream
from hypothesis import given
from hypothesis import strategies as st

from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.messages import UserText
from stormclaw.protocol.provider import ChatRequest, ChatResponse, Text, Thinking, Withdrawn
from stormclaw.providers._openai.think_tags import ThinkTags
from stormclaw.providers.openai_compatible import OpenAICompatible

ASK = ChatRequest("", (UserText("hello"),), (), "a-model")
STOP = delta(finish="stop")


def split(pieces: list[str]) -> tuple[str, str]:
    """(reasoning, answer) of a whole stream."""
    tags = ThinkTags()
    thought = answer = ""
    for inside, outside in (*map(tags.take, pieces), tags.close()):
        thought += inside
        answer += outside
    return thought, answer


CASES = [
    ("<think>plan</think>Hello", "plan", "Hello"),
    ("\n<think>\nplan a\n\nplan b\n</think>\n\nHello\n", "plan a\n\nplan b", "Hello\n"),
    ("<thinking>plan</thinking> Hello", "plan", "Hello"),
    ("[THINK]plan[/THINK]Hello", "plan", "Hello"),
    ("<think></think>Hello", "", "Hello"),
    ("<think>a < b </ think> c</think>d", "a < b </ think> c", "d"),
    ("<think>one</think>two<think>three</think>", "one", "two<think>three</think>"),
    ("Hello", "", "Hello"),
    ("  Hello", "", "  Hello"),
    ("<thin air", "", "<thin air"),
    ("<html></html>", "", "<html></html>"),
    ("Hello <think>x</think>", "", "Hello <think>x</think>"),
    ("`<think>` opens it", "", "`<think>` opens it"),
    ("```xml\n<think>x</think>\n```", "", "```xml\n<think>x</think>\n```"),
    ("    <think", "", "    <think"),
    ("</think>Hello", "", "</think>Hello"),
    ("", "", ""),
]


@pytest.mark.parametrize(("text", "thought", "answer"), CASES)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1_000])
def test_it_is_told_apart_however_it_is_cut(
    text: str, thought: str, answer: str, size: int
) -> None:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert split(pieces) == (thought, answer)


@given(st.lists(st.text(alphabet="<>/think \nab", max_size=6), max_size=12))
def test_how_it_is_cut_makes_no_difference(pieces: list[str]) -> None:
    assert split(pieces) == split(["".join(pieces)])


@given(st.text(max_size=50))
def test_without_a_tag_nothing_is_lost(text: str) -> None:
    if not text.lstrip().startswith(("<", "[")):
        assert split(list(text)) == ("", text)


@pytest.fixture
async def server() -> AsyncIterator[ByteServer]:
    async with serving() as running:
        yield running


async def listen(server: ByteServer, *chunks: Any) -> list[Any]:
    server.will(stream(*chunks))
    settings = ModelSettings("openai-compatible", base_url=server.url, max_retries=0)
    provider = OpenAICompatible("here", settings, None)
    try:
        return [item async for item in provider.stream(ASK)]
    finally:
        await provider.close()


async def test_it_streams_piece_by_piece(server: ByteServer) -> None:
    pieces = ("<thi", "nk>pl", "an</", "think>", "\nHel", "lo")
    *items, response = await listen(server, *map(delta, pieces), STOP)
    assert items == [Thinking("pl"), Thinking("an"), Text("Hel"), Text("lo")]
    assert isinstance(response, ChatResponse)
    assert (response.final_text, response.thinking) == ("Hello", "plan")


async def test_before_a_call_too(server: ByteServer) -> None:
    call = fragment("read_file", "{}", index=0, id="c1")
    *_, response = await listen(server, delta("<think>plan</think>\n"), call, STOP)
    assert (response.final_text, response.thinking) == ("", "plan")
    assert len(response.tool_calls) == 1


async def test_who_shows_reasoning_apart_keeps_its_tags(server: ByteServer) -> None:
    *_, response = await listen(
        server, delta(reasoning_content="plan"), delta("<think> is a tag"), STOP
    )
    assert (response.final_text, response.thinking) == ("<think> is a tag", "plan")


async def test_a_tag_that_is_never_closed_was_none(server: ByteServer) -> None:
    items = await listen(server, delta("<think> is a "), delta("tag of some models"), STOP)
    withdrawn = next(item for item in items if isinstance(item, Withdrawn))
    assert items[items.index(withdrawn) + 1] == Text("<think>is a tag of some models")
    assert items[-1].final_text == "<think>is a tag of some models"
    assert items[-1].thinking == ""


async def test_thinking_cut_off_by_the_limit_stays_thinking(server: ByteServer) -> None:
    *_, response = await listen(server, delta("<think>long"), delta(finish="length"))
    assert (response.final_text, response.thinking) == ("", "long")
    assert response.finish == "length"


async def test_the_beginning_of_a_tag_at_the_end_is_text(server: ByteServer) -> None:
    *_, response = await listen(server, delta("<thi"), STOP)
    assert response.final_text == "<thi"

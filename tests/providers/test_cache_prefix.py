"""The whole program against a model server: what it said before, it says again byte for byte."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from byte_server import ByteServer, Reply, delta, fragment, serving, stream
from scripted import Desk, Ear

STOP = delta(finish="stop")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def calling(number: int, name: str = "read_file", arguments: str = '{"path": "a.txt"}') -> Reply:
    made = fragment(name, arguments, index=0, id=f"call-{number}")
    return stream(delta("Reading."), made, delta(finish="tool_calls"))


def connected(desk: Desk, server: ByteServer) -> None:
    desk.configure(
        {
            "default_provider": "there",
            "providers": {
                "models": {
                    "there": {
                        "kind": "openai-compatible",
                        "model": "anthropic/claude-sonnet-4.5",
                        "base_url": server.url,
                    }
                }
            },
        }
    )


def head(content: bytes) -> bytes:
    """A body up to the end of its last message."""
    return content[: content.index(b'],"tools":')]


def tools(content: bytes) -> bytes:
    """The list of tools in a body."""
    return content[content.index(b'"tools":') : content.index(b',"stream":')]


async def test_each_request_begins_with_the_one_before(desk: Desk) -> None:
    desk.write("a.txt", "A\n" * 50)
    async with serving() as server:
        connected(desk, server)
        rounds = [calling(number) for number in range(4)]
        server.will(*rounds, stream(delta("Done."), STOP), stream(delta("Again."), STOP))
        runtime = await desk.open()
        try:
            for words in ("look", "and now"):
                ear = Ear(runtime.session)
                runtime.session.prompt(words)
                assert (await ear.end()).reason == "done"
        finally:
            await runtime.close()
        bodies = [request.content for request in server.requests if request.path.endswith("ions")]
    assert len(bodies) == 6
    for before, after in pairwise(bodies):
        assert after.startswith(head(before))
        assert tools(after) == tools(before)
        assert b"cache_control" not in after  # An address nobody knows gets no markers.


async def test_a_note_changes_the_beginning_and_nothing_else(desk: Desk) -> None:
    """What moves the prefix: the notes and instructions stand in the system prompt."""
    note = '{"note": "the port is 8080"}'
    desk.configure({"security": {"autonomy": "full"}})
    async with serving() as server:
        connected(desk, server)
        server.will(calling(1, "memory_write", note), stream(delta("Noted."), STOP))
        runtime = await desk.open()
        try:
            ear = Ear(runtime.session)
            runtime.session.prompt("remember the port")
            assert (await ear.end()).reason == "done"
        finally:
            await runtime.close()
        first, second = [r.body for r in server.requests if r.path.endswith("ions")]
    assert "the port is 8080" not in first["messages"][0]["content"]
    assert "the port is 8080" in second["messages"][0]["content"]
    assert second["messages"][1:2] == first["messages"][1:]
    assert second["tools"] == first["tools"]
    ending = "# Surroundings"
    common = first["messages"][0]["content"].split(ending)[0]
    assert second["messages"][0]["content"].startswith(common)

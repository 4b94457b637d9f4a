"""Long sessions, written by the real store, node by node."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Sequence

from benchmarks.programs import Place
from benchmarks.script import answer_tokens
from benchmarks.server import MODEL
from stormclaw.protocol.messages import ROOT, AssistantTurn, Body, Node, Usage, UserText
from stormclaw.store import sessions, transcripts
from stormclaw.store.codec import node_to_line
from stormclaw.store.memory import Memory

ANSWER_TOKENS = 300


def make_session(place: Place, exchanges: int, last_word: str) -> str:
    """Write a session of questions and answers of 300 tokens; returns its id.

    Args:
        place: Where it is to be found.
        exchanges: How many questions and answers.
        last_word: Of the last answer, to wait for on the screen.
    """
    return asyncio.run(_write(place, exchanges, last_word))


def keep(place: Place, nodes: Sequence[Node]) -> str:
    """Write a session of these nodes at once, as the store would have; returns its id."""
    info = sessions.titled(sessions.create(place.home, place.workspace, MODEL, "bench"), "years")
    sessions.save(place.home, info)
    folder = sessions.folder(place.home, info.id)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / transcripts.FILE_NAME).write_bytes(b"".join(map(node_to_line, nodes)))
    memory = Memory(place.home / "memory.sqlite")
    memory.index_all(info, nodes)
    memory.close()
    return info.id


async def _write(place: Place, exchanges: int, last_word: str) -> str:
    info = sessions.create(place.home, place.workspace, MODEL, "bench")
    info = sessions.titled(info, "a long session")
    sessions.save(place.home, info)
    transcript = transcripts.Transcript(sessions.folder(place.home, info.id))
    nodes: list[Node] = []
    for number in range(exchanges):
        word = last_word if number == exchanges - 1 else f"answer{number}"
        for body in (_question(number), _answer(word)):
            parent = nodes[-1].id if nodes else None
            node = Node(secrets.token_hex(6), parent, ROOT, time.time(), body)
            await transcript.append(node)
            nodes.append(node)
    transcript.close()
    memory = Memory(place.home / "memory.sqlite")
    memory.index_all(info, nodes)
    memory.close()
    return info.id


def _question(number: int) -> Body:
    return UserText(f"Question {number}: what became of the part that was asked about?")


def _answer(word: str) -> Body:
    text = "".join(answer_tokens(ANSWER_TOKENS, word))
    usage = Usage(1000, ANSWER_TOKENS, 0, None)
    return AssistantTurn(text, model=MODEL, provider="bench", usage=usage)

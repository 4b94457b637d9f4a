"""A hundred turns of coding stay small on the wire, and the third is not forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest
from wire_rules import check

from benchmarks.hundred import NOTED, TURNS, UNNOTED, script
from benchmarks.long_talk import Lived, live
from stormclaw.agent.context.graph import branch
from stormclaw.agent.context.window import window
from stormclaw.agent.context.working import kept, notes
from stormclaw.protocol.messages import AssistantTurn, ContextEdit, outcome_of
from stormclaw.store import sessions, transcripts

MOST = 50_000
"""Tokens of a request."""
RAW = 400_000
"""Tokens of the whole conversation, at least."""


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lived, Path]:
    import asyncio

    folder = tmp_path_factory.mktemp("hundred")
    return asyncio.run(live(folder, script())), folder


def test_it_is_a_long_conversation_lived_to_its_end(lived: tuple[Lived, Path]) -> None:
    talk, _ = lived
    assert talk.reasons == ["done"] * TURNS
    assert talk.raw >= RAW
    assert len(talk.requests) > 2 * TURNS


def test_every_request_stays_below_fifty_thousand_tokens(lived: tuple[Lived, Path]) -> None:
    talk, _ = lived
    assert max(talk.requests) < MOST


def test_what_was_noted_and_what_was_not_can_both_be_told(lived: tuple[Lived, Path]) -> None:
    """The model asks for what turn 3 noted, and for what stood in an output of turn 3."""
    talk, _ = lived
    *_, noted, found, last = talk.nodes
    note, output, answer = outcome_of(noted.body), outcome_of(found.body), last.body
    assert note is not None
    assert NOTED in note.output
    assert output is not None
    assert UNNOTED in output.output
    assert isinstance(answer, AssistantTurn)
    assert UNNOTED in answer.text
    assert NOTED in "".join(notes(talk.nodes).values())
    assert any(UNNOTED in each.text for each in kept(talk.nodes, "kestrel baseline"))


def test_it_was_not_on_the_wire_any_more(lived: tuple[Lived, Path]) -> None:
    talk, _ = lived
    before = talk.nodes[:-3]
    assert UNNOTED not in "".join(map(str, window(before)))


def test_the_beginning_of_a_request_moves_seldom(lived: tuple[Lived, Path]) -> None:
    talk, _ = lived
    edits = [node.body for node in talk.nodes if isinstance(node.body, ContextEdit)]
    assert {edit.by for edit in edits} >= {"superseded_reads", "old_results", "delegations"}
    assert talk.moved <= len(edits)
    assert talk.moved < len(talk.requests) / 6
    assert talk.cacheable > 0.8


def test_read_from_the_disk_it_is_the_same(lived: tuple[Lived, Path]) -> None:
    talk, folder = lived
    home = folder / "home" / ".stormclaw"
    (info,) = sessions.list_sessions(home)
    stored = transcripts.read(sessions.folder(home, info.id))
    own = [node for node in stored.nodes if node.agent == "root"]
    assert branch(own) == talk.nodes
    check(window(branch(own)))
    assert window(branch(own)) == window(talk.nodes)

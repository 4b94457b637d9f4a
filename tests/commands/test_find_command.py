"""`/find WORDS` where there are no screens: the lines, and the node each stands in."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from stormclaw.commands.find import COMMAND, MOST
from stormclaw.protocol.command import Answer
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    NO_USAGE,
    ROOT,
    AssistantTurn,
    Body,
    Delegation,
    Moved,
    Node,
    Note,
    Summary,
    ToolOutcome,
    UserText,
)


def an_outcome(output: str) -> ToolOutcome:
    return ToolOutcome("c1", "read_file", "done", output, Headline("read", "src/kelp.py", "path"))


TALK: tuple[Body, ...] = (
    UserText("where is the Kelp?"),
    AssistantTurn("no **kelp** here\nnothing", thinking="kelp, kelp"),
    an_outcome("1 sand\n2 KELP forest"),
    Delegation(an_outcome("none"), f"{ROOT}/scout", "look", "done", NO_USAGE),
    Note("failed", "stopped", "kelp was kept"),
    Summary("all about kelp", ("n1",)),
    Moved("rewind", "kelp"),
)


async def find(words: str, bodies: tuple[Body, ...] = TALK) -> Answer:
    nodes = tuple(Node(f"n{at}", None, ROOT, float(at), body) for at, body in enumerate(bodies))
    runtime = SimpleNamespace(session=SimpleNamespace(nodes=lambda: nodes))
    return await COMMAND.run(cast(Any, runtime), words)


async def test_every_line_with_the_words_and_its_node() -> None:
    answer = await find("kelp")
    assert answer.table is not None
    assert answer.table.columns == ("node", "who", "line")
    assert answer.table.rows == (
        ("n0", "you", "where is the Kelp?"),
        ("n1", "thought", "kelp, kelp"),
        ("n1", "answer", "no **kelp** here"),
        ("n2", "read_file", "read src/kelp.py"),
        ("n2", "read_file", "2 KELP forest"),
        ("n3", "read_file", "read src/kelp.py"),
        ("n4", "note", "kelp was kept"),
        ("n5", "summary", "all about kelp"),
    )
    assert (answer.screen, answer.ok) == ("find", True)


@pytest.mark.parametrize(("words", "ids"), [("Kelp", ["n0"]), ("KELP f", ["n2"])])
async def test_a_capital_counts(words: str, ids: list[str]) -> None:
    answer = await find(words)
    assert answer.table is not None
    assert [row[0] for row in answer.table.rows] == ids


async def test_what_is_nowhere_is_said() -> None:
    answer = await find("zebra")
    assert (answer.text, answer.ok) == ("'zebra' is nowhere in this conversation", False)
    assert answer.table is None


async def test_no_words_ask_for_words() -> None:
    assert (await find("")).text == "find what? /find WORDS"


async def test_very_many_lines_are_counted_and_long_ones_cut() -> None:
    many = "\n".join(["x" * 400 + "kelp" + "y" * 400] * (MOST + 7))
    answer = await find("kelp", (UserText(many),))
    assert answer.table is not None
    assert len(answer.table.rows) == MOST
    assert answer.text == f"the first {MOST} lines, 7 more"
    line = answer.table.rows[0][2]
    assert line.startswith("…xxx")
    assert "kelp" in line
    assert len(line) < 200


async def test_foreign_text_is_shown_harmless() -> None:
    answer = await find("kelp", (UserText("\x1b[2J kelp \x07"),))
    assert answer.table is not None
    assert answer.table.rows[0][2] == "␛[2J kelp ^G"

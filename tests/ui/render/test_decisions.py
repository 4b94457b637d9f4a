"""What was decided about a conversation, as the person reads it in one line."""

from __future__ import annotations

import pytest
from drawn import a_look, texts

from stormclaw.protocol.messages import Change, ContextEdit, Moved
from stormclaw.ui.blocks import Remark
from stormclaw.ui.decisions import edited, moved_on
from stormclaw.ui.render.turns import remark_lines
from stormclaw.ui.signs import ASCII

OUT = tuple(Change(f"n{at}", include=False) for at in range(12))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (
            ContextEdit("old_results", OUT, 41_200, 30_050),
            "old results: 12 messages left out, ~41.2k → ~30.1k tokens",
        ),
        (ContextEdit("you", OUT[:1], 10, 10), "you: 1 message left out"),
        (
            ContextEdit("you", (Change("a", pinned=True), Change("b", reasoning=False))),
            "you: 1 message pinned, 1 message without reasoning",
        ),
        (ContextEdit("you", (Change("a"),)), "you: 1 message whole again"),
        (ContextEdit("x", (Change("a", False, "short"),)), "x: 1 message shortened"),
        (ContextEdit("you", OUT, 900, 1200, undoes="n3"), "you: taken back, ~900 → ~1.2k tokens"),
        (
            ContextEdit("you", policies=("superseded_reads", "old_results")),
            "you: policies superseded reads, old results",
        ),
        (ContextEdit("you", policies=()), "you: policies as configured"),
        (ContextEdit("you"), "you: nothing"),
    ],
)
def test_an_edited_context_says_who_did_what(edit: ContextEdit, words: str) -> None:
    assert edited(edit) == f"context · {words}"


@pytest.mark.parametrize(
    ("move", "words"),
    [
        (Moved("rewind", "n1"), "went back to here"),
        (
            Moved("rewind", "n1", 3, ("a.py", "b.py"), ("notes.txt",)),
            "went back to here, 3 turns off this branch, 2 files put back, notes.txt left as it is",
        ),
        (Moved("branch", "n1", 1), "another branch from here, 1 turn left behind"),
        (Moved("undo", "n1", 1, ("a.py",)), "undone, 1 turn taken back, a.py put back"),
        (Moved("redo", "n1", 0, ("a.py",)), "brought back, a.py put back"),
        (Moved("redo", "n1", 2), "brought back, 2 turns on this branch again"),
        (
            Moved("files", "n1", 0, ("a.py",), ("b", "c")),
            "files only, a.py put back, 2 files left as they are",
        ),
    ],
)
def test_a_move_says_what_went_with_it(move: Moved, words: str) -> None:
    assert moved_on(move) == words


def test_the_signs_of_a_plain_terminal_are_ascii() -> None:
    remark = Remark(edited(ContextEdit("you", OUT, 900, 300)), 0.0)
    (line,) = texts(remark_lines(remark, a_look(signs=ASCII)))
    assert line.isascii()
    assert "~900 > ~300 tokens" in line

"""A made-up tree of turns, and sessions beside it, for the tests of the sessions screen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stage import NOON, Stage

from stormclaw.agent.history.values import FileStep, Foreign, Leaf, Preview, Touched
from stormclaw.protocol.display import Diff, Headline
from stormclaw.protocol.messages import AssistantTurn, Body, Node, ToolCall, ToolOutcome, UserText
from stormclaw.store.codec import node_to_line
from stormclaw.store.sessions import SessionInfo, folder, save
from stormclaw.store.transcripts import FILE_NAME

MINUTE = 60.0
DAY = 86_400.0
RETRY = Touched("src/tide/retry.py", 5, 2)


def leaf(name: str, ago: float, parent: str = "", depth: int = 0, text: str = "") -> Leaf:
    """A turn `ago` minutes before noon; its text is its name unless told otherwise."""
    at = NOON - ago * MINUTE
    return Leaf(name, f"{name}-end", parent, depth, text or name, "", at, current=depth == 0)


def grown() -> tuple[Leaf, ...]:
    """Four turns, one of them with a branch of two turns, and that with one of its own."""
    return (
        replace(
            leaf("n1", 14, text="Back off when a 429 has no Retry-After, with a cap"),
            did="read, edit retry.py",
            files=(RETRY,),
        ),
        leaf("n2", 10, "n1", 1, "try tenacity instead"),
        replace(leaf("n3", 9, "n2", 2, "pin its version"), label="pinned"),
        leaf("n4", 8, "n2", 1, "dropped: new dependency"),
        replace(leaf("n5", 6, "n1", 0, "fix the jitter"), did="edit retry.py", files=(RETRY,)),
        replace(
            leaf("n6", 3, "n5", 0, "now add the tests"),
            did="write test_retry.py, shell",
            files=(Touched("tests/test_retry.py", 24, 1), Touched("out.log", 3, 0)),
            label="tests",
        ),
    )


STEPS = (
    FileStep("src/tide/retry.py", "restored", 2, 5),
    FileStep("tests/test_retry.py", "restored", 1, 24),
    FileStep("out.log", "removed", 0, 3),
)
CALM = Preview("n5", NOON - 6 * MINUTE, 2, STEPS, (Foreign("README.md", NOON - 2 * MINUTE),))
CONFLICT = replace(
    CALM,
    files=(
        *STEPS,
        FileStep("pyproject.toml", "restored", 1, 1, conflict=True),
        FileStep("docs/guide/deeply/nested/configuration.md", "recreated", 40, 0, conflict=True),
    ),
)
BLOCKED = replace(
    CALM,
    files=(),
    foreign=(),
    blocked="checkpoints are switched off for this folder: it holds 212,000 files, the limit is "
    "100,000 (checkpoints.max_files)",
)


def shelve(there: Stage) -> list[SessionInfo]:
    """Sessions of this folder and of others, on the disk, the newest first."""
    rows = (
        ("speed up the parser", there.workspace, 1.0, 1.10, 12),
        ("upgrade to pydantic 2", there.workspace, 2.0, 3.84, 40),
        ("why is CI slow?", there.workspace, 3.0, 0.20, 3),
        ("release 0.9.1", there.workspace, 20.0, 0.66, 9),
        ("a talk about tides", there.home.parent / "slides", 1.5, None, 2),
    )
    made = []
    for number, (title, place, days, cost, turns) in enumerate(rows):
        at = NOON - days * DAY
        name = f"20261014-12000{number}-test"
        info = SessionInfo(name, place, title, at, at, "sonnet-4.5", "openrouter")
        info = replace(info, cost_usd=cost, turns=turns)
        folder(there.home, name).mkdir(parents=True)
        save(there.home, info)
        made.append(info)
    return made


def write(home: Path, info: SessionInfo, *nodes: Node) -> None:
    """Give a session a transcript, as old as the session."""
    import os

    path = folder(home, info.id) / FILE_NAME
    path.write_bytes(b"".join(node_to_line(node) for node in nodes))
    os.utime(path, (info.updated, info.updated))


def talk(at: float) -> tuple[Node, ...]:
    """Two turns, the second of which edits a file."""
    edited = ToolOutcome(
        "c1",
        "edit_file",
        "done",
        "edited",
        Headline("edit", "parser.py", "path"),
        display=Diff("src/parser.py", (), 12, 3),
    )
    bodies: tuple[Body, ...] = (
        UserText("where does the time go?"),
        AssistantTurn("Into the tokenizer, mostly."),
        UserText("then make it lazy"),
        AssistantTurn("", calls=(ToolCall("c1", "edit_file", "{}"),)),
        edited,
        AssistantTurn("It reads a token when one is **asked for**. 31% faster."),
    )
    parents = (None, *(f"t{number}" for number in range(len(bodies) - 1)))
    return tuple(
        Node(f"t{number}", parent, "root", at + number, body)
        for number, (parent, body) in enumerate(zip(parents, bodies, strict=True))
    )

"""What the sessions screen reads from the disk; everything here blocks, call it in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stormclaw.agent.context.graph import branch
from stormclaw.agent.history.tree import leaves, turns_on, words_of
from stormclaw.agent.history.values import Leaf, Touched
from stormclaw.errors import UsageError
from stormclaw.protocol.messages import ROOT, AssistantTurn, Node
from stormclaw.store import sessions, transcripts

if TYPE_CHECKING:
    from stormclaw.runtime import Runtime
    from stormclaw.store.sessions import Listing, SessionInfo

MOST_HITS = 500
"""Places where words were said, of all sessions together."""
GLIMPSED = 2000
"""Characters of the last words that are kept."""


@dataclass(frozen=True, slots=True)
class Glimpse:
    """The end of a session: what the person said last, what was answered, what was changed."""

    asked: str
    answered: str
    files: tuple[Touched, ...]


def survey(runtime: Runtime) -> Listing:
    """Every session, and what is wrong with those that cannot be read.

    Raises:
        StoreError: The folder cannot be read.
    """
    return sessions.survey(runtime.home)


def turns_of(home: Path, session_id: str) -> tuple[Leaf, ...]:
    """The turns of a session that is not open here.

    Raises:
        UsageError: There is no such session.
        StoreError: It cannot be read.
    """
    return leaves(_own_nodes(home, session_id))


def glimpse_of(home: Path, session_id: str) -> Glimpse:
    """How a session ended, see `turns_of` for the errors."""
    nodes = _own_nodes(home, session_id)
    trunk = branch(nodes)
    turns = turns_on(trunk)
    answers = (node.body.text for node in reversed(trunk) if isinstance(node.body, AssistantTurn))
    answered = next((text for text in answers if text.strip()), "")
    files: dict[str, Touched] = {}
    for leaf in leaves(nodes):
        for file in leaf.files if leaf.current else ():
            known = files.get(file.path, Touched(file.path))
            files[file.path] = Touched(
                file.path, known.added + file.added, known.removed + file.removed
            )
    asked = words_of(turns[-1]) if turns else ""
    return Glimpse(asked[:GLIMPSED], answered[:GLIMPSED], tuple(files.values()))


def export(runtime: Runtime, info: SessionInfo) -> Path:
    """Write a session that is not open as Markdown into the workspace -> where to.

    Raises:
        UsageError: Nothing was said in it, or there is such a file already.
        StoreError: It cannot be read or written.
    """
    from stormclaw.commands.exporting import chosen, readable, write_new

    nodes = transcripts.read(sessions.folder(runtime.home, info.id)).nodes
    if not nodes:
        raise UsageError("nothing was said in it; there is nothing to export")
    path = runtime.workspace / f"session-{info.id}.md"
    write_new(path, readable(info, chosen(nodes, agents=True, branches=False), "markdown"))
    return path


def said_in(runtime: Runtime, words: str) -> frozenset[str]:
    """Ids of the sessions in which something was said.

    Raises:
        StoreError: The index cannot be used.
    """
    return frozenset(hit.conversation_id for hit in runtime.memory.search(words, MOST_HITS))


def _own_nodes(home: Path, session_id: str) -> Sequence[Node]:
    reading = transcripts.read(sessions.folder(home, session_id))
    return [node for node in reading.nodes if node.agent == ROOT]

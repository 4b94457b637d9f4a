"""What the tree and the rewind screen say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

FileFate: TypeAlias = Literal["restored", "removed", "recreated"]
"""What going back does to a file: its old content comes back, it goes, it is there again."""


@dataclass(frozen=True, slots=True)
class Touched:
    """A file a turn changed; `path` relative to the workspace, counts of lines."""

    path: str
    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class Leaf:
    """One turn of the tree: what the person said, and what followed until they spoke again.

    Attributes:
        id: Id of the person's node.
        end: Id of the last node of the turn on its branch, where `branch` would go on.
        parent: Id of the leaf it follows, "" for the first.
        depth: Branches between it and the trunk; the branch that goes on is the trunk, 0.
        text: What the person said, one line of foreign text.
        did: What was done, in a few words: `read, edit retry.py`; "" if nothing.
        at: Unix seconds.
        label: The person's name for it, "" if none.
        files: What its calls changed, shell commands' changes included.
        current: On the branch that goes on.
    """

    id: str
    end: str
    parent: str
    depth: int
    text: str
    did: str
    at: float
    label: str = ""
    files: tuple[Touched, ...] = ()
    current: bool = True


@dataclass(frozen=True, slots=True)
class FileStep:
    """What going back does to one file.

    Attributes:
        path: Relative to the workspace.
        fate: See `FileFate`.
        added: Lines that come, against what is there now.
        removed: Lines that go.
        conflict: Somebody else changed it since, too; it stays as it is unless the person says
            otherwise.
    """

    path: str
    fate: FileFate
    added: int = 0
    removed: int = 0
    conflict: bool = False


@dataclass(frozen=True, slots=True)
class Foreign:
    """A file somebody else changed since, which going back leaves alone; `at` its change time."""

    path: str
    at: float


@dataclass(frozen=True, slots=True)
class Preview:
    """What going back to before a turn would do.

    Attributes:
        leaf: Id of the turn.
        at: When it began, Unix seconds.
        turns: How many turns leave the branch.
        files: What happens to which file.
        foreign: Files that stay as somebody else left them.
        blocked: Why files cannot be put back, "" if they can.
    """

    leaf: str
    at: float
    turns: int
    files: tuple[FileStep, ...] = ()
    foreign: tuple[Foreign, ...] = ()
    blocked: str = ""


@dataclass(frozen=True, slots=True)
class Returned:
    """What going back did.

    Attributes:
        text: What the person had said there, to be put into the composer; "" where there is none.
        turns: Turns that left the branch.
        files: Paths that were put back.
        kept: Paths that stayed, since somebody else had changed them.
        failed: A sentence for each file that could not be put back.
    """

    text: str = ""
    turns: int = 0
    files: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

"""What a snapshot of the workspace is, and what two of them differ in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Moment: TypeAlias = Literal["before", "after", "restore"]
ChangeKind: TypeAlias = Literal["added", "modified", "deleted"]

State: TypeAlias = tuple[str, str]
"""Of a file: its mode as git writes it (`100644`, `100755`, `120000`) and the id of its content."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """What became of a file from an older state to a newer one.

    Attributes:
        path: Relative to the workspace; bytes that are not UTF-8 as surrogates.
        kind: What happened.
        added: Lines that came.
        removed: Lines that went.
        binary: Its lines cannot be counted.
    """

    path: str
    kind: ChangeKind
    added: int
    removed: int
    binary: bool


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A snapshot of the workspace.

    Attributes:
        id: 40 hexadecimal digits.
        call_id: The call it was taken around.
        moment: Before or after the call, or before files were put back.
        at: Unix seconds.
        partial: Only named files were looked at; all others stand as the snapshot before had them.
        skipped: What was left out and why, `video.mp4: larger than 10 MB`.
    """

    id: str
    call_id: str
    moment: Moment
    at: float
    partial: bool
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A snapshot as the store keeps it.

    Attributes:
        checkpoint: What others see of it.
        session: Id of its session.
        tree: Id of the tree.
        looked: State of each named file, None where there was none; None if all were looked at.
        whole: The tree knows all files: it, or a snapshot before it, looked at all of them.
        skipped: Path -> why it was left out.
    """

    checkpoint: Checkpoint
    session: str
    tree: str
    looked: Mapping[str, State | None] | None
    whole: bool
    skipped: Mapping[str, str]

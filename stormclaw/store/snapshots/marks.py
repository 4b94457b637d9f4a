"""The chain of a session's snapshots: one ref for each session, one commit for each snapshot.

What git cannot say is JSON in the commit's message, which names files relative to the workspace.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from stormclaw.errors import StoreError
from stormclaw.store.durable import store_error
from stormclaw.store.snapshots.git import Deadline, Git, GitFailed
from stormclaw.store.snapshots.objects import put_commit, save
from stormclaw.store.snapshots.values import Checkpoint, Mark, State

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}")
_ID = re.compile(r"[0-9a-f]{40}")
VERSION = 1
REFS = "refs/stormclaw"
FORGOTTEN = "stormclaw-forgotten"
"""Stands in the store from the time a session is forgotten until its objects have gone."""


class Gone(StoreError):
    """There is no such snapshot, or not any more."""


class Marks:
    """Reads and writes the chains of one store; what was read once is remembered.

    Args:
        git: The store.
    """

    def __init__(self, git: Git) -> None:
        self._git = git
        self._folder = git.folder / REFS
        self._known: dict[str, Mark] = {}
        self._chains: dict[str, tuple[str, tuple[Mark, ...]]] = {}

    def tip(self, session_id: str) -> str:
        """Id of a session's newest snapshot, "" if it has none."""
        try:
            text = (self._folder / _name(session_id)).read_text("ascii").strip()
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"the snapshots of {session_id} cannot be read: {error}") from error
        return text if _ID.fullmatch(text) else ""

    def chain(self, session_id: str, deadline: Deadline) -> tuple[Mark, ...]:
        """A session's snapshots, oldest first.

        Raises:
            StoreError: They cannot be read.
        """
        tip = self.tip(session_id)
        if not tip:
            return ()
        known = self._chains.get(session_id)
        if known is None or known[0] != tip:
            known = self._remember(session_id, tip, self._read(tip, deadline))
        return known[1]

    def chain_named(self, name: str, deadline: Deadline) -> tuple[Mark, ...]:
        """The same by the chain's name, see `tips`; nothing where it is damaged or gone."""
        tip = self.tips().get(name, "")
        try:
            return self._read(tip, deadline) if tip else ()
        except GitFailed as error:
            if not error.damage:
                raise
            return ()

    def _read(self, tip: str, deadline: Deadline) -> tuple[Mark, ...]:
        arguments = ("log", "-z", "--first-parent", "--format=%H %T %B", tip, "--")
        return tuple(reversed(_parsed(self._git.run(*arguments, deadline=deadline))))

    def find(self, checkpoint_id: str, deadline: Deadline) -> Mark:
        """A snapshot by its id.

        Raises:
            Gone: There is none, or not any more.
            StoreError: It cannot be read.
        """
        if checkpoint_id not in self._known:
            if not _ID.fullmatch(checkpoint_id):
                raise StoreError(f"{checkpoint_id!r} is not the id of a snapshot")
            arguments = ("log", "-z", "--no-walk", "--format=%H %T %B", checkpoint_id, "--")
            try:
                marks = _parsed(self._git.run(*arguments, deadline=deadline))
            except GitFailed as error:
                if not error.damage:
                    raise
                message = f"the snapshot {checkpoint_id[:12]} is not there any more: {error}"
                raise Gone(message) from error
            if not marks:
                raise StoreError(f"{checkpoint_id[:12]} is not a snapshot")
            self._known[checkpoint_id] = marks[0]
        return self._known[checkpoint_id]

    def add(
        self,
        session_id: str,
        tree: str,
        checkpoint: Checkpoint,
        looked: Mapping[str, State | None] | None,
        whole: bool,
        skipped: Mapping[str, str],
        parent: str,
    ) -> Mark:
        """Append a snapshot; `checkpoint.id` is not known yet.

        Raises:
            StoreError: It cannot be written.
        """
        told = {
            "v": VERSION,
            "session": session_id,
            "call": checkpoint.call_id,
            "moment": checkpoint.moment,
            "at": checkpoint.at,
            "looked": looked,
            "whole": whole,
            "skipped": dict(skipped),
        }
        commit = put_commit(self._git, tree, parent, json.dumps(told), checkpoint.at)
        path = self._folder / _name(session_id)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            save(path, f"{commit}\n".encode())
        except OSError as error:
            raise store_error("write", path, error) from error
        mark = _mark(commit, tree, told)
        self._known[commit] = mark
        chain = self._chains.get(session_id, ("", ()))
        if chain[0] == parent:
            self._remember(session_id, commit, (*chain[1], mark))
        return mark

    def drop(self, session_id: str) -> None:
        """Forget a session's chain; its objects go with the next sweep.

        Raises:
            StoreError: It cannot be removed.
        """
        path = self._folder / _name(session_id)
        self._chains.pop(session_id, None)
        try:
            (self._git.folder / FORGOTTEN).touch(mode=0o600)
            path.unlink(missing_ok=True)
        except OSError as error:
            raise store_error("remove", path, error) from error

    def tips(self) -> dict[str, str]:
        """Name of each chain -> id of its newest snapshot."""
        found: dict[str, str] = {}
        with contextlib.suppress(FileNotFoundError):
            for entry in os.scandir(self._folder):
                with contextlib.suppress(OSError, UnicodeDecodeError):
                    text = (self._folder / entry.name).read_text("ascii").strip()
                    if _ID.fullmatch(text):
                        found[entry.name] = text
        return found

    def drop_named(self, name: str) -> None:
        """Forget a chain by its name, see `tips`."""
        (self._folder / name).unlink(missing_ok=True)
        self.forget_read()

    def forget_read(self) -> None:
        """Read everything anew: snapshots have gone."""
        self._chains.clear()
        self._known.clear()

    def _remember(
        self, session_id: str, tip: str, marks: tuple[Mark, ...]
    ) -> tuple[str, tuple[Mark, ...]]:
        self._known |= {mark.checkpoint.id: mark for mark in marks}
        self._chains[session_id] = (tip, marks)
        return self._chains[session_id]


def observed(marks: Iterable[Mark]) -> set[str]:
    """Paths that partial snapshots looked at."""
    return {path for mark in marks for path in mark.looked or ()}


def _name(session_id: str) -> str:
    if _SAFE.fullmatch(session_id) and not session_id.endswith("-lock"):
        return session_id
    return "x-" + hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()


def _parsed(answer: bytes) -> list[Mark]:
    marks = []
    for entry in answer.split(b"\0"):
        words = entry.decode("ascii", "replace").strip().split(" ", 2)
        if len(words) != 3:
            continue
        try:
            marks.append(_mark(words[0], words[1], json.loads(words[2])))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{words[0][:12]} is not a snapshot: {error}") from error
    return marks


def _mark(commit: str, tree: str, told: Mapping[str, Any]) -> Mark:
    if told["v"] > VERSION:
        raise StoreError(f"the snapshot {commit[:12]} was taken by a newer StormClaw")
    looked = told["looked"]
    states: dict[str, State | None] | None = None
    if looked is not None:
        states = {
            path: (str(state[0]), str(state[1])) if state else None
            for path, state in looked.items()
        }
    skipped = {str(path): str(why) for path, why in told["skipped"].items()}
    checkpoint = Checkpoint(
        commit,
        str(told["call"]),
        told["moment"],
        float(told["at"]),
        looked is not None,
        tuple(f"{path}: {why}" for path, why in sorted(skipped.items())),
    )
    return Mark(checkpoint, str(told["session"]), tree, states, bool(told["whole"]), skipped)

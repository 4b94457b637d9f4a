"""Any order of calls, hands, undo, redo, rewind and restarts: no work by hand is ever lost.

Every write adds a word to a file, so what a file holds says who worked on it. The snapshots are
real; the conversation is real but for its disk.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar, cast

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from thorough import tries

from stormclaw.agent.conversation import Conversation
from stormclaw.agent.history.history import History
from stormclaw.agent.history.snapshots import Snapshots
from stormclaw.agent.history.values import Returned
from stormclaw.agent.hub import Hub
from stormclaw.agent.journal import Journal
from stormclaw.config.settings import CheckpointsSettings
from stormclaw.protocol.display import Diff, Headline
from stormclaw.protocol.effects import Runs, Writes
from stormclaw.protocol.messages import AssistantTurn, Node, ToolCall, ToolOutcome, UserText
from stormclaw.store.checkpoints import Checkpoints

T = TypeVar("T")
NAMES = st.sampled_from(["a", "d/c"])
TURNS = st.integers(0, 5)


class Paper:
    """A journal without a disk."""

    async def append(self, node: Node) -> None:
        """Nothing."""


def number(text: str) -> int:
    """Words and turns are numbered as they come."""
    return int("".join(filter(str.isdigit, text)))


async def plainly(work: Coroutine[Any, Any, T]) -> T:
    """Nothing else goes on here."""
    return await work


class Machine(RuleBasedStateMachine):
    """The real thing beside what is known of each word."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="rewind-"))
        self.work = self.root / "work"
        self.work.mkdir()
        (self.work / "a").write_text("begin\n")
        self.loop = asyncio.new_event_loop()
        self.nodes: tuple[Node, ...] = ()
        self.count = 0
        self.open()
        self.turn()

    def teardown(self) -> None:
        self.loop.run_until_complete(self.snapshots.settled())
        self.loop.close()
        shutil.rmtree(self.root)

    def open(self) -> None:
        kept = Checkpoints(self.root / "home", self.work, CheckpointsSettings(time_limit_s=60))
        journal = cast("Journal", Paper())
        self.talk = Conversation("root", journal, Hub(), self.nodes)
        self.snapshots = Snapshots(kept, "session", lambda text: None)
        self.history = History(self.talk, self.snapshots, "session", self.work, plainly)

    def files(self) -> dict[str, str]:
        return {
            str(path.relative_to(self.work)): path.read_text()
            for path in sorted(self.work.rglob("*"))
            if path.is_file()
        }

    def by_hand(self) -> dict[str, set[str]]:
        """What the person wrote, as far as it is in the files."""
        return {
            name: {word for word in text.split() if word.startswith("hand")}
            for name, text in self.files().items()
        }

    def add(self, name: str, word: str) -> None:
        path = self.work / name
        path.parent.mkdir(exist_ok=True)
        old = path.read_text() if path.exists() else ""
        path.write_text(f"{old}{word}{self.count}\n")
        self.count += 1

    def possible(self, name: str) -> bool:
        """Whether a file of this name can be there."""
        path = self.work / name
        return not path.is_dir() and (path.parent.is_dir() or not path.parent.exists())

    def does(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def said(self) -> list[str]:
        return [node.body.text for node in self.talk.nodes if isinstance(node.body, UserText)]

    # What happens --------------------------------------------------------------------------

    @rule()
    def turn(self) -> None:
        self.count += 1
        self.does(self.talk.commit(UserText(f"turn {self.count}")))

    @precondition(lambda self: bool(self.said()))
    @rule(
        name=NAMES,
        how=st.sampled_from(["edit", "edit", "shell", "remove", "overwrite", "unseen"]),
        meanwhile=st.none() | NAMES,
    )
    def call(self, name: str, how: str, meanwhile: str | None) -> None:
        """A call; `unseen`: no snapshot could be taken; `meanwhile`: the person writes, too."""

        async def run() -> None:
            self.count += 1
            made = ToolCall(f"call-{self.count}", "some", "{}")
            await self.talk.commit(AssistantTurn("", calls=(made,)))
            path = self.work / name
            named = how in {"edit", "overwrite"}
            effect = Writes(path) if named else Runs("some", self.work)
            effects = [] if how == "unseen" else [effect]
            async with self.snapshots.around(made.id, effects):
                if not self.possible(name):
                    pass
                elif how == "remove":
                    path.unlink(missing_ok=True)
                elif how == "overwrite":
                    path.parent.mkdir(exist_ok=True)
                    path.write_text(f"new{self.count}\n")
                else:
                    self.add(name, "call")
                if meanwhile and meanwhile != name and named and self.possible(meanwhile):
                    self.add(meanwhile, "hand")
            headline = Headline("edit", name, "path")
            shown = Diff(name, (), 1, 0) if named else None
            outcome = ToolOutcome(made.id, "some", "done", "ok", headline, "+1", shown)
            await self.talk.commit(outcome)
            await self.snapshots.settled()  # Until then whatever happens is taken for the call's.

        self.does(run())

    @rule(name=NAMES, what=st.sampled_from(["write", "write", "write", "remove", "move", "swap"]))
    def hand(self, name: str, what: str) -> None:
        path = self.work / name
        if what == "swap":  # A folder stands where a file was, or where a folder is to be.
            top = self.work / name.partition("/")[0]
            if top.is_dir():
                shutil.rmtree(top)
                self.add(top.name, "hand")
            else:
                top.unlink(missing_ok=True)
                self.add(f"{top.name}/in", "hand")
        elif not self.possible(name):
            return
        elif what == "write":
            self.add(name, "hand")
        elif what == "remove":
            path.unlink(missing_ok=True)
        elif path.exists():
            path.rename(self.work / f"moved{self.count}")
            self.count += 1

    @rule()
    def restart(self) -> None:
        self.does(self.snapshots.settled())
        self.nodes = self.talk.everything
        self.open()

    @rule()
    def undo(self) -> None:
        self.there_and_back(None, conversation=True, files=True, force=False)

    @precondition(lambda self: bool(self.said()))
    @rule(which=TURNS, conversation=st.booleans(), force=st.booleans())
    def rewind(self, which: int, conversation: bool, force: bool) -> None:
        turns = [leaf.id for leaf in self.history.tree()]
        leaf = turns[which % len(turns)]
        self.there_and_back(leaf, conversation=conversation, files=True, force=force)

    @rule()
    def redo(self) -> None:
        before = self.files()
        returned = self.does(self.history.redo())
        self.only_these(before, returned)

    @precondition(lambda self: bool(self.said()))
    @rule(which=TURNS)
    def go(self, which: int) -> None:
        before = self.files()
        turns = [leaf.id for leaf in self.history.tree()]
        self.does(self.history.go(turns[which % len(turns)]))
        assert self.files() == before

    # What must hold ------------------------------------------------------------------------

    def there_and_back(
        self, leaf: str | None, *, conversation: bool, files: bool, force: bool
    ) -> None:
        """Go back, bring it back, go back again."""
        turns = [leaf.id for leaf in self.history.tree() if leaf.current]
        if leaf is None and not turns:
            assert self.does(self.history.undo()) is None
            return
        before, said, hands = self.files(), self.said(), self.by_hand()
        target = leaf or turns[-1]
        preview = self.does(self.history.preview(target))

        def back() -> Returned:
            if leaf is None:
                found = self.does(self.history.undo())
                assert found is not None
                return found
            work = self.history.rewind(leaf, conversation=conversation, files=files, force=force)
            return self.does(work)

        returned = back()
        after, left = self.files(), self.said()
        self.only_these(before, returned)
        promised = {step.path for step in preview.files if force or not step.conflict}
        failed = {sentence.partition(":")[0] for sentence in returned.failed}
        assert set(returned.files) <= promised <= {*returned.files, *failed}
        assert set(returned.kept) == {step.path for step in preview.files} - promised
        if not force:
            began = next(leaf for leaf in self.history.tree() if leaf.id == target).text
            now = self.by_hand()
            for name, words in hands.items():
                since = {word for word in words if number(word) > number(began)}
                assert since <= now.get(name, set()), (name, before, after, preview)
        self.does(self.history.redo())
        assert (self.files(), self.said()) == (before, said)
        back()
        assert (self.files(), self.said()) == (after, left)

    def only_these(self, before: dict[str, str], returned: Returned | None) -> None:
        """What is not as it was is what was told, and nothing else."""
        now = self.files()
        changed = {name for name in before | now if before.get(name) != now.get(name)}
        assert changed == set(returned.files if returned is not None else ())

    @invariant()
    def nothing_is_lost(self) -> None:
        assert len({node.id for node in self.talk.everything}) == len(self.talk.everything)


Machine.TestCase.settings = settings(
    max_examples=tries(8, 200),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestAnyOrder = Machine.TestCase

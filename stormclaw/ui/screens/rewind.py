"""Going back from the tree of turns: what each key does to the turn under the cursor."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from stormclaw.commands.back import brought, gone_on, moved, named
from stormclaw.errors import StormClawError
from stormclaw.ui.screens.page import Page
from stormclaw.ui.text import one_line
from stormclaw.ui.tree_deeds import came_back
from stormclaw.ui.tree_lines import HereLine, TurnLine

if TYPE_CHECKING:
    from stormclaw.agent.history.history import History
    from stormclaw.agent.history.values import Leaf, Preview, Returned
    from stormclaw.ui.tree_list import TreeList

What: TypeAlias = Literal["both", "conversation", "files", "force"]
Work: TypeAlias = Coroutine[Any, Any, "Returned | None"]

BUSY = "a turn runs; esc goes to the chat, esc there stops it"
ELSEWHERE = "that turn is of another session; enter goes on with it first"


class RewindPage(Page[None]):
    """A page with a tree of turns.

    Attributes:
        picker: The list.
        previews: What is known of going back to a turn, by its id.
    """

    picker: TreeList

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self.previews: dict[str, Preview] = {}
        self._acting = False

    def explain(self, words: str) -> None:
        """Say at length why something was not done."""
        raise NotImplementedError

    def write(self, start: str, done: Callable[[str], None]) -> None:
        """Let the person write a line."""
        raise NotImplementedError

    def renew(self) -> None:
        """The conversation is another one than before."""
        raise NotImplementedError

    # Which turn ----------------------------------------------------------------------------

    def chosen(self) -> Leaf | None:
        """The turn of the open session the cursor is on; None after saying why there is none."""
        line, session = self.picker.line, self.storm.session
        if session is None:
            self.say("not ready yet")
        elif isinstance(line, HereLine):
            self.say("you are here; choose a turn above")
        elif not isinstance(line, TurnLine):
            self.say("choose a turn first")
        elif line.session != session.id:
            self.say(ELSEWHERE)
        else:
            return line.leaf
        return None

    def free(self) -> History | None:
        """The conversation's tree where it may move; None after saying what to do first."""
        session = self.storm.session
        if self._acting or session is None:
            return None
        if session.busy:
            self.say(BUSY, "attention")
            return None
        return session.history

    # What is done --------------------------------------------------------------------------

    def action_back(self, what: What) -> None:
        """Go back to before the turn."""
        leaf, history = self.chosen(), self.free()
        if leaf is None or history is None:
            return
        preview = self.previews.get(leaf.id)
        if what != "conversation" and preview is not None and preview.blocked:
            self.explain(f"No file was put back: {preview.blocked}. c takes back the conversation.")
        elif what == "force":
            self._force(history, leaf, preview)
        else:
            conversation, files = what != "files", what != "conversation"
            work = history.rewind(leaf.id, conversation=conversation, files=files)
            nothing = "nothing changed" if conversation else "no file had to go back"
            self._do(work, lambda returned: moved(returned) or nothing)

    def _force(self, history: History, leaf: Leaf, preview: Preview | None) -> None:
        """Files, those that somebody else changed too, after one question that names them."""
        from stormclaw.ui.screens.confirm import Confirm

        if preview is None:
            self.say("wait until the files have been looked at")
            return
        held = [one_line(step.path) for step in preview.files if step.conflict]

        def put_back(yes: bool | None) -> None:
            if yes and self.free() is not None:
                work = history.rewind(leaf.id, conversation=False, files=True, force=True)
                self._do(work, lambda returned: moved(returned) or "no file had to go back")

        if not held:
            put_back(True)
            return
        question = f"Put back {named(held)}, too? Somebody else changed {_it(held)} since."
        self.app.push_screen(Confirm(question, "put back", "leave"), put_back)

    def action_go_on(self) -> None:
        """Go on from the end of the turn; on another branch, that is the one that goes on."""
        leaf, history = self.chosen(), self.free()
        if leaf is None or history is None:
            return
        trunk = [other for other in history.tree() if other.current]
        if trunk and trunk[-1].id == leaf.id:
            self.say("you are there already")
            return
        self._do(history.go(leaf.id), lambda returned: gone_on(returned, leaf))

    def action_undo(self) -> None:
        """Take back the last turn."""
        blocked = any(preview.blocked for preview in self.previews.values())
        stays = "; files stay" if blocked else ""
        if (history := self.free()) is not None:
            work = history.undo()
            self._do(work, lambda returned: moved(returned) + stays, "nothing to take back")

    def action_redo(self) -> None:
        """Bring back what was taken back last."""
        if (history := self.free()) is not None:
            self._do(history.redo(), brought, "nothing to bring back")

    def action_label(self) -> None:
        """Name the turn; an empty name takes it away."""
        session, line = self.storm.session, self.picker.line
        if session is None:
            return
        if isinstance(line, HereLine):
            self.write("", lambda text: self._give_name(session.history.mark(text)))
        elif (leaf := self.chosen()) is not None:
            leaf_id = leaf.id
            self.write(
                leaf.label, lambda text: self._give_name(session.history.label(leaf_id, text))
            )

    def _give_name(self, work: Coroutine[Any, Any, Any]) -> None:
        async def name() -> None:
            try:
                named_it = await work
            except StormClawError as error:
                self.explain(str(error))
                return
            if named_it is False:
                self.say("nothing was said yet; there is no place to name")
            self.renew()

        self.storm.run_worker(name(), group="deed", exit_on_error=False)

    def _do(self, work: Work, words: Callable[[Returned], str], nothing: str = "") -> None:
        """Do it beside the screen, which may be left meanwhile; then back to the chat."""

        async def deed() -> None:
            try:
                returned = await work
            except StormClawError as error:
                self.explain(str(error))
                return
            finally:
                self._acting = False
            if returned is None:
                self.say(nothing)
                return
            if self.is_current:
                self.dismiss()
            came_back(self.storm, returned, words(returned))

        self._acting = True
        self.say("going", "accent")
        self.storm.run_worker(deed(), group="deed", exit_on_error=False)


def _it(paths: list[str]) -> str:
    return "it" if len(paths) == 1 else "them"

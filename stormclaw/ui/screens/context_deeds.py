"""What the keys of the context screen do: decisions through the session's desk, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stormclaw.agent.context.sheet import Part
from stormclaw.protocol.messages import Change
from stormclaw.ui.context_acts import (
    off_with_its_call,
    pinned,
    refusal,
    standing_of,
    toggled,
    undone_words,
)
from stormclaw.ui.context_trial import Trial
from stormclaw.ui.screens.context_line import LinePage
from stormclaw.ui.text import one_line, tokens
from stormclaw.ui.widgets.policies import Policies

if TYPE_CHECKING:
    from stormclaw.agent.context.desk import ContextDesk

DRY = "a dry run is shown: tab and enter apply it, esc drops it"
LONGEST_NAME = 40


class ContextDeeds(LinePage):
    """Keys and what they do; what is drawn is `ContextScreen`.

    Attributes:
        trial: The order that is tried, None for none.
    """

    policies: Policies
    trial: Trial | None = None

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self._picked: Part | None = None

    # What the screen gives -----------------------------------------------------------------

    @property
    def stack(self) -> Trial:
        """The order in force."""
        raise NotImplementedError

    @property
    def labels(self) -> dict[str, str]:
        """Names of policies as people call them."""
        raise NotImplementedError

    @property
    def usd_per_token(self) -> float | None:
        """What a token costs."""
        raise NotImplementedError

    @property
    def picked(self) -> Part | None:
        """The part under the cursor."""
        return self._picked

    @property
    def desk(self) -> ContextDesk | None:
        """Where decisions go."""
        return self.storm.session.desk if self.storm.session is not None else None

    def _decide(self, key: Callable[[Part, ContextDesk], None]) -> None:
        """Do what a key means for the part under the cursor, where that can be decided."""
        part, desk = self.picked, self.desk
        if not self.picker.has_focus:
            self.say("tab goes to the list")
        elif self.trial is not None:
            self.say(DRY, "text")
        elif part is not None and (why := refusal(part)):
            self.say(why, "text")
        elif part is not None and desk is not None:
            key(part, desk)

    def _change(self, desk: ContextDesk, change: Change, words: str) -> None:
        async def deed() -> str:
            await desk.change((change,))
            return words

        self.do(deed)

    # Keys of the list ----------------------------------------------------------------------

    def action_keep_or_drop(self) -> None:
        """Keep or drop."""
        self._decide(self._keep_or_drop)

    def _keep_or_drop(self, part: Part, desk: ContextDesk) -> None:
        session = self.storm.session
        if session is None:
            return
        if off_with_its_call(part, standing_of(session.nodes(), part.id)):
            self.say("it is not sent because its call is not: keep the answer that asked for it")
            return
        verb = "dropped" if part.sent else "whole again:"
        words = f"{verb} {name_of(part)}, {tokens(part.tokens)} tokens; u takes it back"
        self._change(desk, toggled(part), words)

    def action_pin(self) -> None:
        """Pin, or no longer."""
        self._decide(self._pin)

    def _pin(self, part: Part, desk: ContextDesk) -> None:
        session = self.storm.session
        if session is None:
            return
        change = pinned(part, standing_of(session.nodes(), part.id))
        pin, unpin = "pinned, never held back:", "no longer pinned, it may be summed up:"
        self._change(desk, change, f"{pin if change.pinned else unpin} {name_of(part)}")

    def action_summarise(self) -> None:
        """A summary in its place, written by the model."""
        self._decide(self._summarise)

    def _summarise(self, part: Part, desk: ContextDesk) -> None:
        async def deed() -> str:
            text = await desk.summarise(part.id)
            return f"a summary stands in its place: {one_line(text)}"

        self.work_on(f"summing up {name_of(part)}", part.id, deed)

    def action_undo(self) -> None:
        """Take back the newest decision that stands; again: one further back."""
        desk = self.desk
        if desk is None:
            return
        if self.trial is not None:
            self.say(DRY, "text")
            return

        async def deed() -> str:
            if not await desk.undo():
                return "nothing is left to take back"
            session = self.storm.session
            return undone_words(session.nodes() if session is not None else (), self.labels)

        self.do(deed)

    def action_compact(self) -> None:
        """Sum up what is old, at once."""
        self._compact("")

    def action_compact_on(self) -> None:
        """Sum up what is old, after a line that says what to keep in view."""
        self.ask_line("focus", "")

    def _compact(self, focus: str) -> None:
        desk = self.desk
        if desk is None:
            return
        if self.trial is not None:
            self.say(DRY, "text")
            return

        async def deed() -> str:
            summary = await desk.compact(focus)
            if summary is None:
                return "nothing is old enough to sum up"
            size = f"{tokens(summary.before)} to {tokens(summary.after)} tokens"
            return f"{len(summary.replaces)} nodes summed up, ~{size}; u takes it back"

        self.work_on("summing up what is old", "", deed)

    def action_wire(self) -> None:
        """What the model gets, word for word; of the dry run while there is one."""
        self._show_wire("")

    def _show_wire(self, at: str) -> None:
        from stormclaw.ui.screens.wire import WireScreen

        self.storm.push_screen(WireScreen(self.trial.on if self.trial is not None else None, at))

    def on_picker_taken(self) -> None:
        """Enter opens the node whole; what is no node, on the wire."""
        from stormclaw.ui.screens.context_node import ContextNodeScreen

        part = self.picked
        if part is None:
            return
        if part.node is None:
            self._show_wire("tools" if part.kind == "tools" else "system")
        else:
            screen = ContextNodeScreen(part, self.labels, self.usd_per_token)
            self.storm.push_screen(screen)

    def focus_given(self, focus: str) -> None:
        """Sum up, with this in view."""
        self._compact(focus)

    # Policies ------------------------------------------------------------------------------

    def action_other(self) -> None:
        """From the list to the policies, and back."""
        if self.entry.display:
            return
        (self.policies if self.picker.has_focus else self.picker).focus()

    def on_policies_tried(self, message: Policies.Tried) -> None:
        """Another order is tried."""
        self.try_order(message.trial)

    def try_order(self, trial: Trial) -> None:
        """A dry run of another order; the one in force is no trial."""
        self.trouble.display = False
        self.trial = None if trial.same_as(self.stack) else trial
        self.refresh_sheet()
        self.refresh_facts()

    def on_policies_said(self, message: Policies.Said) -> None:
        """Why a key did nothing."""
        self.say(message.words, "text")

    def on_policies_applied(self) -> None:
        """The order that is shown shall hold in this session."""
        desk, trial = self.desk, self.trial
        if desk is None:
            return
        if trial is None:
            self.say("this order holds already; space or J K try another one")
            return

        async def deed() -> str:
            await desk.order(trial.on)
            self.trial = None
            return "applied to this session; u takes it back"

        self.do(deed)

    def on_policies_left(self) -> None:
        """Esc in the policies."""
        self.action_leave()

    def action_leave(self) -> None:
        """Stop what is at work, else drop the dry run, else go back."""
        if self.work is not None:
            self.work.stop()
        elif self.trial is not None:
            self.trial = None
            self.refresh_sheet()
            self.say("dry run dropped")
        else:
            self.dismiss()


def name_of(part: Part) -> str:
    """A part in a few words for a sentence; inert."""
    words = one_line(f"{part.word} {part.object[: 4 * LONGEST_NAME]}")
    return words if len(words) <= LONGEST_NAME else f"{words[:LONGEST_NAME]}…"

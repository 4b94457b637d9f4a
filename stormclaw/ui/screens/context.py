"""What is sent to the model and what is held back, part by part; policies tried before they act."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from stormclaw.agent.context.sheet import Part, Sheet
from stormclaw.errors import StormClawError
from stormclaw.protocol.events import Committed, Notice
from stormclaw.protocol.messages import ROOT
from stormclaw.ui.context_head import hints, trail, ways
from stormclaw.ui.context_lines import Look, head_row, look_of, part_line, totals
from stormclaw.ui.context_trial import NO_DIFFERENCES, Differences, Trial, differences
from stormclaw.ui.keymap import bindings
from stormclaw.ui.rows import Row, Run
from stormclaw.ui.screens.context_deeds import ContextDeeds
from stormclaw.ui.screens.context_working import FAULT
from stormclaw.ui.widgets.detail import Detail
from stormclaw.ui.widgets.entry import Entry
from stormclaw.ui.widgets.footer import Costs
from stormclaw.ui.widgets.picker import Picker
from stormclaw.ui.widgets.policies import Policies
from stormclaw.ui.widgets.shares import Shares

LOG = logging.getLogger(__name__)

COMPARED = 100
"""Columns from which a dry run's header also says what holds now."""
PACE_S = 0.5
"""The list is renewed at most this often while a turn runs."""


class ContextScreen(ContextDeeds):
    """Shares on top, the parts in the order they are sent, the policies below."""

    NAME = "Context"
    PLACES = ("context", "policies")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("context")]

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self._now: Sheet | None = None
        self._sheet: Sheet | None = None
        self._dry: Differences = NO_DIFFERENCES
        self._look: Look | None = None
        self._shown: list[Part] = []
        self._only_held = False
        self._filter = ""
        self._reading = self._stale = self._due = False
        self._read_at = float("-inf")
        self.shares, self.picker = Shares(), Picker(self._draw, head=self._head)
        self.picker.empty = "reading"
        self.trouble, self.policies, self.entry = Detail(), Policies(), Entry()
        self.trouble.display = False

    # What is shown -------------------------------------------------------------------------

    def body(self) -> Iterable[Widget]:
        """Shares, list, what went wrong, policies, a line to type in."""
        yield from (self.shares, self.picker, self.trouble, self.policies, self.entry)

    def trail(self) -> tuple[Run, ...]:
        """The name; a dry run, what is at work, what the list is narrowed to."""
        dry = self._dry if self.trial is not None else None
        return trail(self.NAME, dry, self.at_work(), self._filter, only=self._only_held)

    def right(self) -> tuple[Run, ...]:
        """How full the window is."""
        if self._sheet is None:
            return ()
        compared = self.trial is not None and self.size.width >= COMPARED
        return totals(self._sheet, self._now if compared else None)

    def costs(self) -> Costs:
        """The keys that count now."""
        costs = super().costs()
        leave = "stop it" if self.work else "drop it" if self.trial is not None else "back"
        here, dry = self.policies.has_focus, self.trial is not None
        leading = ways(leave, stack=here, short=bool(costs.said))
        return replace(costs, hints=hints(stack=here, dry=dry), right_hints=leading)

    def on_mount(self) -> None:
        """Read, and follow the session."""
        super().on_mount()
        self.picker.focus()
        self.run_worker(self._follow(), group="follow", exit_on_error=False)
        self.refresh_sheet()

    async def _follow(self) -> None:
        """What is committed while the screen is up comes into the list."""
        session = self.storm.session
        if session is None:
            return
        events = session.events()
        try:
            async for event in events:
                if isinstance(event, Committed) and event.agent == ROOT:
                    self.refresh_soon()
                elif isinstance(event, Notice):
                    self._heard(event)
        finally:
            events.close()

    def _heard(self, notice: Notice) -> None:
        """What a summary met with is told here too; an emergency stop shows in the header."""
        if self.work is not None and notice.level != "info":
            self.tell_trouble(notice.text)
        self.refresh_facts()

    def refresh_soon(self) -> None:
        """Read again: now, or when half a second has passed since last time."""
        if self._due:
            return
        pace = min(PACE_S, self.storm.heart.pace_s)
        rest = self._read_at + pace - self.storm.clock()
        if rest <= 0:
            self.refresh_sheet()
        else:
            self._due = True
            self.set_timer(rest, self.refresh_sheet)

    def refresh_sheet(self) -> None:
        """Read again now, beside the event loop."""
        self._due = False
        self._read_at = self.storm.clock()
        if self._reading:
            self._stale = True
        else:
            self._reading = True
            self.run_worker(self._read(), group="sheet", exit_on_error=False)

    async def _read(self) -> None:
        try:
            while True:
                self._stale, trial = False, self.trial
                now, dry = await asyncio.to_thread(self._sheets, trial)
                if trial == self.trial:
                    self._show(now, dry)
                if not self._stale and trial == self.trial:
                    return
        except StormClawError as error:
            self._unread(str(error))
        except Exception:
            LOG.exception("the context cannot be shown")
            self._unread(FAULT)
        finally:
            self._reading = False

    def _unread(self, why: str) -> None:
        self.picker.empty = "it cannot be shown"
        self.picker.redraw()
        self.tell_trouble(why)

    def _sheets(self, trial: Trial | None) -> tuple[Sheet | None, Sheet | None]:
        session = self.storm.session
        if session is None:
            return None, None
        now = session.desk.sheet()
        return now, None if trial is None else session.desk.sheet(trial.on)

    def _show(self, now: Sheet | None, dry: Sheet | None) -> None:
        if now is None:
            return
        first = self._sheet is None
        self._now, self._sheet = now, dry or now
        self._dry = NO_DIFFERENCES if dry is None else differences(now, dry)
        self._look = look_of(self._sheet, self.storm.signs, self._dry)
        self.shares.show(self._sheet)
        order = self.trial if self.trial is not None else Trial.of(now.policies)
        self.policies.put(self._sheet, order, tried=self.trial is not None)
        self._pick(self._wanted() if first else None)
        if first:
            self._begin(now)

    def _begin(self, now: Sheet) -> None:
        """What was asked for after `/context`: the wire, or an order to try."""
        verb, _, rest = self.argument.partition(" ")
        if verb not in ("wire", "dry"):
            return
        names = tuple(dict.fromkeys(rest.replace(",", " ").split()))
        if names:
            known = Trial.of(now.policies).names
            on = tuple(name for name in names if name in known)
            self.try_order(Trial(on, tuple(name for name in known if name not in on)))
        if verb == "wire":
            self.action_wire()

    def _wanted(self) -> int | None:
        """Where the cursor begins: at the node named after `/context`."""
        parts = self._sheet.parts if self._sheet is not None else ()
        return next((at for at, part in enumerate(parts) if self.argument == part.id != ""), 0)

    def _pick(self, cursor: int | None = None) -> None:
        """Fill the list; the cursor stays on its node, wherever that is now."""
        before = self.picked
        sought = self._filter.lower()
        parts = self._sheet.parts if self._sheet is not None else ()
        self._shown = [
            part
            for part in parts
            if (not self._only_held or self._stands_out(part))
            and (not sought or sought in _words(part))
        ]
        if cursor is None and before is not None:
            key = _key(before)
            cursor = next((at for at, part in enumerate(self._shown) if _key(part) == key), None)
        self.picker.empty = self._nothing()
        self.picker.fill(len(self._shown), cursor)
        self._picked = self._shown[self.picker.cursor] if self._shown else None
        self.refresh_facts()

    def _stands_out(self, part: Part) -> bool:
        """Whether it is held back; in a dry run, whether it would change."""
        return self._dry.touch(part.id) if self.trial is not None else not part.sent

    def _nothing(self) -> str:
        if self._filter or not self._only_held:
            return "nothing like that"
        return "nothing is held back" if self.trial is None else "nothing would change"

    @property
    def labels(self) -> dict[str, str]:
        """Names of policies as people call them."""
        return dict(self._look.labels) if self._look is not None else {}

    @property
    def usd_per_token(self) -> float | None:
        """What a token costs, None if unknown."""
        return self._sheet.usd_per_token if self._sheet is not None else None

    @property
    def stack(self) -> Trial:
        """The order in force."""
        return Trial.of(self._now.policies) if self._now is not None else Trial(())

    def _head(self, width: int) -> Row:
        return head_row(self._look or Look(self.storm.signs), width)

    def _draw(self, index: int, width: int, picked: bool) -> tuple[Sequence[Run], Sequence[Run]]:
        look = self._look or Look(self.storm.signs)
        if self.work is not None:
            look = replace(look, working=self.work.node_id, phase=self._phase)
        return part_line(self._shown[index], look, width)

    def on_picker_moved(self) -> None:
        """The cursor is on another node."""
        if self._shown:
            self._picked = self._shown[min(self.picker.cursor, len(self._shown) - 1)]

    def on_resize(self) -> None:
        """Another size."""
        self.shares.fit()
        self.policies.settle()

    def on_descendant_focus(self) -> None:
        """Other keys count now."""
        self.refresh_facts()

    # Narrowing the list --------------------------------------------------------------------

    def action_only_held(self) -> None:
        """Only what is held back, in a dry run what would change; and all again."""
        self._only_held = not self._only_held
        self._pick()

    def action_filter(self) -> None:
        """Type a word that must occur."""
        self.ask_line("filter", self._filter)

    def filter_by(self, words: str) -> None:
        """Narrow the list to what has these words."""
        if words != self._filter:
            self._filter = words
            self._pick()

    def action_leave(self) -> None:
        """Drop the filter before the screen is left."""
        if self._filter and self.work is None and self.trial is None:
            self.filter_by("")
        else:
            super().action_leave()


def _words(part: Part) -> str:
    """What a filter looks at."""
    return f"{part.word} {part.object} {part.by} {part.why} {part.id}".lower()


def _key(part: Part) -> tuple[str, str, str]:
    return (part.id, "", "") if part.id else (part.kind, part.word, part.object)

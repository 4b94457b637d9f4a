"""Every attempted call of the session, what decided it, and whether the chain holds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.widget import Widget

from stormclaw.errors import StormClawError
from stormclaw.ui.receipt_lines import detail_rows, facts_of, risk_of, sizes_of
from stormclaw.ui.rows import Row, Run, spread
from stormclaw.ui.screens.page import Page
from stormclaw.ui.text import one_line
from stormclaw.ui.widgets.detail import Detail
from stormclaw.ui.widgets.entry import Entry
from stormclaw.ui.widgets.panel import agent_role
from stormclaw.ui.widgets.picker import Picker

if TYPE_CHECKING:
    from stormclaw.store.receipts import Receipt, Verification

MOST = 2000
"""Receipts read for the list."""
DETAIL_FROM = 18
"""Rows of the screen from which the detail pane is shown."""
WIDE = 90


class ReceiptsScreen(Page[None]):
    """List above, the picked receipt below."""

    NAME = "Receipts"
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("v", "verify"),
        ("/", "filter"),
        ("o", "only denied"),
        ("A", "all sessions"),
    )
    BINDINGS: ClassVar = [
        ("v", "verify", ""),
        ("slash", "filter", ""),
        ("o", "only_denied", ""),
        ("A", "everywhere", ""),
    ]

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self._everywhere = argument == "all"
        self._receipts: list[Receipt] = []
        self._shown: list[Receipt] = []
        self._verification: Verification | None = None
        self._only_denied = False
        self._filter = ""

    def body(self) -> Iterable[Widget]:
        """List, detail, and the line for the filter."""
        self.picker = Picker(self._draw, head=self._head)
        self.picker.empty = "no call was made yet"
        self.detail, self.entry = Detail(), Entry()
        yield from (self.picker, self.detail, self.entry)

    def trail(self) -> tuple[Run, ...]:
        """Whose receipts."""
        whose = "every session" if self._everywhere else "this session"
        name = self.storm.start.workspace.name
        what = f"{name}, {whose}" + (", only denied" if self._only_denied else "")
        what += f', "{self._filter}"' if self._filter else ""
        return (Run(self.NAME, "text", "b"), Run(f"  {one_line(what)}", "muted"))

    def right(self) -> tuple[Run, ...]:
        """What verifying showed."""
        verification = self._verification
        if verification is None:
            return ()
        if not verification.ok:
            at = verification.broken_at
            words = (
                f"cannot be checked from r{at} on"
                if verification.locked
                else f"chain breaks at r{at}"
            )
            return (Run(words, "error", "b"), Run(f"  {one_line(verification.reason)}", "error"))
        if verification.torn:
            return (Run(f"last line torn, {verification.count} good", "attention"),)
        if self.size.width < WIDE:
            return (Run(str(verification.count)), Run(f" unbroken {self.storm.signs.done}"))
        head = f"{verification.head[:4]}{self.storm.signs.elided}{verification.head[-2:]}"
        return (
            Run(str(verification.count)),
            Run(" in the chain, ", "muted"),
            Run("unbroken"),
            Run(f" {self.storm.signs.done}  head {head}", "muted"),
        )

    async def on_mount(self) -> None:  # type: ignore[override]
        """Read and verify."""
        super().on_mount()
        self.picker.focus()
        await self._read()
        self.run_worker(self._verify(), exit_on_error=False)

    async def _read(self) -> None:
        runtime = self.storm.runtime
        if runtime is None or runtime.receipts is None:
            self.picker.empty = "receipts are off (receipts.enabled)"
            return
        session = "" if self._everywhere else runtime.session.id
        try:
            found = await asyncio.to_thread(runtime.receipts.read, MOST, session)
        except StormClawError as error:
            self.say(str(error), "error")
            return
        self._receipts = sorted(found, key=lambda receipt: receipt.number)
        wanted = [f"r{receipt.number}" for receipt in self._receipts]
        at = wanted.index(self.argument) if self.argument in wanted else len(wanted)
        self._pick(at)

    async def _verify(self) -> None:
        runtime = self.storm.runtime
        if runtime is None or runtime.receipts is None:
            return
        try:
            verification = await asyncio.to_thread(runtime.receipts.verify)
        except StormClawError as error:
            self.say(str(error), "error")
            return
        self._verification = verification
        self.storm.chain = verification.ok
        self.refresh_facts()
        broken = verification.broken_at
        if broken is not None:
            numbers = [receipt.number for receipt in self._shown]
            self.picker.move_to(next((n for n, at in enumerate(numbers) if at >= broken), 0))

    def _pick(self, cursor: int | None = None) -> None:
        sought = self._filter.lower()
        self._shown = [
            receipt
            for receipt in self._receipts
            if (not self._only_denied or receipt.status == "denied")
            and (not sought or sought in " ".join(map(str, facts_of(receipt))).lower())
        ]
        self.picker.fill(len(self._shown), cursor)
        self.refresh_facts()

    def _head(self, width: int) -> Row:
        sizes = sizes_of(width)
        names = ("id", "time", "agent", "tool")
        left = tuple(
            Run(f"{name:<{size}}", "muted") for name, size in zip(names, sizes, strict=True)
        )
        right = (Run(f"{'risk':<11}{'decided by':<12}", "muted"),) if width >= WIDE - 6 else ()
        return spread((*left, Run("object", "muted")), right, width)

    def _draw(self, index: int, width: int, picked: bool) -> tuple[Sequence[Run], Sequence[Run]]:
        receipt = self._shown[index]
        number, time, agent, tool, thing, risk, decided = facts_of(receipt)
        sizes = sizes_of(width)
        role = self._agent_role(str(receipt.extra.get("agent", "root")))
        texts = ((number, "muted"), (time, "muted"), (agent, role), (tool, "muted"))
        left = [
            Run(f"{text[: size - 2]:<{size}}", name)
            for (text, name), size in zip(texts, sizes, strict=True)
        ]
        sign = Run(f"{self.storm.signs.risk(risk_of(receipt))} ", f"risk-{risk}")
        if width < WIDE - 6:
            return [*left, Run(thing)], [sign]
        word = Run(f"{risk:<9}", f"risk-{risk}")
        by = Run(f"{decided[:12]:<12}", "text" if receipt.status == "denied" else "muted")
        return [*left, Run(thing)], [sign, word, by]

    def _agent_role(self, path: str) -> str:
        known = self.storm.board.agents.get(path)
        return agent_role(known.number) if known is not None else "muted"

    def on_picker_moved(self) -> None:
        """The detail follows the cursor."""
        self.detail.display = bool(self._shown) and self.size.height >= DETAIL_FROM
        self.detail.set_class(self.size.height < 30, "-flat")
        if self._shown:
            width = max(20, self.size.width - 8)
            self.detail.show(detail_rows(self._shown[self.picker.cursor], width, self.storm.signs))
            self.detail.styles.height = len(self.detail.rows) + (2 if self.size.height >= 30 else 0)

    def on_resize(self) -> None:
        """Another width."""
        self.on_picker_moved()

    def on_picker_taken(self) -> None:
        """Enter shows the call in the chat."""
        receipt = self._shown[self.picker.cursor]
        self.dismiss()
        self.storm.main.show_receipt(receipt.number)

    def action_verify(self) -> None:
        """Replay the chain."""
        self._verification = None
        self.refresh_facts()
        self.run_worker(self._verify(), exclusive=True, exit_on_error=False)

    def action_only_denied(self) -> None:
        """Only what was denied, and back."""
        self._only_denied = not self._only_denied
        self._pick()

    async def action_everywhere(self) -> None:
        """Every session, and back."""
        self._everywhere = not self._everywhere
        await self._read()

    def action_filter(self) -> None:
        """Type a word that must occur."""
        self.entry.load_text(self._filter)
        self.entry.display = True
        self.entry.focus()

    def on_text_area_changed(self) -> None:
        """Filter while it is typed."""
        self._filter = self.entry.text.strip()
        self._pick()

    def on_entry_done(self) -> None:
        """The filter stays."""
        self.entry.display = False
        self.picker.focus()

    def on_entry_left(self) -> None:
        """No filter."""
        self.entry.load_text("")
        self.on_entry_done()

"""The conversation as a person uses it: a cursor over its cards, folding, copying, opening."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from stormclaw.protocol.messages import Node
from stormclaw.ui.blocks import Block, Card, Reads, Thought, Turn, target_path
from stormclaw.ui.copying import source_text
from stormclaw.ui.keymap import bindings
from stormclaw.ui.landmarks import block_of
from stormclaw.ui.render.cards import has_body, is_open
from stormclaw.ui.widgets.finding import FindingTranscript


class Transcript(FindingTranscript, can_focus=True):
    """A transcript with keys: up and down move over cards, enter folds, letters act on one."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("transcript")]

    @dataclass
    class CopyWanted(Message):
        """`y`: the text of the focused card."""

        text: str

    @dataclass
    class OpenWanted(Message):
        """`o`: the file the focused card is about, as shown to the person."""

        path: str

    @dataclass
    class ReceiptWanted(Message):
        """`r`: the receipt of the focused card."""

        number: int

    class FindWanted(Message):
        """`/`: look for something."""

    class FindOver(Message):
        """Esc: enough was found."""

    class LeaveWanted(Message):
        """Down past the last card: back to the composer."""

    def show(self, nodes: Sequence[Node]) -> None:
        """Replace everything by these nodes; only the last screen of them is drawn."""
        super().show(nodes)
        if self.has_focus:
            self._move_cursor(self._last_in_view())

    def toggle(self, block: Block | None = None) -> None:
        """Fold or open one block, the focused one by default; it stays so whatever happens."""
        block = block or self.cursor
        if block is None:
            return
        match block.source:
            case Card() as card if has_body(card):
                cut = is_open(card) and card.hand is None and card.state == "failed"
                card.hand = cut or not is_open(card)
                card.fold_at = None
            case Reads() | Thought() | Turn() as source:
                source.hand = not source.hand
            case _:
                return
        self._refold([block])

    def toggle_all(self) -> None:
        """Open every body; if all are open, fold every one."""
        blocks = [block for block in self.column.blocks if self._folds(block)]
        opened = [self._is_open(block) for block in blocks]
        for block in blocks:
            if isinstance(block.source, Card | Reads | Thought):
                block.source.hand = not all(opened)
        self._refold(blocks)

    def card_text(self) -> str:
        """The focused card as text."""
        return source_text(self.cursor.source) if self.cursor else ""

    def card_path(self) -> str | None:
        """The file the focused card is about."""
        source = self.cursor.source if self.cursor else None
        return target_path(source) if isinstance(source, Card) else None

    def card_receipt(self) -> int:
        """The receipt of the focused card, 0 if it has none."""
        source = self.cursor.source if self.cursor else None
        if isinstance(source, Reads):
            return source.cards[-1].receipt
        return source.receipt if isinstance(source, Card) else 0

    def go_to_receipt(self, number: int) -> bool:
        """Put the cursor on the card of a receipt and show it; False if it is not here."""
        for block in reversed(self.column.blocks):
            cards = block.source.cards if isinstance(block.source, Reads) else [block.source]
            if any(isinstance(card, Card) and card.receipt == number for card in cards):
                self._move_cursor(block)
                return True
        return False

    def go_to_node(self, nodes: Sequence[Node], node_id: str) -> bool:
        """Put the cursor where a node of what is shown stands; False if it is not here."""
        index = block_of(self.column.blocks, nodes, node_id)
        if index is None:
            return False
        self.column.draw(index)  # An answer is split: its first part is meant.
        self.cursor = self.column.blocks[index]
        third = self.scrollable_content_region.height // 3
        self.scroll_to(y=max(0, self.column.top(index) - third))
        self.refresh()
        return True

    def action_card(self, direction: int) -> None:
        """The card above or below."""
        blocks = self.column.blocks
        index = next((n for n, block in enumerate(blocks) if block is self.cursor), None)
        if index is None:
            self._move_cursor(self._last_in_view())
            return
        index += direction
        while 0 <= index < len(blocks) and not self._stops(blocks[index]):
            index += direction
        if 0 <= index < len(blocks):
            self._move_cursor(blocks[index])
        elif direction > 0:
            self.post_message(self.LeaveWanted())
        else:
            self.scroll_to(y=0)

    def action_fold(self) -> None:
        """Fold or open the focused card."""
        self.toggle()

    def action_copy_card(self) -> None:
        """Copy the focused card."""
        if text := self.card_text():
            self.post_message(self.CopyWanted(text))

    def action_open_card(self) -> None:
        """Open the focused card's file."""
        if path := self.card_path():
            self.post_message(self.OpenWanted(path))

    def action_receipt(self) -> None:
        """Show the focused card's receipt."""
        if number := self.card_receipt():
            self.post_message(self.ReceiptWanted(number))

    def action_find(self) -> None:
        """Look for something."""
        self.post_message(self.FindWanted())

    def action_find_step(self, direction: int) -> None:
        """The next place found, or the one before."""
        self.find_step(direction)

    def action_end_find(self) -> None:
        """Enough was found."""
        self.post_message(self.FindOver())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of a search are none while nothing is looked for."""
        return self.finding if action in ("find_step", "end_find") else True

    def action_end(self) -> None:
        """The newest line, and stay there."""
        self.cursor = self._last_card()
        self.follow_end()

    def action_home(self) -> None:
        """The oldest line."""
        self.cursor = next((block for block in self.column.blocks if self._stops(block)), None)
        self.scroll_to(y=0)
        self.refresh()

    def on_focus(self) -> None:
        """The cursor shows; it stands on the last card in view."""
        if not self._cursor_stands():
            self.cursor = self._last_in_view()
        self.refresh()

    def on_blur(self) -> None:
        """The cursor is gone."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A click on a card's first line, or on what is left out of its body, folds or opens."""
        if self.text_selection is not None:
            return
        row = event.get_content_offset(self)
        line = row.y + self.scroll_offset.y if row is not None else -1
        if not 0 <= line < self.column.total:
            return
        index, inner = self.column.at(line)
        block = self.column.blocks[index]
        more = isinstance(block.source, Turn) and inner == block.height - 1
        cut = inner == 1 and self._is_cut(block)
        if more or (self._folds(block) and (inner == 0 or cut)):
            event.stop()
            self.toggle(block)

    def _is_cut(self, block: Block) -> bool:
        """Whether the second line counts lines that are left out."""
        lines = block.lines or []
        sign = self.column.look.signs.elided if self.column.look else ""
        return len(lines) > 1 and lines[1].strip.text[lines[1].indent :].startswith(f"{sign} ")

    def _refold(self, blocks: list[Block]) -> None:
        if len(blocks) == 1:
            self.column.touch(self.column.index_of(blocks[0]))
        else:
            self.relayout()
        self.screen.clear_selection()
        self.flush()

    def _folds(self, block: Block) -> bool:
        match block.source:
            case Card() as card:
                return has_body(card)
            case Reads() | Thought():
                return True
            case _:
                return False

    def _is_open(self, block: Block) -> bool:
        match block.source:
            case Card() as card:
                return is_open(card)
            case Reads() | Thought() as source:
                return bool(source.hand)
            case _:
                return False

    def _stops(self, block: Block) -> bool:
        """Where the cursor may stand."""
        return isinstance(block.source, Card | Reads | Thought)

    def _cursor_stands(self) -> bool:
        return self.cursor is not None and self.column.find(self.cursor) is not None

    def _last_card(self) -> Block | None:
        blocks = reversed(self.column.blocks)
        return next((block for block in blocks if self._stops(block)), None)

    def _last_in_view(self) -> Block | None:
        """The last card that is in the window, else the last of all before its end."""
        if not self.column.blocks:
            return None
        bottom = self.scroll_offset.y + self.scrollable_content_region.height - 1
        index = self.column.at(max(0, min(bottom, self.column.total - 1)))[0]
        near = reversed(self.column.blocks[: index + 1])
        return next((block for block in near if self._stops(block)), None) or self._last_card()

    def _move_cursor(self, block: Block | None) -> None:
        """Put the cursor on a block and bring its first line into view."""
        self.cursor = block
        if block is None:
            return
        line = self.column.top(self.column.index_of(block)) + block.gap
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        if line < top:
            self.scroll_to(y=line)
        elif line >= top + height:
            self.scroll_to(y=line - height + 1)
        self.refresh()

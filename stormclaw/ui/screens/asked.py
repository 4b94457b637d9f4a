"""The part of a chat that puts an agent's question over it, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.screen import Screen

from stormclaw.ui.measures import sheet_box, sheet_width
from stormclaw.ui.widgets.composer import Composer

if TYPE_CHECKING:
    from stormclaw.ui.app import StormApp
    from stormclaw.ui.widgets.sheet import Sheet
    from stormclaw.ui.widgets.sheet_view import SheetView


class AskedScreen(Screen[None]):
    """A screen with a composer that a sheet may take the place of.

    Attributes:
        composer: Keeps its draft while something is asked.
        sheet: None until the first paint is over.
    """

    def __init__(self, composer: Composer) -> None:
        super().__init__()
        self.composer = composer
        self.sheet: Sheet | None = None
        self._first_ask = ""

    @property
    def storm(self) -> StormApp:
        """The app."""
        return cast("StormApp", self.app)

    def refresh_facts(self) -> None:
        """Header and footer say what is true now."""
        raise NotImplementedError

    def sheet_left(self) -> int:
        """Column the sheet begins at."""
        return 2

    def place_sheet(self) -> None:
        """Put the sheet above the footer."""
        sheet = self.sheet
        if sheet is None or not sheet.display:
            return
        width, height = self.size
        left = self.sheet_left()
        wanted = sheet.view.wanted_height(sheet_width(width, left) - 4) + sheet.entry_rows
        wanted += sheet.gutter.height  # the hairline of the 16-colour theme
        box = sheet_box(width, height, wanted, full=sheet.view.full, left=left)
        sheet.styles.offset = (box.x, box.y)
        sheet.styles.width, sheet.styles.height = box.width, box.height

    def take_focus(self) -> None:
        """Focus what a key would mean: the question, else the composer."""
        sheet = self.sheet
        asked = sheet is not None and sheet.display
        self.set_focus(sheet.view if sheet is not None and asked else self.composer)

    def on_screen_resume(self) -> None:
        """Back from another screen: what was asked meanwhile is asked here."""
        self.show_asks()
        self.refresh_facts()

    def show_asks(self) -> None:
        """Show the question whose turn it is, or none; the draft in the composer is kept."""
        from stormclaw.ui.asking import Place

        sheet = self.sheet
        if sheet is None:
            return
        asks = self.storm.board.asks
        if not asks:
            if sheet.display:
                sheet.hide()
                self.composer.focus()
                self.refresh_facts()
            return
        ask = next((ask for ask in asks if ask.id == self._first_ask), asks[0])
        place = Place(asks.index(ask) + 1, len(asks), self.storm.role_of(ask.agent))
        sheet.view.last_typed = lambda: self.composer.typed_at
        sheet.show(ask, place)
        self.place_sheet()
        self.refresh_facts()

    def on_sheet_view_replied(self, message: SheetView.Replied) -> None:
        """The person decided."""
        message.stop()
        self.storm.reply(message.ask_id, message.reply)

    def on_sheet_view_next_wanted(self, message: SheetView.NextWanted) -> None:
        """Another question first."""
        message.stop()
        asks, sheet = self.storm.board.asks, self.sheet
        if len(asks) > 1 and sheet is not None and sheet.ask is not None:
            ids = [ask.id for ask in asks]
            at = ids.index(sheet.ask.id) if sheet.ask.id in ids else -1
            self._first_ask = ids[(at + 1) % len(ids)]
            self.show_asks()

    def on_sheet_view_resized(self, message: SheetView.Resized) -> None:
        """The sheet wants more or fewer rows."""
        message.stop()
        self.place_sheet()
        self.refresh_facts()

    def on_sheet_view_still_typing(self, message: SheetView.StillTyping) -> None:
        """A letter that was meant for the composer goes there."""
        message.stop()
        self.composer.typed_at = self.storm.clock()
        if message.key.key == "backspace":
            self.composer.action_delete_left()
        elif message.key.character:
            self.composer.insert(message.key.character)

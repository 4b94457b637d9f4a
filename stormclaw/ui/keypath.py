"""A typed key is on the screen before the next frame: the place that leans on Textual's insides.

Written against textual 8.2.8, which is pinned for it; tests/ui/test_keypath.py holds what it
relies on: `Screen._on_timer_update` paints the dirty widgets at once, `Screen._dirty_widgets` names
them, `_layout_required` and `_scroll_required` say that a paint alone would not do, and every paint
of a `TextArea` starts with `TextAreaTheme.apply_css`, not needed while the style is the same.
"""

from __future__ import annotations

from typing import Any

from textual.events import Key
from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import TextArea


class QuickTextArea(TextArea):
    """A `TextArea` that repaints one line for a typed character, within the key's handler."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._holding = False
        self._held = False
        self._styled_for: tuple[object, ...] = ()
        super().__init__(*args, **options)

    def refresh(
        self,
        *regions: Region,
        repaint: bool = True,
        layout: bool = False,
        recompose: bool = False,
    ) -> Any:
        """Repaint; while a key is handled only noted, to be done once and for one line."""
        if self._holding and not layout and not recompose:
            self._held = True
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    async def quick_key(self, event: Key) -> None:
        """Let `TextArea` handle a key, then put the changed line on the screen at once."""
        before = self._geometry()
        self._holding, self._held = True, False
        try:
            await super()._on_key(event)
        finally:
            self._holding = False
        if not self._held:
            return
        if before == self._geometry():
            self.refresh(Region(0, before[1] - before[2], self.size.width, 1))
        else:
            self.refresh()
        paint_now(self)

    def _geometry(self) -> tuple[int, int, int, int, object]:
        """Text height, cursor row, scroll, width, selection: if equal, one line is enough."""
        start, end = self.selection
        return (
            self.wrapped_document.height,
            self._cursor_offset[1],
            int(self.scroll_offset.y),
            self.size.width,
            None if start == end else (start, end),
        )

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines to paint; the theme is applied only when something about the style changed."""
        styled_for = (self.app.theme, self.has_focus, self.size, self.read_only)
        if styled_for != self._styled_for:
            self._styled_for = styled_for
            return super().render_lines(crop)
        return ScrollView.render_lines(self, crop)

    def notify_style_update(self) -> None:
        """Something about the style changed."""
        self._styled_for = ()
        super().notify_style_update()


def paint_now(widget: Widget) -> None:
    """Paint what is dirty now instead of at the next tick of the screen's timer."""
    screen = widget.screen
    if not screen._layout_required and not screen._scroll_required:
        screen._dirty_widgets.add(widget)
        screen._on_timer_update()

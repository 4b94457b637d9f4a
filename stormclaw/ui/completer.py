"""Between the composer and its popup: what to offer for what is typed, and taking it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from stormclaw.ui.complete import MOST, Finder, Match, Wanted, contains, wanted
from stormclaw.ui.text import age

if TYPE_CHECKING:
    from stormclaw.ui.history import History
    from stormclaw.ui.widgets.completion import Completion
    from stormclaw.ui.widgets.composer import Composer

STALE_S = 5.0
"""A list of files older than this is asked for again when a person types `@`."""


class Completer:
    """Keeps the popup in step with the composer.

    Attributes:
        commands: Name -> (usage, summary).
        list_files: Gives all files of the workspace, relative; None where there are none.
    """

    def __init__(
        self,
        composer: Composer,
        popup: Completion,
        workspace: Path,
        clock: Callable[[], float],
        wall: Callable[[], float] = time,
    ) -> None:
        self._composer = composer
        self._popup = popup
        self._workspace = workspace
        self._clock = clock
        self._wall = wall
        self.commands: Mapping[str, tuple[str, str]] = {}
        self.list_files: Callable[[], Awaitable[Sequence[str]]] | None = None
        self._finders: dict[str, Finder] = {}
        self._listed_at = float("-inf")
        self._wanted: Wanted | None = None
        self._offered_for: tuple[str, tuple[int, int]] = ("", (0, 0))
        self._closed_at: tuple[int, int] | None = None
        self._history: History | None = None
        self._draft = ""

    @property
    def open(self) -> bool:
        """Whether the popup is shown."""
        return bool(self._popup.display)

    def know_commands(self, commands: Mapping[str, tuple[str, str]]) -> None:
        """Take in the slash commands."""
        self.commands = commands
        self._finders["command"] = Finder(sorted(commands))
        self.refresh()

    def refresh(self) -> None:
        """The text or the cursor changed: offer what fits now."""
        self._offered_for = self._written()
        if self._history is not None:
            self._offer_history(self._history)
            return
        before, (row, _) = self._offered_for
        found = wanted(before, row)
        place = None if found is None else (row, found.start)
        if found is None or place == self._closed_at:
            self._closed_at = place
            self._hide()
            return
        self._closed_at = None
        self._wanted = found
        if found.kind == "file":
            self._freshen()
        finder = self._finders.get(found.kind)
        matches = finder.find(found.query) if finder else []
        if found.kind == "command":
            matches = [self._described(match) for match in matches]
        else:
            matches = [self._dated(match) for match in matches]
        if matches:
            self._popup.show(matches, found.kind)
        else:
            self._hide()

    def _catch_up(self) -> None:
        """Offer what fits now, if keys came faster than the news of them."""
        if self._offered_for != self._written():
            self.refresh()

    def _written(self) -> tuple[str, tuple[int, int]]:
        """The line up to the cursor, and where the cursor is."""
        row, column = self._composer.cursor_location
        return self._composer.document.get_line(row)[:column], (row, column)

    def _described(self, match: Match) -> Match:
        usage, summary = self.commands[match.text]
        return Match(match.text, match.positions, f"{usage}  {summary}" if usage else summary)

    def _dated(self, match: Match) -> Match:
        try:
            seconds = self._wall() - (self._workspace / match.text).stat().st_mtime
        except OSError:
            return match
        return Match(match.text, match.positions, age(seconds, self._wall()))

    def _freshen(self) -> None:
        now = self._clock()
        if self.list_files is None or now - self._listed_at < STALE_S:
            return
        self._listed_at = now
        self._composer.run_worker(self._read_files(), group="files", exit_on_error=False)

    async def _read_files(self) -> None:
        if self.list_files is not None:
            self._finders["file"] = Finder(list(await self.list_files()))
            self.refresh()

    def preload(self) -> None:
        """Read the list of files before anyone asks for it."""
        self._freshen()

    def search(self, history: History) -> None:
        """Search the history with what stands in the composer; again: the next older one."""
        if self._history is not None:
            self.move(1)
            return
        self._history, self._draft = history, self._composer.text
        self._offer_history(history)

    def _offer_history(self, history: History) -> None:
        matches = contains(history.newest_first(), self._composer.text, MOST)
        self._wanted = None
        self._popup.show(matches, "history")

    def move(self, by: int) -> bool:
        """Pick another row; False when nothing is offered."""
        self._catch_up()
        if not self.open:
            return False
        self._popup.move(by)
        return True

    def take(self, *, sending: bool = False) -> bool:
        """Put the picked row into the composer.

        Args:
            sending: Enter was pressed: a command that needs no more words is left to be sent.

        Returns:
            Whether the key has done its work.
        """
        self._catch_up()
        match = self._popup.picked if self.open else None
        if match is None:
            return False
        composer = self._composer
        if self._history is not None:
            self._end_search()
            composer.put(match.text)
            self.close()
            return True
        if self._wanted is None:
            return False
        row, column = composer.cursor_location
        is_command = self._wanted.kind == "command"
        word = f"/{match.text}" if is_command else f"@{match.text}"
        meant = match.text.startswith(self._wanted.query) or self._popup.moved
        done = sending and is_command and meant and not self.commands[match.text][0]
        complete = sending and self._wanted.query == match.text
        folder = word.endswith("/")
        space = "" if done or folder or (is_command and not meant) else " "
        if not (complete and is_command):
            composer.replace(word + space, (row, self._wanted.start), (row, column))
            composer.move_cursor((row, self._wanted.start + len(word + space)))
        self.close()
        return not (done or (complete and is_command))

    def close(self) -> bool:
        """Hide the popup; the same word does not open it again. False when it was not open."""
        searching = self._history is not None
        if searching:
            draft = self._draft
            self._end_search()
            self._composer.put(draft)
        was_open = self.open
        if self._wanted is not None:
            self._closed_at = (self._composer.cursor_location[0], self._wanted.start)
        self._hide()
        return was_open or searching

    def _end_search(self) -> None:
        self._history = None

    def _hide(self) -> None:
        self._wanted = None
        self._popup.hide()

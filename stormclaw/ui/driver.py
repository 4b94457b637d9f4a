"""The terminal: a frame leaves in one write, broken mouse reports never reach the parser, and what
libraries print to the error stream goes to a log instead of over the screen."""

from __future__ import annotations

import os
import re
import selectors
import sys
from codecs import getincrementaldecoder
from pathlib import Path
from typing import Any, TextIO

from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

SYNC_START = "\x1b[?2026h"
SYNC_END = "\x1b[?2026l"

BROKEN_MOUSE = re.compile(r"\x1b\[<(?![-\d]+;[-\d]+;[-\d]+[Mm])[-\dNa.;]*[Mm]")
"""A mouse report with something else than numbers in it: `\\x1b[<32;NaN;NaNM`."""

UNFINISHED_MOUSE = re.compile(r"\x1b\[<[-\dNa.;]{0,30}\Z")
ALT_ENTER = "\x1b\r"
ALT_ENTER_KITTY = "\x1b[13;3u"


class InputFilter:
    """Cleans what the terminal sends before it is parsed."""

    def __init__(self) -> None:
        self._kept = ""

    def clean(self, typed: str) -> str:
        """The input without broken mouse reports; one cut off at the end is kept for later."""
        typed, self._kept = self._kept + typed, ""
        if "\x1b" not in typed:
            return typed
        typed = BROKEN_MOUSE.sub("", typed).replace(ALT_ENTER, ALT_ENTER_KITTY)
        if unfinished := UNFINISHED_MOUSE.search(typed):
            self._kept = unfinished[0]
            return typed[: unfinished.start()]
        return typed

    def rest(self) -> str:
        """What was kept and never came to an end."""
        kept, self._kept = self._kept, ""
        return kept


class StormDriver(LinuxDriver):
    """Textual's driver for Linux and macOS with those three habits."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._frame: list[str] | None = None
        self._log: Path | None = getattr(app, "stray_output", None)
        self._terminal: TextIO | None = None
        self._stderr: int | None = None

    def write(self, data: str) -> None:
        """Write at once, or, between the marks of a synchronized update, together at its end."""
        if data == SYNC_START:
            self._frame = [data]
        elif self._frame is None:
            super().write(data)
        else:
            self._frame.append(data)
            if data == SYNC_END:
                frame, self._frame = "".join(self._frame), None
                super().write(frame)

    def start_application_mode(self) -> None:
        """Take the terminal; from here the error stream goes to the log."""
        self._divert()
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def stop_application_mode(self) -> None:
        """Give the terminal back, and the error stream with it."""
        super().stop_application_mode()
        self._restore()

    def _divert(self) -> None:
        if self._log is None or self._stderr is not None:
            return
        try:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError:
            return
        self._stderr = os.dup(2)
        self._terminal = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace")
        self._file = self._terminal
        os.dup2(log, 2)
        os.close(log)

    def _restore(self) -> None:
        """The screen's own stream stays open: its writer may still have a few bytes to say."""
        if self._stderr is None:
            return
        os.dup2(self._stderr, 2)
        os.close(self._stderr)
        self._stderr = None

    def close(self) -> None:
        """Let the writer finish, then close its stream."""
        super().close()
        if self._terminal is not None and self._stderr is None:
            self._terminal.close()
            self._terminal = None
            self._file = sys.__stderr__

    def run_input_thread(self) -> None:
        """Read, clean, parse, dispatch, until the app ends."""
        parser, cleaner = XTermParser(self._debug), InputFilter()
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        with selectors.DefaultSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(0.1):
                    received = os.read(self.fileno, 4096)
                    if not received:
                        break
                    typed = cleaner.clean(decode(received))
                else:
                    typed = cleaner.rest()
                if typed:
                    for event in parser.feed(typed):
                        self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)

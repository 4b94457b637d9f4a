"""Copying from a terminal: the escape sequence, and through tmux where it stands between."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping

from textual.app import App

_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def pasteable(text: str) -> str:
    """The text without what a program it is pasted into would act on: escapes, control characters.

    A model's answer may hold the sequence that ends a bracketed paste and a command after it.
    """
    return _ACTS.sub("", text.replace("\r\n", "\n"))


def copy(app: App[object], text: str, environ: Mapping[str, str]) -> str:
    """Copy `text`; returns what can be said for sure about where it went.

    A terminal never answers, so the words name the way and do not claim that it arrived.
    """
    text = pasteable(text)
    app.copy_to_clipboard(text)
    lines = text.count("\n") + 1
    what = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
    if environ.get("TMUX") and app._driver is not None:
        encoded = b64encode(text.encode()).decode()
        app._driver.write(f"\x1bPtmux;\x1b\x1b]52;c;{encoded}\x07\x1b\\")
        return f"{what} sent to the clipboard, through tmux"
    return f"{what} sent to the terminal's clipboard"

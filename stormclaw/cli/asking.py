"""Asks a person at the terminal; the end of the input is a polite no."""

from __future__ import annotations

import getpass
import sys

from stormclaw.errors import UsageError


def is_person() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


def ask(what: str, usual: str) -> str:
    """A line; `usual` when it is empty.

    Raises:
        UsageError: The input ended.
    """
    hint = f" [{usual}]" if usual else ""
    try:
        return input(f"{what}{hint}: ").strip() or usual
    except EOFError:
        raise UsageError("left; nothing more was changed") from None


def ask_secret(what: str) -> str:
    """A line that is not shown while it is typed.

    Raises:
        UsageError: The input ended.
    """
    try:
        return getpass.getpass(f"{what}: ").strip()
    except EOFError:
        raise UsageError("left; nothing more was changed") from None

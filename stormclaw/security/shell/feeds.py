"""What arrives on a command's standard input, as far as the line itself says it."""

from __future__ import annotations

from dataclasses import dataclass

from stormclaw.security.shell.scope import Scope
from stormclaw.security.shell.shell_tree import Redirect
from stormclaw.security.shell.shell_words import UNSEEN, plain


@dataclass(frozen=True, slots=True)
class Feed:
    """Standard input of a command.

    Attributes:
        names: Every program name in the pipe before it.
        text: The text itself, None when it is not known.
        present: Whether anything is piped or redirected in.
    """

    names: frozenset[str] = frozenset()
    text: str | None = None
    present: bool = False


NO_FEED = Feed()


def known_text(text: str) -> str | None:
    """`text` unless a part of it is only known at run time."""
    return None if "\0" in text or UNSEEN in text else text


def redirected(redirects: tuple[Redirect, ...], scope: Scope, feed: Feed) -> Feed:
    """What a command reads once its own redirects are in place."""
    for redirect in redirects:
        body = redirect.body
        if redirect.op in ("<<", "<<-"):
            feed = Feed(text=known_text(plain(body.form) if body else ""), present=True)
        elif redirect.op == "<<<":
            args = scope.arguments((redirect.target,))
            feed = Feed(text=known_text(" ".join(arg.text for arg in args)), present=True)
        elif redirect.op in ("<", "<>"):
            feed = Feed(present=True)
    return feed

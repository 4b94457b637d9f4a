"""Why somebody did not answer, in words for the person: one sentence each, one error for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from stormclaw.errors import RETRYABLE, ErrorClass, ProviderError
from stormclaw.log import mask_secrets, one_line
from stormclaw.providers.recovery import RECOVERY

REASON_CHARS: Final = 200

SAID: Final[Mapping[ErrorClass, str]] = {
    "auth": "refused the key",
    "payment": "has no credit left",
    "forbidden": "does not allow this",
    "not_found": "does not have the model",
    "bad_request": "refused the request",
    "context_length": "takes less than this conversation",
    "rate_limit": "takes no more requests for now",
    "server": "has trouble",
    "provider": "stumbled",
    "timeout": "did not answer in time",
    "connection": "cannot be reached",
    "protocol": "does not speak the protocol",
    "too_large": "takes no request as large as this",
    "content_filter": "filtered it",
    "tools_unsupported": "cannot use tools with this model",
}
"""What follows the name of a provider that did not answer."""

BROKE_OFF: Final[Mapping[ErrorClass, str]] = {**SAID, "connection": "lost the connection"}
"""The same where an answer had begun."""

SAID_OF_KEYS: Final[Mapping[ErrorClass, str]] = {
    **SAID,
    "auth": "was refused",
    "payment": "has no credit left",
    "forbidden": "may not do this",
    "rate_limit": "is used up for now",
}
"""What follows the name of a key."""


@dataclass(frozen=True, slots=True)
class Excuse:
    """Why one of several does not answer.

    Attributes:
        kind: Class of the error.
        said: A `complaint`.
        wait_s: Seconds until it is asked again; 0 for at once.
    """

    kind: ErrorClass
    said: str
    wait_s: float = 0.0

    def __str__(self) -> str:
        return f"{self.said}, again in {span(self.wait_s)}" if self.wait_s else self.said


def complaint(
    label: str, kind: ErrorClass, reason: str, words: Mapping[ErrorClass, str] = SAID
) -> str:
    """`openai refused the key (invalid key)`, or what was said where that names who did."""
    if reason.startswith(f"{label} "):
        return reason
    return f"{label} {words[kind]}" + (f" ({reason})" if reason else "")


def nobody(
    whole: str, excuses: Sequence[Excuse], hint: str = "", partial: str = ""
) -> ProviderError:
    """The one error where none of several answered.

    Its class is that of who can be asked again soonest, if waiting helps at all.

    Args:
        whole: `none of NAME's providers answers`.
        excuses: Of each, first to last.
        hint: The next step where waiting does not help, "" for the usual one.
        partial: Text that had arrived.
    """
    waiting = [excuse for excuse in excuses if excuse.kind in RETRYABLE]
    first = min(waiting, key=lambda excuse: excuse.wait_s, default=excuses[0])
    if waiting:
        when = f"in {span(first.wait_s)}" if first.wait_s else "again"
        hint = f"send it {when}, or take another model with /model"
    return ProviderError(
        first.kind,
        f"{whole}: {'; '.join(map(str, excuses))}",
        hint=hint or RECOVERY[first.kind].hint,
        retry_after_s=first.wait_s or None if waiting else None,
        partial=partial,
    )


def plain(error: ProviderError) -> str:
    """What a server said, on one line, bounded, without keys."""
    said = one_line(mask_secrets(str(error)))
    return said if len(said) <= REASON_CHARS else f"{said[:REASON_CHARS]}…"


def span(seconds: float) -> str:
    """`45s`, `12 min`, `3 h`."""
    if seconds < 120:
        return f"{max(1, round(seconds))}s"
    return f"{round(seconds / 60)} min" if seconds < 7200 else f"{round(seconds / 3600)} h"

"""From what claude says of a failed turn to one of our error classes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from stormclaw.errors import ErrorClass, ProviderError
from stormclaw.providers._programs.events import Result

INSTALL: Final = (
    "npm install -g @anthropic-ai/claude-code, then run `claude` in a terminal and type /login"
)
LOGIN: Final = "run `claude` in a terminal and type /login"

BY_WORD: Final[Mapping[str, ErrorClass]] = {
    "authentication_failed": "auth",
    "oauth_org_not_allowed": "forbidden",
    "billing_error": "payment",
    "rate_limit": "rate_limit",
    "overloaded": "server",
    "server_error": "server",
    "model_not_found": "not_found",
    "refusal": "content_filter",
    "prompt_too_long": "context_length",
}
"""Claude's own words."""

BY_STATUS: Final[Mapping[int, ErrorClass]] = {
    400: "bad_request",
    401: "auth",
    402: "payment",
    403: "forbidden",
    404: "not_found",
    408: "timeout",
    413: "too_large",
    429: "rate_limit",
}

BY_TEXT: Final[tuple[tuple[str, ErrorClass], ...]] = (
    (r"prompt is too long|context (window|length)|input is too long", "context_length"),
    (r"not logged in|/login|invalid api key|authenticat|oauth token|\b401\b", "auth"),
    (r"credit balance|usage limit|limit reached|billing", "payment"),
    (r"usage policy|unable to respond to this request", "content_filter"),
    (r"issue with the selected model|model_not_found", "not_found"),
    (r"timed? ?out", "timeout"),
    (r"unable to connect|connection (error|refused|reset)|econn|fetch failed", "connection"),
    (r"overloaded|\b5\d\d\b|internal server error", "server"),
)
"""Where all there is is a sentence: the first that is found decides."""

HINTS: Final[Mapping[ErrorClass, str]] = {
    "auth": LOGIN,
    "payment": "see your plan with `claude`, or take another model with /model",
    "not_found": "`claude` shows the models your account has with /model; so does /model here",
}
"""What is to be done where that is something else than for a key of ours."""

NO_SESSION: Final = re.compile(
    r"no conversation found|no message found|session id .{0,80} is already in use", re.I
)
"""Said of a session that cannot be gone on with."""
AS_ROOT: Final = re.compile(r"cannot be used with root", re.I)
TOO_OLD: Final = re.compile(r"unknown option|unrecognized (option|argument)", re.I)


def turn_error(result: Result, partial: str) -> ProviderError:
    """The error a turn ended with.

    Args:
        result: Claude's last line.
        partial: Text that had been shown.
    """
    said = result.message or f"claude gave up ({result.reason or 'no reason given'})"
    kind = _kind(said, result.reason, result.status)
    return ProviderError(kind, said, hint=HINTS.get(kind, ""), partial=partial)


def ended_error(code: int | None, stderr: str, partial: str) -> ProviderError:
    """The error of a claude that ended without a word of its end."""
    last = stderr.splitlines()[-1].strip() if stderr else ""
    if TOO_OLD.search(stderr):
        return ProviderError(
            "protocol", f"this claude is too old: {last}", hint=f"`claude update`, or {INSTALL}"
        )
    how = f"was killed by signal {-code}" if code and code < 0 else f"ended with code {code}"
    kind = _kind(stderr, "", 0) if last else "connection"
    message = f"claude {how} before its answer was whole" + (f": {last}" if last else "")
    return ProviderError(
        "connection" if kind == "provider" else kind,
        message,
        hint=HINTS.get(kind, "send it again; the conversation goes on from its last whole answer"),
        partial=partial,
    )


def _kind(message: str, word: str, status: int) -> ErrorClass:
    low = message.lower()
    found = next((kind for pattern, kind in BY_TEXT if re.search(pattern, low)), None)
    if word in BY_WORD:
        return BY_WORD[word]
    if found is not None and status in (0, 400, 403):
        return found
    if status in BY_STATUS:
        return BY_STATUS[status]
    return "server" if status >= 500 else found or "provider"

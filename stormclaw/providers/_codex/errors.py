"""From what codex says of a failed turn to one of our error classes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from stormclaw.errors import ErrorClass, ProviderError

BY_WORD: Final[Mapping[str, ErrorClass]] = {
    "contextWindowExceeded": "context_length",
    "sessionBudgetExceeded": "payment",
    "usageLimitExceeded": "payment",
    "rateLimitExceeded": "rate_limit",
    "flexUnavailable": "rate_limit",
    "serverOverloaded": "server",
    "policyCapacityUnavailable": "server",
    "internalServerError": "server",
    "modelNotFound": "not_found",
    "cyberPolicy": "content_filter",
    "misalignmentPolicyViolation": "content_filter",
    "inferenceHookDenied": "forbidden",
    "tooManyDenials": "forbidden",
    "unauthorized": "auth",
    "badRequest": "bad_request",
    "sandboxError": "provider",
}
"""Codex' own words."""

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
    (r"room in the model's context window|context_length_exceeded", "context_length"),
    (r"quota exceeded|usage limit|plan and billing", "payment"),
    (r"\b401\b|unauthorized|not logged in|refresh token|missing environment variable", "auth"),
    (r"\b402\b", "payment"),
    (r"\b403\b", "forbidden"),
    (r"model .{0,80}does not exist|model_not_found|\b404\b", "not_found"),
    (r"\b429\b|rate limit|too many requests", "rate_limit"),
    (r"idle timeout|timed out", "timeout"),
    (r"stream disconnected|error sending request|connection (failed|refused)", "connection"),
    (r"high demand|\b5\d\d\b|internal server error|overloaded", "server"),
    (r"invalid_request_error|\b400\b", "bad_request"),
)
"""Where all there is is a sentence: the first that is found decides."""

HINTS: Final[Mapping[ErrorClass, str]] = {
    "auth": "run `codex login` in a terminal",
    "payment": "see your plan with `codex`, or take another model with /model",
    "not_found": "`codex` shows the models your account has; /model takes another",
}
"""What is to be done where that is something else than for a key of ours."""

NO_ROLLOUT: Final = re.compile(r"no rollout found|thread.{0,40}not found", re.I)
"""Said of a thread that is not there any more."""


def turn_error(
    message: str, *, word: str = "", status: int = 0, partial: str = ""
) -> ProviderError:
    """The error a turn ended with.

    Args:
        message: What codex says: a sentence, or the server's body.
        word: Codex' own word for it, "" where the wire has none.
        status: The HTTP status behind it, 0 if unknown.
        partial: Text that had been shown.
    """
    said = _readable(message) or "codex gave up without saying why"
    kind = _kind(message, word, status)
    return ProviderError(kind, said, hint=HINTS.get(kind, ""), partial=partial)


def _kind(message: str, word: str, status: int) -> ErrorClass:
    if word in BY_WORD:
        return BY_WORD[word]
    if status in BY_STATUS:
        return BY_STATUS[status]
    if status >= 500:
        return "server"
    low = message.lower()
    found = (kind for pattern, kind in BY_TEXT if re.search(pattern, low))
    return next(found, "provider")


def status_of(info: object) -> int:
    """The HTTP status in a `codexErrorInfo`, 0 if it has none."""
    if isinstance(info, Mapping):
        for value in info.values():
            if isinstance(value, Mapping) and isinstance(value.get("httpStatusCode"), int):
                return int(value["httpStatusCode"])
    return 0


def _readable(said: str) -> str:
    """A server's JSON body as its message."""
    try:
        body = json.loads(said)
    except ValueError:
        return said
    error = body.get("error") if isinstance(body, Mapping) else None
    message = error.get("message") if isinstance(error, Mapping) else None
    return message if isinstance(message, str) and message else said

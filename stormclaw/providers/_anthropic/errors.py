"""Anthropic's refusals by class, with the next step where it is another than elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from stormclaw.errors import ErrorClass, ProviderError
from stormclaw.providers._anthropic.talk import room_left
from stormclaw.providers._errors import error_from_status, error_in_band

KINDS: Final[tuple[tuple[str, frozenset[ErrorClass], ErrorClass], ...]] = (
    (r"on-demand throughput|model identifier is invalid", frozenset({"bad_request"}), "not_found"),
    (r"input is too long|exceed context limit", frozenset({"bad_request"}), "context_length"),
)
"""Words, classes they are taken for elsewhere, and what they are."""

TYPES: Final[Mapping[str, ErrorClass]] = {
    "authentication_error": "auth",
    "billing_error": "payment",
    "permission_error": "forbidden",
    "not_found_error": "not_found",
    "request_too_large": "too_large",
    "rate_limit_error": "rate_limit",
    "timeout_error": "timeout",
    "api_error": "server",
    "overloaded_error": "server",
}
"""Anthropic's names of errors, for those inside an answer, which have no status."""

HINTS: Final[tuple[tuple[str, ErrorClass | None, str], ...]] = (
    (
        r"credit balance|billing",
        "payment",
        "console.anthropic.com/settings/billing takes credit; /model takes another model",
    ),
    (
        r"on-demand throughput",
        None,
        "put the region's prefix before the model's id: us., eu., apac. or global.",
    ),
    (r"model identifier", None, "`aws bedrock list-inference-profiles` shows the ids there are"),
    (
        r"access to the model|model access|not authorized to perform",
        "forbidden",
        "the AWS account has no access to this model; its Bedrock console gives it",
    ),
    (r"overloaded", "server", "Anthropic has too much to do; wait a moment, or /model"),
)
"""Words, the class they must have come under, and the better next step."""

NO_PAGE: Final = "nothing answers there; base_url is the address without /v1/messages"


def anthropic_error(status: int, headers: Mapping[str, str], body: str) -> ProviderError:
    """The error an HTTP answer of 3xx to 5xx stands for."""
    return classed(error_from_status(status, headers, body))


def error_in_stream(event: Mapping[str, Any], *, partial: str) -> ProviderError:
    """The error inside an answer that began as a 200."""
    error = error_in_band(event, partial=partial)
    told = event.get("error")
    kind = TYPES.get(str(told.get("type"))) if isinstance(told, Mapping) else None
    if kind is not None and error.kind == "provider":
        error.kind, error.hint = kind, ""
    return classed(error)


def classed(error: ProviderError) -> ProviderError:
    """The same error, in the class and with the hint that Anthropic's words stand for."""
    said = str(error).lower()
    if "ends in /v1" in error.hint:
        error.hint = NO_PAGE
    for words, mistaken, kind in KINDS:
        if error.kind in mistaken and re.search(words, said):
            # A conversation that leaves little room is mended with a smaller answer.
            if room_left(error) is None:
                error.hint = ""
                error.kind = kind
            break
    for words, kind_, hint in HINTS:
        if kind_ in (None, error.kind) and re.search(words, said):
            error.hint = hint
            break
    return error

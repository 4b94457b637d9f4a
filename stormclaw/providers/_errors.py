"""From a server's complaint to one of our error classes, with the next step for the person."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from stormclaw.errors import ErrorClass, ProviderError
from stormclaw.providers._envelope import Complaint, read_complaint
from stormclaw.providers._retry_after import MAX_WAIT_S, retry_after
from stormclaw.providers.recovery import with_hint


@dataclass(frozen=True, slots=True)
class Rule:
    """A line of the table below: the first whose every condition holds decides.

    Attributes:
        kind: What it then is.
        words: Found in message, code or type; "" for any.
        statuses: HTTP statuses it holds for; empty for any.
    """

    kind: ErrorClass
    words: str = ""
    statuses: frozenset[int] = frozenset()

    def fits(self, said: str, status: int) -> bool:
        """Whether the rule holds for what was said under a status (0 for none)."""
        if self.statuses and status not in self.statuses:
            return False
        return not self.words or re.search(self.words, said) is not None


_ABOUT_SIZE: Final = frozenset({0, 400, 404, 413, 422, 500})

RULES: Final[tuple[Rule, ...]] = (
    # The form of an id, which OpenAI calls a text that is too long.
    Rule(
        "bad_request", r"tool_calls\[\d+\]\.id|tool[_ ]call[_ ]?id", frozenset({0, 400, 422, 500})
    ),
    Rule(
        "tools_unsupported",
        r"support tool use|(does not|doesn't|do not) support (tools|tool use|tool calling|function)"
        r"|(tool(s| use| calling)?|function calling) (is|are) not (supported|enabled)"
        r"|--enable-auto-tool-choice|tools? param requires --jinja|--jinja.{0,40}tools",
        frozenset({0, 400, 404, 405, 422, 500, 501}),
    ),
    Rule(
        "context_length",
        r"context_length|maximum context|context (window|size|length)|exceed_context_size"
        r"|(prompt|input|request)( token count)? (is|are) too (long|large)|too many (input )?tokens"
        r"|exceeds the (maximum|max|limit)[^.]{0,40}tokens|reduce the length"
        r"|maximum allowed (input|number of input) (tokens|length)|string_above_max_length",
        _ABOUT_SIZE,
    ),
    Rule(
        "payment",
        r"insufficient[_ ](quota|balance|credits?|funds)|exceeded your current quota"
        r"|(key|credit|spend(ing)?) limit exceeded|billing (hard limit|not active|details)"
        r"|not enough credits|payment required|out of credits|credit balance is too low",
        frozenset({0, 400, 401, 403, 429}),
    ),
    Rule(
        "content_filter",
        r"content_filter|content_policy|content management policy|moderation|flagged"
        r"|responsibleaipolicy|data_inspection_failed",
        frozenset({0, 400, 403}),
    ),
    Rule(
        "auth",
        r"invalid_api_key|incorrect api key|invalid (api )?key|api key not valid|invalid_token"
        r"|no auth credentials|missing authentication|authentication_error|unauthori[sz]ed",
        frozenset({0, 400, 401, 403}),
    ),
    Rule(
        "not_found",
        r"model_not_found|model .{0,120}(not found|does not exist|not exist)|unknown model"
        r"|not a valid model|invalid model|no endpoints found|no models? loaded",
        frozenset({0, 400, 404, 422, 500}),
    ),
    Rule("provider", r"tool_use_failed", frozenset({0, 400})),
    Rule("bad_request", r"roles must alternate|jinja|chat template", frozenset({0, 500})),
    Rule("auth", "", frozenset({401})),
    Rule("payment", "", frozenset({402})),
    Rule("forbidden", "", frozenset({403})),
    Rule("not_found", "", frozenset({404, 405, 410})),
    Rule("timeout", "", frozenset({408, 504, 524})),
    Rule("too_large", "", frozenset({413})),
    Rule("rate_limit", "", frozenset({425, 429})),
    Rule("rate_limit", r"rate[_ ]limit|too many requests|throttl", frozenset({0})),
    Rule("timeout", r"timed? ?out", frozenset({0})),
    Rule(
        "server",
        r"server_error|internal|overloaded|unavailable|upstream|disconnect|provider returned",
        frozenset({0}),
    ),
    Rule("bad_request", r"invalid_request|bad_?request|invalid argument", frozenset({0})),
)

SPECIAL_HINTS: Final[tuple[tuple[str, str], ...]] = (
    (r"try pulling it", "`ollama pull MODEL` gets it, or /model takes another"),
    (r"no models? loaded", "load a model in the server first"),
    (r"--enable-auto-tool-choice", "start vLLM with the two options it names"),
    (r"--jinja", "start llama-server with --jinja"),
    (r"data policy|guardrail", "openrouter.ai/settings/privacy decides who may answer"),
)
"""Better steps for what servers are known to say."""


def error_from_status(status: int, headers: Mapping[str, str], body: object) -> ProviderError:
    """The error an HTTP answer of 3xx to 5xx stands for."""
    if 300 <= status < 400:
        target = headers.get("location", "elsewhere")
        return ProviderError(
            "protocol", f"the server redirects to {target}", hint="put that address into base_url"
        )
    complaint = read_complaint(body, status)
    wait_s = retry_after(headers)
    error = _classed(complaint, wait_s)
    if status == 404 and not complaint.structured:
        error.hint = "nothing answers at that address; base_url usually ends in /v1"
    return error


def error_in_band(chunk: Mapping[str, object], *, partial: str) -> ProviderError:
    """The error inside an answer that began as a 200."""
    error = _classed(read_complaint(chunk), None)
    error.partial = partial
    return error


def _classed(complaint: Complaint, wait_s: float | None) -> ProviderError:
    said = f"{complaint.marks} {complaint.message.lower()}"
    kind = _kind(complaint, said, wait_s)
    hint = next((hint for words, hint in SPECIAL_HINTS if re.search(words, said)), "")
    if kind == "rate_limit" and wait_s is not None and wait_s > MAX_WAIT_S:
        hint = hint or f"it asks to wait {_span(wait_s)}; /model takes another model meanwhile"
    return with_hint(ProviderError(kind, complaint.message, hint=hint, retry_after_s=wait_s))


def _kind(complaint: Complaint, said: str, wait_s: float | None) -> ErrorClass:
    status = complaint.status
    if complaint.flagged:
        return "content_filter"
    if status == 402 and complaint.wait and wait_s is not None:
        return "rate_limit"
    for rule in RULES:
        if rule.fits(said, status):
            return rule.kind
    if status >= 500:
        return "server"
    return "bad_request" if status >= 400 else "provider"


def _span(seconds: float) -> str:
    """A long wait in words: `5 minutes`, `2 hours`."""
    minutes = math.ceil(seconds / 60)
    return f"{minutes} minutes" if minutes < 120 else f"{round(minutes / 60)} hours"

"""Tokens and money as servers report them, or as we guess them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stormclaw.protocol.messages import Usage

CHARS_PER_TOKEN = 4
"""A rough measure for text in most languages and code; only ever used for an estimate."""

_READ_APART: Final = ("cache_read_input_tokens",)
_READ: Final = (*_READ_APART, "prompt_cache_hit_tokens", "cached_tokens")
_WRITTEN: Final = (
    "cache_creation_input_tokens",
    "cache_write_tokens",
    "cache_creation_tokens",
    "cache_write_input_tokens",
)


def usage_of(report: object) -> Usage | None:
    """The usage in a server's report; None where it says nothing (null, all zero, no object)."""
    if not isinstance(report, Mapping):
        return None
    sent = _count(report, "prompt_tokens", "input_tokens")
    received = _count(report, "completion_tokens", "output_tokens")
    sent, read, written = _with_cache(report, sent)
    if not sent and not received:
        return None
    return Usage(sent, received, read, _cost(report), reported=True, cache_write_tokens=written)


def estimate(sent_bytes: int, received_chars: int, *, cost_usd: float | None = None) -> Usage:
    """A guess, marked as one."""
    return Usage(
        max(1, sent_bytes // CHARS_PER_TOKEN),
        -(-received_chars // CHARS_PER_TOKEN),
        cost_usd=cost_usd,
        reported=False,
    )


def _with_cache(report: Mapping[str, Any], sent: int) -> tuple[int, int, int]:
    """(all tokens sent, read from the cache, taken in by it), however the server counts them."""
    read, written = _count(report, *_READ), _count(report, *_WRITTEN)
    if "prompt_tokens" not in report or read + written > sent:
        # Anthropic's own counts leave out of the input what the cache had to do with.
        apart = _count(report, *_READ_APART) + _count(report, *_WRITTEN)
        if apart:
            return sent + apart, read, written
    for name in ("prompt_tokens_details", "input_tokens_details"):
        details = report.get(name)
        if isinstance(details, Mapping):
            read = read or _count(details, *_READ)
            written = written or _count(details, *_WRITTEN)
    # Some count what was taken in as read too; no token is both.
    written = min(written, sent)
    return sent, min(read, sent - written), written


def _cost(report: Mapping[str, Any]) -> float | None:
    """US dollars; with one's own key behind OpenRouter, the fee plus what the key is charged."""
    cost = _amount(report.get("cost"))
    details = report.get("cost_details")
    if report.get("is_byok") is True and isinstance(details, Mapping):
        upstream = _amount(details.get("upstream_inference_cost"))
        return cost if upstream is None else (cost or 0.0) + upstream
    return cost


def _amount(value: object) -> float | None:
    # The bounds also keep out NaN and infinity, which JSON as Python reads it may hold.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
        return None
    return float(value)


def _count(report: Mapping[str, Any], *names: str) -> int:
    for name in names:
        value = report.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e12:
            return int(value)
    return 0

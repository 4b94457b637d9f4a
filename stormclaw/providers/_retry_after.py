"""How long a server asks us to wait, and how long we wait when it does not say."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz
from typing import Final

from stormclaw.errors import ProviderError
from stormclaw.providers.recovery import RECOVERY

MAX_WAIT_S: Final = 60.0
"""Whoever asks for more is not waited for: the person decides."""

MAX_BACKOFF_S: Final = 8.0


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from `retry-after-ms` or `Retry-After` (seconds or an HTTP date); None without.

    A date counts from the server's own `Date`, so that a wrong clock here does not matter.
    """
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    value = headers.get("retry-after")
    if value is None:
        return None
    seconds = _number(value)
    if seconds is not None:
        return seconds
    until = _date(value)
    if until is None:
        return None
    return max(0.0, until - (_date(headers.get("date")) or time.time()))


def wait_before_retry(error: ProviderError, tries: int, limit: int, base_s: float) -> float | None:
    """Seconds until the next try; None when there shall be none.

    Args:
        error: Why the last try failed.
        tries: Retries already made.
        limit: The most there may be.
        base_s: First wait; doubled each time, with jitter.
    """
    known = RECOVERY[error.kind]
    most = limit if known.most_retries is None else min(limit, known.most_retries)
    if not known.retry or tries >= most:
        return None
    if error.retry_after_s is not None:
        return error.retry_after_s if error.retry_after_s <= MAX_WAIT_S else None
    return min(MAX_BACKOFF_S, base_s * (1 << tries)) * random.uniform(0.5, 1.0)  # noqa: S311


def _number(value: str | None) -> float | None:
    try:
        seconds = float(value) if value else None
    except ValueError:
        return None
    return seconds if seconds is not None and 0 <= seconds < 1e9 else None


def _date(value: str | None) -> float | None:
    parsed = parsedate_tz(value or "")
    try:
        return None if parsed is None else float(mktime_tz(parsed))
    except (ValueError, OverflowError):
        return None

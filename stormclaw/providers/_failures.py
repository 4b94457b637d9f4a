"""A connection that could not be made, or broke: told in words a person can act on."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from stormclaw.errors import ProviderError

_NO_HTTP: Final = frozenset({"HttpProcessingError", "BadHttpMessage", "BadStatusLine"})
"""Names of aiohttp's errors for bytes that are no HTTP; importing it here would load it."""

_CUT: Final = frozenset({"TransferEncodingError", "ContentLengthError"})
"""Its errors for a body that ends too early."""


def broken_connection(error: BaseException, base_url: str, *, partial: str = "") -> ProviderError:
    """The error for what the transport raised.

    Args:
        error: From the SDK, httpx or aiohttp; the reason is looked for in its causes.
        base_url: Where we were talking to.
        partial: Text that had arrived.
    """
    place = urlsplit(base_url).netloc or base_url
    chain = list(_causes(error))
    if any(isinstance(cause, TimeoutError) for cause in chain):
        return ProviderError("timeout", f"{place} did not answer in time", partial=partial)
    if any(type(cause).__name__ in _NO_HTTP for cause in chain):
        return ProviderError("protocol", f"what answers at {place} does not speak HTTP")
    kind, hint = _reason(chain)
    verb = "the connection to {} broke" if partial else "no connection to {}"
    message = f"{verb.format(place)}: {kind}" if kind else verb.format(place)
    return ProviderError("connection", message, hint=hint, partial=partial)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what lies behind it, outermost first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _reason(chain: list[BaseException]) -> tuple[str, str]:
    """(what happened, a better hint than the usual one or "")."""
    if any(type(cause).__name__ in _CUT for cause in chain):
        return "it ended in the middle of the answer", ""
    for cause in reversed(chain):
        if isinstance(cause, ssl.SSLError):
            said = getattr(cause, "verify_message", "") or cause.reason or str(cause)
            return (
                f"its certificate was not accepted ({said})",
                "SSL_CERT_FILE names further authorities",
            )
        if isinstance(cause, socket.gaierror):
            return "there is no such host, or no network", ""
        if isinstance(cause, ConnectionRefusedError):
            return "nothing listens there", "start the server, or /connect takes another"
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno).lower(), ""
    words = " ".join(str(chain[-1]).split())
    return words[:200], ""

"""What is done about each class of error: the one table that every retry and every fallback reads.

A provider by itself retries and mends its request; `reliable` and `router` take the next key or
provider; the agent makes room. None of them decides anything itself: each asks `RECOVERY`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from stormclaw.errors import ErrorClass, ProviderError

Mend: TypeAlias = Literal["field", "markers", "effort", "roles", "ids", "schema"]
"""What can be changed in a refused request, once each: leave out or rename the field that is named,
take out the markers for a cache, think with less effort, put the roles in turns, write call ids in
another form, say less in the schemas of tools."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What is worth trying, in this order, before the person is told.

    Attributes:
        hint: The next step for the person, where nothing helped.
        mends: The same provider, with a changed request.
        retry: The same request again, after a wait; text already shown is withdrawn first.
        most_retries: Fewer retries than configured; None for as many as configured.
        compact: The agent makes room in the conversation and asks again.
        next_key: Another key of the same provider may do.
        next_provider: Another provider may do.
        cooldown_s: How long the key or the provider that failed is passed over, where the server
            does not say; 0 if the failure says nothing about the next request.
    """

    hint: str
    mends: tuple[Mend, ...] = ()
    retry: bool = False
    most_retries: int | None = None
    compact: bool = False
    next_key: bool = False
    next_provider: bool = False
    cooldown_s: float = 0.0


_MINUTE: Final = 60.0
_HOUR: Final = 3600.0

RECOVERY: Final[Mapping[ErrorClass, Recovery]] = MappingProxyType(
    {
        "auth": Recovery(
            "the key was refused; /connect takes another",
            next_key=True,
            next_provider=True,
            cooldown_s=_HOUR,
        ),
        "payment": Recovery(
            "add credit with the provider, or take another model with /model",
            next_key=True,
            next_provider=True,
            cooldown_s=_HOUR,
        ),
        "forbidden": Recovery(
            "this key may not do that; /connect takes another, /model another model",
            next_key=True,
            next_provider=True,
            cooldown_s=10 * _MINUTE,
        ),
        "not_found": Recovery(
            "/model shows what there is",
            mends=("markers",),
            next_provider=True,
            cooldown_s=10 * _MINUTE,
        ),
        "bad_request": Recovery(
            "the request was refused; /model takes another model, /new starts afresh",
            mends=("markers", "effort", "roles", "ids", "schema", "field"),
            next_provider=True,
        ),
        "context_length": Recovery(
            "the conversation is too long for this model; /compact makes room, /new starts afresh",
            compact=True,
        ),
        "rate_limit": Recovery(
            "wait a moment and send it again, or take another model with /model",
            retry=True,
            next_key=True,
            next_provider=True,
            cooldown_s=_MINUTE,
        ),
        "server": Recovery(
            "the provider has trouble; send it again, or take another model with /model",
            retry=True,
            next_provider=True,
            cooldown_s=0.5 * _MINUTE,
        ),
        "provider": Recovery(
            "send it again, or take another model with /model",
            # Who stumbled over the model's own output often does not the second time.
            retry=True,
            most_retries=1,
            next_provider=True,
        ),
        "timeout": Recovery(
            "send it again; providers.models.NAME.idle_timeout_s waits longer",
            retry=True,
            most_retries=1,  # A silent minute is not worth a third one.
            next_provider=True,
            cooldown_s=0.5 * _MINUTE,
        ),
        "connection": Recovery(
            "check the network or the server, then send it again; /connect takes another",
            retry=True,
            next_provider=True,
            cooldown_s=0.5 * _MINUTE,
        ),
        "protocol": Recovery(
            "the server does not speak this protocol; check base_url, or /connect",
            next_provider=True,
            cooldown_s=10 * _MINUTE,
        ),
        "too_large": Recovery(
            "the request is too large for this server; /compact makes room, /new starts afresh",
            compact=True,
        ),
        "content_filter": Recovery(
            "say it differently, or take another model with /model",
        ),
        "tools_unsupported": Recovery(
            "this model cannot use tools here; /model takes another",
            next_provider=True,
            cooldown_s=_HOUR,
        ),
    }
)
"""The table. What no column names is not done: the person is told, with the hint."""


def with_hint(error: ProviderError) -> ProviderError:
    """The same error; without a hint of its own it gets that of its class."""
    error.hint = error.hint or RECOVERY[error.kind].hint
    return error


def cooldown_s(error: ProviderError) -> float:
    """Seconds for which who failed so is passed over: as the server asked, else by the table."""
    if error.retry_after_s is not None:
        return error.retry_after_s
    return RECOVERY[error.kind].cooldown_s

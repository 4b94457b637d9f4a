"""The exceptions of StormClaw, each named after who has to act.

    StormClawError
    ├── ToolFailure      the model reads it and goes on
    ├── ConfigError      the person mends a file: every problem at once, with file, key and value
    ├── ProviderError    the turn ends (or another provider is asked), the person decides
    ├── StoreError       the disk does not keep what we write: stop before something is lost
    └── UsageError       the command line is wrong

Anything else is a bug of ours: caught once, where a tool is run, and logged with its traceback.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

ErrorClass: TypeAlias = Literal[
    "auth",
    "payment",
    "forbidden",
    "not_found",
    "bad_request",
    "context_length",
    "rate_limit",
    "server",
    "provider",
    "timeout",
    "connection",
    "protocol",
    "too_large",
    "content_filter",
    "tools_unsupported",
]

RETRYABLE: frozenset[ErrorClass] = frozenset({"rate_limit", "server", "timeout", "connection"})
"""Classes worth the same request again; the exit code for them is 75."""


class StormClawError(Exception):
    """Base of all errors that have somebody to mend them."""


class ToolFailure(StormClawError):
    """A tool could not do it; the message tells the model why and what to try.

    Attributes:
        summary: A few words for the card.
    """

    def __init__(self, message: str, *, summary: str = "") -> None:
        super().__init__(message)
        self.summary = summary


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with the configuration.

    Attributes:
        file: Where, `path` or `path:line`, or `environment`, or `flag`.
        key: Dotted key, `security.autonomy`; "" for the file as a whole.
        value: What stands there, shortened, secrets masked.
        message: What is wrong and what is allowed.
    """

    file: str
    key: str
    value: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}: {self.key}" if self.key else self.file
        shown = f" = {self.value}" if self.value else ""
        return f"{place}{shown}: {self.message}"


class ConfigError(StormClawError):
    """The configuration cannot be used; all problems found in one pass."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


class ProviderError(StormClawError):
    """No usable answer from a model.

    Attributes:
        kind: The error class.
        retry_after_s: What the server asked us to wait, if it did.
        hint: What the person can do next.
        partial: Text that had arrived before it broke.
    """

    def __init__(
        self,
        kind: ErrorClass,
        message: str,
        *,
        hint: str = "",
        retry_after_s: float | None = None,
        partial: str = "",
    ) -> None:
        super().__init__(message)
        self.kind: ErrorClass = kind
        self.hint = hint
        self.retry_after_s = retry_after_s
        self.partial = partial


class StoreError(StormClawError):
    """The record cannot be written or read; names the file and the reason."""


class UsageError(StormClawError):
    """The command line asks for something that does not exist."""

"""AWS's names of errors, and what they are to us."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stormclaw.errors import ErrorClass, ProviderError

SIGN_IN: Final = "`aws configure` or `aws sso login`, or set AWS_PROFILE; then send it again"

KINDS: Final[Mapping[str, tuple[ErrorClass, str]]] = {
    "unrecognizedclientexception": ("auth", SIGN_IN),
    "expiredtokenexception": ("auth", SIGN_IN),
    "invalidsignatureexception": ("auth", "check the clock of this machine and the AWS secret"),
    "incompletesignatureexception": ("auth", SIGN_IN),
    "accessdeniedexception": ("forbidden", ""),
    "resourcenotfoundexception": ("not_found", ""),
    "throttlingexception": ("rate_limit", ""),
    "servicequotaexceededexception": ("rate_limit", ""),
    "modelnotreadyexception": ("server", ""),
    "modeltimeoutexception": ("timeout", ""),
    "modelerrorexception": ("server", ""),
    "modelstreamerrorexception": ("server", ""),
    "internalserverexception": ("server", ""),
    "serviceunavailableexception": ("server", ""),
}
"""AWS's names of errors, lower case: their class and, where it is a better one, the next step."""


def named(error: ProviderError, name: str) -> ProviderError:
    """The same error in the class that AWS's name for it stands for."""
    kind, hint = KINDS.get(name.lower(), (None, ""))
    # The words of an error may say more than its name.
    if kind is not None and error.kind not in ("context_length", "payment"):
        error.hint = hint or ("" if error.kind != kind else error.hint)
        error.kind = kind
    return error

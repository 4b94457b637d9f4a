"""The optional key of the chain: whoever lacks it can neither seal a receipt nor mend one."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

PLAIN: Final = "sha256"
KEYED: Final = "hmac-sha256"


@dataclass(frozen=True, slots=True)
class Key:
    """The key receipts are sealed with, or the fact that there is none.

    Attributes:
        variable: Name of the environment variable it was asked of; "" when no key is wanted.
        secret: The key; empty when none is wanted or the variable is not set. Never shown.
    """

    variable: str = ""
    secret: bytes = field(default=b"", repr=False)

    @classmethod
    def named(cls, variable: str, environ: Mapping[str, str]) -> Key:
        """The key in an environment variable; `variable` "" means that none is wanted."""
        return cls(variable, environ.get(variable, "").encode("utf-8", "surrogateescape"))

    @property
    def lacking(self) -> bool:
        """Whether a key is wanted but not there: nothing can be sealed then."""
        return bool(self.variable) and not self.secret

    @property
    def algorithm(self) -> str:
        """What this key seals with; without one it is the plain hash."""
        return KEYED if self.secret else PLAIN

    @property
    def id(self) -> str:
        """16 hex digits that tell one key from another and say nothing else; "" without a key."""
        return self.digest(b"stormclaw receipts: id of the key")[:16] if self.secret else ""

    def digest(self, body: bytes) -> str:
        """The seal over some bytes, hex."""
        if self.secret:
            return hmac.new(self.secret, body, hashlib.sha256).hexdigest()
        return hashlib.sha256(body).hexdigest()


NO_KEY: Final = Key()

"""Half characters: JSON can hold a lone UTF-16 surrogate, nothing that is written out can."""

from __future__ import annotations

import json
import re
from typing import Final

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def mend(text: str) -> str:
    """Join surrogate pairs that were cut apart; a half without its other half becomes U+FFFD."""
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def dumps(value: object) -> bytes:
    """JSON as bytes; half characters are mended first, since nothing can send them."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return mend(text).encode()


class Seam:
    """Joins the pieces of a stream; a first half waits for the second."""

    def __init__(self) -> None:
        self._half = ""

    def join(self, piece: str) -> str:
        """The piece as it can be shown now, perhaps "" or one character later."""
        if self._half:
            piece, self._half = self._half + piece, ""
        if "\ud800" <= piece[-1:] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return mend(piece)

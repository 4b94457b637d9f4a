"""Reads the text of a PDF, page by page, in a process of its own (see `_apart`).

Writes one JSON array a line: first `["pages", count]`, then `["page", number, text]` for each page
that was asked for, or `["sick", number, why]` for one that cannot be read; `["locked", why]` or
`["broken", why]` instead of everything where the file as a whole cannot be read.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable

MAX_WHY = 200
MAX_PAGE = 200_000
"""Characters of one page that are passed on."""


def tell(spans: str, room: str) -> None:
    """The PDF on standard input, in lines on standard output.

    Args:
        spans: JSON, pairs of first and last page from 1; a last page of 0 means the end.
        room: Characters of text after which no further page is read.
    """
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError

    logging.disable(logging.CRITICAL)  # It warns about every oddity on standard error.
    try:
        reader = PdfReader(sys.stdin.buffer)
        if reader.is_encrypted and not reader.decrypt(""):
            _write(["locked", "it needs a password"])
            return
        count = len(reader.pages)
    except (DependencyError, FileNotDecryptedError) as problem:
        _write(["locked", _words(problem)])
        return
    except MemoryError:
        raise
    except Exception as problem:  # noqa: BLE001 - a broken file breaks the library anywhere
        _write(["broken", _words(problem)])
        return
    _write(["pages", count])
    left = int(room)
    for number in _numbers(json.loads(spans), count):
        try:
            text = reader.pages[number - 1].extract_text()
        except MemoryError:
            raise
        except Exception as problem:  # noqa: BLE001 - the next page may be fine
            _write(["sick", number, _words(problem)])
            left -= MAX_WHY  # A file may claim a thousand million pages.
        else:
            _write(["page", number, text[:MAX_PAGE].encode("utf-8", "replace").decode()])
            left -= len(text)
        if left < 0:
            return


def _numbers(spans: Iterable[tuple[int, int]], count: int) -> Iterable[int]:
    for first, last in spans:
        yield from range(first, min(last or count, count) + 1)


def _words(problem: Exception) -> str:
    return f"{type(problem).__name__}: {' '.join(str(problem).split())}"[:MAX_WHY]


def _write(line: list[object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()

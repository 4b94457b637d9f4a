"""What a server says about an error, out of every envelope servers put it in."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

MAX_MESSAGE: Final = 1_000
_DEPTH: Final = 6


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error in the server's words.

    Attributes:
        message: For the person; never empty.
        status: HTTP status, or a number in the envelope that looks like one; 0 if neither.
        marks: Code, type and parameter names, lower case, to classify by.
        flagged: True when a moderation refused the input.
        wait: True when the server says the refusal passes by itself.
        structured: False when it was no JSON (a proxy's page).
    """

    message: str
    status: int
    marks: str = ""
    flagged: bool = False
    wait: bool = False
    structured: bool = True


def read_complaint(body: object, status: int = 0) -> Complaint:
    """Read an error body.

    Args:
        body: Parsed JSON, or text where it was none.
        status: HTTP status of the answer, 0 inside a 200.
    """
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    if isinstance(body, str):
        parsed = _json(body)
        if parsed is None:
            text = _page(body) or f"HTTP {status}"
            return Complaint(_cut(text), status, structured=False)
        body = parsed
    error = _inner(body)
    metadata = error.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    parts = [_message(error, 0), *_upstream(metadata)]
    message = ": ".join(dict.fromkeys(part for part in parts if part))
    marks = " ".join(
        str(error[key]) for key in ("code", "type", "param", "status") if error.get(key)
    )
    return Complaint(
        _cut(message or f"HTTP {status}" if status else message or "an error without a message"),
        status or _status(error),
        marks.lower(),
        flagged=bool(metadata.get("reasons") or metadata.get("flagged_input")),
        wait=metadata.get("limit_source") == "openrouter_in_flight_budget",
    )


def _inner(body: object) -> Mapping[str, Any]:
    """The object that holds message and code."""
    for _ in range(_DEPTH):
        if isinstance(body, list):
            body = body[0] if body else {}
        elif isinstance(body, Mapping) and isinstance(body.get("error"), Mapping | list):
            body = body["error"]
        else:
            break
    return body if isinstance(body, Mapping) else {"message": body if isinstance(body, str) else ""}


def _message(error: object, depth: int) -> str:
    """The words in an error of any shape."""
    if isinstance(error, str):
        return error.strip()
    if depth > _DEPTH:
        return ""
    if isinstance(error, list):
        return "; ".join(filter(None, (_message(entry, depth + 1) for entry in error)))
    if not isinstance(error, Mapping):
        return ""
    if isinstance(error.get("msg"), str):
        place = error.get("loc")
        where = ".".join(map(str, place)) if isinstance(place, list) else ""
        return f"{where}: {error['msg']}" if where else str(error["msg"])
    for key in ("message", "error", "detail", "errors", "error_description", "title"):
        if found := _message(error.get(key), depth + 1):
            return found
    return ""


def _upstream(metadata: Mapping[str, Any]) -> list[str]:
    """What OpenRouter knows from behind itself: the provider's own words, what was flagged."""
    raw = metadata.get("raw")
    if isinstance(raw, str) and (parsed := _json(raw)) is not None:
        raw = parsed
    said = _message(_inner(raw), 0) if raw else ""
    if not said and isinstance(raw, Mapping | list):
        said = json.dumps(raw, ensure_ascii=False)
    provider = metadata.get("provider_name")
    if said and isinstance(provider, str):
        said = f"{provider} says {said}"
    reasons = metadata.get("reasons")
    flagged = f"flagged for {', '.join(map(str, reasons))}" if isinstance(reasons, list) else ""
    return [said, flagged]


def _status(error: Mapping[str, Any]) -> int:
    for key in ("code", "status", "status_code"):
        value = error.get(key)
        if isinstance(value, str) and value.isdecimal() and len(value) == 3:
            value = int(value)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return 0


def _json(text: str) -> object | None:
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return None
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed


def _page(text: str) -> str:
    """A proxy's page or plain text, in one line."""
    if "<" in text and (title := re.search(r"<title[^>]*>(.*?)</title>", text, re.I | re.S)):
        text = title[1]
    text = re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", text[:20_000], flags=re.I | re.S)
    return " ".join(html.unescape(text).split())


def _cut(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"

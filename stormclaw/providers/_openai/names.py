"""Names, ids and arguments of calls in the form a server takes, and names back again."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

from stormclaw.providers._fragments import is_json_object

MAX_NAME: Final = 64
_BAD: Final = re.compile(r"[^A-Za-z0-9_-]")
_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ID_FORMS: Final[Mapping[str, re.Pattern[str]]] = {
    "nine": re.compile(r"[A-Za-z0-9]{9}"),
    "forty": re.compile(r"[A-Za-z0-9_-]{1,40}"),
}


def safe_names(names: Iterable[str]) -> dict[str, str]:
    """What tools are called on the wire, for those whose own name no server takes.

    No two tools get one name: whoever comes second carries a piece of a hash, always the same.
    """
    every = tuple(names)
    taken = {name for name in every if wire_name(name) == name}
    safe: dict[str, str] = {}
    for name in every:
        if name in taken or name in safe:
            continue
        wired = wire_name(name)
        if wired in taken or wired in safe.values():
            mark = _base62(name, 6)
            wired = f"{wired[: MAX_NAME - len(mark) - 1]}_{mark}"
        safe[name] = wired
    return safe


def wire_name(name: str) -> str:
    """The name as every server takes it: letters, digits, `_` and `-`, a letter or `_` first."""
    cleaned = _BAD.sub("_", name)
    if cleaned[:1].isdigit() or cleaned[:1] == "-":
        cleaned = f"_{cleaned}"
    return cleaned[:MAX_NAME] or "unknown"


def wire_id(call_id: str, form: str) -> str:
    """The id in the form this server takes: always the same for the same id."""
    pattern = _ID_FORMS.get(form)
    if pattern is None or pattern.fullmatch(call_id):
        return call_id
    return _base62(call_id, 9)


def wire_arguments(arguments: str) -> str:
    """Arguments a server will parse; broken ones go back wrapped, for the model to see."""
    if is_json_object(arguments):
        return arguments
    return json.dumps({"not_json": arguments} if arguments.strip() else {}, ensure_ascii=False)


def _base62(text: str, digits: int) -> str:
    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8])
    found = []
    for _ in range(digits):
        number, rest = divmod(number, 62)
        found.append(_BASE62[rest])
    return "".join(found)

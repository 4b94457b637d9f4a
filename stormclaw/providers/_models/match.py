"""Finds a model in a list, however it is spelled: vendor prefixes, dates, variants, efforts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from stormclaw.providers._models.prices import Clause, Listed, Vendor

EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh")
ROUTES: Final = ("nitro", "floor", "online", "exacto", "thinking", "extended", "beta")
"""What OpenRouter takes after a colon to choose who serves the model, not which one it is."""
FREE_MARK: Final = ":free"

_SUFFIX = re.compile(rf":(?:{'|'.join((*EFFORTS, *ROUTES))})$")
_DATE = re.compile(r"[-@](?:20\d{6}|20\d\d-\d\d-\d\d)(?=$|[-:])")
_VERSION = re.compile(r"-v\d+(?::\d+)?$")
_DOTTED = re.compile(r"(?<=\d)\.(?=\d)")
_DASHED = re.compile(r"(?<=\d)-(?=\d)(?!\d{3})")


def find(vendor: Vendor, model: str) -> Listed | None:
    """The model meant by `model`: by its id in any spelling, else by the list's own rules."""
    exact = vendor.by_id.get(model.lower())
    if exact is not None:
        return exact
    tried = tuple(spellings(model))
    for spelling in tried:
        if spelling in vendor.by_id:
            return vendor.by_id[spelling]
    for spelling in tried:
        for listed in vendor.models:
            if fits(listed.spelled, spelling):
                return listed
    return None


def spellings(model: str) -> Iterator[str]:
    """The ways a model may be written down elsewhere, the nearest first, each once."""
    seen: set[str] = set()
    whole = model.strip().lower().lstrip("~")
    plain = _SUFFIX.sub("", whole)
    for name in (whole, plain, plain.rpartition("/")[2]):
        undated = _DATE.sub("", name)
        unversioned = _VERSION.sub("", undated)
        steps = (name, undated, unversioned, unversioned.removesuffix("-latest"))
        for step in steps:
            for spelling in (step, _DOTTED.sub("-", step), _DASHED.sub(".", step)):
                if spelling and spelling not in seen:
                    seen.add(spelling)
                    yield spelling


def fits(clause: Clause | None, model: str) -> bool:
    """Whether a rule of the list takes a model's lower-case name."""
    if clause is None:
        return False
    kind, value = clause.kind, clause.value
    if kind in ("or", "and"):
        parts: Sequence[Clause] = value
        return (any if kind == "or" else all)(fits(part, model) for part in parts)
    word = str(value)
    match kind:
        case "equals":
            return model == word.lower()
        case "starts":
            return model.startswith(word.lower())
        case "ends":
            return model.endswith(word.lower())
        case "contains":
            return word.lower() in model
        case _:
            return re.search(word, model) is not None

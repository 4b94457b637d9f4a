"""The settings as a table for `config show`: every value with its origin, no secret readable."""

from __future__ import annotations

from collections.abc import Mapping

from stormclaw.config.layers import DEFAULTS, Loaded
from stormclaw.config.shapes import dotted, leaves
from stormclaw.log import MASK, mask_secrets, names_a_secret, one_line


def rows(loaded: Loaded) -> list[tuple[str, str, str]]:
    """(dotted key, printable value, origin) of every setting, in the order of the model.

    Keys, headers that carry one, and the user part of URLs are `***`; a header filled from the
    environment is shown as it was written, `$NAME`.
    """
    table: list[tuple[str, str, str]] = []
    for key, value in leaves(loaded.settings):
        name = dotted(key)
        origin = loaded.origins.get(name, DEFAULTS)
        table.append((name, printable(loaded.written.get(name, value)), origin))
    return table


def printable(value: object, name: str = "") -> str:
    """A setting as one line of YAML-like text, secrets masked.

    Args:
        value: The setting.
        name: Its own name, where that alone says that it is secret.
    """
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case Mapping():
            pairs = (f"{one_line(str(key))}: {printable(v, str(key))}" for key, v in value.items())
            return f"{{{', '.join(pairs)}}}"
        case tuple() | list():
            return f"[{', '.join(printable(item, name) for item in value)}]"
        case str():
            secret = names_a_secret(name) and not value.startswith("$")
            return MASK if secret else one_line(mask_secrets(value)) or '""'
        case _:
            return MASK if names_a_secret(name) else str(value)

"""Whose prices a provider charges, by its kind and address: a list's, none at all, or unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from stormclaw.config.settings import ModelSettings
from stormclaw.providers._models.prices import Vendor
from stormclaw.providers.choose import BUILT_IN
from stormclaw.providers.presets import by_name, local

Terms: TypeAlias = Literal["list", "free", "own"]
"""`list`: what the price list says. `free`: it runs here, nothing is paid. `own`: paid in a way
no list knows (a subscription), or not at all (a script); never worked out by us."""


@dataclass(frozen=True, slots=True)
class Supplier:
    """Who stands behind one of our provider names.

    Attributes:
        vendor: Id in the price list, "" if it is not in there.
        terms: How it is paid.
    """

    vendor: str
    terms: Terms


NOBODY: Final = Supplier("", "own")

KINDS: Final[Mapping[str, Supplier]] = {
    "anthropic": Supplier("anthropic", "list"),
    "bedrock": Supplier("aws", "list"),
    "llama": Supplier("", "free"),
    "claude-cli": Supplier("anthropic", "own"),
    "codex-cli": Supplier("openai", "own"),
    "demo": NOBODY,
    "mock": NOBODY,
}
"""Kinds that say enough by themselves; all others are told by their address."""
COMPOSITES: Final = frozenset({"reliable", "router"})


def named_settings(name: str, models: Mapping[str, ModelSettings]) -> ModelSettings | None:
    """What a provider's name stands for: the configuration's own, a preset, what is built in."""
    if name in models:
        return models[name]
    preset = by_name(name)
    return preset.settings() if preset is not None else BUILT_IN.get(name)


def members(settings: ModelSettings) -> Iterator[tuple[str, str]]:
    """(provider, model or "") of everyone a provider made of providers asks."""
    for target in (*settings.providers, *settings.routes.values()):
        name, _, model = target.partition("/")
        yield name, model


def supplier_of(settings: ModelSettings, vendors: Mapping[str, Vendor]) -> Supplier:
    """Who stands behind a provider that is not made of others."""
    known = KINDS.get(settings.kind.replace("_", "-"))
    if known is not None and not (known.terms == "list" and settings.base_url):
        return known
    if runs_here(settings.base_url):
        return Supplier("", "free")
    return Supplier(_vendor_at(settings.base_url, vendors.values()), "list")


def runs_here(base_url: str) -> bool:
    """Whether a model server of this machine answers there, by its usual port.

    Any other address of this machine may be that of a proxy to a server that is paid for.
    """
    try:
        address = urlsplit(base_url)
        port, host = address.port, address.hostname or ""
    except ValueError:
        return False
    usual = {urlsplit(preset.base_url).port for preset in local()}
    return port in usual and is_loopback(host)


def is_loopback(host: str) -> bool:
    """Whether a host's name means this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _vendor_at(base_url: str, vendors: Iterable[Vendor]) -> str:
    if not base_url:
        return ""
    fitting = (
        vendor.id for vendor in vendors if vendor.pattern and re.match(vendor.pattern, base_url)
    )
    return next(fitting, "")

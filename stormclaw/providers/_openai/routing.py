"""OpenRouter's own fields: who is to serve a model, and what to fall back to."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final
from urllib.parse import urlsplit

from stormclaw.config.settings import ModelSettings, RoutingSettings
from stormclaw.errors import ConfigError, Problem

_ABOVE: Final = frozenset({"models", "transforms"})
"""Stand in the body itself; everything else goes into its `provider` object."""


def routed(routing: RoutingSettings) -> dict[str, Any]:
    """The fields of a body; what is unset is not sent."""
    wanted = {
        field.name: list(value) if isinstance(value, tuple) else value
        for field in fields(routing)
        if (value := getattr(routing, field.name)) not in (None, "", ())
    }
    body = {name: value for name, value in wanted.items() if name in _ABOVE}
    provider = {name: value for name, value in wanted.items() if name not in _ABOVE}
    return body | ({"provider": provider} if provider else {})


def check_routing(name: str, settings: ModelSettings, *, routes: bool) -> None:
    """Refuse what would be silently without effect: privacy may hang on it.

    Args:
        name: Our name of the provider.
        settings: Its settings.
        routes: Whether the server routes as OpenRouter does.

    Raises:
        ConfigError: Routing is configured for a server that knows nothing of it.
    """
    if routes or settings.routing == RoutingSettings():
        return
    place = urlsplit(settings.base_url).netloc
    complaint = (
        f"has no effect at {place}: only OpenRouter routes so; take it out, or set "
        "quirks.routing: true for a proxy that passes it on"
    )
    where = f"providers.models.{name}.routing"
    raise ConfigError([Problem("configuration", where, "", complaint)])

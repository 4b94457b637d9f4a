"""What a project's own configuration may change: less than the person's, until they trust it.

A repository is somebody else's text. Untrusted, it may only narrow: lower autonomy, smaller
limits, longer lists of what is forbidden. What is not in the table is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from stormclaw.config.shapes import Key, pattern_of
from stormclaw.protocol.effects import AUTONOMY_LEVELS

SANDBOX_ORDER = ("required", "auto", "off")
SECRETS_ORDER = ("mask", "ask", "allow")
"""Strictest first, both."""


class Narrowed(NamedTuple):
    """What of a project's wish is granted.

    Attributes:
        applies: Whether `value` replaces the current one.
        value: The value to use.
        complaint: What was ignored and why; "" for nothing.
    """

    applies: bool
    value: object = None
    complaint: str = ""


Rule = Callable[[Any, Any], Narrowed]
"""(wanted by the project, current value) -> what is granted without trust."""

UNTRUSTED = "ignored: a project may only narrow what you allow, until you /trust it"
NEVER = "ignored: only your own configuration can set this"


def _refuse(_wanted: Any, _current: Any) -> Narrowed:
    return Narrowed(False, complaint=UNTRUSTED)


def _grant(wanted: Any, _current: Any) -> Narrowed:
    return Narrowed(True, wanted)


def _not_later_in(order: tuple[str, ...]) -> Rule:
    def rule(wanted: Any, current: Any) -> Narrowed:
        narrower = order.index(wanted) <= order.index(current)
        return _grant(wanted, current) if narrower else _refuse(wanted, current)

    return rule


def _only(allowed: bool) -> Rule:
    def rule(wanted: Any, current: Any) -> Narrowed:
        narrower = wanted in (allowed, current)
        return _grant(wanted, current) if narrower else _refuse(wanted, current)

    return rule


def _not_more(wanted: Any, current: Any) -> Narrowed:
    """Numbers, where None is no limit at all."""
    if current is None or (wanted is not None and wanted <= current):
        return _grant(wanted, current)
    return _refuse(wanted, current)


def _adds(wanted: Any, current: Any) -> Narrowed:
    return Narrowed(True, _union(current, wanted))


def _adds_nothing(wanted: Any, current: Any) -> Narrowed:
    return Narrowed(False) if set(wanted) <= set(current) else _refuse(wanted, current)


def _part_of(wanted: Any, current: Any) -> Narrowed:
    """A list of what is allowed, where None is everything."""
    if wanted is None:
        return Narrowed(False) if current is None else _refuse(wanted, current)
    if current is None:
        return _grant(wanted, current)
    common = tuple(item for item in wanted if item in current)
    return Narrowed(True, common, "" if len(common) == len(wanted) else UNTRUSTED)


RULES: Mapping[str, Rule] = {
    "security.autonomy": _not_later_in(AUTONOMY_LEVELS),
    "security.sandbox": _not_later_in(SANDBOX_ORDER),
    "security.workspace_only": _only(True),
    "security.audit_log": _only(True),
    "security.forbidden_paths": _adds,
    "security.forbidden_commands": _adds,
    "security.allowed_commands": _adds_nothing,
    "security.allowed_hosts": _adds_nothing,
    "security.sandbox_network": _adds_nothing,
    "security.sandbox_hosts": _adds_nothing,
    "security.sandbox_folders": _adds_nothing,
    "security.secrets": _not_later_in(SECRETS_ORDER),
    "security.tools_allow": _part_of,
    "security.tools_deny": _adds,
    "agents.tools_allow": _part_of,
    "agents.tools_deny": _adds,
    "agents.child_tools_allow": _part_of,
    "agents.child_tools_deny": _adds,
    "channels.cli.enabled": _only(False),
    "channels.tui.enabled": _only(False),
    "channels.cli.tools_allow": _part_of,
    "channels.tui.tools_allow": _part_of,
    "receipts.enabled": _only(True),
    "memory.backend": _grant,
    "limits.*": _not_more,
    "agents.*": _not_more,
    "context.*": _grant,
    "checkpoints.enabled": _only(True),
    "ui.*": _grant,
}
"""By dotted key, `section.*` for the rest of a section."""

ALWAYS_ADDED = frozenset(
    {
        "security.forbidden_paths",
        "security.forbidden_commands",
        "security.allowed_commands",
        "security.allowed_hosts",
        "security.sandbox_network",
        "security.sandbox_hosts",
        "security.sandbox_folders",
        "security.tools_deny",
        "agents.tools_deny",
        "agents.child_tools_deny",
    }
)
"""Lists a trusted project adds to; it never shortens the person's."""

NEVER_PROJECT = frozenset({"workspace_dir"})
"""The project is found through it, so the project cannot set it."""


def narrowed(key: Key, wanted: object, current: object, *, trusted: bool) -> Narrowed:
    """Judge one value of a project's configuration.

    Args:
        key: Which setting.
        wanted: The project's value, sound.
        current: What defaults and the person's own file say; None where nothing is said.
        trusted: Whether the person trusts this very content.

    Returns:
        What of it is granted.
    """
    pattern = pattern_of(key)
    if pattern in NEVER_PROJECT:
        return Narrowed(False, complaint=NEVER)
    if trusted:
        added = pattern in ALWAYS_ADDED
        return _adds(wanted, current) if added else _grant(wanted, current)
    rule = RULES.get(pattern) or RULES.get(f"{key[0]}.*", _refuse)
    return rule(wanted, current)


def _union(current: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[str, ...]:
    return (*current, *(item for item in dict.fromkeys(wanted) if item not in current))

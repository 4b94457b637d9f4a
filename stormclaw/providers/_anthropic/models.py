"""What each family of Claude takes: how it thinks, how much it writes, whether it can be warmed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Form: TypeAlias = Literal["adaptive", "budget", "none"]
Off: TypeAlias = Literal["omit", "disabled", "between_tools", "never"]

UP_TO_HIGH: Final = ("low", "medium", "high", "max")
UP_TO_XHIGH: Final = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True)
class Model:
    """A row: models whose name begins so.

    Attributes:
        start: Beginning of the name, as `plain_name` gives it.
        form: How it is told to think: `adaptive` with an effort, or within a `budget` of tokens.
        most: The most tokens one answer may have, thinking included.
        off: How it is told not to think.
        thinks: Whether it thinks unless told otherwise.
        efforts: What it takes as effort.
        interleaved: Whether thinking between calls must be asked for.
        warm: Whether it takes a temperature.
    """

    start: str
    form: Form
    most: int
    off: Off = "omit"
    thinks: bool = False
    efforts: tuple[str, ...] = UP_TO_XHIGH
    interleaved: bool = False
    warm: bool = False


MODELS: Final[tuple[Model, ...]] = (
    Model("claude-fable", "adaptive", 128_000, off="never", thinks=True),
    Model("claude-mythos", "adaptive", 128_000, off="never", thinks=True),
    Model("claude-opus-5-5", "adaptive", 128_000, off="never", thinks=True),
    Model("claude-sonnet-5-5", "adaptive", 128_000, off="between_tools", thinks=True),
    Model("claude-opus-4-8", "adaptive", 128_000),
    Model("claude-opus-4-7", "adaptive", 128_000),
    Model("claude-opus-4-6", "adaptive", 128_000, efforts=UP_TO_HIGH, warm=True),
    Model("claude-sonnet-4-6", "adaptive", 64_000, efforts=UP_TO_HIGH, warm=True),
    Model("claude-opus-4-5", "budget", 64_000, interleaved=True, warm=True),
    Model("claude-sonnet-4-5", "budget", 64_000, interleaved=True, warm=True),
    Model("claude-haiku-4-5", "budget", 64_000, interleaved=True, warm=True),
    Model("claude-opus-4", "budget", 32_000, interleaved=True, warm=True),
    Model("claude-sonnet-4", "budget", 64_000, interleaved=True, warm=True),
    Model("claude-3-7", "budget", 64_000, warm=True),
    Model("claude-3-5", "none", 8_192, warm=True),
    Model("claude-3-", "none", 4_096, warm=True),
    Model("claude", "adaptive", 128_000, off="disabled", thinks=True),
    Model("", "budget", 16_000, warm=True),
)
"""The closest name first; the last but one is for a Claude that is not known yet, the last for
other models behind a server that speaks the same protocol."""


def plain_name(model: str) -> str:
    """The name without where it is served: `us.anthropic.claude-opus-4.6-v1` and the like."""
    name = model.lower().replace(".", "-")
    place = name.rfind("claude-")
    return name[place:] if place >= 0 else name.rpartition("/")[2]


def row_of(model: str) -> Model:
    """What is known of a model."""
    name = plain_name(model)
    return next(row for row in MODELS if name.startswith(row.start))

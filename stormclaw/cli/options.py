"""Options every command has, and what they come to."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from stormclaw.config.place import Place, find_place
from stormclaw.protocol.effects import AUTONOMY_LEVELS

VALUED = frozenset(
    {
        "--workspace",
        "-C",
        "--cwd",
        "--workdir",
        "-m",
        "--model",
        "--executor",
        "--autonomy",
        "--permission-mode",
        "--approval-mode",
        "--output-format",
        "--max-turns",
        "--max-budget-usd",
        "--max-price",
    }
)
"""Options that take the next word as their value."""


def common(*, after_verb: bool = False) -> argparse.ArgumentParser:
    """Options that stand before or after every command; after a verb they say nothing if absent."""
    absent = argparse.SUPPRESS if after_verb else None
    parser = argparse.ArgumentParser(add_help=False, argument_default=absent)
    group = parser.add_argument_group("where and how")
    group.add_argument(
        "--workspace", "-C", "--cwd", "--workdir", type=Path, metavar="DIR", help="where to work"
    )
    group.add_argument(
        "--autonomy",
        "--permission-mode",
        "--approval-mode",
        metavar="LEVEL",
        help=f"what may happen without asking: {', '.join(AUTONOMY_LEVELS)}",
    )
    group.add_argument(
        "--yolo",
        "-y",
        dest="autonomy",
        action="store_const",
        const="full",
        help="the same as --autonomy full; what is forbidden stays forbidden",
    )
    group.add_argument("-v", "--verbose", action="store_true", help="log to standard error")
    return parser


def place_from(options: argparse.Namespace, *, must_exist: bool = True) -> Place:
    """Where this command works, with the settings that count.

    Raises:
        ConfigError: With every problem of every file.
        UsageError: The named workspace is not there.
    """
    from stormclaw.providers.choose import known_names
    from stormclaw.providers.registry import kinds

    flags: dict[str, object] = {
        "security.autonomy": options.autonomy,
        "limits.max_tool_rounds": getattr(options, "max_turns", None),
        "agents.budget_usd": getattr(options, "max_budget_usd", None),
    }
    return find_place(
        cwd=Path.cwd(),
        workspace=options.workspace,
        env=dict(os.environ),
        flags={key: value for key, value in flags.items() if value is not None},
        presets=known_names(),
        kinds=kinds(),
        must_exist=must_exist,
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """The option that names a model."""
    parser.add_argument(
        "-M" if parser.prog.endswith("agent") else "-m",
        "--model",
        default="",
        metavar="PROVIDER/MODEL",
        help="another model than the configured one",
    )


def add_executor(parser: argparse.ArgumentParser) -> None:
    """The option that names who does the work."""
    parser.add_argument(
        "--executor",
        default="",
        metavar="NAME",
        help="who does it: a provider by name, claude, codex, local",
    )


def target_of(options: argparse.Namespace) -> str:
    """The executor and the model that were asked for, as one target; "" for what is configured."""
    return "/".join(filter(None, (getattr(options, "executor", ""), options.model)))


def add_turn_limits(parser: argparse.ArgumentParser) -> None:
    """Options of a turn nobody watches."""
    parser.add_argument(
        "--output-format",
        choices=("text", "json", "stream-json"),
        default="text",
        help="text: the answer; json: one object; stream-json: a line an event",
    )
    parser.add_argument("--max-turns", type=int, metavar="N", help="most rounds of tools")
    parser.add_argument(
        "--max-budget-usd", "--max-price", type=float, metavar="USD", help="most money to spend"
    )

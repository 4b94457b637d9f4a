"""What a walled-in command is given besides, so that it finds the proxy and talks through it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from stormclaw.errors import ToolFailure
from stormclaw.security.walls.proxy import PORT
from stormclaw.security.walls.toolchains import SYSTEM, in_any, is_in

URL = f"http://127.0.0.1:{PORT}"
LAUNCHER = Path(__file__).with_name("proxy_launch.py")

PROXIES = (
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
    "npm_config_proxy", "npm_config_https_proxy", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY",
    "PIP_PROXY", "CARGO_HTTP_PROXY", "GLOBAL_AGENT_HTTP_PROXY", "GLOBAL_AGENT_HTTPS_PROXY",
)  # fmt: skip
"""Where programs look for a proxy."""
DIRECTLY = {"NO_PROXY": "localhost,127.0.0.1,::1", "no_proxy": "localhost,127.0.0.1,::1"}
"""What stays inside: a server that the command itself has started."""
SWITCHES = {"NODE_USE_ENV_PROXY": "1", "ELECTRON_GET_USE_PROXY": "1"}


def environ_by_host(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command that finds listed hosts through the proxy, and no other way."""
    kept = {name: value for name, value in environ.items() if not name.lower().endswith("_proxy")}
    return {**kept, **dict.fromkeys(PROXIES, URL), **DIRECTLY, **SWITCHES}


def words_by_host(descriptor: int) -> tuple[str, ...]:
    """What stands before a command's own words, so that the proxy gets its port inside.

    Args:
        descriptor: Of the door.

    Raises:
        ToolFailure: The interpreter is gone.
    """
    if not os.access(interpreter(), os.X_OK):
        raise ToolFailure("StormClaw's own Python is gone; nothing was run")
    return (str(interpreter()), "-I", "-S", "-c", _source(), str(descriptor), str(PORT))


@cache
def interpreter() -> Path:
    """The Python below any virtual environment, links resolved."""
    return Path(os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable))


def interpreter_folders(user_home: Path) -> tuple[Path, ...]:
    """What it needs to start besides the system's folders; shown to the command.

    Args:
        user_home: The person's home: never shown as a whole.
    """
    system = tuple(map(Path, SYSTEM))
    prefixes = {Path(os.path.realpath(each)) for each in (sys.base_prefix, sys.base_exec_prefix)}
    kept = (each for each in prefixes if not in_any(each, system) and not is_in(user_home, each))
    return tuple(sorted(kept))


@cache
def _source() -> str:
    return LAUNCHER.read_text("utf-8")

"""What a tool is given when a test calls it by hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from stormclaw.errors import ToolFailure
from stormclaw.protocol.effects import WALLED_IN, Effect
from stormclaw.protocol.tool import ChildReport, Recalled, SeenFiles, SpawnRequest, ToolContext
from stormclaw.security.sandbox import Sandbox


async def _no_child(request: SpawnRequest) -> ChildReport:
    raise ToolFailure("no sub-agents here")


async def _nobody(text: str, options: tuple[str, ...]) -> str:
    raise ToolFailure("nobody is there to answer")


async def _permit(effects: tuple[Effect, ...]) -> None:
    return None


async def _recall(query: str, most: int) -> tuple[Recalled, ...]:
    return ()


def context(workspace: Path, home: Path, **changes: Any) -> ToolContext:
    """A context without walls, a person, sub-agents or memory; `changes` put them in."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8"}
    sandbox = Sandbox()
    usual: dict[str, Any] = {
        "workspace": workspace,
        "agent": "root",
        "notes": workspace / ".stormclaw" / "memory",
        "environ": environ,
        "shell_timeout_s": 60.0,
        "max_shell_timeout_s": 120.0,
        "max_output_chars": 30_000,
        "seen": SeenFiles(),
        "progress": lambda text: None,
        "spawn": _no_child,
        "question": _nobody,
        "confined": True,
        "sandbox": sandbox.level,
        "reach": WALLED_IN,
        "launch": lambda line: sandbox.launch(line, workspace, environ, WALLED_IN),
        "lack": sandbox.lack,
        "permit": _permit,
        "reachable": lambda host, address: "",
        "recall": _recall,
        "kept": lambda wanted: (),
        "key": lambda name: "",
        "http_timeout_s": 20.0,
        "max_response_bytes": 1_048_576,
    }
    return ToolContext(**{**usual, **changes})

"""How claude is started: its arguments, its environment, and what it is told at first."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.protocol.provider import ChatRequest
from stormclaw.providers._claude.errors import INSTALL
from stormclaw.providers._claude.session import Place
from stormclaw.providers._claude.tools import OWN_TOOLS
from stormclaw.providers._programs.process import scrubbed

COMMAND: Final = "claude"
SCRUB: Final = (
    "ANTHROPIC_*",
    "CLAUDECODE",
    "CLAUDE_CODE_*",
    "CLAUDE_CONFIG_DIR",
    "OTEL_EXPORTER_OTLP_*",
    "OTEL_METRICS_EXPORTER",
    "OTEL_LOGS_EXPORTER",
    "OTEL_TRACES_EXPORTER",
)
"""What would steer claude to another account, server, model or listener than its own settings."""
ENVIRON: Final[Mapping[str, str]] = {
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_ENABLE_TASKS": "0",
    "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR": "1",
    "DISABLE_AUTOUPDATER": "1",
}
"""Its usual ten retries take minutes; its plan comes as one list instead of as many tasks; each
command begins in the workspace, which is where its paths are judged from."""
TALKING: Final = (
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--setting-sources",
    "user",
)
ACTING: Final = ("--permission-prompt-tool", "stdio", "--tools", ",".join(OWN_TOOLS))
SILENT: Final = ("--tools", "", "--strict-mcp-config", "--no-session-persistence")
"""Where nothing may be done, only said."""
EFFORTS: Final[Mapping[str, str]] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
}
ANSWERED_S: Final = 7 * 86_400
"""How long its hook waits for us: a person may be away."""
GATE: Final = "gate"
"""The name of our hook."""


@dataclass(frozen=True, slots=True)
class Start:
    """How one claude is started; equal ones can go on in one process.

    Attributes:
        argv: Without what a session is resumed by.
        environ: All of its environment.
        cwd: Where it works.
        system_prompt: Sent on its stdin: others on this machine can read arguments.
        acts: Whether it has tools, each of which passes our gate.
        free: Whether it was started with its own questions off.
    """

    argv: tuple[str, ...]
    environ: Mapping[str, str]
    cwd: Path
    system_prompt: str
    acts: bool
    free: bool = False

    def command(self, place: Place | None) -> tuple[str, ...]:
        """The words to start it with, going on from a place."""
        if place is None:
            return self.argv
        return (*self.argv, "--resume", place.session_id, "--resume-session-at", place.answer)

    def greeting(self) -> Mapping[str, Any]:
        """Its first control request: our gate before each of its tools, and our words to it."""
        if not self.acts:
            own = {"systemPrompt": [self.system_prompt]} if self.system_prompt else {}
            return {"subtype": "initialize", **own}
        gate = {"matcher": "", "hookCallbackIds": [GATE], "timeout": ANSWERED_S}
        more = {"appendSystemPrompt": self.system_prompt} if self.system_prompt else {}
        return {"subtype": "initialize", "hooks": {"PreToolUse": [gate]}, **more}


def start_of(request: ChatRequest, settings: ModelSettings, nowhere: Path) -> Start:
    """How claude is started for a request.

    Args:
        request: With hands, or without: then nothing can be done.
        settings: Of this provider.
        nowhere: An empty folder to work in without hands.

    Raises:
        ProviderError: It is not installed.
    """
    hands = request.hands
    environ = {**scrubbed(hands.environ if hands else os.environ, SCRUB), **ENVIRON}
    program = shutil.which(settings.command or COMMAND, path=environ.get("PATH"))
    if program is None:
        wanted = settings.command or COMMAND
        raise ProviderError("not_found", f"there is no {wanted} on PATH", hint=INSTALL)
    free = hands is not None and hands.autonomy == "full" and _may_be_free(environ)
    mode = "bypassPermissions" if free else "default"
    argv = [program, *TALKING, "--permission-mode", mode, *(ACTING if hands else SILENT)]
    if model := request.model or settings.model:
        argv += ["--model", model]
    effort = request.effort or settings.reasoning
    if effort in EFFORTS:
        argv += ["--effort", EFFORTS[effort]]
    elif effort == "none":
        environ["MAX_THINKING_TOKENS"] = "0"
    argv += settings.args
    cwd = hands.workspace if hands else nowhere
    return Start(tuple(argv), environ, cwd, request.system_prompt, hands is not None, free)


def _may_be_free(environ: Mapping[str, str]) -> bool:
    """Claude refuses that mode to root outside of a sandbox; it needs it for nothing."""
    return os.geteuid() != 0 or environ.get("IS_SANDBOX") == "1"

"""The opencode CLI: none of its calls can be gated, so it acts only at autonomy `full`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.provider import ChatRequest
from stormclaw.providers._programs.opencode_lines import OpencodeLines
from stormclaw.providers._programs.ungated import Facts, Reader, Run, Ungated

FACTS: Final = Facts(
    command="opencode",
    install="npm install -g opencode-ai, then run `opencode auth login` in a terminal",
    login="run `opencode auth login` in a terminal",
    scrub=("OPENCODE_*", "OTEL_EXPORTER_*"),
    tools={
        "bash": ("shell_exec", {"command": "command"}),
        "read": ("read_file", {"path": "filePath", "offset": "offset", "limit": "limit"}),
        "write": ("write_file", {"path": "filePath", "content": "content"}),
        "edit": (
            "edit_file",
            {
                "path": "filePath",
                "old_string": "oldString",
                "new_string": "newString",
                "replace_all": "replaceAll",
            },
        ),
        "glob": ("glob", {"pattern": "pattern", "path": "path"}),
        "grep": ("grep", {"pattern": "pattern", "path": "path"}),
        "list": ("list_files", {"path": "path"}),
    },
)
QUIET: Final = {"OPENCODE_DISABLE_AUTOUPDATE": "1"}
NOTHING: Final = json.dumps({"permission": {"*": "deny"}, "tools": {"*": False}})
"""Configuration in which no tool is there, and none would be permitted."""


class OpencodeCli(Ungated):
    """The opencode on this machine."""

    def run_of(self, request: ChatRequest, folder: Path, *, free: bool) -> Run:
        """`opencode run`; what is said goes over standard input."""
        args = ["run", "--format", "json", "--title", "StormClaw", "--thinking"]
        if model := request.model or self.settings.model:
            args += ["--model", model]
        if free:
            return Run((*args, "--auto"), QUIET)
        return Run(tuple(args), {**QUIET, "OPENCODE_CONFIG_CONTENT": NOTHING})

    def reader(self) -> Reader:
        """One for each answer."""
        return OpencodeLines()


def connect(name: str, settings: ModelSettings, key: str | None) -> OpencodeCli:
    """The provider called `name`; opencode has its own logins, so no key is passed on."""
    return OpencodeCli(name, settings, FACTS)

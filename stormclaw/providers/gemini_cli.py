"""The gemini CLI: none of its calls can be gated, so it acts only at autonomy `full`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.provider import ChatRequest
from stormclaw.providers._programs.gemini_lines import GeminiLines
from stormclaw.providers._programs.ungated import Facts, Reader, Run, Ungated

FACTS: Final = Facts(
    command="gemini",
    install="npm install -g @google/gemini-cli, then run `gemini` in a terminal to log in",
    login="run `gemini` in a terminal and log in",
    scrub=(
        "GEMINI_SYSTEM_MD",
        "GEMINI_SANDBOX",
        "GOOGLE_GEMINI_BASE_URL",
        "GOOGLE_VERTEX_BASE_URL",
        "OTEL_EXPORTER_*",
    ),
    tools={
        "run_shell_command": ("shell_exec", {"command": "command"}),
        "read_file": ("read_file", {"path": "file_path"}),
        "write_file": ("write_file", {"path": "file_path", "content": "content"}),
        "replace": (
            "edit_file",
            {"path": "file_path", "old_string": "old_string", "new_string": "new_string"},
        ),
        "list_directory": ("list_files", {"path": "dir_path"}),
        "glob": ("glob", {"pattern": "pattern", "path": "dir_path"}),
        "grep_search": ("grep", {"pattern": "pattern", "path": "dir_path"}),
        "search_file_content": ("grep", {"pattern": "pattern", "path": "dir_path"}),
    },
)
NOTHING: Final = '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 999\n'
"""A policy in which no tool may be used; an administrator's, so that no other overrules it."""


class GeminiCli(Ungated):
    """The gemini on this machine."""

    def run_of(self, request: ChatRequest, folder: Path, *, free: bool) -> Run:
        """`gemini -p`; what is said goes over standard input."""
        args = ["--output-format", "stream-json", "-p", ""]
        if model := request.model or self.settings.model:
            args += ["--model", model]
        if free:
            return Run((*args, "--approval-mode", "yolo", "--skip-trust"), {})
        policy = folder / "nothing.toml"
        policy.write_text(NOTHING)
        return Run((*args, "--approval-mode", "default", "--admin-policy", str(policy)), {})

    def reader(self) -> Reader:
        """One for each answer."""
        return GeminiLines()


def connect(name: str, settings: ModelSettings, key: str | None) -> GeminiCli:
    """The provider called `name`; gemini has its own login, so no key is passed on."""
    return GeminiCli(name, settings, FACTS)

"""What Claude Code wraps in tags of its own, unwrapped: commands, interruptions, refusals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import Body, Note, Status, ToolOutcome, UserText
from stormclaw.store.imports.rows import objects, text
from stormclaw.store.imports.showing import few_words

_TAG = r"\s*<{0}>(.*?)</{0}>"
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.S)
_COMMAND = re.compile(_TAG.format("command-name"), re.S)
_COMMAND_ARGS = re.compile(r"<command-args>(.*?)</command-args>", re.S)
_QUIET = re.compile(r"\s*<(?:local-command-caveat|task-notification|command-message)>")
_SHOWN = re.compile(r"\s*<local-command-std(?:out|err)>(.*?)</local-command-std(?:out|err)>", re.S)
_BASH_INPUT = re.compile(_TAG.format("bash-input"), re.S)
_BASH_OUTPUT = re.compile(
    r"\s*<bash-stdout>(.*?)</bash-stdout>(?:\s*<bash-stderr>(.*?)</bash-stderr>)?", re.S
)
_INTERRUPTED = re.compile(r"\s*\[Request interrupted by user(?: for tool use)?\]\s*")
_REFUSED = re.compile(
    r"The user doesn't want to (?:proceed|take this action)|Claude requested permissions|"
    r"Permission to use \S+ has been denied|User rejected|rejected by user|"
    r"exec command rejected|patch rejected"
)
_STOPPED = re.compile(r"\[Request interrupted by user|Interrupted by user|aborted by user")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
SHELL = "shell_exec"
_NOT_HERE = {"image": "a picture", "document": "a document"}


class Person:
    """What rows of the person's side say; remembers the command whose output comes next."""

    def __init__(self) -> None:
        self._typed = ""

    def says(self, said: str) -> Iterator[Body]:
        """What one row says; nothing for words that only the model was meant for."""
        said = _REMINDER.sub("", said) if "<system-reminder>" in said else said
        if not said.strip() or _QUIET.match(said):
            return
        if _INTERRUPTED.fullmatch(said):
            yield Note("interrupted", "interrupted by you")
        elif command := _COMMAND.match(said):
            given = _COMMAND_ARGS.search(said)
            yield Note("info", " ".join(f"{command[1]} {given[1] if given else ''}".split()))
        elif shown := _SHOWN.match(said):
            if words := _COLOURS.sub("", shown[1]).strip():
                yield Note("info", words)
        elif typed := _BASH_INPUT.match(said):
            self._typed = typed[1].strip()
        elif printed := _BASH_OUTPUT.match(said):
            yield self._ran("\n".join(filter(None, (printed[1], printed[2]))).strip("\n"))
        else:
            yield UserText(said)

    def _ran(self, output: str) -> ToolOutcome:
        command, self._typed = self._typed or "?", ""
        head = Headline("shell", command, "command")
        words = few_words("", "done", output, None)
        return ToolOutcome("person", SHELL, "done", output, head, words, author="person")


def blocks_text(content: Any) -> str:
    """The text of a message's content; what is no text is named."""
    if isinstance(content, str):
        return content
    found: list[str] = []
    for block in objects(content):
        kind = block.get("type")
        if kind == "text":
            found.append(text(block, "text"))
        elif isinstance(kind, str) and kind in _NOT_HERE:
            found.append(f"[{_NOT_HERE[kind]} was here; it is not imported]")
        elif kind == "tool_reference":
            found.append(f"[tool {text(block, 'tool_name')}]")
    return "\n\n".join(found)


def status_of(output: str, *, failed: bool, interrupted: bool = False) -> Status:
    """How a call ended, from what its result says."""
    if interrupted or (failed and _STOPPED.match(output)):
        return "interrupted"
    if failed and _REFUSED.match(output):
        return "denied"
    return "failed" if failed else "done"

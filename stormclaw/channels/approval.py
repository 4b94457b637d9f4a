"""Approvals on a line-based terminal: show the whole thing; anything but yes is no."""

from __future__ import annotations

from typing import assert_never

from stormclaw.log import one_line as flat
from stormclaw.protocol.asks import DENIED, Ask, Permission, Question, Reply
from stormclaw.protocol.display import Checklist, Diff, Display, Patch, Plain, Shell, Table

YES = frozenset({"y", "yes"})


def described(ask: Ask) -> str:
    """What is asked, in full, ending in the prompt for the answer."""
    match ask:
        case Question():
            options = f" ({' / '.join(ask.options)})" if ask.options else ""
            return f"{ask.agent} asks: {ask.text}{options}\n> "
        case Permission():
            verdict = ask.verdict
            lines = [
                "Tool request:",
                f"  tool: {flat(ask.tool)}",
                f"  agent: {flat(ask.agent)}",
                f"  risk: {verdict.risk}",
                f"  reason: {flat(verdict.reason)} (rule: {flat(verdict.rule)})",
                f"  args: {flat(ask.call.arguments)}",
                *("  " + line for line in shown(ask.display)),
            ]
            return "\n".join(lines) + "\n" + _prompt(ask)
        case _:
            assert_never(ask)


def _prompt(ask: Permission) -> str:
    if ask.verdict.decision == "deny":
        what = ", ".join(flat(grant.match) for grant in ask.verdict.grants)
        return f"Not on the allowlist. Allow {what!r}: [s]ession, [a]lways in this project? [N] "
    return "Approve? [y/N] "


def shown(display: Display) -> list[str]:
    """A display as plain lines."""
    match display:
        case Plain():
            return [f"| {line}" for line in display.text.split("\n")]
        case Shell():
            first, *more = display.command.split("\n")
            below = [f"> {line}" for line in more]
            return [f"$ {first}", *below, f"in {flat(display.cwd)}, {_box(display)}"]
        case Patch():
            return [line for diff in display.files for line in shown(diff)]
        case Checklist():
            return [f"{step.state:<8}{flat(step.text)}" for step in display.steps]
        case Table():
            return ["  ".join(map(flat, row)) for row in (display.columns, *display.rows)]
        case Diff():
            head = f"{flat(display.path)}  +{display.added} -{display.removed}"
            body = (
                f"{line.sign}{flat(line.text)}" for hunk in display.hunks for line in hunk.lines
            )
            return [head, *body]
        case _:
            assert_never(display)


def _box(shell: Shell) -> str:
    """How long a command may take, what is around it, and what was opened for it."""
    words = [f"at most {shell.timeout_s:g} s", f"sandbox: {shell.sandbox}"]
    words += ["with network"] if shell.network else []
    words += [f"with network to {', '.join(shell.hosts)}"] if shell.hosts else []
    words += [f"may write {flat(folder)}" for folder in shell.folders]
    return ", ".join(words)


def reply_to(ask: Ask, line: str) -> Reply:
    """The reply a typed line means; the empty line denies."""
    word = line.strip()
    match ask:
        case Question():
            return Reply("text", word) if word else DENIED
        case Permission() if ask.verdict.decision == "deny":
            return _LIFTS.get(word.lower(), DENIED)
        case Permission():
            return Reply("once") if word.lower() in YES else _LIFTS.get(word.lower(), DENIED)
        case _:
            assert_never(ask)


_LIFTS = {
    "s": Reply("session"),
    "session": Reply("session"),
    "a": Reply("always"),
    "always": Reply("always"),
}

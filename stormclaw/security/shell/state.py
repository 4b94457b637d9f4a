"""What a built-in changes for the commands after it: the folder, and variables that `read` sets."""

from __future__ import annotations

import re
from pathlib import Path

from stormclaw.security.shell.command import Command
from stormclaw.security.shell.scope import Scope
from stormclaw.security.shell.shell_tree import Call, Chain, Statement
from stormclaw.security.shell.shell_words import plain
from stormclaw.security.shell.yields import DECODERS

_SUCCEEDS = frozenset({"cd", "echo", "true", ":", "export", "set", "printf"})


def learn(command: Command, scope: Scope) -> None:
    """Take over what a command that has been judged does to the shell itself."""
    if command.args[0].text in ("cd", "pushd", "popd"):
        _change_folder(command, scope)
    elif command.args[0].text == "read":
        names = [text for text in command.texts[1:] if not text.startswith("-")]
        scope.learn_read(names, command.stdin, hidden=bool(command.upstream & DECODERS))


def succeeds(statement: Statement) -> bool:
    """Whether a command fails so rarely that what stands behind its `&&` can be relied on."""
    if not isinstance(statement, Call) or not statement.words:
        return False
    words = [plain(word.form) for word in statement.words]
    makes = words[0] == "mkdir" and any(re.fullmatch(r"-\w*p\w*|--parents", w) for w in words[1:])
    return makes or words[0] in _SUCCEEDS


def entered(
    statement: Statement, before: frozenset[Path] | None, after: frozenset[Path] | None
) -> frozenset[Path] | None:
    """The folder behind `cd FOLDER &&`: the one it names, since otherwise nothing follows."""
    while isinstance(statement, Chain) and statement.op == "&&":
        statement = statement.right
    moves = isinstance(statement, Call) and statement.words[:1]
    if not moves or before is None or after is None or plain(moves[0].form) != "cd":
        return after
    return (after - before) or after


def either(before: frozenset[Path] | None, after: frozenset[Path] | None) -> frozenset[Path] | None:
    """The folders it may be in where a command may or may not have run."""
    return None if before is None or after is None else before | after


def _change_folder(command: Command, scope: Scope) -> None:
    targets = [arg for arg in command.args[1:] if not re.fullmatch(r"-[LPe@]*", arg.text)]
    if len(targets) != 1 or not targets[0].literal or targets[0].text.startswith("+"):
        home = not targets and command.args[0].text == "cd" and len(command.args) == 1
        scope.enter((command.policy.user_home,) if home else None, certain=True)
        return
    folders = scope.paths(targets[0].text)
    exists = bool(folders) and all(folder.is_dir() for folder in folders or ())
    scope.enter(folders, certain=exists)

"""What loses files without being called rm: unlinking, emptying, closing, moving onto one name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stormclaw.security.finding import Finding
from stormclaw.security.shell.command import Command
from stormclaw.security.shell.programs import entry, given, take_apart
from stormclaw.security.shell.scope import Scope
from stormclaw.security.shell.shell_tree import Call
from stormclaw.security.shell.shell_words import UNSEEN, Arg, plain

REMOVERS = frozenset({"unlink", "rimraf", "del", "del-cli", "trash", "trash-put", "trash-cli",
                      "gio-trash", "shred", "srm", "wipe", "premove", "rmtrash", "safe-rm",
                      "erase", "rm-cli", "shx-rm", "rmrf"})  # fmt: skip
_DEVICES = re.compile(r"/dev/(?!(std(in|out|err)|fd/\d+)$).*")
_WHOLE_NAME = re.compile(r"\"?\$\{?([A-Za-z_]\w*)\}?\"?")
_REPLACES = frozenset({"mv", "chmod", "chown", "chgrp", "unlink", "mknod", "rmdir", "setfacl",
                       "chattr", "rename", "truncate"})  # fmt: skip
_REPLACES_LAST = frozenset({"ln", "install", "link"})
_CHMOD = entry("medium", texts="--reference")
_TRUNCATE = entry("medium", texts="-s --size", values="-r --reference")


def removes(command: Command) -> Iterator[Finding]:
    """Findings for a command that loses files as `rm` does."""
    name = command.name
    if name in REMOVERS and len(command.args) > 1 and "--help" not in command.texts:
        yield command.found("high", f"{name} removes files, as rm does", "removes files")
    if name == "shx" and command.texts[1:2] == ("rm",):
        yield command.found("high", "removes files, as rm does", "removes files")
    if name == "zip" and any(re.fullmatch(r"-(?!-)\w*m\w*|--mo\w*", text)
                             and not re.fullmatch(r"-(mm|FSm)", text)
                             for text in command.texts[1:]):  # fmt: skip
        yield command.found("high", "zip -m removes what it packs", "removes files")
    if name == "gio" and command.texts[1:2] in (("trash",), ("remove",)):
        yield command.found("high", "removes files, as rm does", "removes files")
    if name == "truncate":
        yield from _emptied(command)
    if name == "chmod":
        yield from _closed(command)
    yield from _devices(command)
    if name in ("tee", "sponge") and any(arg.glob for arg in command.args[1:]):
        yield command.found("high", "overwrites every file that matches", "removes files")


def empties(call: Call, scope: Scope) -> Iterator[Finding]:
    """Findings for a redirect that empties each file a loop runs over: `: > "$f"`."""
    words = [plain(word.form) for word in call.words]
    if words[:1] not in ([], [":"], ["true"]) and words != ["cat", "/dev/null"]:
        return
    for redirect in call.redirects:
        whole = _WHOLE_NAME.fullmatch(redirect.target.raw)
        if redirect.op not in (">", ">|", "&>") or not whole or whole[1] not in scope.looped:
            continue
        if not _fresh(scope.values.get(whole[1], ()), scope):
            yield Finding(call.raw, "high", "empties every file of the loop", "removes files")


def _fresh(items: tuple[str, ...], scope: Scope) -> bool:
    """Whether these are names, one and all known, of files that do not exist yet."""
    names = [plain(item) for item in items]
    return bool(names) and UNSEEN not in items and all(
        name and not re.search(r"[*?\[\0]", name)
        and not any(path.exists() for path in scope.paths(name) or (scope.policy.workspace,))
        for name in names
    )  # fmt: skip


def swallows(command: Command, inner: tuple[Arg, ...]) -> Iterator[Finding]:
    """Findings for `find -exec`, `xargs` and their like that lose every file they find."""
    texts = [arg.text for arg in inner]
    name = texts[0].rsplit("/", 1)[-1] if texts else ""
    words = [text for text in texts[1:] if not text.startswith("-")]
    if "{}" in words[:-1] and words[-1] == "\0":
        words.pop()  # `xargs -I{}` puts nothing behind the words it has
    if name == "mv" and words and not _found(words[-1]) and "-t" not in texts:
        places = command.scope.paths(words[-1]) or ()
        folder = bool(places) and all(place.is_dir() for place in places)
        if not words[-1].endswith("/") and not folder:
            yield command.found("high", "moves every file onto one name", "removes files")
    if name in ("tee", "sponge") and any(map(_found, words)) and "-a" not in texts:
        yield command.found("high", "overwrites every file it finds", "removes files")
    onto = len(words) > 1 and _found(words[-1]) and not any(map(_found, words[:-1]))
    if name in ("cp", "install", "ln", "mv") and onto:
        yield command.found("high", "overwrites every file it finds", "removes files")


def _found(word: str) -> bool:
    return word == "{}" or word == "\0"


def _emptied(command: Command) -> Iterator[Finding]:
    size = take_apart(command.args[1:], _TRUNCATE).value("-s", "--size")
    text = size.text if size is not None else ""
    if size is None or size.dynamic or re.fullmatch(r"0+\w*|[-<%/].*|\d{1,3}", text):
        yield command.found("high", "cuts off what files hold", "removes files")


def _closed(command: Command) -> Iterator[Finding]:
    line = take_apart([arg for arg in command.args[1:] if not _is_mode(arg)], _CHMOD)
    modes = [arg.text for arg in command.args[1:] if _is_mode(arg)]
    modes = modes or [operand.text for operand in line.operands[:1]]
    many = line.has("-R", "--recursive") or any(arg.glob for arg in line.operands)
    if many and any(_takes_reading(mode) for mode in modes):
        yield command.found("high", "takes the right to read away from many files", "removes files")


def _is_mode(arg: Arg) -> bool:
    return bool(re.fullmatch(r"-[rwxXst]+", arg.text))


def _takes_reading(mode: str) -> bool:
    """Whether the owner may no longer read, or enter a folder, after this mode."""
    if re.fullmatch(r"[0-7]{1,4}", mode):
        return int(mode.rjust(3, "0")[-3]) & 5 != 5
    for part in mode.split(","):
        match = re.fullmatch(r"([ugoa]*)([-=])([rwxX]*)", part)
        if match is None or not (not match[1] or set(match[1]) & {"u", "a"}):
            continue
        if match[2] == "-" and set(match[3]) & {"r", "X"}:
            return True
        if match[2] == "=" and "r" not in match[3]:
            return True
    return False


def _devices(command: Command) -> Iterator[Finding]:
    name = command.name
    words = [text for text in command.texts[1:] if not text.startswith("-")]
    targets = words if name in _REPLACES else words[-1:] if name in _REPLACES_LAST else []
    if name == "cp" and any(given(text, ("--remove-destination", "--link", "--symbolic-link"))
                            or re.fullmatch(r"-[a-zA-Z]*[ls][a-zA-Z]*", text)
                            for text in command.texts[1:]):  # fmt: skip
        targets = words[-1:]
    if any(map(_DEVICES.fullmatch, targets)):
        yield command.found("high", "replaces or changes a device itself", "device replaced")

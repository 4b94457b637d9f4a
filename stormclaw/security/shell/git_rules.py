"""git: what each subcommand does, and the options with which it runs other programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from stormclaw.security.finding import Finding
from stormclaw.security.shell.command import GIT_GLOBAL_VALUES, Command, subcommand
from stormclaw.security.shell.operands import judge_operands
from stormclaw.security.shell.programs import Program, entry, given, take_apart, words
from stormclaw.security.shell.shell_words import Arg

HARMLESS_SETTINGS = re.compile(
    r"(user\.(name|email)|color\.\w+|core\.(quotepath|abbrev|autocrlf)|init\.defaultbranch|"
    r"advice\.\w+|log\.\w+|diff\.(renames|algorithm|context|noprefix)|pull\.(rebase|ff)|"
    r"merge\.conflictstyle|commit\.gpgsign|tag\.gpgsign|fetch\.prune|push\.default|"
    r"push\.autosetupremote|column\.\w+|status\.\w+|rebase\.autostash|rerere\.enabled)(=.*)?|"
    r"core\.(pager|editor)=(cat|true|:)|core\.fsmonitor=(false|0)?|core\.hookspath=/dev/null",
    re.I | re.S,
)

_LOOK = entry("low", texts="-n --grep --author --since --until --after --before -S -G --format "
              "--pretty --date -L --diff-filter -U --unified --max-count --committer --skip",
              writes="--output", values="-O",
              high="--ext-diff --open-files-in-pager --textconv --filters")  # fmt: skip
_PLAIN = entry("low", texts="--format --sort --contains --points-at -n",
               high="--textconv --filters")  # fmt: skip
_WORK = entry("medium", texts="-m --message --author --date -b -B -c -C --trailer --cleanup "
              "-u --set-upstream -o --push-option -X --strategy-option -s --fixup --squash",
              values="-F --file -t --template",
              high="--exec --upload-pack --receive-pack --config --unsafe-paths")  # fmt: skip
_OWN: Mapping[str, Program] = {
    "archive": entry("medium", texts="--format --prefix", writes="-o --output",
                     high="--exec --remote"),
    "format-patch": entry("medium", texts="-v --subject-prefix --to --cc",
                          writes="-o --output-directory"),
    "clone": entry("medium", "last-write", texts="-b --branch -o --origin --depth --filter -j",
                   values="--reference --separate-git-dir",
                   high="-u --upload-pack -c --config --template"),
    "init": entry("medium", "write", texts="-b --initial-branch --object-format",
                  values="--separate-git-dir", high="--template"),
}  # fmt: skip
"""Subcommands whose options mean something else."""

_HIGH_OPTIONS: Mapping[str, frozenset[str]] = {
    "rebase": frozenset({"-x"}),
}
"""Options that run programs in one subcommand and mean something else in others."""

LOW: Mapping[str, Program] = {
    **dict.fromkeys(words("log diff show whatchanged shortlog reflog diff-tree "
                          "diff-index diff-files range-diff"), _LOOK),
    **dict.fromkeys(words("status rev-parse ls-files ls-tree blame annotate describe cat-file "
                    "merge-base name-rev rev-list for-each-ref count-objects check-ignore "
                    "check-attr version help show-ref var merge-tree cherry show-branch "
                    "verify-commit"), _PLAIN),
    "grep": entry("low", "first-text", texts="-e -A -B -C -m --max-depth --threads",
                  values="-f", high="-O --open-files-in-pager --textconv --ext-grep"),
}  # fmt: skip

_LIST_FLAGS = re.compile(
    r"-[avrlqi]+|--(list|all|remotes|verbose|show-current|merged|no-merged|contains|sort|format|"
    r"points-at|column|no-column|color|no-color|abbrev|ignore-case)(=.*)?|-n\d*|-vv"
)
_CHOOSES_LISTED = re.compile(r"-l|--(list|contains|merged|no-merged|points-at)(=.*)?")
_LISTING: Mapping[str, tuple[str, ...]] = {
    "remote": ("", "show", "get-url"),
    "stash": ("list", "show"),
    "worktree": ("list",),
    "submodule": ("", "status", "summary"),
    "notes": ("", "list", "show"),
    "bisect": ("log", "view"),
    "lfs": ("ls-files", "status", "env", "version"),
    "bundle": ("verify", "list-heads"),
    "config": ("list", "get"),
    "sparse-checkout": ("list",),
}
"""Subcommands of subcommands that only look; "" is the bare command."""

MEDIUM = words(
    "add commit checkout switch merge pull fetch stash restore reset rebase cherry-pick revert tag "
    "branch mv rm clone init push apply am clean notes worktree remote submodule bisect gc "
    "format-patch archive sparse-checkout lfs update-index maintenance ls-remote hash-object "
    "write-tree commit-tree read-tree mktree pack-refs repack fsck rerere bundle "
    "symbolic-ref"
)
_HIGH_WORDS: Mapping[str, frozenset[str]] = {
    "bisect": frozenset({"run"}),
    "submodule": frozenset({"foreach"}),
}
"""Subcommands of medium subcommands that run programs."""


_ADDRESS = re.compile(r"\w[\w+.-]*://|[\w.-]+@[\w.-]+:")


def judge_git(command: Command) -> Iterator[Finding]:
    """Findings for a git command; the first is its place on the shipped list."""
    name, rest = subcommand(command.args)
    yield _placed(command, name, rest)
    yield from _global_options(command)
    program = _program(name)
    line = take_apart(rest, program)
    for option in line.options:
        if given(option.name, program.high | _HIGH_OPTIONS.get(name, frozenset())):
            yield command.found("high", f"git {name} {option.name} runs another program",
                                f"git {name} {option.name}")  # fmt: skip
    if any("://-" in arg.text or (re.match(r"-[^:/]*@?[^/]*:", arg.text) and "oProxy" in arg.text)
           for arg in rest):  # fmt: skip
        yield command.found("high", "an address that runs a program", "git transport")
    if name == "push" and any(_ADDRESS.match(arg.text) for arg in rest):
        yield command.found("high", "pushes to an address instead of a remote", "git push address",
                            liftable=True)  # fmt: skip
    if any("::" in arg.text and re.match(r"\w+::", arg.text) for arg in rest):
        yield command.found("high", "an address that runs a program", "git transport")
    yield from judge_operands(command, line, program)


def _program(name: str) -> Program:
    return LOW.get(name) or _OWN.get(name, _WORK)


def _placed(command: Command, name: str, rest: tuple[Arg, ...]) -> Finding:
    words = [arg.text for arg in rest if not arg.text.startswith("-")]
    first = words[0] if words else ""
    flags = [arg.text for arg in rest if arg.text.startswith("-")]
    rule = f"shipped list: git {name}".rstrip()
    if not name or name in LOW or _only_lists(name, first, words, flags):
        return command.found("low", "only looks", rule)
    if name == "config":
        return _config(command, words)
    if first in _HIGH_WORDS.get(name, ()):
        return command.found("high", f"git {name} {first} is on no list",
                             "not on any list", liftable=True)  # fmt: skip
    if name in MEDIUM:
        return command.found("medium", f"shipped list: git {name}", rule, liftable=True)
    return command.found("high", f"git {name} is on no list", "not on any list", liftable=True)


def _only_lists(name: str, first: str, words: list[str], flags: list[str]) -> bool:
    if name in ("branch", "tag"):
        listing = any(map(_CHOOSES_LISTED.fullmatch, flags))
        return (not words or listing) and all(map(_LIST_FLAGS.fullmatch, flags))
    if name == "config":
        looks = {"-l", "--list", "--get", "--get-all", "--get-regexp"} & set(flags)
        return bool(looks) or first in _LISTING["config"]
    return first in _LISTING.get(name, ())


def _config(command: Command, words: list[str]) -> Finding:
    rule = "git config"
    key = words[1] if words[:1] == ["set"] and len(words) > 1 else words[0] if words else ""
    value = words[2] if words[:1] == ["set"] and len(words) > 2 else "".join(words[1:2])
    elsewhere = any(given(text, ("--global", "--system", "--file", "-f", "--edit", "-e"))
                    for text in command.texts[1:])  # fmt: skip
    harmless = HARMLESS_SETTINGS.fullmatch(f"{key}={value}") and not elsewhere
    if harmless:
        return command.found("medium", "a setting that runs nothing", rule, liftable=True)
    return command.found("high", "settings of git can run programs", rule)


def _global_options(command: Command) -> Iterator[Finding]:
    args = list(command.args[1:])
    while args and args[0].text.startswith("-"):
        text = args.pop(0).text
        name, equals, value = text.partition("=")
        if name.startswith("-c") and len(name) > 2:
            name, value = "-c", text[2:]
        if text in GIT_GLOBAL_VALUES and args:
            value = args.pop(0).text
        if name == "-c" and not HARMLESS_SETTINGS.fullmatch(value):
            yield command.found("high", f"git -c {value} can run programs", "git -c")
        elif name in ("--exec-path", "--config-env") and (equals or value):
            yield command.found("high", f"git {name} changes what runs", f"git {name}")
        elif name in ("-C", "--git-dir", "--work-tree"):
            place = Arg(value, value)
            line = take_apart([place], entry("low", "names"))
            yield from judge_operands(command, line, entry("low", "names"))

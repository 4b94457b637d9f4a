"""What tables cannot say about gh, mvn, yarn and database tasks; and what find may delete."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from stormclaw.security.finding import Finding
from stormclaw.security.shell.command import Command
from stormclaw.security.shell.operands import judge_arg
from stormclaw.security.shell.programs import Line, words

_REBUILT = re.compile(
    r"\*\.(py[cod]|o|obj|a|so|class|tmp|temp|log|bak|orig|rej|swp|swo|tsbuildinfo|cache|out|gcda|"
    r"gcno|d|lo|la|elc|hi|map|pid|test|prof|coverage)|\*~|__pycache__|\.DS_Store|Thumbs\.db|"
    r"\.coverage(\..*|\*)?|\._\*|\*\.sw\?|\*\.py\[cod?o?\]|\*\.egg-info|core\.\*|#\*#"
)
"""Names of what tools leave behind and can make again."""

_LOSES_DATABASE = re.compile(
    r"db:(drop|reset|wipe|purge|truncate_all|schema:load|setup|migrate:reset)(:\w+)?|"
    r"migrate:(fresh|reset|refresh)|schema:drop|db:seed:replant"
)
_DROPS = {"prisma": frozenset({"reset", "execute"}), "dotnet": frozenset({"drop"})}
_FINAL = frozenset({"delete", "archive", "transfer", "rename", "lock", "unlock", "disable"})


_READ_UNASKED: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("make", "gmake"), words("Makefile makefile GNUmakefile")),
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), words("package.json .npmrc .yarnrc.yml")),
    **dict.fromkeys(("pytest", "py.test"), words("conftest.py pytest.ini sitecustomize.py")),
    **dict.fromkeys(("tox", "nox"), words("tox.ini noxfile.py")),
    **dict.fromkeys(("pip", "uv", "poetry"), words("setup.py pyproject.toml setup.cfg")),
    "cargo": words("build.rs Cargo.toml config.toml"), "rake": words("Rakefile"),
    "cmake": words("CMakeLists.txt"), "mvn": words("pom.xml"), "just": words("justfile Justfile"),
    "gradle": words("build.gradle build.gradle.kts settings.gradle"),
    "bundle": words("Gemfile"), "pre-commit": words(".pre-commit-config.yaml"),
}  # fmt: skip
"""Files that a program runs without being told to."""


def written_and_run(command: Command) -> Iterator[Finding]:
    """A finding where the line itself wrote what the program is going to run."""
    unasked = _READ_UNASKED.get(command.name, frozenset())
    if unasked and any(path.name in unasked for path in command.scope.written):
        yield command.found("high", "runs a file that this line writes", "written and run")


_LOOKS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "pip", "poetry", "composer", "gh"),
                    words("get list ls --list")),
}  # fmt: skip


def only_looks(command: Command, line: Line) -> bool:
    """Whether a subcommand that changes settings is only asked what they are."""
    looks = _LOOKS.get(command.name, frozenset())
    if command.name == "crontab":
        return list(command.texts[1:]) == ["-l"]
    texts = [operand.text for operand in line.operands[:2]]
    return texts[:1] == ["config"] and bool(looks & {*texts[1:], *command.texts[2:3]})


def deletes(command: Command) -> Finding:
    """The finding for `find ... -delete`: medium where only what can be made again goes."""
    if _only_rebuilt(command.texts):
        return command.found("medium", "removes files that can be made again", "find -delete",
                             liftable=True)  # fmt: skip
    reason = "find -delete removes more than what can be made again"
    return command.found("high", reason, "find -delete")


def family_by_hand(command: Command, line: Line) -> Iterator[Finding]:
    """Findings for programs with subcommands whose words mean more than their table says."""
    name, texts = command.name, [operand.text for operand in line.operands]
    if any(map(_LOSES_DATABASE.fullmatch, texts)):
        yield command.found("high", "loses what is in a database", "database loss", liftable=True)
    if name in _DROPS and _DROPS[name] & set(texts[1:]):
        yield command.found("high", "loses what is in a database", "database loss", liftable=True)
    workspace = name == "yarn" and texts[:1] in (["workspace"], ["workspaces"])
    if workspace and {"exec", "node", "dlx"} & set(texts):
        yield command.found("high", "runs a command in a workspace", "yarn workspace exec",
                            liftable=True)  # fmt: skip
    runs = re.compile(r"(exec|antrun|groovy|scripting):|-Dexec\.")
    if name == "mvn" and any(map(runs.match, command.texts[1:])):
        yield command.found("high", "runs another program", "mvn exec", liftable=True)
    if name == "gh":
        yield from _github(command, line, texts)


def _github(command: Command, line: Line, texts: list[str]) -> Iterator[Finding]:
    sub, verb = (*texts, "", "")[:2]
    yield from _uploaded(command, line, sub, texts[2:])
    if (sub, verb) in _CHANGES_REPOSITORY or (sub == "repo" and line.has("--push", "--visibility")):
        yield command.found("high", f"gh {sub} {verb} changes what others see",
                            f"gh {sub} {verb}", liftable=True)  # fmt: skip
    method = line.value("-X", "--method")
    sends = line.has("-f", "-F", "--field", "--raw-field", "--input")
    if sub == "api" and (sends or (method is not None and method.text.upper() != "GET")):
        yield command.found("high", "changes something on a server", "gh api", liftable=True)
    if verb in _FINAL:
        yield command.found("high", f"gh {sub} {verb} cannot be taken back", f"gh {sub} {verb}",
                            liftable=True)  # fmt: skip
    if sub == "gist" and verb == "create":
        yield command.found("high", "publishes files", "gh gist create", liftable=True)


_CHANGES_REPOSITORY = frozenset(
    {("repo", "edit"), ("repo", "create"), ("repo", "deploy-key"), ("repo", "autolink"),
     ("release", "create"), ("release", "upload"), ("release", "edit"), ("release", "delete-asset"),
     ("pr", "merge"), ("gist", "edit"), ("ruleset", "create"), ("project", "mark-template")}
)  # fmt: skip
_HOLDS_KEYS = re.compile(
    r"\.env\b|id_(rsa|ed25519|ecdsa|dsa)|\.pem\b|\.key\b|credentials|\.ssh|\.netrc|\.npmrc|"
    r"\.pypirc|secret|\b(printenv|env)\b(?!\s+\w)",
    re.I,
)


def _uploaded(command: Command, line: Line, sub: str, files: list[str]) -> Iterator[Finding]:
    """Files whose text goes to a server: their path counts, and keys never go."""
    named = [o.value for o in line.options if o.value is not None and sub != "api"
             and o.name in ("-F", "--body-file", "--notes-file", "--input")]  # fmt: skip
    for arg in named:
        yield from judge_arg(command, arg, "read")
    printed = [arg.raw for arg in command.args[1:] if "$(" in arg.raw or "`" in arg.raw]
    sent = [*(arg.text for arg in named), *printed]
    if sub in ("release", "gist"):
        sent += files
    if any(_HOLDS_KEYS.search(text) and not text.endswith((".example", ".sample"))
           for text in sent):  # fmt: skip
        yield command.found("high", "sends a file that holds keys", "upload")


def _only_rebuilt(texts: tuple[str, ...]) -> bool:
    """Whether every branch of a `find -delete` is held to names of the table above."""
    names = [value for option, value in pairwise(texts) if option in ("-name", "-iname")]
    branches = 1 + sum(word in ("-o", "-or", ",") for word in texts)
    if any(word in ("!", "-not") for word in texts):
        return False
    if "-empty" in texts and not names and branches == 1:
        return True
    return len(names) >= branches and all(map(_REBUILT.fullmatch, names))

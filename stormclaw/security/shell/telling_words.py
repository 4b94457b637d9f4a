"""Words that make an everyday tool run code of the line, publish, or lose a database."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from stormclaw.security.finding import Finding
from stormclaw.security.shell.command import Command
from stormclaw.security.shell.shell_words import Arg

Sign: TypeAlias = tuple[re.Pattern[str], str]


def _sign(pattern: str, why: str) -> Sign:
    return re.compile(pattern, re.S), why


_CODE = "runs code that the line carries"
_PUBLISHES = "publishes"
_LOSES = "loses what is in a database"
_PYTEST = r"(-o|--override-ini=?|--ov\w*=?)?\s*addopts\s*=.*(--bas|--root|--conf|-p|-c|-o).*"
_GRADLE = (
    r"(:?[\w-]+:)*(publish(?!\w*ToMavenLocal)\w*|uploadArchives|close\w*Repository|"
    r"release\w*|bintrayUpload|artifactoryPublish)",
    _PUBLISHES,
)
_MAVEN = (
    r"deploy|site-deploy|release:.*|deploy:.*|scm:.*|(?!org\.apache\.maven\.plugins:(?!maven-"
    r"(antrun|deploy|release|scm)))[\w.-]+:[\w.-]+:[\w.-]+(:[\w.-]+)?(@\S*)?",
    "publishes, or runs a plugin the project does not name",
)
_TS = (r"-\w*[ep]\w*|--ev\w*(=.*)?|--pri?n?t?(=.*)?", _CODE)

SIGNS: Mapping[str, tuple[Sign, ...]] = {
    **dict.fromkeys(("pytest", "py.test"), (_sign(_PYTEST, "hands pytest options of the line"),)),
    "pylint": (_sign(r"--in[it-]*[hook]*(=.*)?", _CODE),),
    "java": (_sign(r"-XX:(On\w+|Flags|VMOptionsFile|\w*Path|CompileCommandFile)=.*|@.*",
                   "lets the machine run commands or loads options"),),
    **dict.fromkeys(("javac", "jar", "javadoc", "kotlinc", "scalac"),
                    (_sign(r"-J.*|-Xplugin.*|@.*", "loads code into the program first"),)),
    "sbt": (_sign(r".*\b(eval|console\w*|set|session|alias|apply|load)\b.*|-J.*|-D.*boot.*",
                  _CODE), _sign(r".*publish(?!Local|M2)\w*.*|.*\brelease\b.*", _PUBLISHES)),
    "lein": (_sign(r"deploy|release|trampoline|repl|update-in|eval", _PUBLISHES),),
    **dict.fromkeys(("gradle", "gradlew"), (_sign(*_GRADLE),)),
    **dict.fromkeys(("mvn", "mvnw"), (_sign(*_MAVEN),)),
    "rake": (_sign(r"release(:\w+)?", _PUBLISHES),),
    "lerna": (_sign(r"publish", _PUBLISHES),), "nx": (_sign(r"release|publish", _PUBLISHES),),
    "changeset": (_sign(r"publish", _PUBLISHES),), "flit": (_sign(r"publish", _PUBLISHES),),
    "twine": (_sign(r"upload|register", _PUBLISHES),), "vsce": (_sign(r"publish", _PUBLISHES),),
    "hatch": (_sign(r"publish", _PUBLISHES),),
    "yarn": (_sign(r"publish|npm", _PUBLISHES),),
    "mix": (_sign(r"hex\.(publish|user|owner|organization|retire)", _PUBLISHES),
            _sign(r"ecto\.(drop|reset|rollback)|.*\.drop", _LOSES)),
    "docker": (_sign(r"--push", _PUBLISHES),), "podman": (_sign(r"--push", _PUBLISHES),),
    "kubectl": (_sign(r"(.*,)?secrets?(\.\w+)?([,/].*)?", "shows keys and passwords"),
                _sign(r"--raw(=.*)?|--token.*", "shows keys or uses others")),
    "conda": (_sign(r"--all|base", "removes an environment"),),
    "alembic": (_sign(r"base|-\d{2,}", _LOSES),),
    "flask": (_sign(r"downgrade|shell|drop\w*|reset\w*", _LOSES),),
    "python": (_sign(r"flush|reset_db|sqlclear|zero|sqlflush_db", _LOSES),),
    "django-admin": (_sign(r"flush|reset_db|zero", _LOSES),),
    "php": (_sign(r"migrate:(fresh|reset|refresh)|db:wipe|doctrine:(schema|database):drop|"
                  r"schema:drop", _LOSES),),
    **dict.fromkeys(("console", "artisan"), (_sign(
        r"migrate:(fresh|reset|refresh)|db:wipe|doctrine:(schema|database):drop", _LOSES),)),
    "knex": (_sign(r"migrate:rollback|migrate:down", _LOSES),),
    "typeorm": (_sign(r"schema:drop", _LOSES),),
    "sequelize": (_sign(r"db:drop|db:migrate:undo:all", _LOSES),),
    "sequelize-cli": (_sign(r"db:drop|db:migrate:undo:all", _LOSES),),
    "prisma": (_sign(r"--force-reset|--accept-data-loss", _LOSES),),
    "drizzle-kit": (_sign(r"drop|push", _LOSES),),
    "air": (_sign(r"-+(build|misc)\..*", _CODE),),
    "nodemon": (_sign(r"-\w*x|--exec(=.*)?", _CODE),),
    "jest": (_sign(r"--(globals|globalSetup|testRunner)=.*[{;(].*", _CODE),),
    "webpack": (_sign(r"--(config-register|eval)\b.*", _CODE),),
    "esbuild": (_sign(r"--(banner|footer):.*[;(].*", _CODE),),
    "ninja": (_sign(r"-t|-tclean", "runs a tool of its own"),),
    "meson": (_sign(r"(install|dist)|--(backend-startup|internal).*", "installs"),),
    "cargo": (_sign(r"-Z.*|--config.*", "changes what cargo runs"),
              _sign(r"drop|reset", _LOSES)),
    "go": (_sign(r".*-extld[= ].*|.*-extldflags.*(plugin|-B|-fuse|wrapper|specs).*|-gcflags=.*-o=.*"
                 r"|.*-toolexec.*", "names a program that builds"),
           _sign(r"(?!golang\.org/x/|\./|\.\./|/|-)[\w.-]+\.[a-z]{2,}/\S+@\S+", "fetches code")),
    "npm": (_sign(r"(scripts|bin|config|publishConfig|gypfile|overrides|exports)[.=\[].*",
                  "changes what npm runs"),),
    "poetry": (_sign(r"--build-hook.*", _CODE),),
    "tar": (_sign(r"(-?\w*f|--file=?)?[\w.@-]+:.*", "reaches another machine"),
            _sign(r"--rem\w*|--unl\w*|--recursive-u\w*", "removes what it packs")),
    "black": (_sign(r"-\w*c|--code(=.*)?", _CODE),),
    "celery": (_sign(r"purge|shell|upgrade|control", "loses what waits"),),
    "dvc": (_sign(r"push|gc|destroy|remove", "publishes or removes"),),
    "conan": (_sign(r"upload|remove", _PUBLISHES),),
    "jupyter": (_sign(r"--(?:ip|NotebookApp\.token|ServerApp\.token).*", "opens to others"),),
    "great_expectations": (), "dbt": (_sign(r"--full-refresh|run-operation", _LOSES),),
    "pandoc": (_sign(r"-\w*F|--filter(=.*)?|-\w*L|--lua-filter(=.*)?|--pdf-engine.*", _CODE),),
    **dict.fromkeys(("pdflatex", "latexmk"), (_sign(
        r"-+(shell-escape|enable-write18|e|r|latex|pdflatex)\b.*|-usepretex.*|.*\\(write18|input).*",
        _CODE),)),
    **dict.fromkeys(("ffmpeg", "convert", "magick"), (_sign(
        r"(ephemeral|msl|mvg|https?|url|pipe|concat|tee):.*|\|.*|@.*", "opens more than files"),)),
}  # fmt: skip
"""Program -> patterns; each is matched in full against the words behind its name, one by one."""

_ONLY_WITH: Mapping[str, frozenset[str]] = {
    "conda": frozenset({"remove", "uninstall", "env"}),
    "npm": frozenset({"pkg"}),
    "cargo": frozenset({"sqlx", "diesel", "-Z", "--config"}),
    "yarn": frozenset({"npm", "publish"}),
    "go": frozenset({"run", "build", "test", "install", "vet", "generate", "tool", "list"}),
    "python": frozenset({"manage.py", "./manage.py"}),
    "alembic": frozenset({"downgrade"}),
    "docker": frozenset({"build", "buildx", "compose", "bake"}),
    "podman": frozenset({"build", "manifest", "compose"}),
}  # fmt: skip
"""The signs of these count only where one of these words stands too."""

_LOADS_FROM = re.compile(r"\bsys\s*\.\s*path\b.*[\"'](/|~|\.\.)", re.S)
_LOOKS = frozenset({"get", "list", "ls", "--help", "--version"})
_TYPESCRIPT = frozenset({"ts-node", "ts-node-esm", "ts-node-script", "tsx", "esno", "swc-node"})
_TS_CODE = re.compile(r"-\w*[ep]\w*|--ev\w*|--pri?n?t?")


def telling(command: Command) -> Iterator[Finding]:
    """Findings for words that change what a tool is known for."""
    name, words = command.name, command.texts[1:]
    needed = _ONLY_WITH.get(name)
    if needed is None or needed & set(words):
        for pattern, why in SIGNS.get(name, ()):
            if any(map(pattern.fullmatch, words)) and not _only_asks(name, words):
                yield command.found("high", f"{name}: {why}", f"telling word: {name}",
                                    liftable=why == _PUBLISHES)  # fmt: skip
    if name in _TYPESCRIPT:
        yield from _typescript(command, command.args[1:])
    if name == "conda" and "remove" in words and "env" in words:
        yield command.found("high", "removes an environment", "telling word: conda")
    if name in ("python", "pypy") and any(map(_LOADS_FROM.search, words)):
        yield command.found("high", "loads modules from outside the workspace", "inline code")
    if name == "kill":
        yield from _killed(command)


def _only_asks(name: str, words: tuple[str, ...]) -> bool:
    return name in ("npm", "conda") and bool(_LOOKS & set(words))


def _typescript(command: Command, args: tuple[Arg, ...]) -> Iterator[Finding]:
    """`tsx -e CODE`; what stands behind the script is for the script."""
    for arg in args:
        if not arg.text.startswith("-"):
            return
        if _TS_CODE.fullmatch(arg.text.partition("=")[0]):
            yield command.found("high", f"{command.name}: {_CODE}", "inline code", liftable=True)
            return


def _killed(command: Command) -> Iterator[Finding]:
    """The program that runs the line, the first process and everybody's are not its own to stop."""
    words = list(command.args[1:])
    if words and re.fullmatch(r"-(s|n)", words[0].text):
        words = words[2:]
    elif words and re.fullmatch(r"-(\w+|-\w+(=\w+)?)", words[0].text) and len(words) > 1:
        words = words[1:]
    for word in words:
        if "PPID" in word.raw or re.fullmatch(r"-?[01]|--?1", word.text):
            yield command.found("high", "stops processes that are not its own", "kill everything")
            return

"""JavaScript on the command line: code that computes, prints, reads named files; nothing else."""

from __future__ import annotations

import re

from stormclaw.security.shell.programs import words
from stormclaw.security.shell.tame_python import Tame

MAX_CODE = 2_048

_TOKEN = re.compile(
    r"\s+|(?P<string>'(?:\\[^\n]|[^'\\\n])*'|\"(?:\\[^\n]|[^\"\\\n])*\")|(?P<number>\d+(?:\.\d+)?)"
    r"(?![\w.$])|(?P<word>[A-Za-z_$][\w$]*)|(?P<mark>===|!==|==|!=|<=|>=|=>|\?\.|\.\.\.|&&|\|\||\?\?|"
    r"\+\+|--|[-+*]=|[-+*%<>=!?:;,.(){}\[\]&|~^])"
)
_NEVER = words(
    "constructor prototype __proto__ eval Function mainModule binding dlopen kill exec execSync "
    "spawn spawnSync fork globalThis global window self module exports child_process "
    "process_binding getBuiltinModule apply call bind Reflect Proxy with setTimeout setInterval "
    "setImmediate async await yield class arguments this delete Symbol while do get set static "
    "__defineGetter__ __defineSetter__ __lookupGetter__ toJSON valueOf env stack prepareStackTrace"
)
_KEYWORDS = words("const let var function return if else for of in typeof null undefined true "
                  "false NaN Infinity data foreign")  # fmt: skip
_GLOBALS = words("console JSON Object Array String Number Boolean Math Date Map Set Buffer process "
                 "parseInt parseFloat isNaN encodeURIComponent decodeURIComponent Intl URL BigInt "
                 "URLSearchParams")  # fmt: skip
_PROCESS = words("version versions platform arch argv cwd uptime memoryUsage release title pid "
                 "execPath node v8")  # fmt: skip
_CALLS = words(
    "log error info warn table dir stringify parse keys values entries fromEntries map filter "
    "forEach join slice split trim toUpperCase toLowerCase includes startsWith endsWith indexOf "
    "sort reverse concat flat reduce some every find findIndex fill push pop isArray padStart "
    "padEnd repeat replace replaceAll match toFixed toString toISOString toLocaleString getTime "
    "now max min floor ceil round abs sqrt pow random Number String Boolean parseInt parseFloat "
    "isNaN cwd uptime memoryUsage resolve if for typeof Date Map Set URL Array from at has "
    "size isFile isDirectory byteLength then catch text json flatMap charCodeAt codePointAt "
    "localeCompare toSorted getFullYear toLocaleDateString encodeURIComponent decodeURIComponent "
    "BigInt data trunc sign hypot log2 log10 toJSONString isInteger trimEnd trimStart lastIndexOf"
)
"""Functions and methods that harmless code may call, whatever they hang on."""

_MEMBERS = {
    "fs": words("readFileSync existsSync readdirSync statSync lstatSync"),
    "path": words("resolve join basename dirname extname relative normalize isAbsolute sep parse "
                  "delimiter"),
    "os": words("cpus platform totalmem freemem arch hostname homedir tmpdir type release EOL "
                "uptime loadavg availableParallelism endianness machine"),
}  # fmt: skip
_BUILTIN = words(
    "assert async_hooks buffer child_process cluster console constants crypto dgram dns domain "
    "events fs http http2 https inspector module net os path perf_hooks process punycode "
    "querystring readline repl sea sqlite stream string_decoder sys test timers tls trace_events "
    "tty url util v8 vm wasi worker_threads zlib diagnostics_channel fetch require navigator "
    "WebSocket EventSource Worker WebAssembly performance localStorage sessionStorage crypto"
)
_RUNNERS = words("shelljs execa zx cross-spawn rimraf del fs-extra cross-env node-pty ssh2 "
                 "simple-git dockerode puppeteer playwright npm npm-run-all concurrently"
                 )  # fmt: skip
_LOOPBACK = re.compile(r"http://(localhost|127\.0\.0\.1):(?!2375|9229|6443|10250)\d{2,5}"
                       r"(/[\w./?=&%-]*)?")  # fmt: skip
_REQUIRE = r"require \( \"(\d+)\" \)"
_SHOWS = re.compile(r"console \. (?:log|error|info|table|dir) \(|JSON \. stringify \(|"
                    r"Object \. (?:keys|values|entries) \(|\btypeof \(|\bif \(")  # fmt: skip


class _Wild(Exception):
    """The code may do more than compute."""


def tame_javascript(code: str) -> Tame | None:
    """What JavaScript touches; None where it may do more than compute, print and read.

    Args:
        code: What `node -e` is given.
    """
    try:
        return _Code(code).read() if len(code) <= MAX_CODE else None
    except _Wild:
        return None


class _Code:
    """One program: its tokens joined by blanks, its strings by number."""

    def __init__(self, code: str) -> None:
        self.found = Tame()
        self.strings: list[str] = []
        self.modules: dict[str, str] = {}
        self.names: set[str] = set()
        self.text = " ".join(self._tokens(code))

    def read(self) -> Tame:
        """Take away what is known to be harmless; what is left has to be plain computing.

        Raises:
            _Wild: It may do more.
        """
        self._sub(rf"(?:const|let|var|,) ([\w$]+) = {_REQUIRE}(?! [.(\[?])", self._required)
        self._sub(r'import (?:\* as )?([\w$]+) from "(\d+)"', self._required)
        self._sub(rf"(?:const|let|var) \{{ ([\w$ ,:]+) \}} = {_REQUIRE}", self._taken)
        self._sub(_REQUIRE, lambda m: self._module(m[1]))
        for name, module in self.modules.items():
            self._sub(
                rf"(?<![\w$.])(?<!\. ){re.escape(name)}(?![\w$])", lambda _, m=module: f"@{m}"
            )
        self._sub(r'@fs \. (\w+) \( "(\d+)"(?: , (?:"\d+"|\{ \w+ : true \}))? \)', self._file)
        self._sub(r"@(path|os) \. (\w+)", self._member)
        self._sub(r"\bnew (Date|Map|Set|URL|Array)\b", lambda m: m[1])
        self._sub(r'(?<![\w$.@])(?<!\. )fetch \( "(\d+)" \)', self._fetched)
        self._sub(r'(?<=[\w$)\]] )\[ "(\d+)" \]', self._keyed)
        self._check(self.text.split(" "))
        return self.found

    def _tokens(self, code: str) -> list[str]:
        made, position = [], 0
        while position < len(code):
            match = _TOKEN.match(code, position)
            if match is None or "<!--" in code or "-->" in code:
                raise _Wild
            position = match.end()
            if match["string"]:
                self.strings.append(match[0][1:-1])
                made.append(f'"{len(self.strings) - 1}"')
            elif not match[0].isspace():
                made.append(match[0])
        return made

    def _sub(self, pattern: str, made: object) -> None:
        self.text = re.sub(pattern, made, self.text)  # type: ignore[call-overload]

    def _string(self, index: str) -> str:
        text = self.strings[int(index)]
        if "\\" in text:
            raise _Wild
        return text

    def _module(self, index: str) -> str:
        name = self._string(index).removeprefix("node:")
        if name in _MEMBERS:
            return f"@{name}"
        inside = ".." not in name.split("/") and not name.startswith(("/", "~"))
        if inside and name.endswith(".json"):
            return "data"
        package = re.fullmatch(r"(@[\w.-]+/)?[\w-][\w.-]*", name)
        own = name.startswith("./") and inside
        builtin = self._string(index).startswith("node:") or name in _BUILTIN
        if builtin or name in _RUNNERS or not (package or own):
            raise _Wild
        self.found.project.append(name)
        return "foreign"

    def _required(self, match: re.Match[str]) -> str:
        what = self._module(match[2])
        if match[1] in _GLOBALS | _KEYWORDS:
            raise _Wild
        if not what.startswith("@"):
            self._declare(match[1])
        elif self.modules.setdefault(match[1], what[1:]) != what[1:]:
            raise _Wild
        return f"const data = {'data' if what.startswith('@') else what}"

    def _taken(self, match: re.Match[str]) -> str:
        if self._module(match[2]) != "foreign":
            raise _Wild
        for name in re.findall(r"[\w$]+", match[1]):
            self._declare(name)
        return "const data = foreign"

    def _declare(self, name: str) -> None:
        if name in _GLOBALS | _BUILTIN | _NEVER | _KEYWORDS - {"data"} or name in self.modules:
            raise _Wild
        self.names.add(name)

    def _file(self, match: re.Match[str]) -> str:
        if match[1] not in _MEMBERS["fs"]:
            raise _Wild
        self.found.reads.append(self._string(match[2]))
        return "data"

    def _member(self, match: re.Match[str]) -> str:
        if match[2] not in _MEMBERS[match[1]]:
            raise _Wild
        return "data"

    def _fetched(self, match: re.Match[str]) -> str:
        if not _LOOPBACK.fullmatch(self._string(match[1])):
            raise _Wild
        return "data"

    def _keyed(self, match: re.Match[str]) -> str:
        key = self._string(match[1])
        return f". {key}" if re.fullmatch(r"[A-Za-z_$][\w$]*", key) else ". data"

    def _check(self, tokens: list[str]) -> None:
        padded = ["", "", *tokens, "", ""]
        for index in range(2, len(padded) - 2):
            self._declared(padded, index)
        for index in range(2, len(padded) - 2):
            self._token(padded[index - 1], padded[index], padded[index + 1], padded[index + 2])
        if self.found.project:
            self._foreign(" ".join(tokens))

    def _declared(self, tokens: list[str], index: int) -> None:
        here, after = tokens[index], tokens[index + 1]
        if here in ("const", "let", "var", "function") and re.fullmatch(r"[\w$]+", after):
            if after != "data":
                self._declare(after)
        elif here in ("const", "let", "var") or after == "=>":
            start, step = (index + 1, 1) if after != "=>" else (index, -1)
            ends = ("=", "of", "in", ";") if step == 1 else ("(",)
            while 0 < start < len(tokens) - 1 and tokens[start] not in ends:
                if re.fullmatch(r"[A-Za-z_$][\w$]*", tokens[start]):
                    self._declare(tokens[start])
                if step == -1 and here != ")":
                    break
                start += step

    def _token(self, before: str, here: str, after: str, later: str) -> None:
        indexes = re.match(r"[\w$)\]]", before[-1:]) and before not in ("of", "return")
        if here == "[" and indexes and not (after.isdigit() and later == "]"):
            raise _Wild
        if here == "(" and before in (")", "]", "}"):
            raise _Wild
        if here == "?." and not re.match(r"[A-Za-z_$]", after):
            raise _Wild
        if not re.match(r"[A-Za-z_$@]", here):
            return
        member = before in (".", "?.")
        key = after == ":" and before in ("{", ",")
        known = here in _KEYWORDS | _GLOBALS | self.names
        if here in _NEVER or not (member or key or known):
            raise _Wild
        if here == "process" and not member and (after != "." or later not in _PROCESS):
            raise _Wild
        if after == "(" and here not in _CALLS | {"for", "if", "of", "return", "in"}:
            raise _Wild
        if member and after in ("=", "of", "in"):
            raise _Wild

    def _foreign(self, text: str) -> None:
        """Beside code of the project or a package nothing is called but what shows values."""
        left = _SHOWS.sub("", text)
        calls = re.search(r"[\w$] \(", left)
        if calls or re.search(r"[\]}] =(?!>)|\bfor\b|\bfunction\b|=>|\.\.\.", left):
            raise _Wild

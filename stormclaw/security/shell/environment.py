"""Variables that change what programs do; setting one is judged by a table."""

from __future__ import annotations

import fnmatch
import re

NOTHING = r""
_NUMBERS = r"-?-?[a-z-]*=?\d+"
_NO_PROGRAM = r"|cat|true|:|less|less -[A-Za-z]+|/bin/true|/bin/cat"
_COMPILER = r"(ccache )?(gcc|g\+\+|clang|clang\+\+|cc|c\+\+|tcc|musl-gcc)(-\d+(\.\d+)*)?"
_NODE = (
    r"(\s*--(max[-_]old[-_]space[-_]size=\d+|no-warnings|trace-warnings|enable-source-maps|"
    r"experimental-vm-modules|no-deprecation|trace-deprecation|openssl-legacy-provider|"
    r"unhandled-rejections=\w+|stack-trace-limit=\d+))*"
)

POISON: tuple[tuple[str, str], ...] = (
    ("GIT_TERMINAL_PROMPT", r"[01]"),
    ("GIT_AUTHOR_*", r"[^\0]*"),
    ("GIT_COMMITTER_*", r"[^\0]*"),
    ("GIT_MERGE_AUTOEDIT", r"\w*"),
    ("GIT_OPTIONAL_LOCKS", r"[01]"),
    ("GIT_LFS_SKIP_SMUDGE", r"[01]"),
    ("GIT_TRACE*", r"[012]|true|false"),
    ("GIT_PAGER", _NO_PROGRAM),
    ("GIT_EDITOR", r"true|:|/bin/true"),
    ("GIT_SEQUENCE_EDITOR", r"true|:|/bin/true"),
    ("GIT_*", NOTHING),
    ("*_PAGER", _NO_PROGRAM),
    ("PAGER", _NO_PROGRAM),
    ("MANPAGER", _NO_PROGRAM),
    ("EDITOR", r"true|:|/bin/true"),
    ("VISUAL", r"true|:|/bin/true"),
    ("BROWSER", r"|true|none|echo"),
    ("NODE_OPTIONS", _NODE),
    ("MAKEFLAGS", r"\s*|-?-?j\s*\d*"),
    ("CC", _COMPILER),
    ("CXX", _COMPILER),
    ("LD", r"ld|lld|gold|mold"),
    ("PYTHONWARNINGS", r"(default|error|always|ignore)(::\w+)*"),
    ("npm_config_*", r"true|false|\d+|warn|error|silent|notice"),
    ("NPM_CONFIG_*", r"true|false|\d+|warn|error|silent|notice"),
    ("HOME", NOTHING), ("CARGO_HOME", NOTHING), ("RUSTUP_HOME", NOTHING), ("PATH", NOTHING),
    ("LD_*", NOTHING), ("DYLD_*", NOTHING),
    ("IFS", r"\s*|,|:|;|\|"),
    ("BASH_ENV", NOTHING), ("ENV", r"dev|test|prod|production|development|staging|ci|local"),
    ("BASH_FUNC_*", NOTHING), ("PROMPT_COMMAND", NOTHING), ("PS[0-4]", r"[\w$#>:+ -]*"),
    ("SHELLOPTS", NOTHING), ("BASHOPTS", NOTHING), ("CDPATH", NOTHING), ("FPATH", NOTHING),
    ("ZDOTDIR", NOTHING), ("SHELL", NOTHING), ("GLOBIGNORE", NOTHING), ("HOSTFILE", NOTHING),
    ("PYTHONSTARTUP", NOTHING), ("PYTHONHOME", NOTHING), ("PYTHONBREAKPOINT", r"0|pdb\.set_trace|"),
    ("PYTHONUSERBASE", NOTHING), ("PYTHONEXECUTABLE", NOTHING), ("PYTEST_PLUGINS", NOTHING),
    ("PYTEST_ADDOPTS", r"(?!.*(--ba|--root|--conf|--ov|-p\b|-c\b|-o\b))[^\0]*"),
    ("PERL5OPT", NOTHING), ("PERL5LIB", NOTHING), ("PERLLIB", NOTHING), ("PERL5DB", NOTHING),
    ("RUBYOPT", r"-W[012]?(:no-\w+)?"), ("RUBYLIB", NOTHING), ("GEM_*", NOTHING),
    ("JAVA_TOOL_OPTIONS", NOTHING), ("_JAVA_OPTIONS", NOTHING), ("JDK_JAVA_OPTIONS", NOTHING),
    ("MAVEN_OPTS", r"(\s*-X[m][sx]\w+)*"), ("GCONV_PATH", NOTHING), ("LESSOPEN", NOTHING),
    ("LESSCLOSE", NOTHING), ("SSH_ASKPASS", NOTHING), ("SUDO_ASKPASS", NOTHING),
    ("RUSTC*", NOTHING), ("CARGO_BUILD_RUSTC*", NOTHING), ("CARGO_TARGET_*_RUNNER", NOTHING),
    ("CARGO_TARGET_*_LINKER", NOTHING), ("GOFLAGS", r"-(mod|count)=\w+"),
    ("GOPROXY", r"direct|off"),
    ("MAKEFILES", NOTHING), ("PIP_*", r"[01]|true|false"), ("UV_INDEX*", NOTHING),
    ("UV_DEFAULT_INDEX", NOTHING), ("UV_EXTRA_INDEX*", NOTHING), ("UV_CONFIG_FILE", NOTHING),
    ("*_PROXY", r""), ("*_proxy", r""), ("TAR_OPTIONS", NOTHING), ("RSYNC_RSH", NOTHING),
    ("GREP_OPTIONS", NOTHING), ("OPENSSL_CONF", NOTHING), ("OPENSSL_MODULES", NOTHING),
    ("TERMINFO*", NOTHING), ("XDG_CONFIG_*", NOTHING), ("DOCKER_HOST", NOTHING),
    ("*_CONFIG_PATH", NOTHING), ("SSL_CERT_*", NOTHING), ("*_CA_BUNDLE", NOTHING),
    ("NODE_EXTRA_CA_CERTS", NOTHING), ("NODE_TLS_REJECT_UNAUTHORIZED", r"1"),
    ("CURL_HOME", NOTHING), ("WGETRC", NOTHING), ("NETRC", NOTHING), ("INPUTRC", NOTHING),
    ("KUBECONFIG", NOTHING), ("PSQLRC", NOTHING), ("PGSERVICEFILE", NOTHING),
    ("PYTHONINSPECT", NOTHING), ("DOTNET_STARTUP_HOOKS", NOTHING), ("CORECLR_*", NOTHING),
    ("ELECTRON_RUN_AS_NODE", NOTHING), ("GOROOT", NOTHING), ("GOTOOLDIR", NOTHING),
    ("GOTOOLCHAIN", r"local|auto|go[\d.]+"), ("GONOSUMDB", NOTHING), ("GOINSECURE", NOTHING),
    ("CMAKE_*_LAUNCHER", _COMPILER), ("CMAKE_*_COMPILER", _COMPILER),
    ("*FLAGS", r"(?!.*(plugin|wrapper|specs|toolexec|-B|@|linker|-Xlinker|run))[^\0`$]*"),
    ("VIMINIT", NOTHING), ("EXINIT", NOTHING), ("EMACSLOADPATH", NOTHING), ("LESSKEY*", NOTHING),
    ("LESS", r"-?[A-Za-z]*"), ("MANOPT", NOTHING), ("ACK_OPTIONS", NOTHING), ("ZIPOPT", NOTHING),
    ("FZF_*", NOTHING), ("LUA_*", NOTHING), ("R_PROFILE*", NOTHING), ("JULIA_*", r"\d+|auto"),
    ("PHPRC", NOTHING), ("PHP_INI_SCAN_DIR", NOTHING), ("HISTFILE", NOTHING),
    ("HOSTALIASES", NOTHING), ("PKG_CONFIG*", NOTHING), ("ACLOCAL_PATH", NOTHING),
    ("SSH_*", NOTHING), ("DOCKER_CONFIG", NOTHING), ("COMPOSER_HOME", NOTHING),
    ("BUNDLE_GEMFILE", r"[\w.-]+(/[\w.-]+)*"), ("BUNDLE_*", r"[\w:.-]*"), ("YARN_*", r"\w*"),
    ("VIRTUAL_ENV", r"[\w.-]+"), ("ANSIBLE_*", NOTHING), ("CONFIG_SHELL", NOTHING),
    ("MAKE", r"g?make"), ("AR", r"\w*ar"), ("RANLIB", r"\w*ranlib"),
    ("*_BASE_URL", NOTHING), ("CLASSPATH", NOTHING), ("STORMCLAW_*", NOTHING),
)  # fmt: skip
"""Name pattern -> values that are harmless, as a regular expression; the first match counts."""


PATH_LISTS = frozenset(
    {
        "PYTHONPATH",
        "TMPDIR",
        "TEMP",
        "TMP",
        "PYTHONPYCACHEPREFIX",
        "NODE_PATH",
        "GOPATH",
        "MYPYPATH",
        "CARGO_TARGET_DIR",
    }
)
"""Folders that code is loaded from: each is judged like a file that is read."""


def poison(name: str, value: str | None) -> str:
    """Why setting `name` to `value` is dangerous, "" if it is not.

    Args:
        name: Of the variable.
        value: Its new value; None or a NUL inside when it is not known.
    """
    for pattern, harmless in POISON:
        if fnmatch.fnmatchcase(name, pattern):
            known = value is not None and not re.search(r"[\0\x01]", value)
            if known and re.fullmatch(harmless, value or ""):
                return ""
            return f"{name} changes what other programs run"
    return ""

"""Keeps secrets where they are: masks what looks like a key, thins a child's environment."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from functools import cache

from stormclaw.log import KEY_SHAPES, mask_named

MASK = "***"
SHOWN = 4
"""Characters of a key that stay, so that a person can tell which one it is."""

_KEPT_NAMES = (
    "PATH", "HOME", "LANG", "LANGUAGE", "LC_*", "TERM", "TERMINFO", "TERMINFO_DIRS", "COLORTERM",
    "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR", "TMP", "TEMP", "PWD", "HOSTNAME", "DISPLAY", "CI",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
    "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYTHON*", "PYENV*", "UV_*", "PIP_*",
    "NODE*", "NVM_*", "NPM_CONFIG_*", "npm_config_*", "YARN_*", "PNPM_HOME", "BUN_INSTALL",
    "DENO_*",
    "CARGO*", "RUST*", "GO*", "JAVA*", "MAVEN_*", "GRADLE_*", "SDKMAN_DIR", "RUBY*", "GEM_*",
    "BUNDLE_*", "RBENV*", "DOTNET_*", "CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS",
    "MAKEFLAGS", "PKG_CONFIG_PATH", "CMAKE_*", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "MANPATH",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy",
    "all_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "NIX_*", "HOMEBREW_PREFIX", "ASDF_*", "MISE_*", "EDITOR", "COLUMNS", "LINES", "NO_COLOR",
    "SOURCE_DATE_EPOCH",
)  # fmt: skip
"""What a child process may know of our environment; everything else is kept from it."""

_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH|COOKIE|SESSION|PRIVATE", re.I
)

QUIET: Mapping[str, str] = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_OPTIONAL_LOCKS": "0",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "NPM_CONFIG_FUND": "false",
    "NPM_CONFIG_UPDATE_NOTIFIER": "false",
    "PYTHONUNBUFFERED": "1",
    "TERM": "dumb",
}
"""What every child is told, so that nothing waits for a person who cannot answer."""

_USERINFO = re.compile(r"(?<=://)[^/@\s]{1,256}@")


def redact(text: str) -> str:
    """The text with everything shaped like a key cut to its first characters.

    Passwords and the like that are named (`password=...`) are masked as a whole. Linear in the
    length of the text.
    """
    return mask_named(_shapes().sub(_mask_key, text))


def scrubbed_environ(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of a child process: what it needs to work, and no secrets.

    Args:
        env: Ours.
    """
    kept = {name: _harmless(name, value) for name, value in env.items() if _keeps(name, value)}
    return {**kept, **QUIET}


def _keeps(name: str, value: str) -> bool:
    if _SECRET_NAME.search(name) or _shapes().search(value):
        return False
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _KEPT_NAMES)


def _harmless(name: str, value: str) -> str:
    """A proxy or index address without the name and password in it."""
    return _USERINFO.sub("", value) if "://" in value else value


@cache
def _shapes() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{shape})" for shape in KEY_SHAPES))


def _mask_key(found: re.Match[str]) -> str:
    text = found[0]
    if text.startswith("-----BEGIN"):
        return f"{head_of_key(text)}\n{MASK}"
    return _cut(text)


def _cut(text: str) -> str:
    return text if text.endswith(MASK) else f"{text[:SHOWN]}{MASK}"


def head_of_key(text: str) -> str:
    """The first line of a private key; in JSON its newlines are two letters."""
    return text[: text.index("-----", 5) + 5]

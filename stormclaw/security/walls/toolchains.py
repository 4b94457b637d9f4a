"""What programs outside the system folders need to read: installed tools, and nothing beside."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/gnu",
    "/snap", "/home/linuxbrew", "/run/current-system",
)  # fmt: skip
"""Programs and libraries of the system; read-only."""

HOME_TOOLS = (
    ".asdf", ".bun/bin", ".bun/install/global", ".cabal/bin", ".cabal/packages",
    ".cache/ms-playwright", ".cache/pre-commit", ".cache/puppeteer",
    ".cache/pypoetry/virtualenvs", ".cargo/bin", ".cargo/git", ".cargo/registry",
    ".deno/bin", ".dotnet", ".elan", ".fnm", ".foundry/bin", ".ghcup", ".goenv", ".ivy2/cache",
    ".jenv", ".juliaup", ".linuxbrew", ".local/bin", ".local/lib", ".local/pipx",
    ".local/share/fnm", ".local/share/mise", ".local/share/pipx", ".local/share/pnpm",
    ".local/share/uv/python", ".local/share/uv/tools", ".local/share/virtualenvs",
    ".m2/repository", ".m2/wrapper", ".nix-defexpr", ".nix-profile", ".nodenv", ".npm-global",
    ".nuget/packages", ".nvm", ".opam", ".proto", ".pub-cache", ".pyenv", ".rbenv", ".rustup",
    ".rvm", ".sdkman", ".stack/programs", ".swiftly", ".volta", ".yarn/bin", "anaconda3",
    "go/bin", "go/pkg/mod", "mambaforge", "micromamba", "miniconda3", "miniforge3", "sdk",
)  # fmt: skip
"""Tools and the libraries they fetched, below $HOME; their settings and keys are not among them."""

FOLDER_NAMES = (
    "VIRTUAL_ENV", "CONDA_PREFIX", "JAVA_HOME", "GOROOT", "GOPATH", "GOMODCACHE", "CARGO_HOME",
    "RUSTUP_HOME", "PYENV_ROOT", "NVM_DIR", "NODE_PATH", "PYTHONPATH", "PYTHONHOME", "GEM_HOME",
    "GEM_PATH", "RBENV_ROOT", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "SDKMAN_DIR",
    "DOTNET_ROOT", "PNPM_HOME", "BUN_INSTALL", "MAVEN_HOME", "GRADLE_HOME", "LD_LIBRARY_PATH",
    "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH", "PIP_FIND_LINKS", "UV_FIND_LINKS",
    "UV_PYTHON_INSTALL_DIR", "UV_TOOL_DIR", "HOMEBREW_PREFIX",
)  # fmt: skip
FILE_NAMES = (
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT",
    "NODE_EXTRA_CA_CERTS", "NIX_SSL_CERT_FILE", "PIP_CONSTRAINT", "CARGO_HTTP_CAINFO",
)  # fmt: skip
"""Variables that lead to tools, and to certificates."""

VENVS = (".venv", "venv", "env", ".env")
OWN_BIN = ("bin", "sbin", "Scripts", "shims", "condabin")

SECRETS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", "_netrc", ".git-credentials",
    ".pypirc", ".npmrc", ".yarnrc.yml", ".pgpass", ".my.cnf", ".vault-token", ".terraform.d",
    ".terraformrc", ".password-store", ".mozilla", ".thunderbird", ".config",
    ".local/share/keyrings",
    ".local/share/uv/credentials", ".local/state", ".cargo/credentials", ".cargo/credentials.toml",
    ".m2/settings.xml", ".m2/settings-security.xml", ".gem/credentials",
    ".gradle/gradle.properties",
    ".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".claude", ".codex",
    ".gemini", ".Xauthority", ".ICEauthority", ".pki", "snap", ".var",
)  # fmt: skip
"""Below $HOME: never shown to a program, whatever folder around them is."""

RUN_LATER = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".kshrc", ".inputrc", ".gitconfig", ".local/bin", ".local/share",
)  # fmt: skip
"""Below $HOME: decides what runs later; not written where a wider folder is writable."""


def is_in(path: Path, folder: Path) -> bool:
    """Whether `path` is `folder` or lies in it; both absolute, links resolved."""
    return path == folder or folder in path.parents


def in_any(path: Path, folders: Iterable[Path]) -> bool:
    """Whether `path` is one of the folders or lies in one."""
    return any(is_in(path, folder) for folder in folders)


def tools(user_home: Path, workspace: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Folders and files outside the system that hold tools; existing, absolute.

    Args:
        user_home: The person's home, links resolved.
        workspace: What lies in it is not listed.
        environ: Of the programs: `PATH` and its like lead to tools.
    """
    found = [user_home / name for name in HOME_TOOLS if (user_home / name).exists()]
    given = [Path(each) for each in environ.get("PATH", "").split(os.pathsep) if each]
    found += filter(None, (_installation(each, user_home) for each in given))
    for name in FOLDER_NAMES:
        parts = [Path(each) for each in environ.get(name, "").split(os.pathsep) if each]
        found += [each for each in parts if _may_show(each, user_home)]
    files = [Path(environ[name]) for name in FILE_NAMES if environ.get(name)]
    found += [each for each in files if _may_show(each, user_home)]
    active = environ.get("VIRTUAL_ENV") or "/"
    places = [*(workspace / name for name in VENVS), Path(active), *(each.parent for each in given)]
    found += filter(None, (_base_of(each, user_home) for each in places))
    return tuple(_outermost(found, (*map(Path, SYSTEM), workspace)))


def _installation(folder: Path, user_home: Path) -> Path | None:
    """What to show for a folder on the PATH: the tree it is the `bin` of, where it has one."""
    if not folder.is_absolute():
        return None
    around = folder.parent
    if folder.name in OWN_BIN and around.name != ".local" and _may_show(around, user_home):
        return around
    return folder if _may_show(folder, user_home) else None


def _base_of(venv: Path, user_home: Path) -> Path | None:
    """The Python installation a virtual environment stands on."""
    try:
        lines = (venv / "pyvenv.cfg").read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    pairs = (line.partition("=") for line in lines)
    home = next((value.strip() for key, _, value in pairs if key.strip() == "home"), "")
    real = Path(os.path.realpath(home)) if home else None
    # A project says this: only what is a Python installation is shown for it.
    if real is None or not any(real.glob("python3*")):
        return None
    return _installation(real, user_home)


def _may_show(path: Path, user_home: Path) -> bool:
    """Whether a whole tree may be shown: it is there, not wide, and holds nobody's secrets."""
    if not path.is_absolute() or not path.exists():
        return False
    real = Path(os.path.realpath(path))
    if is_in(user_home, real) or len(real.parts) < 3 or real.parts[1] in ("proc", "dev", "etc"):
        return False
    if in_any(real, (Path("/tmp"), Path("/var/tmp"))) and len(real.parts) < 4:  # noqa: S108
        return False
    secrets = [user_home / name for name in SECRETS]
    if in_any(real, secrets) or any(is_in(each, real) for each in secrets if each.exists()):
        return False
    listed = {user_home / Path(name).parts[0] for name in HOME_TOOLS}
    return not in_any(real, listed) or in_any(real, (user_home / name for name in HOME_TOOLS))


def _outermost(found: Iterable[Path], shown: tuple[Path, ...]) -> list[Path]:
    """Each tree once, at its own place and (behind a link) at its real one; the widest only."""
    both = {Path(os.path.normpath(each)) for each in found}
    both |= {Path(os.path.realpath(each)) for each in both}
    kept: list[Path] = []
    for each in sorted(both, key=lambda path: len(path.parts)):
        if not in_any(each, shown) and not in_any(each, kept):
            kept.append(each)
    return kept

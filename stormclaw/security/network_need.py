"""Which commands cannot do their work without the network, so that it is asked for beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from stormclaw.security.finding import Finding
from stormclaw.security.policy import Policy
from stormclaw.security.shell.programs import base_name, words
from stormclaw.security.shell.shell_words import Arg


@dataclass(frozen=True, slots=True)
class Talks:
    """How one program uses the network.

    Attributes:
        subcommands: Those that need it, each one or two words; empty if the program always does.
        values: Options before the subcommand that take the next word.
        offline: Options that make it do without.
        bare: It needs the network without a subcommand too (`yarn`).
    """

    subcommands: frozenset[tuple[str, ...]] = frozenset()
    values: frozenset[str] = frozenset()
    offline: frozenset[str] = frozenset()
    bare: bool = False


def _talks(
    subcommands: str = "", *, values: str = "", offline: str = "", bare: bool = False
) -> Talks:
    """A row; subcommands are separated by commas, everything else by blanks."""
    pairs = frozenset(tuple(each.split()) for each in subcommands.split(",") if each.strip())
    return Talks(pairs, words(values), words(f"{offline} --help --version -V"), bare)


_ALWAYS = _talks()
_PIP = _talks(
    "install, download, wheel, index, search",
    values="--python --log --cache-dir --proxy -i --index-url",
    offline="--no-index",
)
_NPM_VALUES = "--prefix -C --dir --cwd --filter -F -w --workspace --registry --loglevel"
_NODE = _talks(
    "install, i, in, ci, add, update, up, upgrade, outdated, audit, publish, view, info, show,"
    " search, login, logout, whoami, ping, create, init, dlx, install-test, it, dedupe,"
    " import, fetch, dist-tag, deprecate, unpublish, token, team, org, access, owner, x, link",
    values=_NPM_VALUES, offline="--offline --package-lock-only -h",
)  # fmt: skip
_APT = _talks("update, install, upgrade, full-upgrade, dist-upgrade, build-dep, source, download,"
              " reinstall, changelog", values="-o -c -t", offline="--no-download")  # fmt: skip
_DNF = _talks("install, update, upgrade, check-update, makecache, search, download, groupinstall")
_CLIENTS = (
    "curl wget wget2 aria2c http https httpie xh xhs ssh scp sftp ftp lftp telnet nc ncat netcat"
    " socat ping ping6 tracepath traceroute mtr dig nslookup host whois drill psql mysql mariadb"
    " redis-cli mongosh mongo pg_dump pg_restore mysqldump pg_isready aws az gcloud gsutil kubectl"
    " oc heroku vercel netlify flyctl fly wrangler ngrok twine lynx w3m links websocat grpcurl"
    " wscat ab wrk hey k6 vegeta nmap yt-dlp svn rclone mosh autossh s3cmd doctl linode-cli"
    " cqlsh influx etcdctl consul vault nats rdesktop uvx bunx pnpx create-react-app"
)
_PROGRAMS: Mapping[str, Talks] = MappingProxyType({
    **dict.fromkeys(_CLIENTS.split(), _ALWAYS),
    "git": _talks(
        "fetch, pull, push, clone, ls-remote, remote update, remote show, remote prune,"
        " submodule update, submodule add, lfs pull, lfs push, lfs fetch, fetch-pack, send-pack,"
        " svn clone, svn fetch, svn rebase, svn dcommit, send-email, p4 sync, p4 clone, annex get",
        values="-C -c --git-dir --work-tree --namespace --config-env --exec-path", offline="-h",
    ),
    "gh": _ALWAYS, "glab": _ALWAYS, "hub": _ALWAYS,
    "pip": _PIP,
    "pipx": _talks("install, run, inject, upgrade, upgrade-all, reinstall, reinstall-all"),
    "uv": _talks(
        "sync, add, lock, pip install, pip sync, pip compile, pip download, tool install, tool run,"
        " tool upgrade, python install, publish, self update",
        values="--directory --project --python -p --cache-dir --config-file", offline="--offline",
    ),
    "poetry": _talks("install, add, update, lock, publish, search, sync, self update, self add",
                     values="-C --directory -P --project"),
    "pdm": _talks("install, add, update, lock, sync, publish, search", values="-p --project"),
    "pipenv": _talks("install, update, lock, sync, upgrade"),
    "hatch": _talks("publish, env create, dep sync, python install", values="-e --env"),
    "rye": _talks("sync, lock, fetch, publish, install", values=""),
    "flit": _talks("publish, install"),
    "conda": _talks("install, create, update, search, env create, env update", offline="--offline"),
    "mamba": _talks("install, create, update, search, env create", offline="--offline"),
    "micromamba": _talks("install, create, update, search", offline="--offline"),
    "pre-commit": _talks("autoupdate, install-hooks, try-repo"),
    "playwright": _talks("install, install-deps"),
    "npm": _NODE, "pnpm": _NODE, "bun": _NODE, "cnpm": _NODE,
    "yarn": Talks(_NODE.subcommands, _NODE.values, _NODE.offline, bare=True),
    "npx": _talks(" ", values="-p --package"),
    "corepack": _talks("prepare, use, up, install"),
    "nvm": _talks("install, ls-remote"), "fnm": _talks("install, list-remote"),
    "volta": _talks("install, fetch"), "asdf": _talks("install, plugin add, plugin update"),
    "mise": _talks("install, use, upgrade, ls-remote"),
    "deno": _talks("install, add, cache, upgrade, publish, outdated", offline="--cached-only"),
    "cargo": _talks("fetch, install, add, update, search, publish, login, owner, yank, info, audit,"
                    " binstall, generate-lockfile, outdated, deny, vendor",
                    values="--manifest-path --color --config -C -Z", offline="--offline --frozen"),
    "rustup": _talks("update, install, toolchain install, target add, component add, self update"),
    "go": _talks("get, install, mod download, mod tidy, mod vendor, work sync", values="-C"),
    "gem": _talks("install, update, fetch, push, search, outdated", offline="--local -l"),
    "bundle": _talks("install, update, outdated, add, lock", offline="--local", bare=True),
    "bundler": _talks("install, update, outdated, add, lock", offline="--local", bare=True),
    "composer": _talks("install, update, require, create-project, global, search, outdated, show",
                       values="-d --working-dir"),
    "mix": _talks("deps.get, deps.update, hex.info, hex.publish, archive.install, local.hex"),
    "cabal": _talks("update, install, fetch, get"),
    "dotnet": _talks("restore, add package, tool install, tool update, nuget push,"
                     " workload install",
                     offline="--no-restore"),
    "nuget": _talks("install, restore, push, update"),
    "flutter": _talks("pub get, pub add, pub upgrade, upgrade, create", offline="--offline"),
    "dart": _talks("pub get, pub add, pub upgrade, pub publish", offline="--offline"),
    "swift": _talks("package resolve, package update"),
    "pod": _talks("install, update, repo update"),
    "opam": _talks("install, update, upgrade"), "luarocks": _talks("install, search"),
    "cpanm": _ALWAYS, "cpan": _ALWAYS,
    "docker": _talks(
        "pull, push, build, run, login, search, buildx build, compose up, compose pull,"
        " compose build, compose push, compose run, image pull, image push, image build,"
        " container run, manifest inspect, scout", values="-H --host -c --context --config -l",
        offline="--pull=never",
    ),
    "podman": _talks("pull, push, build, run, login, search, image pull, play kube"),
    "docker-compose": _talks("up, pull, build, push, run", values="-f --file -p --project-name"),
    "skopeo": _ALWAYS, "crane": _ALWAYS,
    "helm": _talks("install, upgrade, pull, push, repo add, repo update, dependency update,"
                   " dependency build, search hub, search repo, list, status, uninstall"),
    "terraform": _talks("init, plan, apply, destroy, import, refresh, get, login"),
    "tofu": _talks("init, plan, apply, destroy, import, refresh, get, login"),
    "ansible-galaxy": _talks("install, collection install, role install"),
    "apt": _APT, "apt-get": _APT, "aptitude": _APT,
    "dnf": _DNF, "yum": _DNF, "zypper": _DNF, "microdnf": _DNF,
    "apk": _talks("add, update, upgrade, fetch"),
    "brew": _talks("install, update, upgrade, tap, fetch, reinstall, outdated, search"),
    "snap": _talks("install, refresh, find, download"), "flatpak": _talks("install, update"),
    "nix": _talks("build, run, shell, develop, flake update, profile install", offline="--offline"),
    "vcpkg": _talks("install, update"), "conan": _talks("install, search, upload, download"),
})  # fmt: skip
_MODULES = frozenset({"pip", "uv", "pipx", "poetry", "pdm", "twine", "httpie", "pipenv",
                      "playwright", "yt_dlp"})  # fmt: skip
_LOCAL_SOURCE = ("/", "./", "../", "~", "file:")


def needs_network(line: str, cwd: Path, policy: Policy) -> tuple[str, ...]:
    """The leading words of every command of a shell line that cannot work without the network.

    Args:
        line: Exactly what would run.
        cwd: Where it would run.
        policy: What it is judged by.

    Returns:
        `("pip install", "git fetch")`: in order, without duplicates; () if none needs it.
    """
    from stormclaw.security.commands import judge_line

    return network_of(judge_line(line, cwd, policy))


def network_of(findings: Iterable[Finding]) -> tuple[str, ...]:
    """The same for a line that was judged already, at no cost."""
    return tuple(dict.fromkeys(each for finding in findings for each in finding.network))


def network_words(args: tuple[Arg, ...]) -> tuple[str, ...]:
    """What one command (wrappers taken off) needs the network as; () if it does not.

    Args:
        args: The command's words after expansion; never empty.
    """
    name = base_name(args[0].text)
    if name in ("python", "py", "pypy"):
        return _module(args)
    if name == "rsync":
        return (name,) if any(_remote(arg.text) for arg in args[1:]) else ()
    talks = _PROGRAMS.get(name)
    if talks is None:
        return ()
    texts = [arg.text for arg in args[1:]]
    if not talks.offline.isdisjoint(texts):
        return ()
    if name == "npx":
        return (name,) if _downloads(texts) else ()
    if not talks.subcommands:
        return (name,)
    found = tuple(_operands(texts, talks.values))
    chosen = next((found[:size] for size in (2, 1) if found[:size] in talks.subcommands), ())
    if not chosen:
        return (name,) if talks.bare and not found else ()
    if name == "git" and chosen in {("clone",), ("ls-remote",)} and _local(found[1:]):
        return ()
    return (" ".join((name, *chosen)),)


def _module(args: tuple[Arg, ...]) -> tuple[str, ...]:
    for index, arg in enumerate(args[1:], start=1):
        if arg.text == "-m":
            module = args[index + 1 :]
            return network_words(module) if module and module[0].text in _MODULES else ()
        if arg.text.startswith("-m") and arg.text[2:] in _MODULES:
            return network_words((Arg(arg.text[2:], arg.raw), *args[index + 1 :]))
        if not arg.text.startswith("-") or arg.text in ("-c", "-"):
            return ()
    return ()


def _operands(texts: list[str], values: frozenset[str]) -> Iterator[str]:
    rest = iter(texts)
    for text in rest:
        if text in values:
            next(rest, None)
        elif not text.startswith(("-", "+")):
            yield text


def _downloads(texts: list[str]) -> bool:
    """`npx` fetches what is told to be fetched; a program of the project it only starts."""
    if not {"-y", "--yes", "-p", "--package"}.isdisjoint(texts):
        return True
    head = next((text for text in texts if not text.startswith("-")), "")
    return "@" in head[1:] or head.startswith("create-")


def _local(operands: tuple[str, ...]) -> bool:
    return bool(operands) and (operands[0].startswith(_LOCAL_SOURCE) or operands[0] in (".", ".."))


def _remote(text: str) -> bool:
    """rsync's `host:path` and `rsync://host/path`."""
    head, colon, _ = text.partition(":")
    return bool(colon) and "/" not in head and not text.startswith("-")

"""Tells from a failed program's output whether it was the walls that stopped it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stormclaw.protocol.effects import Reach
from stormclaw.protocol.tool import Lack, Launch
from stormclaw.security.walls.toolchains import HOME_TOOLS, SECRETS, SYSTEM, in_any, is_in

MOST_OUTPUT = 60_000
"""Characters that are searched: the last ones, where programs say why they gave up."""
LONGEST_SIGN = 300
LONGEST_PATH = 1024
NEAR = 4
"""Lines around a refusal in which the path it is about may stand."""

NO_NETWORK = re.compile(
    r"temporary failure in name resolution|name or service not known|nodename nor servname"
    r"|could not resolve (?:host|proxy|hostname)|couldn't resolve host|unable to resolve host"
    r"|could not resolve url|temporary failure resolving|name resolution failed"
    r"|\bEAI_AGAIN\b|\bENOTFOUND\b|\bENETUNREACH\b|\bEHOSTUNREACH\b|\bERR_INTERNET_DISCONNECTED\b"
    r"|network is unreachable|network unreachable|no route to host|no address associated with"
    r"|dial (?:tcp|udp)\S*:? lookup |failed to lookup address|dns error|dns lookup failed"
    r"|error trying to connect: dns|unknownhostexception|unknown host|getaddrinfo failed"
    r"|failed to establish a new connection|failed to resolve|resolving timed out"
    r"|network connectivity|offline mode|internet connection|you appear to be offline"
    r"|no matching distribution found for|spurious network error|download of config\.json failed"
    r"|failed to download|couldn't connect to server|could not connect to server"
    r"|socket: (?:permission denied|operation not permitted)|unable to connect to proxy"
    r"|UnresolvedAddressException|bad hostname|no plugin found for prefix"
    r"|could not transfer artifact|failed to fetch .https?:|Unable to access",
    re.I,
)  # fmt: skip
HARMLESS_MENTION = re.compile(r"^\s*(?:assert|def |class |//|\*|#|\d+[:|])", re.I)

How = Literal["read-only", "absent", "denied"]
SIGNS: tuple[tuple[How, re.Pattern[str]], ...] = (
    (
        "read-only",
        re.compile(
            r"read-only file system|\bEROFS\b|os error 30|errno 30|ReadOnlyFileSystemException",
            re.I,
        ),
    ),
    (
        "absent",
        re.compile(
            r"unable to open database|no such file or directory|\bENOENT\b|os error 2\b"
            r"|errno 2\b|does not exist",
            re.I,
        ),
    ),
    (
        "denied",
        re.compile(
            r"permission denied|\bEACCES\b|os error 13|errno 13|AccessDeniedException"
            r"|not writable|not writeable|cannot write|(?:could not|failed to|unable to) create",
            re.I,
        ),
    ),
)
"""What is said of a write that the walls may have kept."""
PATHS = re.compile(r"(?:(?<=[\s'\"`‘“(=:])|^)(~?/[^\s'\"`’”:,;()<>|*?]+)")
QUOTED = re.compile(r"['\"`‘“](~?/[^'\"`’”\n]+)['\"`’”]")
LOCAL = re.compile(r"(?:127\.0\.0\.1|localhost|\[?::1\]?)[:\s]+(?:port )?(\d{1,5})\b")
NOT_CONNECTED = re.compile(
    r"connection refused|ECONNREFUSED|failed to connect|EACCES|permission denied|not connect", re.I
)

CACHES = (
    ".cache/*", ".npm", ".cargo/registry", ".cargo/git", "go/pkg", ".m2/repository", ".gradle",
    ".nuget/packages", ".ivy2", ".sbt", ".cabal/packages", ".stack", ".pub-cache", ".yarn",
    ".local/share/pnpm", ".bun/install", ".deno", ".gem", ".conan", ".conan2", ".ccache", ".hex",
    ".mix", ".julia",
)  # fmt: skip
"""Below $HOME: what is offered as a whole when a program wanted to write in it."""

NEVER = (
    "/etc", "/sys", "/proc", "/dev", "/boot", "/run", "/var/run", "/var/spool", "/var/lib",
    "/var/log", "/var/cache", "/lost+found",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Walls:
    """Where the walls stand.

    Attributes:
        user_home: The person's home, links resolved.
        home: StormClaw's own folder.
        free: What every program may write: the workspace, its repository.
        shown: What it may read besides.
        private_home: Whether it sees a $HOME of its own, in which it may write what it likes.
    """

    user_home: Path
    home: Path
    free: tuple[Path, ...]
    shown: tuple[Path, ...]
    private_home: bool


def find_lack(walls: Walls, launch: Launch, code: int, output: str) -> Lack | None:
    """What a second run of a failed program would need on top; None if the walls did not matter."""
    if code == 0:
        return None
    refused = tuple(host for host in launch.refused() if host not in launch.reach.hosts)
    if refused:
        return Lack(Reach(hosts=refused), f"asked for {', '.join(refused)}")
    lines = output[-MOST_OUTPUT:].splitlines()
    if not launch.reach.network:
        sign = _no_network(lines, launch)
        if sign:
            return Lack(Reach(network=True), _shown(sign))
    for number, line in enumerate(lines):
        how = next((how for how, pattern in SIGNS if pattern.search(line)), None)
        if how is None:
            continue
        around = lines[max(0, number - NEAR) : number + NEAR + 1] if how != "absent" else []
        for path in (found for each in (line, *around) for found in _paths(each, walls)):
            folder = _kept(path, walls, launch.reach, how)
            if folder is not None:
                return Lack(Reach(folders=(folder,)), _shown(line))
    return None


def _no_network(lines: list[str], launch: Launch) -> str:
    proxies = {
        value.partition("://")[2].strip("/")
        for name, value in launch.environ.items()
        if name.lower().endswith("_proxy") and "://" in value
    }
    for line in lines:
        ports = {int(port) for port in LOCAL.findall(line)}
        if NO_NETWORK.search(line) and not ports and not HARMLESS_MENTION.match(line):
            return line
        if NOT_CONNECTED.search(line):
            if any(proxy in line for proxy in proxies):
                return line
            # Loopback stays inside namespaces; without them there is none at all.
            if ports and (launch.level == "landlock" or ports & _listening()):
                return line
    return ""


def _listening() -> set[int]:
    """Ports that somebody listens on outside, on this machine."""
    ports = set()
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(name).read_text().splitlines()[1:]
        except OSError:
            continue
        fields = (row.split() for row in rows)
        ports |= {int(row[1].rpartition(":")[2], 16) for row in fields if row[3] == "0A"}
    return ports


def _paths(line: str, walls: Walls) -> Iterator[Path]:
    for text in (*QUOTED.findall(line), *PATHS.findall(line)):
        written = text.rstrip(".…")
        if len(written) > LONGEST_PATH or "\0" in written:
            continue
        if written.startswith("~/"):
            yield walls.user_home / written[2:]
        elif written.startswith("/"):
            yield Path(os.path.normpath(written))


def _kept(path: Path, walls: Walls, reach: Reach, how: How) -> Path | None:
    """The folder to open for a write to `path`; None if the walls did not keep it, or must."""
    try:
        real = Path(os.path.realpath(path))
    except (OSError, ValueError):
        return None
    free = (*walls.free, *reach.folders)
    never = [Path(each) for each in (*NEVER, *SYSTEM)]
    never += [walls.home, *(walls.user_home / name for name in SECRETS)]
    if in_any(real, free) or in_any(real, never):
        return None
    in_home = is_in(real, walls.user_home)
    own = in_home or in_any(real, (Path("/tmp"), Path("/var/tmp")))  # noqa: S108
    if own and walls.private_home and how == "denied" and not in_any(real, walls.shown):
        return None  # its own $HOME and /tmp: nothing kept it from writing there
    if how == "absent" and not (os.path.lexists(real) or real.parent.is_dir()):
        return None  # not there outside either
    cache = _cache(real, walls.user_home) if in_home else None
    return cache or _nearest(real, walls)


def _cache(path: Path, user_home: Path) -> Path | None:
    for name in CACHES:
        parts = Path(name).parts
        mine = path.relative_to(user_home).parts[: len(parts)]
        if len(mine) == len(parts) and all(
            want in ("*", have) for want, have in zip(parts, mine, strict=True)
        ):
            return user_home.joinpath(*mine)
    return None


def _nearest(path: Path, walls: Walls) -> Path | None:
    """The deepest folder that exists; not one so wide that opening it would tear the walls down."""
    folder = path
    while not folder.is_dir():
        folder = folder.parent
    hidden = is_in(folder, walls.user_home) and any(
        part.startswith(".") for part in folder.relative_to(walls.user_home).parts[:1]
    )
    tools = in_any(folder, (walls.user_home / name for name in HOME_TOOLS))
    wide = is_in(walls.user_home, folder) or is_in(walls.home, folder) or len(folder.parts) < 3
    holds = any(is_in(each, folder) for each in walls.free)
    return None if wide or hidden or tools or holds else folder


def _shown(line: str) -> str:
    text = line.strip()
    return text if len(text) <= LONGEST_SIGN else text[: LONGEST_SIGN - 1] + "…"

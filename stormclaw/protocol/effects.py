"""What a call would do, and how that was judged.

A tool says its effects; the gate in `security` judges effects, never tools. See docs/adr/0003.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Risk: TypeAlias = Literal["low", "medium", "high", "blocked"]
Autonomy: TypeAlias = Literal["readonly", "supervised", "full"]
Decision: TypeAlias = Literal["allow", "ask", "deny"]

AUTONOMY_LEVELS: tuple[Autonomy, ...] = ("readonly", "supervised", "full")
RISKS: tuple[Risk, ...] = ("low", "medium", "high", "blocked")


@dataclass(frozen=True, slots=True)
class Reads:
    """Reads a file or folder; `path` is absolute, links not yet resolved."""

    path: Path


@dataclass(frozen=True, slots=True)
class Writes:
    """Creates or changes a file; `path` is absolute, links not yet resolved."""

    path: Path


@dataclass(frozen=True, slots=True)
class Reach:
    """What a program may reach beyond its sandbox's ordinary walls.

    Attributes:
        network: It may talk to other hosts, whichever they are.
        folders: Absolute folders outside the workspace that it may write.
        hosts: Without `network`: the hosts it may talk to, through a proxy; `*.example.com` and
            `example.com:8443` as in the configuration.
    """

    network: bool = False
    folders: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()

    def __or__(self, other: Reach) -> Reach:
        """What either of them reaches."""
        folders = tuple(dict.fromkeys((*self.folders, *other.folders)))
        hosts = tuple(dict.fromkeys((*self.hosts, *other.hosts)))
        return Reach(self.network or other.network, folders, hosts)


WALLED_IN = Reach()


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs a shell line, exactly this one, in `cwd`; `reach` is asked for on top of the usual.

    `walled` is False where a foreign program runs it, outside our walls.
    """

    command: str
    cwd: Path
    reach: Reach = WALLED_IN
    walled: bool = True


@dataclass(frozen=True, slots=True)
class Fetches:
    """Talks to a host over the network."""

    url: str
    method: str = "GET"


@dataclass(frozen=True, slots=True)
class Spawns:
    """Starts a sub-agent; the child's own calls are judged one by one."""

    task: str


@dataclass(frozen=True, slots=True)
class Remembers:
    """Changes what later sessions are told (project notes)."""

    path: Path


@dataclass(frozen=True, slots=True)
class Foreign:
    """A foreign program uses a tool of its own that we cannot see into: `claude`, `WebSearch`."""

    program: str
    tool: str


Effect: TypeAlias = Reads | Writes | Runs | Fetches | Spawns | Remembers | Foreign


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of what was judged: a command of a shell line, a file, a host.

    Attributes:
        text: The part as written.
        risk: Its own risk; the verdict's risk is the worst of all.
        reason: Why, in a few words: `shipped list: pytest`, `not on any list`.
        rule: Name of the rule that decided: `allowed_commands: uv sync`.
    """

    text: str
    risk: Risk
    reason: str
    rule: str


@dataclass(frozen=True, slots=True)
class Grant:
    """A standing permission a person gave.

    Attributes:
        kind: What it covers: commands by leading words, writes by folder, hosts by name, the
            network by a command's leading words, folders outside that programs may write, hosts
            that programs may talk to.
        match: `npm test`, `src/tide` (relative to the project), `api.example.com`, `pip install`,
            `/home/ann/.cache/uv`, `registry.example.com`.
    """

    kind: Literal["command", "write", "host", "note", "network", "folder", "network-host"]
    match: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gate's answer.

    Attributes:
        decision: `deny` with `grants` may be lifted by a person who changes the policy.
        risk: The worst of the segments.
        reason: One sentence for the person and the model.
        rule: The rule that decided, always named.
        origin: Where that rule stands, `file:line` or `shipped`.
        segments: Everything that was looked at, in order.
        grants: What "session" or "always" would add, narrowest; empty where neither is offered.
        trace: Every step of the judgement, for `?` in the approval.
        reach: What a program may reach if it runs by this verdict; the sandbox is opened for no
            more than that.
        places: Where each judged path led at that moment, links resolved: (path, real place). The
            tools open those and no others.
    """

    decision: Decision
    risk: Risk
    reason: str
    rule: str
    origin: str = "shipped"
    segments: tuple[Segment, ...] = ()
    grants: tuple[Grant, ...] = ()
    trace: tuple[str, ...] = ()
    reach: Reach = WALLED_IN
    places: tuple[tuple[Path, Path], ...] = ()

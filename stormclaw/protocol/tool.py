"""A tool: typed arguments, the effects it would have, and the hand that does it.

A module in `tools/` exports one `TOOL`. The gate judges what `effects` returns; `run` is only ever
called by `agent/calls.py`, after the gate said yes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from stormclaw.protocol.display import Display, Headline
from stormclaw.protocol.effects import WALLED_IN, Effect, Reach
from stormclaw.protocol.messages import TurnReason, Usage

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class SpawnRequest:
    """A sub-agent to start: what to do, what to call it, and (narrower only) with what.

    `executor` names who works: a provider by our name (`claude`, `local`), "" for its parent's.
    """

    task: str
    name: str = ""
    model: str = ""
    tools: tuple[str, ...] = ()
    executor: str = ""


@dataclass(frozen=True, slots=True)
class ChildReport:
    """What a sub-agent left behind; `text` is its final answer."""

    child: str
    task: str
    reason: TurnReason
    text: str
    usage: Usage


def _nothing() -> None:
    return None


def _nobody() -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Launch:
    """A program ready to be started, boxed in as the gate allowed.

    Attributes:
        argv: What to execute; absolute program first.
        environ: Its whole environment.
        descriptors: To be inherited; whoever starts the program closes them afterwards.
        level: The sandbox around it: none, landlock, bwrap.
        reach: What the sandbox was opened for.
        finish: To be called once the program has ended, or could not be started: takes the
            walls down.
        refused: Public hosts it asked for and was not let to, so far.
    """

    argv: tuple[str, ...]
    environ: Mapping[str, str]
    descriptors: tuple[int, ...] = ()
    level: str = "none"
    reach: Reach = WALLED_IN
    finish: Callable[[], None] = _nothing
    refused: Callable[[], tuple[str, ...]] = _nobody


@dataclass(frozen=True, slots=True)
class Lack:
    """What the sandbox kept from a program that failed.

    Attributes:
        reach: What a second run would need on top.
        sign: The line of output that shows it.
    """

    reach: Reach
    sign: str


@dataclass(frozen=True, slots=True)
class Recalled:
    """Something said in an earlier conversation; `at` in Unix seconds, `text` one plain line.

    `place` searched for brings back this one alone, its whole text with all its lines.
    """

    conversation: str
    title: str
    at: float
    role: str
    text: str
    agent: str = "root"
    place: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """Something of this session that need not be on the wire to be reachable.

    Attributes:
        id: Its key, or the id of the node it comes from.
        kind: A note the agent kept for itself, or the result of a call.
        title: One line: what it is.
        text: All of it; "" in a listing.
        held_back: Whether it is off the wire now.
    """

    id: str
    kind: Literal["note", "result"]
    title: str
    text: str = ""
    held_back: bool = False


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gives back when it did its work; failing is `errors.ToolFailure`.

    Attributes:
        output: Text for the model.
        summary: A few words for the card: `84 lines`, `+2 −2`, `exit 0, 41 lines`.
        display: What the card shows when open; None shows `output`.
        ok: False when the work was done and its result is bad news (a test run that failed).
        child: Set by spawn_agent only.
        lack: What the sandbox kept from a failed program; the person may be asked to run it again
            with that.
        metadata: JSON-able extras for the transcript and for `tool run --json`.
    """

    output: str
    summary: str = ""
    display: Display | None = None
    ok: bool = True
    child: ChildReport | None = None
    lack: Lack | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class SeenFiles:
    """What an agent has read: absolute path -> (mtime_ns, size, sha256) at that moment.

    One per agent; the file tools use it to refuse an edit of a file that changed since.
    `watched` is False for a foreign program, which keeps its own count of what it has read.
    """

    stamps: dict[Path, tuple[int, int, str]] = field(default_factory=dict)
    watched: bool = True


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a running tool may touch besides its arguments.

    Attributes:
        workspace: Absolute, links resolved; relative paths start here.
        agent: Who calls.
        notes: Folder of the project notes (`.stormclaw/memory`).
        environ: The scrubbed environment for child processes.
        shell_timeout_s: Default limit of a command.
        max_shell_timeout_s: The most a call may ask for.
        max_output_chars: Longest text a tool may give the model; the rest is counted.
        seen: What this agent has read.
        progress: Call with pieces of live output.
        spawn: Starts a sub-agent and waits for it. Filled by `agent/children.py`.
        question: Asks the person (text, options) -> answer; ToolFailure when nobody is there.
        confined: Nothing outside the workspace may be touched (`workspace_only`).
        sandbox: The level programs run in: none, landlock, bwrap.
        reach: What the gate allowed a program of this call to reach.
        launch: Boxes a bash line in as the gate allowed -> ready to start.
        lack: What the sandbox kept from a program, told from (launch, exit code, output).
        permit: Puts further effects (a redirect, say) through the gate; ToolFailure when refused.
        reachable: Why a host may not be talked to at this IP address, "" if it may.
        recall: Searches earlier conversations: (query, most hits) -> best first.
        kept: What of this session need not be on the wire: by key of a note or id of a node, by
            words that occur in it, or "" for a listing of everything.
        key: A key the person gave for a service, by its environment name; "" if none.
        http_timeout_s: Limit of one HTTP exchange, redirects included.
        max_response_bytes: Longest HTTP answer that is read.
        places: Where each path of the call's effects led when the gate judged it; a tool opens
            that place, and fails when the path leads elsewhere by now. Empty: nothing was judged.
    """

    workspace: Path
    agent: str
    notes: Path
    environ: Mapping[str, str]
    shell_timeout_s: float
    max_shell_timeout_s: float
    max_output_chars: int
    seen: SeenFiles
    progress: Callable[[str], None]
    spawn: Callable[[SpawnRequest], Awaitable[ChildReport]]
    question: Callable[[str, tuple[str, ...]], Awaitable[str]]
    confined: bool
    sandbox: str
    reach: Reach
    launch: Callable[[str], Launch]
    lack: Callable[[Launch, int, str], Lack | None]
    permit: Callable[[tuple[Effect, ...]], Awaitable[None]]
    reachable: Callable[[str, str], str]
    recall: Callable[[str, int], Awaitable[tuple[Recalled, ...]]]
    kept: Callable[[str], tuple[Kept, ...]]
    key: Callable[[str], str]
    http_timeout_s: float
    max_response_bytes: int
    places: Mapping[Path, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class Tool(Generic[A]):
    """A tool as data.

    Attributes:
        name: Canonical name.
        description: For the model, short: it is sent with every request.
        args: A frozen msgspec Struct; the JSON schema is generated from it.
        headline: What the card is called.
        effects: Everything the call would do, from the arguments alone; raises ToolFailure on
            arguments that make no sense. Fast and without side effects.
        run: Does it.
        preview: The diff or command a person approves; None shows the arguments.
        aliases: Other names models use for it.
        editable: The argument a person may edit in the approval.
        own_time: True when the tool keeps its own time limit (or waits for a person or a child).
    """

    name: str
    description: str
    args: type[A]
    headline: Callable[[A], Headline]
    effects: Callable[[A, ToolContext], tuple[Effect, ...]]
    run: Callable[[A, ToolContext], Awaitable[ToolResult]]
    preview: Callable[[A, ToolContext], Awaitable[Display]] | None = None
    aliases: tuple[str, ...] = ()
    editable: str = ""
    own_time: bool = False


AnyTool = Tool[Any]

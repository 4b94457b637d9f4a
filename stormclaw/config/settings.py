"""The one typed model of the configuration. Its defaults and docstrings are the documentation.

Shapes are plain frozen dataclasses; `layers.py` fills them, `check.py` finds every problem at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from stormclaw.protocol.effects import Autonomy

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SecuritySettings:
    """What may happen without a person, and what never may."""

    autonomy: Autonomy = "supervised"
    workspace_only: bool = True
    forbidden_paths: tuple[str, ...] = ("/etc", "/sys", "/boot", "~/.ssh")
    forbidden_commands: tuple[str, ...] = ("rm", "shutdown", "reboot", "mkfs", "dd")
    allowed_commands: tuple[str, ...] = ()
    """Leading words, added to the shipped list: `terraform plan`, `just`."""
    allowed_hosts: tuple[str, ...] = ()
    sandbox: Literal["auto", "required", "off"] = "auto"
    sandbox_network: tuple[str, ...] = ()
    """Leading words of commands that may always use the network: `uv sync`, `npm ci`."""
    sandbox_hosts: tuple[str, ...] = ()
    """All the hosts commands in bubblewrap may use unasked: `pypi.org`, `*.npmjs.org`."""
    sandbox_folders: tuple[str, ...] = ()
    """Folders outside the workspace that commands may write: `~/.cache/uv`."""
    secrets: Literal["mask", "ask", "allow"] = "mask"
    """What happens to a key in a tool's result before a model sees it."""
    tools_allow: tuple[str, ...] | None = None
    """The tools any agent may have; null means all."""
    tools_deny: tuple[str, ...] = ()
    audit_log: bool = True


Effort: TypeAlias = Literal["", "none", "minimal", "low", "medium", "high", "xhigh"]
"""How hard a model is to think; "" leaves the provider's default."""


@dataclass(frozen=True, slots=True)
class RoutingSettings:
    """How OpenRouter chooses who serves a model; sent as it names them, what is unset is not."""

    models: tuple[str, ...] = ()
    """Models to fall back to, in order, when the asked one fails."""
    order: tuple[str, ...] = ()
    """Who is to serve it, first to last: `anthropic`, `amazon-bedrock`."""
    only: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    allow_fallbacks: bool | None = None
    require_parameters: bool | None = None
    """Only those who know every field we send; tools count as one."""
    data_collection: Literal["", "allow", "deny"] = ""
    """Whether who serves it may keep what is sent."""
    zdr: bool | None = None
    """Only those who keep nothing."""
    sort: Literal["", "price", "throughput", "latency"] = ""
    transforms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One way to a model, under `providers.models.NAME`."""

    kind: str
    """Name of a module in `stormclaw/providers`: openai-compatible, anthropic, bedrock, llama,
    claude-cli, codex-cli, gemini-cli, opencode-cli, reliable, router, mock, demo."""
    model: str = ""
    base_url: str = ""
    api_key_env: str = ""
    """Name of the environment variable that holds the key; never the key itself."""
    script: str = ""
    """For `mock`: a YAML file with the turns."""
    headers: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    extra_body: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    routing: RoutingSettings = field(default_factory=RoutingSettings)
    """For OpenRouter."""
    quirks: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    """Where this server differs from what is known of it: rows of `providers/quirks.py` by name."""
    reasoning: Effort = ""
    temperature: float | None = None
    max_tokens: int | None = None
    context_window: int = 0
    idle_timeout_s: float = 60.0
    """Seconds without a byte before a stream is given up."""
    tool_timeout_s: float = 1800.0
    """For CLIs: seconds without a sign of life while one of their own tools runs."""
    max_retries: int = 2
    profiles: tuple[str, ...] = ()
    """Names of stored keys to use in turn, first to last; empty uses every key of this name."""
    providers: tuple[str, ...] = ()
    """For `reliable`: who is asked, first to last, each `provider` or `provider/model`."""
    routes: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    """For `router`: purpose (`work`, `subagent`, `title`, `compaction`, `condense`, `default`) ->
    target."""
    command: str = ""
    """For CLIs: the program, a name on PATH or a path."""
    args: tuple[str, ...] = ()
    """For CLIs: further arguments."""
    path: str = ""
    """For `llama`: a GGUF file, "" for an installed one; for `codex-cli`: codex' own folder."""
    repo: str = ""
    """For `llama`: a Hugging Face repository, with `file` in it."""
    file: str = ""
    threads: int = 0
    """For `llama`: 0 takes the machine's cores."""
    region: str = ""
    """For `bedrock`: the AWS region, "" for the environment's."""
    tools_allow: tuple[str, ...] | None = None
    """The tools its models may have; null means all."""
    tools_deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProvidersSettings:
    """All ways to a model, by name."""

    models: Mapping[str, ModelSettings] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """A front end; `tools_allow` None means all tools."""

    enabled: bool = True
    tools_allow: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ChannelsSettings:
    """The front ends that can be narrowed."""

    cli: ChannelSettings = field(default_factory=ChannelSettings)
    tui: ChannelSettings = field(default_factory=ChannelSettings)


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """The index over all sessions."""

    backend: Literal["sqlite"] = "sqlite"
    path: str = "~/.stormclaw/memory.sqlite"


@dataclass(frozen=True, slots=True)
class ReceiptsSettings:
    """The tamper-evident log of every attempted call."""

    enabled: bool = True
    path: str = "~/.stormclaw/tool_receipts.log"
    hmac_key_env: str = ""
    """Name of an environment variable whose value keys the chain."""


@dataclass(frozen=True, slots=True)
class LimitsSettings:
    """What stops a turn, a tool, an answer."""

    max_tool_rounds: int = 100
    max_response_bytes: int = 1_048_576
    max_output_chars: int = 30_000
    """Longest text one tool call may give the model."""
    tool_timeout_s: float = 30.0
    shell_timeout_s: float = 120.0
    max_shell_timeout_s: float = 600.0
    http_timeout_s: float = 20.0


@dataclass(frozen=True, slots=True)
class AgentsSettings:
    """Sub-agents and the purse they share; None means no limit."""

    max_depth: int = 3
    max_children: int = 8
    budget_usd: float | None = None
    budget_tokens: int | None = None
    child_share: float = 0.5
    """The part of what is left in the parent's purse that one child may use."""
    tools_allow: tuple[str, ...] | None = None
    """The tools the agent you talk to may have; null means all."""
    tools_deny: tuple[str, ...] = ()
    child_tools_allow: tuple[str, ...] | None = None
    """The tools sub-agents may have; null means their parent's."""
    child_tools_deny: tuple[str, ...] = ()


POLICIES = (
    "superseded_reads",
    "old_results",
    "failed_attempts",
    "delegations",
    "old_reasoning",
    "large_outputs",
)
"""The context policies in the order they are tried, see `agent/context/policies/`."""


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """What a model is sent of a long conversation. Nothing of it is ever lost."""

    policies: tuple[str, ...] = POLICIES
    """Applied in this order once a request is larger than `soft_tokens`; each is a file."""
    soft_tokens: int = 40_000
    """Size of a request from which policies hold things back; less where the window is small."""
    relax: float = 0.6
    """The part of `soft_tokens` they try to come down to, so that they need not act often."""
    keep_results: int = 6
    """The newest tool results no policy touches, while they take at most 0.6 of `soft_tokens`."""
    compaction: Literal["auto", "manual", "off"] = "auto"
    compact_at: float = 0.85
    """The part of the window at which a model sums up what is old, where policies cannot help."""
    reserve_tokens: int = 16_000
    """Kept free for the answer; at most a quarter of the window."""
    recent_tokens: int = 12_000
    """The newest part of the conversation a compaction leaves alone."""


@dataclass(frozen=True, slots=True)
class CheckpointsSettings:
    """Snapshots of the workspace around each call that can write, so that it can be taken back."""

    enabled: bool = True
    max_file_bytes: int = 10_000_000
    """A larger file is left out."""
    max_total_bytes: int = 2_000_000_000
    """Size of all snapshots of one workspace; the oldest sessions' go first."""
    keep_days: int = 30
    time_limit_s: float = 10.0
    """A snapshot that would take longer is given up, and that is said."""


@dataclass(frozen=True, slots=True)
class UiSettings:
    """How the terminal app looks and moves."""

    theme: str = "stormclaw-dark"
    ascii: bool = False
    motion: Literal["full", "reduced"] = "full"
    bell: bool = True
    mouse: bool = True


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a person can configure. Every key is optional."""

    workspace_dir: str = "auto"
    default_provider: str = "auto"
    default_model: str = "auto"
    security: SecuritySettings = field(default_factory=SecuritySettings)
    providers: ProvidersSettings = field(default_factory=ProvidersSettings)
    channels: ChannelsSettings = field(default_factory=ChannelsSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    receipts: ReceiptsSettings = field(default_factory=ReceiptsSettings)
    limits: LimitsSettings = field(default_factory=LimitsSettings)
    agents: AgentsSettings = field(default_factory=AgentsSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    checkpoints: CheckpointsSettings = field(default_factory=CheckpointsSettings)
    ui: UiSettings = field(default_factory=UiSettings)

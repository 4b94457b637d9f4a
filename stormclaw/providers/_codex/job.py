"""What one answer of codex needs, whichever way codex is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stormclaw.protocol.effects import Autonomy
from stormclaw.protocol.messages import ToolCall
from stormclaw.protocol.provider import ChatRequest, Observed
from stormclaw.providers._codex.session import Thread, kept
from stormclaw.providers._codex.tools import item_call, observed
from stormclaw.providers._programs.hands import digest

SANDBOXES: Final[Mapping[Autonomy, str]] = {
    "readonly": "read-only",
    "supervised": "workspace-write",
    "full": "danger-full-access",
}
"""Codex' own walls, around what our gate has let pass."""

NEVER: Final[Mapping[str, Any]] = {
    "multi_agent": False,  # Agents of its own would work out of our sight.
    "goals": False,
    "unified_exec_tty": False,  # What is typed into a terminal passes no gate.
    "unbounded_connection_retries": False,
    "shell_snapshot": False,  # It would run the person's login shell at every start.
}
"""Features that are always off."""


class NoServer(Exception):
    """This codex has no app-server we could use; the message says why."""


@dataclass(frozen=True, slots=True)
class Job:
    """One answer.

    Attributes:
        request: What is asked.
        provider: Our name of the provider.
        program: The codex to run.
        args: Further arguments, the person's.
        environ: Its whole environment.
        workspace: Where it works.
        model: Codex' id of the model, "" for what codex is configured with.
        effort: How hard to think, "" for what codex is configured with.
        idle_s: Seconds of silence while its model works.
        tool_s: Seconds of silence while one of its tools runs.
        secret: Name of the variable with codex' key, which its commands do not get; "" for none.
        remark: Tells the person something, once per session; False if it was told before.
        said: Takes the model's window in tokens once it is known.
    """

    request: ChatRequest
    provider: str
    program: str
    args: tuple[str, ...]
    environ: Mapping[str, str]
    workspace: Path
    model: str
    effort: str
    idle_s: float
    tool_s: float
    secret: str
    remark: Callable[[str], bool]
    said: Callable[[int], None]

    @property
    def free(self) -> bool:
        """Whether it may act with nothing around it."""
        hands = self.request.hands
        return hands is not None and hands.autonomy == "full"

    @property
    def sandbox(self) -> str:
        """Codex' walls; without hands it may not even write."""
        hands = self.request.hands
        return SANDBOXES[hands.autonomy] if hands else "read-only"

    def config(self) -> dict[str, Any]:
        """What is different from the person's own configuration of codex."""
        features: dict[str, Any] = dict(NEVER)
        # A login shell would put another PATH before the one the person works with.
        config: dict[str, Any] = {"allow_login_shell": False, "features": features}
        if not self.free:
            # It is the server that searches: no gate of ours could say a word to it.
            config["web_search"] = "disabled"
        if self.secret:
            config["shell_environment_policy"] = {"exclude": [self.secret]}
        if self.request.hands is None:
            features |= {"shell_tool": False, "plugins": False, "apps": False}
            config["project_doc_max_bytes"] = 0
        return config

    def place(self) -> tuple[Thread, int] | None:
        """Where in codex the conversation goes on; None for a new thread."""
        if self.request.hands is None:
            return None
        return kept(self.request.messages, self.provider)

    def thread(self, thread_id: str, turn_id: str) -> Thread:
        """A place in a thread, after this request."""
        messages = self.request.messages
        return Thread(thread_id, turn_id, len(messages), digest(messages))

    def call_of(self, item: Mapping[str, Any]) -> ToolCall:
        """A call in our words."""
        return item_call(item, self.workspace)

    def observed(self, call: ToolCall, item: Mapping[str, Any]) -> Observed:
        """Its end in our words."""
        return observed(call, item, self.workspace)

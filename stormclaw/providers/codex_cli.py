"""OpenAI's codex CLI: a program that acts by itself, in its own sandbox and through our gate.

It runs as `codex app-server` for one turn at a time and keeps the conversation in its own files;
where there is no app-server, as `codex exec`, which can only be trusted with everything or nothing.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Final

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.protocol.provider import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    Delta,
    Provider,
    Remark,
)
from stormclaw.providers._codex.executed import executed
from stormclaw.providers._codex.job import Job, NoServer
from stormclaw.providers._codex.served import served
from stormclaw.providers._programs.process import scrubbed
from stormclaw.providers.recovery import with_hint

COMMAND: Final = "codex"
SCRUB: Final = (
    "OPENAI_*",
    "CODEX_*",
    "AZURE_OPENAI_*",
    "OTEL_EXPORTER_*",
    "OTEL_METRICS_EXPORTER",
    "OTEL_LOGS_EXPORTER",
    "OTEL_TRACES_EXPORTER",
)
"""What would steer codex to another account, server or home than it is configured with."""
PATIENCE_S: Final = 90.0
"""Least silence that counts: codex says nothing between two tries at its server."""
HARD: Final = frozenset({"high", "xhigh"})
"""Efforts at which a model may think for minutes without showing any of it."""
INSTALL: Final = "npm install -g @openai/codex, then run `codex login` in a terminal"


class CodexCli(Provider):
    """The codex on this machine.

    Args:
        name: Our name for it.
        settings: `command`, `args`, `model`; `path` is codex' home folder if not the usual one;
            `api_key_env` names the variable in which its own configuration expects a key.
        key: That key, if there is one.
        patience_s: Least silence after which it is given up.
    """

    def __init__(
        self,
        name: str,
        settings: ModelSettings,
        key: str | None = None,
        *,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.name = name
        self.model = settings.model
        self._settings = settings
        self._key = key
        self._patience_s = patience_s
        self._window = settings.context_window
        self._remarked: set[str] = set()

    def capabilities(self) -> Capabilities:
        """It acts by itself; the window is codex' word after its first answer."""
        return Capabilities(thinking=True, context_window=self._window, acts=True)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        """One turn of codex, with all its steps.

        Raises:
            ProviderError: Codex is not there, or the turn failed.
        """
        with tempfile.TemporaryDirectory(prefix="stormclaw-codex-") as nowhere:
            # Without hands there is nothing to see either.
            workspace = request.hands.workspace if request.hands else Path(nowhere)
            job = self._job(request, workspace)
            try:
                async with aclosing(self._run(job)) as items:
                    async for item in items:
                        yield item
            except ProviderError as error:
                raise with_hint(error) from error.__cause__

    async def _run(self, job: Job) -> AsyncGenerator[Delta | ChatResponse, None]:
        try:
            async with aclosing(served(job)) as items:
                async for item in items:
                    yield item
        except NoServer as problem:
            reason = str(problem)
        else:
            return
        for text in filter(job.remark, _about_exec(job, reason)):
            yield Remark(text)
        async with aclosing(executed(job)) as items:
            async for item in items:
                yield item

    def _job(self, request: ChatRequest, workspace: Path) -> Job:
        environ = self._environ(request)
        program = shutil.which(self._settings.command or COMMAND, path=environ.get("PATH"))
        if program is None:
            wanted = self._settings.command or COMMAND
            raise ProviderError("not_found", f"there is no {wanted} on PATH", hint=INSTALL)
        effort = request.effort or self._settings.reasoning
        patience_s = self._patience_s * (4 if effort in HARD else 1)
        return Job(
            request=request,
            provider=self.name,
            program=program,
            args=self._settings.args,
            environ=environ,
            workspace=workspace,
            model=request.model or self._settings.model,
            effort=effort,
            idle_s=max(patience_s, self._settings.idle_timeout_s),
            tool_s=self._settings.tool_timeout_s,
            secret=self._settings.api_key_env,
            remark=self._remark,
            said=self._learn,
        )

    def _environ(self, request: ChatRequest) -> Mapping[str, str]:
        given = request.hands.environ if request.hands else os.environ
        environ = scrubbed(given, SCRUB)
        if self._settings.path:
            environ["CODEX_HOME"] = str(Path(self._settings.path).expanduser())
        if self._settings.api_key_env and self._key:
            environ[self._settings.api_key_env] = self._key
        return environ

    def _remark(self, text: str) -> bool:
        """Whether this is to be said: each remark once."""
        fresh = text not in self._remarked
        self._remarked.add(text)
        return fresh

    def _learn(self, window: int) -> None:
        self._window = self._settings.context_window or window


def _about_exec(job: Job, reason: str) -> tuple[str, ...]:
    rights = "nothing it does passes StormClaw's gate" if job.free else "it can only talk, not act"
    return (f"codex has no app-server to talk to ({reason}); `codex exec` is used, and {rights}",)


def connect(name: str, settings: ModelSettings, key: str | None) -> CodexCli:
    """The provider called `name`; codex logs in by itself, a key is for its own servers."""
    return CodexCli(name, settings, key)

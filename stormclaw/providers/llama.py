"""A model in this process: any GGUF file, through llama.cpp, without a server and without a key.

Every request is a session of its own: the model sees this request's messages and nothing else; what
it has read before at the same beginning it need not read again. With tools, it is held to a grammar
in which only valid calls and last words can be written.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

from stormclaw.config.disk import home_dir
from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ConfigError, Problem, ProviderError
from stormclaw.protocol.provider import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    Delta,
    Provider,
    Remark,
    ToolSpec,
)
from stormclaw.providers._llama.answer import Answer
from stormclaw.providers._llama.engine import Engine, shelf
from stormclaw.providers._llama.gguf import BadModelFile, read_window
from stormclaw.providers._llama.grammar import answer_schema
from stormclaw.providers._llama.load import Spec, compile_schema
from stormclaw.providers._llama.prompt import write
from stormclaw.providers.local_models import chosen, label_of, parts_of, size

LOG = logging.getLogger(__name__)

WINDOW: Final = 16_384
"""Tokens of context unless the configuration says more or the model takes less."""
ANSWER_TOKENS: Final = 2_048
"""Longest answer, unless configured."""
TEMPERATURE: Final = 0.2
"""A small model that calls tools does better without much chance in it."""


class Llama(Provider):
    """A local model; it is loaded with the first request or `warm_up`.

    Args:
        name: Our name for the provider.
        settings: What the person configured.
        path: The model's file.
    """

    def __init__(self, name: str, settings: ModelSettings, path: Path) -> None:
        self.name = name
        self._settings = settings
        self._path = path
        self._label = label_of(path)
        self._engine: Engine | None = None
        self._window = 0
        self._said_cut = False
        self._grammars: tuple[tuple[ToolSpec, ...], str] = ((), "")

    @property
    def model(self) -> str:  # type: ignore[override]
        """What the model is called, and that it is not there yet while it is loaded."""
        loading = self._engine is not None and not self._engine.is_loaded
        return f"{self._label} (loading)" if loading else self._label

    def capabilities(self) -> Capabilities:
        """Small, with tools; the context is what the file says, within reason."""
        return Capabilities(context_window=self._context(), small=True)

    async def warm_up(self) -> None:
        """Load the model."""
        try:
            await self._leased().ready()
        except ProviderError as error:
            LOG.info("the local model cannot be loaded: %s", error)

    async def close(self) -> None:
        """Give the model back; the last one who uses it unloads it."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await asyncio.to_thread(shelf().give_back, engine)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        """One answer, held to the advertised tools if there are any.

        Raises:
            ProviderError: The model cannot be loaded, or the conversation is too long for it.
        """
        engine = self._leased()
        if not engine.is_loaded:
            yield Remark(f"loading {self._label}, {size(_bytes(self._path))} ...", "info")
        head = await engine.ready()
        prompt = write(request, self._context(), head.control_tokens)
        if prompt.left_out and not self._said_cut:
            self._said_cut = True
            yield Remark(
                f"the instructions are long for {self._label}: {prompt.left_out:,} characters of "
                "their middle are not sent"
            )
        grammar = await asyncio.to_thread(self._grammar, request.tools)
        body = self._body(request, prompt.messages, grammar)
        answer = Answer(self.name, self._label, request.tools, held=bool(grammar))
        async with aclosing(engine.ask(body)) as chunks:
            async for chunk in chunks:
                for delta in answer.feed(chunk):
                    yield delta
        for delta in answer.rest():
            yield delta
        yield answer.response()

    def _leased(self) -> Engine:
        if self._engine is not None and self._engine.failed:
            shelf().give_back(self._engine)
            self._engine = None
        if self._engine is None:
            threads = self._settings.threads or _cores()
            spec = Spec(self._path, self._context(), threads, name=self.name)
            self._engine = shelf().lease(spec)
        return self._engine

    def _context(self) -> int:
        if not self._window:
            try:
                trained = read_window(self._path)
            except (BadModelFile, OSError):
                return self._settings.context_window or WINDOW
            wanted = self._settings.context_window or WINDOW
            self._window = min(wanted, trained) if trained else wanted
        return self._window

    def _grammar(self, tools: tuple[ToolSpec, ...]) -> str:
        """The grammar for these tools; "" where there are none, or none can be made."""
        if not tools:
            return ""
        if self._grammars[0] != tools:
            try:
                self._grammars = (tools, compile_schema(answer_schema(tools)))
            except (RuntimeError, ValueError) as error:
                LOG.warning("no grammar for these tools: %s", error)
                self._grammars = (tools, "")
        return self._grammars[1]

    def _body(
        self, request: ChatRequest, messages: tuple[dict[str, str], ...], grammar: str
    ) -> dict[str, Any]:
        configured = self._settings.temperature
        temperature = TEMPERATURE if configured is None else configured
        return {
            "messages": list(messages),
            "temperature": temperature if request.temperature is None else request.temperature,
            "max_tokens": min(self._settings.max_tokens or ANSWER_TOKENS, self._context() // 2),
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,
            "cache_prompt": True,
            "chat_template_kwargs": {"enable_thinking": False},
            **({"grammar": grammar} if grammar else {}),
            **dict(self._settings.extra_body),
        }


def connect(name: str, settings: ModelSettings, key: str | None) -> Llama:
    """The local model these settings mean; it is not loaded yet.

    Raises:
        ConfigError: llama.cpp is not installed, or there is no such model.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        place = f"providers.models.{name}.kind"
        message = "local models need llama.cpp: pip install 'stormclaw[local]'"
        raise ConfigError([Problem("configuration", place, settings.kind, message)])
    return Llama(name, settings, chosen(name, settings, home_dir(os.environ)))


def _cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _bytes(path: Path) -> int:
    parts = (path.with_name(part) for part in parts_of(path.name))
    return sum(part.stat().st_size for part in parts if part.exists())

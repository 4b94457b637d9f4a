"""Who can be talked to without writing configuration: a row of data for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal
from urllib.parse import urlsplit

from stormclaw.config.settings import ModelSettings
from stormclaw.providers._caching import OPENROUTER, Caching

KIND: Final = "openai-compatible"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one server speaks; what it refuses at run time is dropped for the session.

    Attributes:
        token_field: What the output limit is called; "" when it may not be sent.
        stream_options: Whether usage must be asked for.
        reasoning: How the effort is spelled: `effort` as `reasoning_effort`, `object` as
            `reasoning: {effort}`, `thinking` as `thinking: {type}`, `off` not at all.
        echo: Whether plain reasoning may go back; signed details always do.
        empty_reasoning: Whether calls without reasoning need an empty `reasoning_content`.
        ids: What call ids may look like: `any`, `nine` letters and digits, `forty` characters.
        plain_schemas: Whether tool schemas are cut down to what Gemini knows.
        cache: The models whose prompt cache is told what to keep, and how; empty for none.
        refused: Further fields of body or message this server has refused.
    """

    token_field: str = "max_tokens"  # noqa: S105 (no password)
    stream_options: bool = True
    reasoning: Literal["effort", "object", "thinking", "off"] = "effort"
    echo: bool = True
    empty_reasoning: bool = False
    ids: Literal["any", "nine", "forty"] = "any"
    plain_schemas: bool = False
    cache: tuple[Caching, ...] = ()
    refused: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Preset:
    """A way to a model that only lacks a key.

    Attributes:
        name: As in `providers.models.NAME` and `--model NAME/MODEL`.
        label: As the person knows it.
        base_url: Where it answers.
        model: A sensible model; "" asks the server what it has.
        key_envs: Environment variables that may hold the key, most usual first.
        key_url: Where a key can be had; "" for local servers.
        dialect: How it speaks.
        headers: Sent with every request.
    """

    name: str
    label: str
    base_url: str
    model: str = ""
    key_envs: tuple[str, ...] = ()
    key_url: str = ""
    dialect: Dialect = Dialect()
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def needs_key(self) -> bool:
        """False for servers on the person's own machine."""
        return bool(self.key_envs)

    @property
    def host(self) -> str:
        """Host and port, to recognise the server in a configuration."""
        return urlsplit(self.base_url).netloc

    def settings(self, *, model: str = "", base_url: str = "", window: int = 0) -> ModelSettings:
        """The settings a person would have to write for it."""
        return ModelSettings(
            kind=KIND,
            model=model or self.model,
            base_url=base_url or self.base_url,
            api_key_env=self.key_envs[0] if self.key_envs else "",
            context_window=window,
        )


_OPENROUTER: Final = Dialect(stream_options=False, reasoning="object", cache=OPENROUTER)
_OPENAI: Final = Dialect(token_field="max_completion_tokens", ids="forty")  # noqa: S106
_ATTRIBUTION: Final[Mapping[str, str]] = MappingProxyType(
    {"HTTP-Referer": "https://github.com/stormclaw/stormclaw", "X-Title": "StormClaw"}
)

PRESETS: Final[tuple[Preset, ...]] = (
    Preset(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "anthropic/claude-sonnet-4.5",
        ("OPENROUTER_API_KEY",),
        "https://openrouter.ai/settings/keys",
        _OPENROUTER,
        _ATTRIBUTION,
    ),
    Preset(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        "gpt-5.1",
        ("OPENAI_API_KEY",),
        "https://platform.openai.com/api-keys",
        _OPENAI,
    ),
    Preset(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "gemini-2.5-pro",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "https://aistudio.google.com/apikey",
        Dialect(echo=False, plain_schemas=True),
    ),
    Preset(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "mistral-medium-latest",
        ("MISTRAL_API_KEY",),
        "https://console.mistral.ai/api-keys",
        Dialect(stream_options=False, reasoning="off", echo=False, ids="nine"),
    ),
    Preset(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        "deepseek-chat",
        ("DEEPSEEK_API_KEY",),
        "https://platform.deepseek.com/api_keys",
        Dialect(reasoning="thinking", empty_reasoning=True),
    ),
    Preset(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        "openai/gpt-oss-120b",
        ("GROQ_API_KEY",),
        "https://console.groq.com/keys",
        Dialect(token_field="max_completion_tokens", echo=False),  # noqa: S106
    ),
    Preset(
        "together",
        "Together",
        "https://api.together.xyz/v1",
        "openai/gpt-oss-120b",
        ("TOGETHER_API_KEY",),
        "https://api.together.ai/settings/api-keys",
        Dialect(echo=False),
    ),
    Preset(
        "zai",
        "Z.ai",
        "https://api.z.ai/api/paas/v4",
        "glm-4.6",
        ("ZAI_API_KEY",),
        "https://z.ai/manage-apikey/apikey-list",
        Dialect(reasoning="thinking"),
    ),
    Preset(
        "moonshot",
        "Moonshot",
        "https://api.moonshot.ai/v1",
        "kimi-k2-turbo-preview",
        ("MOONSHOT_API_KEY",),
        "https://platform.moonshot.ai/console/api-keys",
        Dialect(reasoning="off"),
    ),
    Preset(
        "github",
        "GitHub Models",
        "https://models.github.ai/inference",
        "openai/gpt-4.1",
        ("GITHUB_MODELS_TOKEN",),
        "https://github.com/settings/personal-access-tokens",
        Dialect(echo=False, ids="forty"),
    ),
    Preset("ollama", "Ollama", "http://127.0.0.1:11434/v1"),
    Preset("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1"),
    Preset("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1"),
    Preset("vllm", "vLLM", "http://127.0.0.1:8000/v1"),
)
"""In the order in which keys in the environment are looked for; the local ones as probed."""

WINDOWS: Final[tuple[tuple[str, int], ...]] = (
    ("claude", 200_000),
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-oss", 131_072),
    ("gemini-2.5", 1_048_576),
    ("deepseek", 128_000),
    ("glm-4.6", 200_000),
    ("kimi-k2", 256_000),
    ("mistral-medium", 128_000),
    ("devstral", 128_000),
    ("codestral", 256_000),
)
"""Context windows of well-known hosted models, by the beginning of their name, in tokens."""


def by_name(name: str) -> Preset | None:
    """The preset of that name."""
    return next((preset for preset in PRESETS if preset.name == name), None)


def by_url(base_url: str) -> Preset | None:
    """The hosted preset a configured address belongs to; None for local and unknown servers."""
    host = urlsplit(base_url).netloc.lower()
    return next((preset for preset in PRESETS if preset.needs_key and preset.host == host), None)


def local() -> Iterable[Preset]:
    """The servers that may run on this machine, in the order they are looked for."""
    return (preset for preset in PRESETS if not preset.needs_key)


def known_window(model: str) -> int:
    """What a hosted model is known to take, in tokens; 0 if unknown."""
    name = model.lower().rpartition("/")[2]
    return next((window for start, window in WINDOWS if name.startswith(start)), 0)

"""Who can be talked to without writing configuration: a row of data for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from stormclaw.config.settings import ModelSettings

KIND: Final = "openai-compatible"
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


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
        headers: Sent with every request.
    """

    name: str
    label: str
    base_url: str
    model: str = ""
    key_envs: tuple[str, ...] = ()
    key_url: str = ""
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
        _ATTRIBUTION,
    ),
    Preset(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        "gpt-5.1",
        ("OPENAI_API_KEY",),
        "https://platform.openai.com/api-keys",
    ),
    Preset(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "gemini-2.5-pro",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "https://aistudio.google.com/apikey",
    ),
    Preset(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "mistral-medium-latest",
        ("MISTRAL_API_KEY",),
        "https://console.mistral.ai/api-keys",
    ),
    Preset(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        "deepseek-chat",
        ("DEEPSEEK_API_KEY",),
        "https://platform.deepseek.com/api_keys",
    ),
    Preset(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        "openai/gpt-oss-120b",
        ("GROQ_API_KEY",),
        "https://console.groq.com/keys",
    ),
    Preset(
        "together",
        "Together",
        "https://api.together.xyz/v1",
        "openai/gpt-oss-120b",
        ("TOGETHER_API_KEY",),
        "https://api.together.ai/settings/api-keys",
    ),
    Preset(
        "zai",
        "Z.ai",
        "https://api.z.ai/api/paas/v4",
        "glm-4.6",
        ("ZAI_API_KEY",),
        "https://z.ai/manage-apikey/apikey-list",
    ),
    Preset(
        "moonshot",
        "Moonshot",
        "https://api.moonshot.ai/v1",
        "kimi-k2-turbo-preview",
        ("MOONSHOT_API_KEY",),
        "https://platform.moonshot.ai/console/api-keys",
    ),
    Preset(
        "github",
        "GitHub Models",
        "https://models.github.ai/inference",
        "openai/gpt-4.1",
        ("GITHUB_MODELS_TOKEN",),
        "https://github.com/settings/personal-access-tokens",
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


def by_address(name: str, base_url: str) -> Preset | None:
    """The preset a provider is spoken to like: its address decides, then its name.

    Args:
        name: Our name of the provider.
        base_url: Where it answers; a usual port of this machine tells as much as a host.
    """
    hosted = by_url(base_url)
    if hosted is not None:
        return hosted
    address = urlsplit(base_url)
    if address.hostname not in LOOPBACK:
        return next((preset for preset in local() if preset.name == name), None)
    called = by_name(name)
    if called is not None and not called.needs_key:
        return called
    port = f":{address.port}"
    return next((preset for preset in local() if preset.host.endswith(port)), None)


def local() -> Iterable[Preset]:
    """The servers that may run on this machine, in the order they are looked for."""
    return (preset for preset in PRESETS if not preset.needs_key)


def known_window(model: str) -> int:
    """What a hosted model is known to take, in tokens; 0 if unknown."""
    name = model.lower().rpartition("/")[2]
    return next((window for start, window in WINDOWS if name.startswith(start)), 0)

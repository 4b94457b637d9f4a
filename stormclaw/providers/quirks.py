"""How each server speaks, as a table: a row a provider, a row a family of models, and your own.

Everybody speaks OpenAI's chat completions and nobody quite the same. What is known beforehand
stands here; `providers.models.NAME.quirks` has the last word; what a server refuses all the same is
learnt for the session (`_openai/mends.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from stormclaw.providers._caching import OPENROUTER, Caching

TokenField: TypeAlias = Literal["max_tokens", "max_completion_tokens", ""]
SystemRole: TypeAlias = Literal["system", "developer", "user"]
Reasoning: TypeAlias = Literal[
    "effort", "object", "thinking", "enable_thinking", "template", "omit"
]
Ids: TypeAlias = Literal["any", "nine", "forty"]
Schema: TypeAlias = Literal["full", "grammar", "moonshot", "gemini"]
Efforts: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Quirks:
    """How one server speaks, one model's habits included.

    Attributes:
        token_field: What the output limit is called; "" when it may not be sent.
        system_role: Who says the system prompt; `user` puts it in front of the first words.
        stream_options: Whether usage must be asked for.
        parallel_tool_calls: Whether several calls at once are asked for, None says nothing.
        strict_tools: Whether arguments are held to the schema (OpenAI's strict mode).
        reasoning: How the effort is spelled: `effort` as `reasoning_effort`, `object` as
            `reasoning: {effort}`, `thinking` as `thinking: {type}`, `enable_thinking` as that,
            `template` in `chat_template_kwargs`, `omit` not at all.
        efforts: What is said for an effort the server has no word for; "" says nothing.
        echo: Whether plain reasoning may go back; signed details always do.
        empty_reasoning: Whether calls without reasoning need an empty `reasoning_content`.
        ids: What call ids may look like: `any`, `nine` letters and digits, `forty` characters.
        schema: How much of JSON Schema may describe a tool, see `_openai/schemas.py`.
        strict_turns: Whether user and assistant must take turns, results of calls included.
        tool_names: Whether the result of a call must name its tool.
        empty_tools: Whether `tools` must be there, even empty, once there were calls.
        cache: The models whose prompt cache is told what to keep, and how; empty for none.
        routing: Whether it routes as OpenRouter does.
        refused: Further fields of body or message that are never sent.
    """

    token_field: TokenField = "max_tokens"  # noqa: S105 (no password)
    system_role: SystemRole = "system"
    stream_options: bool = True
    parallel_tool_calls: bool | None = None
    strict_tools: bool = False
    reasoning: Reasoning = "effort"
    efforts: Efforts = ()
    echo: bool = True
    empty_reasoning: bool = False
    ids: Ids = "any"
    schema: Schema = "full"
    strict_turns: bool = False
    tool_names: bool = False
    empty_tools: bool = False
    cache: tuple[Caching, ...] = ()
    routing: bool = False
    refused: frozenset[str] = frozenset()

    def word(self, effort: str) -> str:
        """What is said for an effort; "" when nothing is."""
        return dict(self.efforts).get(effort, effort)


_THREE: Final[Efforts] = (("none", ""), ("minimal", "low"), ("xhigh", "high"))
_THREE_AND_NONE: Final[Efforts] = (("minimal", "low"), ("xhigh", "high"))
_OPENAI: Final = Quirks(token_field="max_completion_tokens", ids="forty")  # noqa: S106
_LLAMA: Final = Quirks(reasoning="template", schema="grammar", parallel_tool_calls=True)

ROWS: Final[Mapping[str, Quirks]] = MappingProxyType(
    {
        "openrouter": Quirks(
            stream_options=False, reasoning="object", cache=OPENROUTER, routing=True
        ),
        "openai": _OPENAI,
        "gemini": Quirks(echo=False, schema="gemini", efforts=(("xhigh", "high"),)),
        "mistral": Quirks(
            stream_options=False, reasoning="omit", echo=False, ids="nine", strict_turns=True
        ),
        "deepseek": Quirks(reasoning="thinking", empty_reasoning=True),
        "groq": Quirks(
            token_field="max_completion_tokens",  # noqa: S106
            echo=False,
            efforts=_THREE,
        ),
        "together": Quirks(echo=False, efforts=_THREE),
        "zai": Quirks(reasoning="thinking"),
        "moonshot": Quirks(reasoning="omit", schema="moonshot"),
        "github": replace(_OPENAI, echo=False),
        "ollama": Quirks(schema="grammar", efforts=_THREE_AND_NONE),
        "lmstudio": Quirks(schema="grammar", efforts=_THREE_AND_NONE),
        "llamacpp": _LLAMA,
        "vllm": Quirks(reasoning="template"),
    }
)
"""By the name of the preset; every other server is spoken to with `Quirks()`."""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """What a family of models does wherever it is served.

    Attributes:
        servers: Names of presets, empty for every server.
        models: A pattern found in the model's name, lower case.
        changes: Fields of `Quirks`.
    """

    servers: frozenset[str]
    models: re.Pattern[str]
    changes: Mapping[str, Any]


def _row(servers: str, models: str, **changes: Any) -> ModelRow:
    return ModelRow(frozenset(servers.split()), re.compile(models), MappingProxyType(changes))


MODEL_ROWS: Final[tuple[ModelRow, ...]] = (
    _row("openrouter", r"^~?google/", schema="gemini"),
    _row("openrouter", r"^~?moonshotai/", schema="moonshot"),
    # Nine letters and digits suit everybody, and the templates of these models nothing else.
    _row("", r"(^|/)(mistral|ministral|magistral|devstral|codestral|mixtral|pixtral)", ids="nine"),
    _row("llamacpp lmstudio vllm", r"mistral|devstral", strict_turns=True),
    _row("groq", r"(^|/)qwen", efforts=tuple((effort, "default") for effort in
         ("minimal", "low", "medium", "high", "xhigh"))),
    _row("moonshot", r"^kimi-(k2\.[5-9]|k[3-9])", reasoning="thinking"),
    # The older ones of OpenAI do not think, and refuse the word.
    _row("openai github", r"(^|/)(gpt-4|gpt-3|chatgpt)", reasoning="omit"),
)  # fmt: skip
"""Applied in this order to the row of the server."""


def quirks_of(server: str, model: str, own: Mapping[str, Any] | None = None) -> Quirks:
    """How to speak to a model.

    Args:
        server: Name of the preset, "" for a server nobody knows.
        model: The server's id of the model.
        own: What the person configured, as `_openai/own_quirks.py` read it; counts most.
    """
    quirks = ROWS.get(server, Quirks())
    name = model.lower()
    for row in MODEL_ROWS:
        if (not row.servers or server in row.servers) and row.models.search(name):
            quirks = replace(quirks, **row.changes)
    return replace(quirks, **own) if own else quirks

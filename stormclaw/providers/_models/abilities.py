"""What families of models can do, by the beginning of their name; no price list says it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple


class Abilities(NamedTuple):
    """None where it is not known."""

    tools: bool | None = None
    thinking: bool | None = None
    images: bool | None = None


_UNKNOWN: Final = Abilities()
_ALL: Final = Abilities(True, True, True)
_BLIND: Final = Abilities(True, True, False)
_PLAIN: Final = Abilities(True, False, False)
_SEES: Final = Abilities(True, False, True)

FAMILIES: Final[tuple[tuple[str, Abilities], ...]] = (
    ("claude-2", Abilities(False, False, False)),
    ("claude-3-7|claude-3.7", _ALL),
    ("claude-3", _SEES),
    ("claude", _ALL),
    ("gpt-3.5", _PLAIN),
    ("gpt-4-32k|gpt-4$|gpt-4-0", _PLAIN),
    ("gpt-4", _SEES),
    ("gpt-5-chat|gpt-chat|chatgpt", _SEES),
    ("gpt-oss", _BLIND),
    (r"gpt-\d", _ALL),
    ("o1-mini|o1-preview", Abilities(False, True, False)),
    ("o3-mini", _BLIND),
    (r"o[134]($|-)", _ALL),
    ("codex-mini", _BLIND),
    ("gemini-1|gemini-2.0|gemini-flash-1|gemini-pro-1", _SEES),
    (r"gemini-\d", _ALL),
    ("gemma-3|gemma-4", Abilities(None, None, True)),
    ("deepseek-r1", Abilities(None, True, False)),
    ("deepseek-reasoner", _BLIND),
    (r"deepseek-v3\.[12]|deepseek-v[4-9]|deepseek-chat|deepseek-flash", _BLIND),
    ("deepseek", _PLAIN),
    (r"glm-\d(\.\d)?v", _ALL),
    ("glm-4-32b", _PLAIN),
    ("glm", _BLIND),
    ("kimi-k2-thinking", _BLIND),
    (r"kimi-k2\.[5-9]|kimi-k[3-9]", _ALL),
    ("kimi-k2", _PLAIN),
    ("qwen3-coder|qwen-coder|qwen2|qwen-2", _PLAIN),
    ("qwen3-vl|qwen-vl|qwen2.5-vl|qwen-2.5-vl", Abilities(True, None, True)),
    ("qwen3|qwq", _BLIND),
    ("qwen", Abilities(True, None, None)),
    ("grok-4|grok-5", _ALL),
    ("grok-3-mini|grok-code", _BLIND),
    ("grok-2-vision", _SEES),
    ("grok", _PLAIN),
    ("minimax-m", _BLIND),
    ("magistral", _BLIND),
    ("mistral-large-3|mistral-medium|mistral-small|pixtral", _SEES),
    ("mistral-large|devstral|codestral|ministral|mistral-nemo", _PLAIN),
    ("llama-4", _SEES),
    (r"llama-3\.[13]", _PLAIN),
    ("command-r|command-a", _PLAIN),
    ("nova-lite|nova-pro|nova-premier|nova-2", Abilities(True, None, True)),
    ("nova-micro", _PLAIN),
    ("codestral-embed", Abilities(False, False, False)),
)
"""(beginning of a name, what it can do); the first that fits counts."""

_FAMILIES = tuple((re.compile(start), can) for start, can in FAMILIES)
_PREFIX = re.compile(r"^(?:[a-z-]+\.)*(?:anthropic|amazon|meta|mistral|openai|qwen|deepseek|zai)\.")


@lru_cache(maxsize=4096)
def abilities(model: str) -> Abilities:
    """What a model is known to be able to do."""
    name = _PREFIX.sub("", model.lower().rpartition("/")[2])
    return next((can for start, can in _FAMILIES if start.match(name)), _UNKNOWN)


_NO_CHAT = re.compile(
    r"embed|(?:^|[-/])tts|whisper|transcri|moderation|[-/.]image|audio|realtime|live|ocr|rerank"
    r"|guard|safeguard|voxtral|sonic|titan|davinci|curie|babbage|(?:^|/)ada$|:batch|banana|speech"
    r"|video|robotics|(?:^|/)ft:|\.ft-|computer-use|codex-security|instruct-?v?0|voyage|clip"
)


def can_chat(model: str) -> bool:
    """Whether it is a model to talk to: not one for embeddings, speech, pictures or batches."""
    return _NO_CHAT.search(model.lower()) is None

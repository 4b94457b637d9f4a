"""The only home of llama.cpp: judges a model's file, loads it, makes grammars in its language."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stormclaw.errors import ProviderError
from stormclaw.providers._llama.gguf import BadModelFile, Head, read_head
from stormclaw.providers._llama.memory import PROMPTS_MIB, Need, check_memory, free_memory
from stormclaw.providers.local_models import label_of, parts_of

BATCH: Final = 128
"""Tokens read at once: after so many a cancelled request is noticed."""


@dataclass(frozen=True, slots=True)
class Spec:
    """Which model, loaded how.

    Attributes:
        path: Its file, absolute.
        context: Tokens it shall take.
        threads: To compute with.
        name: The provider that asked first, for hints.
    """

    path: Path
    context: int
    threads: int
    name: str = "local"

    @property
    def key(self) -> tuple[Path, int]:
        """What makes two loads the same."""
        return self.path, self.context


def compile_schema(schema: Mapping[str, Any]) -> str:
    """The grammar for answers that fit `schema`, in whatever language this llama.cpp speaks."""
    import xllamacpp

    return str(xllamacpp.json_schema_to_grammar(dict(schema)))


def load(spec: Spec) -> tuple[Head, Any]:
    """The head of the file, and the loaded model.

    Raises:
        ProviderError: It is not a whole model, or does not fit, or llama.cpp does not know it.
    """
    label, hint = label_of(spec.path), "`stormclaw local pull` brings it again"
    try:
        parts = [spec.path.with_name(part) for part in parts_of(spec.path.name)]
        head, *_ = [read_head(part) for part in parts]
        weights = sum(part.stat().st_size for part in parts)
    except BadModelFile as error:
        raise ProviderError("provider", f"{label} cannot be loaded: {error}", hint=hint) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise ProviderError("not_found", f"{label} cannot be read: {reason}", hint=hint) from None
    check_memory(spec.name, label, Need(weights, head.cache_bytes, spec.context), free_memory())
    try:
        return head, _start(spec)
    except RuntimeError as error:
        raise ProviderError(
            "provider",
            f"llama.cpp does not load {label}: {error}",
            hint=f"a newer xllamacpp may know {head.architecture or 'it'}, or take another model",
        ) from None


def _start(spec: Spec) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(spec.path)
    params.n_ctx = spec.context
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = BATCH
    params.cache_ram_mib = PROMPTS_MIB
    params.use_jinja = True
    params.warmup = False
    params.verbosity = -1
    params.ui = params.endpoint_slots = False
    params.api_keys = [secrets.token_urlsafe(32)]
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = spec.threads
        cpu.poll = 0
    # It always listens somewhere. Here: on a socket in a private folder that is gone once it is
    # up, so that nobody can reach it, and it takes no port.
    with tempfile.TemporaryDirectory(prefix="stormclaw-") as folder:
        params.hostnames = [os.path.join(folder, "llama.sock")]  # noqa: PTH118 (the library's str)
        return xllamacpp.Server(params)

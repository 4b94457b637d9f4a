"""Stands for a member that cannot be connected here, so that the others can do their work."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from stormclaw.errors import ConfigError, ProviderError
from stormclaw.protocol.provider import Capabilities, ChatRequest, ChatResponse, Delta, Provider


class Absent(Provider):
    """Answers nothing; says why when it is asked.

    Args:
        name: Our name for it.
        model: The model it would have.
        error: Why it cannot be connected.
    """

    def __init__(self, name: str, model: str, error: ConfigError) -> None:
        self.name = name
        self.model = model
        self._why = "; ".join(problem.message for problem in error.problems)

    def capabilities(self) -> Capabilities:
        """Nothing is known of it."""
        return Capabilities()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        """Nothing.

        Raises:
            ProviderError: Always.
        """
        raise ProviderError("not_found", f"{self.name} cannot be used here: {self._why}")
        yield  # type: ignore[unreachable]

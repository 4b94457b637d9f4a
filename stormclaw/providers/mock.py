"""A provider that plays a script: what tests drive the whole program with. It is no model.

The script is a YAML file:

    turns:                      # answers of the root agent, in order
      - text: "Reading it."     # {{last_output}}: the last tool outcome; {{last_user}}: last words
        thinking: "Hm."
        calls:
          - {name: read_file, arguments: {path: a.py}}      # or arguments: '{"raw text'
            # id: call_1        (made up where missing)
        chunk: 12               # characters to a delta; default: whole words, one delta each
        delay_s: 0.2            # before every delta
        usage: {input_tokens: 10, output_tokens: 5, cached_tokens: 0, cost_usd: 0.01}
        finish: length          # default: stop, or tool_calls
      - expect: "42 passed"     # fails unless the last words or outcome hold it
        text: "All green."
      - when: "draft"           # skipped, and kept for later, unless they hold it
        error: {class: rate_limit, message: "slow down", retry_after_s: 1}
    agents:
      scout: {turns: [...]}     # by path (root/scout-2), name (scout-2) or stem (scout)
      "*": {turns: [...]}       # every other sub-agent, each from the start

An error ends the answer after its text and thinking. When the turns have run out the answer is
an error too. Without `script` it always gives one sentence that says what it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from pathlib import Path

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.protocol.messages import ROOT, ToolCall, UserText, outcome_of
from stormclaw.protocol.provider import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    Delta,
    Provider,
    Text,
    Thinking,
)
from stormclaw.providers._script import Turn, read_script
from stormclaw.providers._usage import estimate

NO_SCRIPT = Turn(text="This is the mock provider. It has no script, so this is all it ever says.")


class Mock(Provider):
    """Plays turns; each agent has its own place in its own script.

    Args:
        name: Our name for it.
        model: Echoed in every response.
        scripts: Turns by agent; None for the one sentence.
        source: The script's path, for messages.
    """

    def __init__(
        self,
        name: str,
        model: str,
        scripts: Mapping[str, tuple[Turn, ...]] | None,
        source: str = "",
    ) -> None:
        self.name = name
        self.model = model
        self._scripts = scripts
        self._source = source
        self._left: dict[str, list[Turn]] = {}
        self._calls = 0

    def capabilities(self) -> Capabilities:
        """It does whatever the script says; no model is behind it."""
        return Capabilities(thinking=True, scripted=True)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        """Play the agent's next turn.

        Raises:
            ProviderError: The turn says so, the script has run out, or an `expect` is not met.
        """
        user, output = _last_words(request)
        turn = self._next(request.metadata.get("agent", ROOT), f"{user}\n{output}")
        thinking, text = (_fill(part, user, output) for part in (turn.thinking, turn.text))
        for piece in _pieces(thinking, turn.chunk):
            await asyncio.sleep(turn.delay_s)
            yield Thinking(piece)
        for piece in _pieces(text, turn.chunk):
            await asyncio.sleep(turn.delay_s)
            yield Text(piece)
        if not text and not thinking:
            await asyncio.sleep(turn.delay_s)
        if turn.error is not None:
            kind, message = turn.error.kind, turn.error.message
            wait_s, hint = turn.error.retry_after_s, turn.error.hint
            raise ProviderError(kind, message, hint=hint, retry_after_s=wait_s, partial=text)
        calls = tuple(self._call(call) for call in turn.calls)
        sent = len(request.system_prompt) + sum(len(str(message)) for message in request.messages)
        yield ChatResponse(
            final_text=text,
            tool_calls=calls,
            thinking=thinking,
            usage=turn.usage or estimate(sent, len(text) + len(thinking)),
            finish=turn.finish or ("tool_calls" if calls else "stop"),
            model=request.model or self.model,
        )

    def _next(self, agent: str, heard: str) -> Turn:
        if self._scripts is None:
            return NO_SCRIPT
        if agent not in self._left:
            self._left[agent] = list(self._turns(agent, self._scripts))
        left = self._left[agent]
        fitting = (index for index, turn in enumerate(left) if turn.when in heard)
        index = next(fitting, None)
        if index is None:
            state = "no turn that fits" if left else "no turn left"
            raise ProviderError("provider", f"the script {self._source} has {state} for {agent}")
        turn = left.pop(index)
        if turn.expect not in heard:
            said = (
                f"{turn.place} expects {turn.expect!r}, which was not said: {heard.strip()[:400]}"
            )
            raise ProviderError("provider", said)
        return turn

    def _turns(self, agent: str, scripts: Mapping[str, tuple[Turn, ...]]) -> tuple[Turn, ...]:
        name = agent.rpartition("/")[2]
        stem = name.rstrip("0123456789").removesuffix("-")
        for key in (agent, name, stem) if agent == ROOT else (agent, name, stem, "*"):
            if key in scripts:
                return scripts[key]
        raise ProviderError("provider", f"the script {self._source} has nothing for {agent}")

    def _call(self, call: ToolCall) -> ToolCall:
        self._calls += 1
        call_id = call.id or f"mock{self._calls:05d}"
        return ToolCall(call_id, call.name, call.arguments)


def connect(name: str, settings: ModelSettings, key: str | None) -> Mock:
    """The mock called `name`; a key is ignored.

    Raises:
        ConfigError: The script is missing or wrong; every problem with file, line and key.
    """
    model = settings.model or "mock"
    if not settings.script:
        return Mock(name, model, None)
    path = Path(settings.script).expanduser()
    return Mock(name, model, read_script(path), str(path))


def _last_words(request: ChatRequest) -> tuple[str, str]:
    """What the person said last, and the output of the tool that came last; "" for none."""
    users = (body.text for body in reversed(request.messages) if isinstance(body, UserText))
    outcomes = (outcome for body in reversed(request.messages) if (outcome := outcome_of(body)))
    last = next(outcomes, None)
    return next(users, ""), last.output if last else ""


def _fill(text: str, user: str, output: str) -> str:
    return text.replace("{{last_output}}", output).replace("{{last_user}}", user)


def _pieces(text: str, chunk: int) -> Iterator[str]:
    """Pieces of `chunk` characters; 0 keeps words whole."""
    if chunk:
        yield from (text[start : start + chunk] for start in range(0, len(text), chunk))
        return
    start = 0
    while start < len(text):
        end = text.find(" ", start) + 1 or len(text)
        yield text[start:end]
        start = end

"""Anthropic's claude CLI: a program that acts by itself, each of its calls through our gate.

It runs as `claude -p` with JSON lines both ways and keeps the conversation in its own files. One
process is kept for the next turn of the same session, which then need not wait for its start.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Final
from uuid import uuid4

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
from stormclaw.providers._claude.session import Place, begun, kept, told
from stormclaw.providers._claude.start import Start, start_of
from stormclaw.providers._claude.talk import NoSession, Talk
from stormclaw.providers._claude.turn import TRIED, Names, Turn, Watch
from stormclaw.providers.recovery import with_hint

PATIENCE_S: Final = 90.0
"""Least silence that counts: claude says nothing while it waits to ask its server again."""
FREE: Final = (
    "autonomy is full: claude runs with its own questions off (bypassPermissions); every call of "
    "it is still judged and recorded here"
)


class ClaudeCli(Provider):
    """The claude on this machine.

    Args:
        name: Our name for it.
        settings: `command`, `args`, `model`.
        patience_s: Least silence after which it is given up.
    """

    def __init__(
        self, name: str, settings: ModelSettings, *, patience_s: float = PATIENCE_S
    ) -> None:
        self.name = name
        self.model = settings.model
        self._settings = settings
        idle_s = max(patience_s, settings.idle_timeout_s)
        self._watch = Watch(idle_s, max(patience_s, settings.tool_timeout_s))
        self._window = settings.context_window
        self._remarked: set[str] = set()
        self._resting: Talk | None = None

    def capabilities(self) -> Capabilities:
        """It acts by itself; the window is claude's word after its first answer."""
        return Capabilities(thinking=True, context_window=self._window, acts=True)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        """One turn of claude, with all its steps.

        Raises:
            ProviderError: Claude is not there, or the turn failed.
        """
        with tempfile.TemporaryDirectory(prefix="stormclaw-claude-") as nowhere:
            try:
                start = start_of(request, self._settings, Path(nowhere))
                async with aclosing(self._run(request, start)) as items:
                    async for item in items:
                        yield item
            except ProviderError as error:
                raise with_hint(error) from error.__cause__

    async def close(self) -> None:
        """End the claude that waits for another turn."""
        resting, self._resting = self._resting, None
        if resting is not None:
            await resting.leave()

    async def _run(
        self, request: ChatRequest, start: Start
    ) -> AsyncGenerator[Delta | ChatResponse, None]:
        messages, cwd = request.messages, str(start.cwd)
        place, known = kept(messages, self.name, cwd) or (None, 0)
        talk = self._rested(start, place)
        if talk is None:
            try:
                talk = await Talk.open(start, place, self._watch.idle_s)
            except NoSession:
                lost = "claude no longer has this conversation; it is told again in a new session"
                yield Remark(lost)
                known = 0
                talk = await self._anew(start)
        turn = Turn(
            talk,
            request.hands.permit if request.hands else None,
            begun(messages, cwd, str(uuid4())),
            Names(self.name, request.model or self.model),
            self._watch,
        )
        answer: ChatResponse | None = None
        try:
            for remark in self._about_start(start):
                yield remark
            async with aclosing(turn.run(told(messages, known))) as items:
                async for item in items:
                    if isinstance(item, ChatResponse):
                        answer = item
                    else:
                        yield item
            for remark in self._about_talk(talk):
                yield remark
        finally:
            self._window = self._settings.context_window or turn.window or self._window
            await self._rest_or_end(talk, whole=turn.whole)
        if answer is not None:
            # Last, with all put away: whoever has the answer need not close this iteration.
            yield answer

    async def _anew(self, start: Start) -> Talk:
        try:
            return await Talk.open(start, None, self._watch.idle_s)
        except NoSession as problem:
            raise ProviderError("provider", f"claude begins no session: {problem}") from problem

    def _rested(self, start: Start, place: Place | None) -> Talk | None:
        """The claude of the turn before, if it stands at this very place."""
        talk = self._resting
        if talk is None or place is None or not talk.program.running:
            return None
        if talk.start != start or talk.place != place:
            return None
        self._resting = None
        return talk

    async def _rest_or_end(self, talk: Talk, *, whole: bool) -> None:
        """Keep it for the next turn if all went well; whatever waited until now leaves."""
        if not whole:
            await talk.program.stop()
        elif not (talk.start.acts and talk.program.running):
            await talk.leave()
        else:
            waiting, self._resting = self._resting, talk
            if waiting is not None:
                await waiting.leave()

    def _about_start(self, start: Start) -> list[Remark]:
        return [Remark(FREE, "info")] if start.free and self._fresh(FREE) else []

    def _about_talk(self, talk: Talk) -> list[Remark]:
        """What the person should know of the claude that answered, each once."""
        remarks = []
        if talk.version and not talk.version.startswith(TRIED):
            text = f"claude {talk.version} is another version than the 2.1 this was tried with"
            remarks.append(Remark(text))
        if talk.lines.unknown:
            kinds = "claude told of things that are not known here; they were passed over"
            remarks.append(Remark(kinds, "info"))
        return [remark for remark in remarks if self._fresh(remark.text)]

    def _fresh(self, text: str) -> bool:
        fresh = text not in self._remarked
        self._remarked.add(text)
        return fresh


def connect(name: str, settings: ModelSettings, key: str | None) -> ClaudeCli:
    """The provider called `name`; claude has its own login, so no key is passed on."""
    return ClaudeCli(name, settings)

"""Carries events from the core to any number of listeners, without ever waiting for one.

A slow listener costs memory only for what cannot be merged: neighbouring pieces of text of the same
agent, and of live output of the same call, become one event.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

from stormclaw.protocol.events import Event, TextDelta, ThinkingDelta, ToolProgress


@dataclass(slots=True)
class _Waiting:
    """An event in line, with the text of those merged into it."""

    event: Event
    more: list[str] = field(default_factory=list)

    def merged(self) -> Event:
        event = self.event
        if self.more and isinstance(event, TextDelta | ThinkingDelta | ToolProgress):
            return replace(event, text=event.text + "".join(self.more))
        return event


def _continues(earlier: Event, later: Event) -> str | None:
    """The text `later` adds to `earlier` if the two may become one event."""
    match earlier, later:
        case TextDelta(), TextDelta():
            return later.text if earlier.agent == later.agent else None
        case ThinkingDelta(), ThinkingDelta():
            return later.text if earlier.agent == later.agent else None
        case ToolProgress(), ToolProgress():
            return later.text if earlier.call_id == later.call_id else None
        case _:
            return None


class Subscription:
    """One listener's line of events; iterate it, and close it when done.

    Listening starts when the subscription is made, not when it is first iterated.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._line: deque[_Waiting] = deque()
        self._arrived = asyncio.Event()
        self._closed = False

    def put(self, event: Event) -> None:
        """Add an event to the line, merging it with the last one where that loses nothing."""
        if self._line and (text := _continues(self._line[-1].event, event)) is not None:
            self._line[-1].more.append(text)
        else:
            self._line.append(_Waiting(event))
        self._arrived.set()

    def close(self) -> None:
        """Stop listening; what is in line can still be read."""
        self._closed = True
        self._hub.drop(self)
        self._arrived.set()

    def waiting(self) -> tuple[Event, ...]:
        """Take everything that is in line now, without waiting."""
        taken = tuple(entry.merged() for entry in self._line)
        self._line.clear()
        return taken

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while not self._line:
            if self._closed:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        return self._line.popleft().merged()


class Hub:
    """Where the core publishes; owned by the session."""

    def __init__(self) -> None:
        self._listeners: list[Subscription] = []

    def publish(self, event: Event) -> None:
        """Hand `event` to every listener; never blocks, never fails."""
        for listener in self._listeners:
            listener.put(event)

    def subscribe(self) -> Subscription:
        """A new line that gets every event from now on."""
        subscription = Subscription(self)
        self._listeners.append(subscription)
        return subscription

    def drop(self, subscription: Subscription) -> None:
        """Forget a listener; unknown ones are ignored."""
        if subscription in self._listeners:
            self._listeners.remove(subscription)

    def close(self) -> None:
        """End every listener's iteration after what is in line."""
        for listener in list(self._listeners):
            listener.close()

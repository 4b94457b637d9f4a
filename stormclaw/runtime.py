"""Composition root: from settings to a session that works. The only module that knows every class.

It decides nothing: it hands each part what it needs. What changes while it runs (the model, the
autonomy, the configuration, the emergency stop) changes through one method here.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from stormclaw.agent.asks import Asks
from stormclaw.agent.hub import Hub
from stormclaw.agent.kit import Kit
from stormclaw.agent.outfit import equip, pick, walls_for
from stormclaw.agent.presence import Presence
from stormclaw.agent.session import Session
from stormclaw.agent.shelf import Shelf
from stormclaw.agent.toolset import Channel
from stormclaw.agent.vigil import Vigil
from stormclaw.agent.walls import Walls
from stormclaw.config.place import Place, find_place
from stormclaw.config.settings import ModelSettings
from stormclaw.config.workspace import create_workspace
from stormclaw.log import event
from stormclaw.protocol.effects import Autonomy
from stormclaw.providers.check import CheckReport, try_provider
from stormclaw.providers.models import ModelBook
from stormclaw.providers.ways import Way, find_way, keep_way
from stormclaw.security import grants
from stormclaw.security.in_force import policy_in_force

LOG = logging.getLogger(__name__)

FIRST_SCREEN_S = 0.5
"""How long the walls wait with being tried, so that the first screen is drawn first; a turn that
begins earlier tries them at once."""
CONVERSATION_S = 0.05
"""How long loading the way to the model waits, so that a conversation opened again is drawn first;
a turn that begins earlier loads it at once."""


class Runtime(Shelf):
    """Everything one front end works with; one session is open at a time.

    Make it with `open_runtime`; `close` it.
    """

    def __init__(
        self, place: Place, way: Way, channel: Channel, walls: Walls, *, attended: bool
    ) -> None:
        super().__init__()
        self._by_hand: Asks | None = None
        self._presence = Presence(place.home, channel, place.workspace, self)
        self._shop = equip(place, way, channel, walls, attended=attended)
        walls.listen(self.walled)

    # What it can do ------------------------------------------------------------------------

    async def open_session(self, session_id: str = "") -> Session:
        """Open a session, new or earlier, and then close the one before.

        Raises:
            UsageError: No such session.
            StoreError: It cannot be opened; the session before stays open.
        """
        if self._session is not None and session_id == self._session.id:
            return self._session
        session = await asyncio.to_thread(self._shop.open, session_id)
        before, self._session = self._session, session
        if before is not None:
            await before.close()
        await session.start()
        self._presence.in_session(session.id)
        event(LOG, "conversation_started", session=session.id)
        self.changed()
        return session

    def loose_kit(self, hub: Hub) -> Kit:
        """A kit outside any session, to run one tool by hand."""
        kit = self._shop.loose_kit(hub)
        self._by_hand = kit.asks
        return kit

    def set_autonomy(self, level: Autonomy) -> None:
        """Another autonomy level, from the next call on."""
        self.rules.set_autonomy(level)
        self.changed()

    async def use(self, way: Way) -> None:
        """Go on with another way to a model; the running turn ends on the one it began with."""
        before = self._shop.provider
        shop = self._shop = self._shop.refitted(self.place, way, way.connect())
        session = self.session
        info = replace(session.info, model=way.model, provider=way.name)
        session.use(shop.refit(session.kit), info)
        event(LOG, "provider_selected", provider=way.name, model=way.model)
        self.changed()
        self.beside(self.warm_up())
        if not session.busy:
            await before.close()

    async def switch_model(self, target: str) -> str:
        """Go on with `provider/model`, `provider` or `model`; returns what is in use now.

        Raises:
            ConfigError: No such provider.
        """
        place = self.place
        way = await find_way(
            place.settings,
            place.env,
            place.home,
            target=target,
            current=self.way.name,
            cooldowns=self.way.cooldowns,
        )
        await self.use(way)
        return f"{way.name}/{way.model}"

    async def connect(self, name: str, model: ModelSettings, key: str) -> CheckReport:
        """Try a way to a model; if it answers, keep key and settings, and go on with it.

        Args:
            name: Our name for the provider.
            model: Its settings.
            key: Its API key, "" for none. Goes to the keyring or auth.json, never to the config.

        Raises:
            ConfigError: The entry or the configuration file is not sound.
        """
        way = Way(name, model, key or None, "you connected it")
        provider = way.connect()
        try:
            book = ModelBook({name: model}, self.home)
            report = await try_provider(provider, settings=model, book=book)
        finally:
            await provider.close()
        if report.ok:
            await asyncio.to_thread(keep_way, self.home, way)
            self.reload()
            await self.use(way)
        return report

    def reload(self) -> None:
        """Read the configuration again.

        Raises:
            ConfigError: What is wrong; the old values stay in force.
            UsageError: The workspace is gone; likewise.
        """
        old = self.place
        place = find_place(
            cwd=old.workspace,
            workspace=old.workspace,
            env=old.env,
            flags=old.flags,
            presets=old.presets,
            kinds=old.kinds,
        )
        chosen = self.autonomy
        shop = self._shop = self._shop.refitted(place, self.way, self._shop.provider)
        self.rules.replace(policy_in_force(place, shop.walls.sandbox.level))
        if place.settings.security.sandbox != old.settings.security.sandbox:
            shop.walls.again(lambda: pick(place))
        if place.settings.security.autonomy == old.settings.security.autonomy:
            self.rules.set_autonomy(chosen)
        session = self.session
        session.use(shop.refit(session.kit), session.info)
        self.changed()

    def walled(self, level: str) -> None:
        """The walls are known, or other ones than before."""
        self.rules.set_walls(level)
        self.changed()

    def stop_everything(self) -> None:
        """What the emergency stop means here: no tool runs on, nothing asked stays open.

        The turns go on: the model is told, and may answer in words.
        """
        self._shop.leash.pull()
        session = self._session
        for asks in (self._by_hand, session.kit.asks if session is not None else None):
            if asks is not None:
                asks.deny_all()
        self.changed()

    # What goes on beside -------------------------------------------------------------------

    async def watch(self) -> None:
        """Pick up a changed configuration, until cancelled."""
        quiet = (grants.path(self.home),)
        await Vigil(self.place.loaded.files, quiet, self.reload, self.tell).keep()

    def guard(self) -> None:
        """Be listed as running, and obey the emergency stop from now on, until closed."""
        self._presence.begin()

    async def close(self) -> None:
        """Close the session and the connections."""
        for task in self._background:
            task.cancel()
        self._presence.end()
        if self._session is not None:
            await self._session.close()
        await self._shop.provider.close()
        await self._shop.executors.close()
        await self._shop.walls.close()
        await asyncio.to_thread(self._shop.close)


async def open_runtime(
    place: Place, channel: Channel, *, attended: bool, target: str = "", session_id: str = ""
) -> Runtime:
    """Choose a model, compose everything, open a session.

    Args:
        place: Where and with which settings.
        channel: Which front end's narrowing of the tools counts.
        attended: Whether a person can answer questions.
        target: `provider/model` from the command line, "" for what the settings say.
        session_id: A session to resume, "" for a new one.

    Raises:
        ConfigError: The way to the model is not usable.
        UsageError: No such session, or the workspace cannot be made.
        StoreError: The record cannot be kept.
    """
    create_workspace(place.workspace)
    event(LOG, "config_path", files=", ".join(map(str, place.loaded.files)))
    event(LOG, "workspace_path", workspace=str(place.workspace))
    event(LOG, "channel_started", channel=channel)
    walls = walls_for(place)
    if channel == "cli":
        walls.begin()
    way = await find_way(place.settings, place.env, place.home, target=target)
    runtime = await asyncio.to_thread(Runtime, place, way, channel, walls, attended=attended)
    event(LOG, "provider_selected", provider=way.name, model=way.model)
    runtime.guard()
    try:
        await runtime.open_session(session_id)
    except BaseException:
        await runtime.close()
        raise
    runtime.beside(runtime.recover())
    if channel == "tui":
        runtime.beside(runtime.watch())
        runtime.beside(runtime.prepare_snapshots(CONVERSATION_S))
        asyncio.get_running_loop().call_later(FIRST_SCREEN_S, walls.begin)
    runtime.beside(runtime.warm_up(CONVERSATION_S if channel == "tui" else 0.0))
    return runtime

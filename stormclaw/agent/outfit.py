"""Equips a workshop: from where a run works and its way to a model to everything sessions share."""

from __future__ import annotations

from pathlib import Path

from stormclaw.agent.executors import Executors
from stormclaw.agent.instructions import InstructionReader
from stormclaw.agent.rules import Rules
from stormclaw.agent.toolset import Channel, toolset
from stormclaw.agent.walls import Walls
from stormclaw.agent.workshop import Workshop
from stormclaw.config.disk import user_home
from stormclaw.config.place import Place
from stormclaw.providers.models import ModelBook
from stormclaw.providers.ways import Way
from stormclaw.security import grants
from stormclaw.security.in_force import policy_in_force
from stormclaw.security.redact import scrubbed_environ
from stormclaw.security.running import marked
from stormclaw.security.sandbox import Sandbox, choose
from stormclaw.store.checkpoints import Checkpoints
from stormclaw.store.keys import Key
from stormclaw.store.memory import Memory
from stormclaw.store.receipts import ReceiptLog
from stormclaw.tools.registry import discover_tools


def walls_for(place: Place) -> Walls:
    """The walls the settings ask for, not tried yet."""
    return Walls(lambda: pick(place))


def pick(place: Place) -> Sandbox:
    """Try what the settings ask for and this machine has. Blocks."""
    return choose(
        place.settings.security.sandbox,
        workspace=place.workspace,
        home=place.home,
        user_home=user_home(place.env),
        environ=_environ(place),
    )


def _environ(place: Place) -> dict[str, str]:
    """What programs are given."""
    return marked(scrubbed_environ(place.env), place.home)


def equip(place: Place, way: Way, channel: Channel, walls: Walls, *, attended: bool) -> Workshop:
    """Everything the sessions of a run share. Blocks.

    Args:
        place: Where and with which settings.
        way: The way to the model.
        channel: Which front end's narrowing of the tools counts.
        walls: Around shell commands.
        attended: Whether a person can answer questions.
    """
    registry = discover_tools()
    return Workshop(
        place=place,
        channel=channel,
        way=way,
        provider=way.connect(),
        toolset=toolset(place, registry, way.name, channel),
        rules=Rules(
            policy_in_force(place, walls.sandbox.level),
            lambda grant: grants.append(place.home, place.workspace, grant),
        ),
        receipts=_receipts(place),
        memory=Memory(Path(place.settings.memory.path), home=place.home),
        reader=InstructionReader(place.home, place.workspace),
        environ=_environ(place),
        walls=walls,
        checkpoints=_checkpoints(place),
        attended=attended,
        executors=Executors(way.cooldowns),
        book=ModelBook(place.settings.providers.models, place.home),
    )


def _checkpoints(place: Place) -> Checkpoints | None:
    settings = place.settings.checkpoints
    return Checkpoints(place.home, place.workspace, settings) if settings.enabled else None


def _receipts(place: Place) -> ReceiptLog | None:
    receipts = place.settings.receipts
    if not receipts.enabled:
        return None
    return ReceiptLog(Path(receipts.path), key=Key.named(receipts.hmac_key_env, place.env))

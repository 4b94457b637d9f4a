"""What the app knows before its first paint: cheap facts, read from argv, YAML and `.git/HEAD`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from stormclaw.config.settings import UiSettings
from stormclaw.protocol.effects import Autonomy

ROOT = "root"
"""As in `protocol.messages`, which the first paint does without."""


@dataclass(frozen=True, slots=True)
class Start:
    """The facts of the first screen.

    Attributes:
        home: StormClaw's own folder, where the composer's history and the log of stray output live.
        workspace: The folder worked in.
        branch: Git branch, "" outside a repository.
        autonomy: Where Shift+Tab starts.
        model_label: Short model name, "" while unknown.
        provider_label: Short provider name, "" while unknown.
        scripted: The answers are a script's, not a model's.
        ui: Theme, signs, motion, bell, mouse.
        prompt: Sent as soon as the session is there.
        title: Title of the session that is resumed.
        resuming: A session is being resumed, so no first-run text is shown meanwhile.
        pick: Open the sessions screen first.
    """

    home: Path
    workspace: Path
    branch: str = ""
    autonomy: Autonomy = "supervised"
    model_label: str = ""
    provider_label: str = ""
    scripted: bool = False
    ui: UiSettings = field(default_factory=UiSettings)
    prompt: str = ""
    title: str = ""
    resuming: bool = False
    pick: bool = False

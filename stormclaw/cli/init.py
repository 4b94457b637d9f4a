"""Make the StormClaw folder: a commented config, an empty memory, the workspace.

example:
  stormclaw init
"""

from __future__ import annotations

import argparse
from pathlib import Path

from stormclaw.cli.options import place_from
from stormclaw.config.files import home_dir
from stormclaw.config.starter import write_starter
from stormclaw.config.workspace import create_workspace
from stormclaw.store.memory import Memory


def add(parser: argparse.ArgumentParser) -> None:
    """`stormclaw init` has no arguments of its own."""


def run(options: argparse.Namespace) -> int:
    """Make what is missing, leave what is there."""
    import os

    home = home_dir(os.environ)
    config = home / "config.yaml"
    made = not config.exists()
    if made:
        config = write_starter(home)
    place = place_from(options, must_exist=False)
    memory = Path(place.settings.memory.path)
    index = Memory(memory)
    index.prepare()
    index.close()
    created = create_workspace(place.workspace)
    print(f"config     {config}{'' if made else ' (kept as it was)'}")
    print(f"memory     {memory}")
    print(f"workspace  {place.workspace}{' (new)' if created else ''}")
    return 0

"""How tests run: where snapshots stand, how often chance is tried, when garbage is looked for."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

from hypothesis import settings
from thorough import tries

settings.register_profile("usual", max_examples=tries(35, 100))
settings.load_profile("usual")

os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
"""Read when Textual is imported, so before any test."""

ROOT = Path(__file__).parent.parent
GARBAGE = (50_000, 10, 10)
"""So many new objects until the youngest, the younger and all are looked through."""


def pytest_configure() -> None:
    """Point the snapshot extension at our folder."""
    from pytest_textual_snapshot import SVGImageExtension

    def dirname(cls: Any, *, test_location: Any) -> str:
        return str(ROOT / "snapshots" / Path(test_location.filepath).stem)

    SVGImageExtension.dirname = classmethod(dirname)
    SVGImageExtension.file_extension = "svg"


def pytest_collection_finish() -> None:
    """All there is now stays: to look through it again and again took a fifth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)
